"""`pull` and `abort`: another history brought in, by a rebase or a merge, and the way back from a conflict."""

import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from outcomes import failed, state
from worlds.remote import Remote
from worlds.repository import GIT, PATH, commit, git, hook, run_git, script, seed, sha, write

from orca.errors import RuntimeError
from orca.results import Result, or_raise
from orca.tools import GitTool, Pull


@pytest.fixture(autouse=True)
def no_trace_of_the_fetch(remote: Remote) -> Iterator[None]:
    """Whatever becomes of a pull: the ref that it fetched to is gone, and the file that all fetches share untouched."""
    shared = remote.work / ".git" / "FETCH_HEAD"
    write(shared, "untouched\n")
    yield
    assert git(remote.work, "for-each-ref", "refs/orca") == b""
    assert shared.read_text() == "untouched\n"


def pull(remote: Remote, branch: str | None = None, *, rebase: bool = True) -> Result[Pull, RuntimeError]:
    return GitTool(remote.work).pull(branch=branch, rebase=rebase)


def conflict(remote: Remote) -> None:
    """Both have changed `a.txt`."""
    commit(remote.colleague, "a.txt", "theirs\n")
    git(remote.colleague, "push", "--quiet", "origin", "main")
    commit(remote.work, "a.txt", "ours\n")


@pytest.mark.parametrize("rebase", [True, False])
def test_what_is_behind_is_brought_forward(rebase: bool, remote: Remote) -> None:
    old, new = sha(remote.work), remote.colleague_pushes()
    assert or_raise(pull(remote, rebase=rebase)) == Pull(old, new)
    assert (sha(remote.work), sha(remote.work, "origin/main")) == (new, new)
    assert or_raise(pull(remote, rebase=rebase)) == Pull(new, new)


@pytest.mark.parametrize("rebase", [True, False])
def test_what_only_we_have_stays(rebase: bool, remote: Remote) -> None:
    ours = commit(remote.work)
    assert or_raise(pull(remote, rebase=rebase)) == Pull(ours, ours)


def test_ours_go_on_top_of_theirs(remote: Remote) -> None:
    theirs, ours = remote.colleague_pushes(), commit(remote.work)
    pulled = or_raise(pull(remote))
    assert pulled == Pull(ours, sha(remote.work))
    assert sha(remote.work, "HEAD^") == theirs


def test_theirs_are_merged_into_ours(remote: Remote) -> None:
    theirs, ours = remote.colleague_pushes(), commit(remote.work)
    pulled = or_raise(pull(remote, rebase=False))
    assert pulled == Pull(ours, sha(remote.work))
    parents, subject = git(remote.work, "log", "-1", "--format=%P%n%s").decode().splitlines()
    assert (parents, subject) == (f"{ours} {theirs}", "Merge remote-tracking branch 'origin/main'")


HOSTILE = {
    "pull.ff": "only",
    "pull.rebase": "interactive",
    "merge.ff": "only",
    "merge.autoStash": "true",
    "rebase.autoStash": "true",
    "branch.main.rebase": "merges",
    "branch.main.mergeOptions": "--no-commit --squash --strategy=ours",
    "pull.twohead": "ours",
    "merge.log": "true",
    "fetch.prune": "true",
    "merge.conflictStyle": "diff3",
}


@pytest.mark.parametrize("rebase", [True, False])
def test_the_call_says_how_and_no_configuration(
    rebase: bool, remote: Remote, german: Mapping[str, str], hostile_display: Mapping[str, str]
) -> None:
    for key, value in HOSTILE.items():
        git(remote.work, "config", key, value)
    theirs, ours = remote.colleague_pushes(), commit(remote.work)
    pulled = or_raise(pull(remote, rebase=rebase))
    expected = [theirs] if rebase else [ours, theirs]
    assert git(remote.work, "log", "-1", "--format=%P", pulled.new).decode().split() == expected
    assert {"b.txt", "c.txt"} <= {path.name for path in remote.work.iterdir()}
    assert git(remote.work, "log", "-1", "--format=%b", pulled.new).strip() == b""
    assert or_raise(GitTool(remote.work).status()).clean


