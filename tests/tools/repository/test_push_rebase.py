"""`push(on_rejected="rebase")`: onto what a colleague has pushed meanwhile, or everything as it was before."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from outcomes import State, error_of, failed, rejected, state
from worlds.remote import Remote
from worlds.repository import GIT, PATH, commit, git, hook, run_git, script, sha, write

from orca.errors import CommandCause, CommandFailed, NothingToCommit, PushRejected, RuntimeError, nothing_to_commit
from orca.results import Failure, Result, Success, or_raise
from orca.tools import GitTool, Push

LATE_S = 3.0


@dataclass(frozen=True)
class Everything:
    """All of a repository that a rebase touches: also modes, and the index byte for byte."""

    state: State
    index: bytes
    modes: dict[str, int]
    operation: tuple[bool, ...]


def everything(repository: Path) -> Everything:
    # The refs of the remote are brought up to date in any case.
    refs = state(repository)
    local = b"\n".join(line for line in refs.refs.split(b"\n") if not line.startswith(b"refs/remotes/"))
    paths = [path for path in repository.rglob("*") if ".git" not in path.parts]
    return Everything(
        state=State(refs.head, local, refs.index, refs.files),
        index=(repository / ".git" / "index").read_bytes(),
        modes={str(path): path.lstat().st_mode for path in paths},
        operation=tuple(
            (repository / ".git" / name).exists() for name in ("rebase-merge", "rebase-apply", "index.lock")
        ),
    )


class Rechecks:
    """A recheck that counts its calls, and does what it is told before it succeeds."""

    def __init__(self, act: Callable[[], object] = lambda: None) -> None:
        self.calls = 0
        self._act = act

    def __call__(self) -> Result[None, RuntimeError]:
        self.calls += 1
        self._act()
        return Success(None)


def push(
    remote: Remote, recheck: Callable[[], Result[object, RuntimeError]] | None = None
) -> Result[Push, RuntimeError]:
    return GitTool(remote.work).push(on_rejected="rebase", recheck=recheck, timeout=60.0)


def conflict(remote: Remote) -> None:
    """Both have changed `a.txt`; beside it lies what a rebase must leave alone."""
    commit(remote.colleague, "a.txt", "theirs\n")
    git(remote.colleague, "push", "--quiet", "origin", "main")
    commit(remote.work, "first.txt", "ours\n")
    commit(remote.work, "a.txt", "ours\n")
    write(remote.work / ".git" / "info" / "exclude", "*.ignored\n")
    write(remote.work / "untracked", "untracked\n").chmod(0o600)
    write(remote.work / "some.ignored", "ignored\n")
    (remote.work / "link").symlink_to("nowhere")


def test_ours_go_on_top_of_what_the_colleague_pushed(remote: Remote) -> None:
    theirs = remote.colleague_pushes()
    ours = commit(remote.work)
    recheck = Rechecks((remote.work / "c.txt").read_text)
    pushed = or_raise(push(remote, recheck))
    assert (pushed.rebased, recheck.calls) == (True, 1)
    assert pushed.head == remote.head() == sha(remote.work)
    assert sha(remote.work, "HEAD^") == theirs == pushed.refs[0].old
    assert pushed.head != ours


def test_nothing_is_rebased_where_nothing_was_rejected(remote: Remote) -> None:
    ours, recheck = commit(remote.work), Rechecks()
    pushed = or_raise(push(remote, recheck))
    assert (pushed.rebased, pushed.head, recheck.calls) == (False, ours, 0)


def test_a_rejection_is_returned_unless_a_rebase_was_asked_for(remote: Remote) -> None:
    remote.colleague_pushes()
    ours = commit(remote.work)
    assert rejected(GitTool(remote.work).push()).cause == "fetch-first"
    assert sha(remote.work) == ours


@pytest.mark.parametrize("cause", ["fetch-first", "non-fast-forward"])
def test_both_faces_of_a_remote_that_has_moved_on(cause: str, remote: Remote) -> None:
    remote.colleague_pushes()
    commit(remote.work)
    if cause == "non-fast-forward":
        git(remote.work, "fetch", "--quiet")
    assert rejected(GitTool(remote.work).push()).cause == cause
    assert or_raise(push(remote)).rebased


def test_another_refusal_is_not_answered_with_a_rebase(remote: Remote) -> None:
    hook(remote.bare, "pre-receive", "exit 1")
    ours, recheck = commit(remote.work), Rechecks()
    assert rejected(push(remote, recheck)).cause == "hook-declined"
    assert (sha(remote.work), recheck.calls) == (ours, 0)


def test_a_failed_recheck_is_returned_and_the_branch_stays_rebased(remote: Remote) -> None:
    theirs = remote.colleague_pushes()
    commit(remote.work)
    failure = Failure(nothing_to_commit(unstaged=7))
    assert error_of(push(remote, lambda: failure)) == NothingToCommit(unstaged=7)
    assert sha(remote.work, "HEAD^") == theirs == remote.head()
    assert or_raise(push(remote)).head == remote.head()


def test_an_exception_of_the_recheck_passes_through(remote: Remote) -> None:
    theirs = remote.colleague_pushes()
    commit(remote.work)

    def recheck() -> Result[None, RuntimeError]:
        raise LookupError("the callback's own")

    with pytest.raises(LookupError, match="own"):
        push(remote, recheck)
    assert remote.head() == theirs
    assert or_raise(GitTool(remote.work).status()).branch == "main"


def test_a_recheck_that_returns_no_result_is_misuse(remote: Remote) -> None:
    theirs = remote.colleague_pushes()
    commit(remote.work)
    with pytest.raises(TypeError):
        push(remote, lambda: None)  # type: ignore[arg-type, return-value]
    assert remote.head() == theirs


def test_a_recheck_may_use_the_git_tool_and_what_it_commits_is_pushed(remote: Remote) -> None:
    remote.colleague_pushes()
    commit(remote.work)

    def recheck() -> Result[object, RuntimeError]:
        write(remote.work / "fixed.txt", "fixed\n")
        return GitTool(remote.work).commit("fix", add=["fixed.txt"])

    pushed = or_raise(push(remote, recheck))
    assert pushed.head == remote.head() == sha(remote.work)
    assert git(remote.bare, "log", "--format=%s", "main").split() == [b"fix", b"change", b"colleague", b"seed"]


def test_a_colleague_who_always_pushes_first_ends_the_attempts(remote: Remote) -> None:
    remote.colleague_pushes()
    commit(remote.work)
    recheck = Rechecks(lambda: remote.colleague_pushes("c.txt", f"{recheck.calls}\n"))
    assert rejected(push(remote, recheck)).cause == "fetch-first"
    assert recheck.calls == 2  # after the first and the second of three attempts
    assert sha(remote.work, "HEAD^") == sha(remote.bare, "main^")  # rebased twice, and one behind again
    assert or_raise(GitTool(remote.work).push(on_rejected="rebase", attempts=2)).head == remote.head()


def test_one_attempt_is_no_rebase(remote: Remote) -> None:
    remote.colleague_pushes()
    ours = commit(remote.work)
    assert isinstance(error_of(GitTool(remote.work).push(on_rejected="rebase", attempts=1)), PushRejected)
    assert sha(remote.work) == ours


def test_a_conflict_leaves_everything_as_it_was(remote: Remote) -> None:
    conflict(remote)
    git(remote.work, "update-index", "--assume-unchanged", "first.txt")
    before, recheck = everything(remote.work), Rechecks()
    error = failed(push(remote, recheck))
    assert (error.cause, error.paths, error.effect) == ("conflict", ("a.txt",), "none")
    assert everything(remote.work) == before
    assert git(remote.work, "ls-files", "-v", "first.txt").startswith(b"h ")
    assert (recheck.calls, git(remote.work, "for-each-ref", "refs/orca")) == (0, b"")


HOSTILE = {
    "rebase.autoStash": "true",
    "rebase.autoSquash": "true",
    "rebase.updateRefs": "true",
    "rebase.backend": "apply",
    "rebase.missingCommitsCheck": "error",
    "rebase.abbreviateCommands": "true",
    "pull.rebase": "interactive",
    "pull.twohead": "ours",
    "rerere.enabled": "true",
    "rerere.autoUpdate": "true",
    "merge.conflictStyle": "diff3",
    "merge.ff": "only",
    "commit.cleanup": "strip",
    "core.commentChar": "p",
    "branch.main.rebase": "interactive",
    "branch.main.mergeOptions": "--squash",
    "sequence.editor": "false",
    "core.editor": "false",
}


@pytest.fixture
def hostile(remote: Remote) -> Remote:
    """The remote, and a caller whose configuration of rebase is what a script would never expect."""
    for key, value in HOSTILE.items():
        git(remote.work, "config", key, value)
    return remote


def test_a_conflict_that_git_remembers_the_answer_of_is_one_all_the_same(hostile: Remote) -> None:
    conflict(hostile)
    git(hostile.work, "fetch", "--quiet")
    merge = ("-c", "branch.main.mergeOptions=--no-ff", "-c", "pull.twohead=ort", "merge", "origin/main")
    assert run_git(hostile.work, *merge).returncode == 1
    write(hostile.work / "a.txt", "both\n")
    git(hostile.work, "commit", "--quiet", "-a", "-m", "merged")
    assert (hostile.work / ".git" / "rr-cache").is_dir()
    git(hostile.work, "reset", "--quiet", "--hard", "HEAD^")
    before = everything(hostile.work)
    error = failed(push(hostile))
    assert (error.cause, error.paths, error.effect) == ("conflict", ("a.txt",), "none")
    assert everything(hostile.work) == before


def test_configuration_changes_neither_messages_nor_other_branches(hostile: Remote) -> None:
    hostile.colleague_pushes()
    message = b"subject\n\nput away where that is the comment character\n# and so would this\n\n\nend\n"
    write(hostile.work / "b.txt", "b\n")
    git(hostile.work, "add", "b.txt")
    git(hostile.work, "commit", "--quiet", "--cleanup=verbatim", "-F", "-", stdin=message)
    git(hostile.work, "branch", "other")
    other = sha(hostile.work)
    commit(hostile.work, "d.txt", message="fixup! subject")
    or_raise(push(hostile))
    assert git(hostile.bare, "log", "-1", "--format=%B", "main^").rstrip(b"\n") == message.rstrip(b"\n")
    assert git(hostile.bare, "log", "--format=%s", "main").splitlines()[0] == b"fixup! subject"
    assert sha(hostile.work, "other") == other


def test_a_dirty_worktree_is_left_alone_by_any_configuration(hostile: Remote) -> None:
    hostile.colleague_pushes()
    ours = commit(hostile.work)
    write(hostile.work / "a.txt", "not committed\n")
    before = everything(hostile.work)
    error = failed(push(hostile))
    assert (error.cause, error.effect) == ("dirty", "none")
    assert everything(hostile.work) == before
    assert (sha(hostile.work), git(hostile.work, "stash", "list")) == (ours, b"")


def test_it_works_in_german_and_with_a_hostile_display(
    remote: Remote, german: Mapping[str, str], hostile_display: Mapping[str, str]
) -> None:
    conflict(remote)
    before = everything(remote.work)
    assert failed(push(remote)).cause == "conflict"
    assert everything(remote.work) == before
    git(remote.work, "reset", "--quiet", "--hard", "HEAD^")
    assert or_raise(push(remote)).rebased


IN_THE_WAY: dict[str, tuple[str, str, str, CommandCause]] = {
    "an untracked file": ("there.txt", "there.txt", "", "dirty"),
    "an ignored file": ("there.txt", "there.txt", "there.txt", "dirty"),
    "an ignored file where a folder goes": ("out", "out/there.txt", "out", "dirty"),
    "an ignored file in a folder where a file goes": ("out/there.txt", "out", "out/*", "dirty"),
    "an ignored folder where a file goes": ("out/there.txt", "out", "out", "dirty"),
}


@pytest.mark.parametrize("case", IN_THE_WAY)
def test_what_is_in_the_way_is_not_overwritten(case: str, remote: Remote) -> None:
    ours, theirs, ignored, cause = IN_THE_WAY[case]
    commit(remote.colleague, theirs, "theirs\n")
    git(remote.colleague, "push", "--quiet", "origin", "main")
    commit(remote.work, ".gitignore", f"/{ignored}\n")
    write(remote.work / ours, "precious\n")
    before = everything(remote.work)
    error = failed(push(remote))
    assert (error.cause, error.effect) == (cause, "none")
    assert error.paths == ((ours,) if ignored and "folder where" not in case else error.paths)
    assert everything(remote.work) == before


@pytest.mark.parametrize("ignored", ["*.secret", ""])
def test_a_file_that_an_earlier_commit_of_ours_held_is_not_overwritten(ignored: str, remote: Remote) -> None:
    """A commit took it in by mistake, a later one took it out again: a rebase makes both anew."""
    write(remote.work / ".git" / "info" / "exclude", f"{ignored}\n")
    write(remote.work / "key.secret", "by mistake\n")
    git(remote.work, "add", "--force", "key.secret")
    git(remote.work, "commit", "--quiet", "-m", "by mistake")
    git(remote.work, "rm", "--quiet", "--cached", "key.secret")
    git(remote.work, "commit", "--quiet", "-m", "taken out")
    write(remote.work / "key.secret", "precious\n")
    remote.colleague_pushes()
    before = everything(remote.work)
    error = failed(push(remote))
    assert (error.cause, error.effect) == ("dirty", "none")
    assert everything(remote.work) == before


def test_a_pre_rebase_hook_may_refuse(remote: Remote) -> None:
    remote.colleague_pushes()
    commit(remote.work)
    hook(remote.work, "pre-rebase", "echo 'no rebase on fridays' >&2; exit 1")
    before = everything(remote.work)
    error = failed(push(remote))
    assert (error.cause, error.effect) == ("hook-failed", "none")
    assert "no rebase on fridays" in error.stderr
    assert everything(remote.work) == before


def test_a_hook_that_lets_a_rebase_pass_is_not_blamed_for_what_stops_it(remote: Remote) -> None:
    hook(remote.work, "pre-rebase", "exit 0")
    conflict(remote)
    write(remote.work / "a.txt", "dirty\n")
    assert failed(push(remote)).cause == "dirty"
    git(remote.work, "checkout", "--quiet", "a.txt")
    assert failed(push(remote)).cause == "conflict"


def test_merges_among_ours_are_kept(remote: Remote) -> None:
    git(remote.work, "switch", "--quiet", "-c", "topic")
    commit(remote.work, "topic.txt")
    git(remote.work, "switch", "--quiet", "main")
    commit(remote.work, "main.txt")
    git(remote.work, "merge", "--quiet", "--no-ff", "-m", "merged", "topic")
    theirs = remote.colleague_pushes()
    or_raise(push(remote))
    parents = git(remote.bare, "log", "-1", "--format=%s %P", "main").split()
    assert (parents[0], len(parents)) == (b"merged", 3)
    assert git(remote.bare, "merge-base", parents[1], parents[2]).strip().decode() == theirs


def test_a_commit_that_the_remote_has_already_is_dropped(remote: Remote) -> None:
    for clone in (remote.work, remote.colleague):
        commit(clone, "same.txt", "same\n", f"by {clone.name}")
    git(remote.colleague, "push", "--quiet", "origin", "main")
    theirs = remote.head()
    pushed = or_raise(push(remote))
    assert pushed.head == sha(remote.work) == theirs
    assert (pushed.rebased, pushed.refs[0].kind) == (True, "unchanged")


def test_another_branch_than_the_current_one_is_not_rebased(remote: Remote) -> None:
    remote.colleague_pushes()
    ours = commit(remote.work)
    for current in (("-c", "topic"), ("--detach",)):
        git(remote.work, "switch", "--quiet", *current)
        error = rejected(GitTool(remote.work).push(branch="main", on_rejected="rebase"))
        assert error.cause == "fetch-first"
        assert sha(remote.work, "main") == ours


def test_a_detached_head_has_no_branch_to_push(remote: Remote) -> None:
    git(remote.work, "switch", "--quiet", "--detach")
    assert failed(push(remote)).cause == "detached"


def test_tags_do_not_go_along_with_a_rebase(remote: Remote) -> None:
    with pytest.raises(ValueError, match="tags"):
        GitTool(remote.work).push(tags=["v1"], on_rejected="rebase")


def test_a_rebase_in_progress_is_not_touched(remote: Remote) -> None:
    conflict(remote)
    git(remote.work, "branch", "--quiet", "mine")
    git(remote.work, "fetch", "--quiet")
    run_git(remote.work, "rebase", "origin/main")
    git(remote.work, "symbolic-ref", "HEAD", "refs/heads/main")
    before = everything(remote.work)
    error = failed(push(remote))
    assert (error.cause, error.effect, error.paths) == ("conflict", "none", ("a.txt",))
    assert everything(remote.work) == before


def test_one_of_two_addresses_that_took_the_push_forbids_a_rebase(remote: Remote) -> None:
    """Rebased, the push would be a rewrite of what the first has taken."""
    behind = remote.root / "behind.git"
    git(remote.root, "clone", "--quiet", "--bare", remote.bare, behind)
    remote.colleague_pushes()
    for url in (behind, remote.bare):
        git(remote.work, "config", "--add", "remote.origin.pushurl", url)
    ours = commit(remote.work)
    error = rejected(push(remote))
    assert (error.cause, error.landed, error.effect) == ("fetch-first", ("refs/heads/main",), "landed")
    assert sha(remote.work) == ours == sha(behind, "main")


def out_of_time(remote: Remote, mark: Path) -> CommandFailed:
    """The failure of a push whose rebase gets to where it leaves a mark, and hangs until it is taken away."""
    for timeout in (1.5, 6.0, 24.0):
        started = time.monotonic()
        error = failed(GitTool(remote.work).push(on_rejected="rebase", timeout=timeout))
        assert time.monotonic() - started < timeout + LATE_S
        if mark.exists():
            break
    mark.unlink()
    assert error.cause == "timeout"
    assert git(remote.work, "for-each-ref", "refs/orca") == b""
    return error


def late(remote: Remote) -> None:
    """A push of `main` will be rejected, and its rebase finds all that it needs here."""
    remote.colleague_pushes()
    commit(remote.work)
    git(remote.work, "fetch", "--quiet")


HANGS = "touch '{0}'; while test -e '{0}'; do sleep 0.05; done"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pre-rebase", "post-checkout", "post-commit", "post-rewrite"])
def test_a_rebase_that_runs_out_of_time_in_a_hook_is_undone(name: str, remote: Remote, tmp_path: Path) -> None:
    late(remote)
    before, mark = everything(remote.work), tmp_path / "hangs"
    hook(remote.work, name, HANGS.format(mark))
    assert out_of_time(remote, mark).effect == "none"
    assert everything(remote.work) == before


@pytest.mark.slow
def test_a_rebase_that_was_done_when_the_time_ran_out_is_undone(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late(remote)
    before, mark = everything(remote.work), tmp_path / "hangs"
    body = f'{GIT} "$@" || exit\ncase "$*" in *" rebase --quiet "*) {HANGS.format(mark)};; esac'
    monkeypatch.setenv("PATH", f"{script(tmp_path / 'bin' / 'git', body).parent}:{PATH}")
    assert out_of_time(remote, mark).effect == "none"
    assert everything(remote.work) == before


@pytest.mark.slow
def test_a_rebase_that_left_something_behind_says_so(remote: Remote, tmp_path: Path) -> None:
    late(remote)
    before, mark = everything(remote.work), tmp_path / "hangs"
    hook(remote.work, "post-checkout", f"touch left.txt; {HANGS.format(mark)}")
    assert out_of_time(remote, mark).effect == "unknown"
    assert everything(remote.work).state.head == before.state.head


@pytest.mark.slow
def test_a_rebase_that_cannot_be_undone_says_so(remote: Remote, tmp_path: Path) -> None:
    """The hook hangs the way back as well."""
    late(remote)
    before, mark = everything(remote.work), tmp_path / "hangs"
    hook(remote.work, "reference-transaction", f"test -e .git/rebase-merge || exit 0; {HANGS.format(mark)}")
    assert out_of_time(remote, mark).effect == "unknown"
    assert everything(remote.work) != before