@pytest.mark.parametrize(("rebase", "operation"), [(True, "rebase"), (False, "merge")])
def test_a_conflict_stays_in_progress_until_abort_brings_all_back(rebase: bool, operation: str, remote: Remote) -> None:
    conflict(remote)
    write(remote.work / "untracked", "untracked\n")
    before, tool = state(remote.work), GitTool(remote.work)
    error = failed(pull(remote, rebase=rebase))
    assert (error.cause, error.paths, error.effect) == ("conflict", ("a.txt",), "unknown")
    assert or_raise(tool.conflicts()) == ("a.txt",)
    again = failed(pull(remote, rebase=rebase))
    assert (again.cause, again.paths, again.effect) == ("conflict", ("a.txt",), "none")
    assert or_raise(tool.abort()) == operation
    after = state(remote.work)
    assert (after.head, after.index, after.files) == (before.head, before.index, before.files)
    assert or_raise(tool.conflicts()) == ()
    assert failed(tool.abort()).cause == "refused"


@pytest.mark.parametrize("operation", ["cherry-pick", "revert", "am"])
def test_abort_ends_whatever_is_in_progress(operation: str, remote: Remote) -> None:
    conflict(remote)
    git(remote.work, "fetch", "--quiet", "--no-write-fetch-head")
    commit(remote.work, "a.txt", "ours again\n")
    if operation == "am":
        patch = git(remote.work, "format-patch", "-1", "--stdout", "origin/main")
        assert run_git(remote.work, "am", stdin=patch).returncode != 0
    else:
        what = {"cherry-pick": "origin/main", "revert": "HEAD^"}[operation]
        assert run_git(remote.work, operation, "--no-edit", what).returncode != 0
    before = sha(remote.work)
    assert or_raise(GitTool(remote.work).abort()) == operation
    assert or_raise(GitTool(remote.work).status()).clean
    assert sha(remote.work) == before


@pytest.mark.parametrize("rebase", [True, False])
@pytest.mark.parametrize("ignored", [True, False])
def test_files_in_the_way_are_not_overwritten(rebase: bool, ignored: bool, remote: Remote) -> None:
    remote.colleague_pushes("there.txt", "theirs\n")
    commit(remote.work)
    if ignored:
        write(remote.work / ".git" / "info" / "exclude", "there.txt\n")
    write(remote.work / "there.txt", "precious\n")
    before = state(remote.work)
    error = failed(pull(remote, rebase=rebase))
    assert (error.cause, error.effect) == ("dirty", "none")
    after = state(remote.work)
    assert (after.head, after.index, after.files) == (before.head, before.index, before.files)


@pytest.mark.parametrize("rebase", [True, False])
def test_changes_that_are_not_committed_are_not_lost(rebase: bool, remote: Remote) -> None:
    remote.colleague_pushes("a.txt", "theirs\n")
    write(remote.work / "a.txt", "precious\n")
    for key in ("merge.autoStash", "rebase.autoStash"):
        git(remote.work, "config", key, "true")
    before = state(remote.work)
    error = failed(pull(remote, rebase=rebase))
    assert (error.cause, error.effect) == ("dirty", "none")
    assert state(remote.work).files == before.files
    assert git(remote.work, "stash", "list") == b""


def test_another_branch_is_brought_in_by_name(remote: Remote) -> None:
    git(remote.colleague, "push", "--quiet", "origin", "main:refs/heads/topic")
    ours, theirs = commit(remote.work), commit(remote.colleague, "c.txt")
    git(remote.colleague, "push", "--quiet", "origin", "main:topic")
    assert or_raise(pull(remote, "topic", rebase=False)).old == ours
    assert git(remote.work, "log", "-1", "--format=%P").split()[1].decode() == theirs
    error = failed(pull(remote, "absent"))
    assert (error.cause, error.effect) == ("unknown-ref", "none")


def test_a_branch_that_follows_nothing_has_no_upstream(remote: Remote) -> None:
    git(remote.work, "switch", "--quiet", "--no-track", "-c", "feature")
    error = failed(pull(remote))
    assert (error.cause, error.effect) == ("no-upstream", "none")
    git(remote.work, "branch", "--quiet", "--set-upstream-to=main")  # one here: nothing of the remote's
    assert failed(pull(remote)).cause == "no-upstream"


def test_a_detached_head_follows_nothing_but_may_be_told(remote: Remote) -> None:
    new = remote.colleague_pushes()
    git(remote.work, "switch", "--quiet", "--detach")
    error = failed(pull(remote))
    assert (error.cause, error.effect) == ("detached", "none")
    assert or_raise(pull(remote, "main")).new == new
    assert or_raise(GitTool(remote.work).current_branch()) is None


def test_an_unborn_branch_becomes_the_remotes(remote: Remote) -> None:
    git(remote.work, "switch", "--quiet", "--orphan", "new")
    assert or_raise(pull(remote, "main")) == Pull(None, remote.head() or "")
    assert (remote.work / "a.txt").read_text() == "a\n"
    assert or_raise(GitTool(remote.work).current_branch()) == "new"


@pytest.mark.parametrize("ignored", [True, False])
def test_an_unborn_branch_overwrites_no_file(ignored: bool, remote: Remote) -> None:
    git(remote.work, "switch", "--quiet", "--orphan", "new")
    if ignored:
        write(remote.work / ".git" / "info" / "exclude", "a.txt\n")
    write(remote.work / "a.txt", "precious\n")
    error = failed(pull(remote, "main"))
    assert (error.cause, error.effect) == ("dirty", "none")
    assert (remote.work / "a.txt").read_text() == "precious\n"
    assert or_raise(GitTool(remote.work).head()) is None


@pytest.fixture
def unrelated(remote: Remote) -> Remote:
    """The remote, whose `main` has nothing in common with ours."""
    other = seed(remote.root / "unrelated")
    commit(other, "other.txt")
    git(other, "push", "--quiet", "--force", remote.bare, "main")
    return remote


def test_unrelated_histories_are_not_merged(unrelated: Remote) -> None:
    git(unrelated.work, "commit", "--quiet", "--amend", "-m", "ours alone")
    before = sha(unrelated.work)
    error = failed(pull(unrelated, rebase=False))
    assert (error.cause, error.exit_code, error.effect) == ("exit", 128, "none")
    assert sha(unrelated.work) == before


def test_a_hook_that_refuses_the_merge_commit_leaves_the_merge_in_progress(remote: Remote) -> None:
    remote.colleague_pushes()
    ours = commit(remote.work)
    hook(remote.work, "pre-merge-commit", "exit 1")
    error = failed(pull(remote, rebase=False))
    assert (error.cause, error.effect) == ("hook-failed", "unknown")
    assert or_raise(GitTool(remote.work).abort()) == "merge"
    assert sha(remote.work) == ours
    assert or_raise(GitTool(remote.work).status()).clean


def test_who_has_no_name_can_make_no_merge_commit(remote: Remote, home: Path) -> None:
    remote.colleague_pushes()
    ours = commit(remote.work)
    (home / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    error = failed(pull(remote, rebase=False))
    assert error.cause == "identity-missing"
    assert sha(remote.work) == ours


def test_commits_here_do_not_wait_for_a_slow_remote(remote: Remote) -> None:
    """Who serves the fetch commits through the tool meanwhile."""
    remote.colleague_pushes()
    body = f"from orca.tools import GitTool; GitTool({str(remote.work)!r}).commit('meanwhile', add='all', timeout=20)"
    write(remote.work / "new.txt", "new\n")
    upload = script(remote.root / "upload-pack", f'{sys.executable} -c "{body}"\nexec git-upload-pack "$@"')
    git(remote.work, "config", "remote.origin.uploadpack", upload)
    or_raise(pull(remote))
    assert git(remote.work, "log", "--format=%s").split() == [b"meanwhile", b"colleague", b"seed"]


@pytest.mark.slow
@pytest.mark.parametrize("where", ["fetch", "after the fetch", "rebase"])
def test_a_pull_that_runs_out_of_time(
    where: str, remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote.colleague_pushes()
    commit(remote.work)
    mark = tmp_path / "hangs"
    hangs = f"touch '{mark}'; while test -e '{mark}'; do sleep 0.05; done"
    if where == "fetch":
        git(remote.work, "config", "remote.origin.uploadpack", f"{hangs}; git-upload-pack")
    elif where == "rebase":
        hook(remote.work, "pre-rebase", hangs)
    else:
        body = f'{GIT} "$@" || exit\ncase "$*" in *" fetch --quiet "*) {hangs};; esac'
        monkeypatch.setenv("PATH", f"{script(tmp_path / 'bin' / 'git', body).parent}:{PATH}")
    before = sha(remote.work)
    for timeout in (1.5, 6.0, 24.0):
        started = time.monotonic()
        error = failed(GitTool(remote.work).pull(timeout=timeout))
        assert time.monotonic() - started < timeout + 3.0
        if mark.exists():
            break
    mark.unlink()
    assert (error.cause, error.effect) == ("timeout", "unknown" if where == "rebase" else "none")
    assert sha(remote.work) == before


def test_a_refused_pull_fetches_nothing_inside_a_hook_of_the_repository(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(remote.work / ".git"))
    tracked, _ = sha(remote.work, "origin/main"), remote.colleague_pushes()
    error = failed(pull(remote))
    assert (error.cause, error.effect) == ("refused", "none")
    assert sha(remote.work, "origin/main") == tracked
