"""`merge` and `rebase`: another history of the repository brought in, or everything as it was before."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from outcomes import failed, message, state
from worlds.repository import GIT, PATH, commit, git, hook, run_git, script, seed, sha, write

from orca.errors import CommandFailed, RuntimeError
from orca.results import Result, or_raise
from orca.tools import GitTool, Merge, Rebase

LATE_S = 3.0
Bring = Callable[[Path], Result[Merge, RuntimeError] | Result[Rebase, RuntimeError]]


def merge(repository: Path) -> Result[Merge, RuntimeError]:
    return GitTool(repository).merge("topic")


def rebase(repository: Path) -> Result[Rebase, RuntimeError]:
    return GitTool(repository).rebase("topic")


BOTH = pytest.mark.parametrize("bring", [merge, rebase])


@pytest.fixture
def diverged(repo: Path) -> Path:
    """`main` has `ours.txt`, the branch `topic` has `theirs.txt`."""
    git(repo, "switch", "--quiet", "-c", "topic")
    commit(repo, "theirs.txt")
    git(repo, "switch", "--quiet", "main")
    commit(repo, "ours.txt")
    return repo


@pytest.fixture
def conflicting(diverged: Path) -> Path:
    """Both have changed `a.txt`, too."""
    git(diverged, "switch", "--quiet", "topic")
    commit(diverged, "a.txt", "theirs\n")
    git(diverged, "switch", "--quiet", "main")
    commit(diverged, "a.txt", "ours\n")
    return diverged


def parents(repository: Path, revision: str = "HEAD") -> list[str]:
    return git(repository, "log", "-1", "--format=%P", revision).decode().split()


def everything(repository: Path) -> tuple[object, ...]:
    """All that a call which fails must leave as it was."""
    going_on = [(repository / ".git" / name).exists() for name in ("MERGE_HEAD", "rebase-merge", "index.lock")]
    return state(repository), git(repository, "ls-files", "-v", "-z"), going_on


# What comes of it.


def test_a_branch_that_is_behind_moves_forward(diverged: Path) -> None:
    git(diverged, "switch", "--quiet", "-c", "behind", "main^")
    assert or_raise(merge(diverged)) == Merge(sha(diverged, "topic"), fast_forward=True)
    assert (sha(diverged), (diverged / "theirs.txt").exists()) == (sha(diverged, "topic"), True)
    assert or_raise(merge(diverged)) == Merge(sha(diverged, "topic"), fast_forward=True)


def test_two_histories_meet_in_a_merge_commit(diverged: Path) -> None:
    ours, theirs = sha(diverged), sha(diverged, "topic")
    assert or_raise(merge(diverged)) == Merge(sha(diverged), fast_forward=False)
    assert parents(diverged) == [ours, theirs]
    assert message(diverged) == b"Merge branch 'topic'\n"
    assert or_raise(GitTool(diverged).status()).clean


TITLES = {
    "topic": "Merge branch 'topic'",
    "refs/heads/topic": "Merge branch 'topic'",
    "origin/topic": "Merge remote-tracking branch 'origin/topic'",
    "v1": "Merge tag 'v1'",
    "topic~0": "Merge commit 'topic~0'",
}


@pytest.mark.parametrize("rev", TITLES)
def test_the_message_names_what_was_merged(rev: str, diverged: Path) -> None:
    git(diverged, "tag", "-a", "-m", "a tag", "v1", "topic")
    git(diverged, "update-ref", "refs/remotes/origin/topic", "topic")
    assert or_raise(GitTool(diverged).merge(rev)).fast_forward is False
    assert message(diverged).decode() == TITLES[rev] + "\n"
    assert parents(diverged)[1] == sha(diverged, "topic")


def test_the_message_is_the_callers(diverged: Path) -> None:
    text = "-m subject\n\n# no comment\n\n  end: gr\u00fc\u00df\n"
    git(diverged, "config", "merge.log", "true")
    git(diverged, "config", "i18n.commitEncoding", "ISO-8859-1")
    git(diverged, "config", "commit.cleanup", "strip")
    or_raise(GitTool(diverged).merge("topic", text))
    assert message(diverged) == text.encode()


@pytest.mark.parametrize("text", ["", " \n", "a\0b", "\ud800"])
def test_a_message_that_is_none_is_refused(text: str, diverged: Path) -> None:
    before = everything(diverged)
    error = failed(GitTool(diverged).merge("topic", text))
    assert (error.cause, error.effect) == ("bad-argument", "none")
    assert everything(diverged) == before


def test_ours_go_on_top_of_theirs(diverged: Path) -> None:
    ours, theirs = sha(diverged), sha(diverged, "topic")
    assert or_raise(rebase(diverged)) == Rebase(ours, sha(diverged))
    assert (parents(diverged), sha(diverged) != ours) == ([theirs], True)
    assert or_raise(GitTool(diverged).current_branch()) == "main"
    new = sha(diverged)
    assert or_raise(rebase(diverged)) == Rebase(new, new)


@pytest.mark.parametrize("signs", [True, False])
def test_what_stands_on_top_already_is_not_made_anew(signs: bool, diverged: Path) -> None:
    """With a merge among it, too; and though every new commit would be signed."""
    or_raise(merge(diverged))
    old = commit(diverged, "more.txt")
    if signs:
        git(diverged, "config", "commit.gpgSign", "true")
        git(diverged, "config", "gpg.program", "false")
    assert or_raise(GitTool(diverged).rebase("main~2")) == Rebase(old, old)
    assert or_raise(GitTool(diverged).rebase("HEAD")) == Rebase(old, old)


def test_a_branch_that_is_behind_moves_forward_by_a_rebase_too(diverged: Path) -> None:
    git(diverged, "switch", "--quiet", "-c", "behind", "main^")
    old = sha(diverged)
    assert or_raise(rebase(diverged)) == Rebase(old, sha(diverged, "topic"))


def test_merges_are_kept_and_other_branches_stay(diverged: Path) -> None:
    git(diverged, "branch", "onto", "main^")
    git(diverged, "switch", "--quiet", "onto")
    onto = commit(diverged, "onto.txt")
    git(diverged, "switch", "--quiet", "main")
    or_raise(merge(diverged))
    git(diverged, "branch", "other")
    other = sha(diverged)
    or_raise(GitTool(diverged).rebase("onto"))
    assert len(parents(diverged)) == 2
    assert git(diverged, "merge-base", "HEAD^1", "HEAD^2").decode().strip() == onto
    assert sha(diverged, "other") == other


def test_what_onto_has_already_is_left_out(diverged: Path) -> None:
    git(diverged, "switch", "--quiet", "topic")
    git(diverged, "cherry-pick", "main")
    git(diverged, "switch", "--quiet", "main")
    assert or_raise(rebase(diverged)).new == sha(diverged, "topic")


@BOTH
def test_a_detached_head_is_moved_alone(bring: Bring, diverged: Path) -> None:
    ours = sha(diverged)
    git(diverged, "switch", "--quiet", "--detach")
    or_raise(bring(diverged))
    assert or_raise(GitTool(diverged).current_branch()) is None
    assert (sha(diverged, "main"), sha(diverged) != ours) == (ours, True)


def test_a_branch_without_a_commit_gets_that_of_the_other(diverged: Path) -> None:
    git(diverged, "switch", "--quiet", "--orphan", "new")
    assert or_raise(merge(diverged)) == Merge(sha(diverged, "topic"), fast_forward=True)
    assert or_raise(GitTool(diverged).current_branch()) == "new"
    git(diverged, "switch", "--quiet", "--orphan", "newer")
    assert failed(rebase(diverged)).cause == "unborn"


def test_a_branch_without_a_commit_keeps_what_is_staged(diverged: Path) -> None:
    git(diverged, "switch", "--quiet", "--orphan", "new")
    write(diverged / "a.txt", "precious\n")
    git(diverged, "add", "a.txt")
    before = everything(diverged)
    error = failed(merge(diverged))
    assert (error.cause, error.effect) == ("dirty", "none")
    assert everything(diverged) == before


OPTIONS = ["-x", "--abort", "", "a\nb", "^topic"]


@BOTH
@pytest.mark.parametrize("rev", [*OPTIONS, "absent", "main..topic", "HEAD:a.txt", "HEAD^{tree}"])
def test_what_is_no_commit_is_refused(bring: Bring, rev: str, diverged: Path) -> None:
    before = everything(diverged)
    tool = GitTool(diverged)
    error = failed(tool.merge(rev) if bring is merge else tool.rebase(rev))
    assert (error.cause, error.effect) == ("bad-ref-name" if rev in OPTIONS else "unknown-ref", "none")
    assert everything(diverged) == before


def test_unrelated_histories_are_not_merged(diverged: Path, tmp_path: Path) -> None:
    git(diverged, "fetch", "--quiet", seed(tmp_path / "other"), "main:refs/heads/other")
    git(tmp_path / "other", "commit", "--quiet", "--amend", "-m", "another root")
    git(diverged, "fetch", "--quiet", "--force", tmp_path / "other", "main:refs/heads/other")
    before = everything(diverged)
    error = failed(GitTool(diverged).merge("other"))
    assert (error.cause, error.exit_code, error.effect) == ("exit", 128, "none")
    assert everything(diverged) == before


@BOTH
def test_a_bare_repository_has_no_worktree_to_bring_anything_into(bring: Bring, diverged: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", diverged, "bare.git")
    error = failed(bring(tmp_path / "bare.git"))
    assert (error.cause, error.effect) == ("not-a-repository", "none")


@BOTH
def test_a_linked_worktree_brings_in_on_its_own(bring: Bring, diverged: Path, tmp_path: Path) -> None:
    git(diverged, "worktree", "add", "--quiet", "-b", "linked", tmp_path / "linked", "main")
    main = state(diverged)
    or_raise(bring(tmp_path / "linked"))
    assert (sha(diverged, "linked") != sha(diverged), state(diverged).files) == (True, main.files)


@BOTH
def test_a_repository_of_sha256(bring: Bring, tmp_path: Path) -> None:
    repository = tmp_path / "sha256"
    git(tmp_path, "init", "--quiet", "--object-format=sha256", repository)
    commit(repository, "a.txt")
    git(repository, "switch", "--quiet", "-c", "topic")
    commit(repository, "theirs.txt")
    git(repository, "switch", "--quiet", "main")
    commit(repository, "ours.txt")
    or_raise(bring(repository))
    assert (len(sha(repository)), (repository / "theirs.txt").exists()) == (64, True)


# Conflicts.


@BOTH
def test_a_conflict_stays_in_progress_until_abort_brings_all_back(bring: Bring, conflicting: Path) -> None:
    write(conflicting / "untracked", "untracked\n")
    before, tool = state(conflicting), GitTool(conflicting)
    error = failed(bring(conflicting))
    assert (error.cause, error.paths, error.effect) == ("conflict", ("a.txt",), "unknown")
    assert or_raise(tool.conflicts()) == ("a.txt",)
    again = failed(bring(conflicting))
    assert (again.cause, again.paths, again.effect) == ("conflict", ("a.txt",), "none")
    assert or_raise(tool.abort()) == bring.__name__
    assert state(conflicting) == before


def test_a_conflict_can_be_resolved_and_committed(conflicting: Path) -> None:
    assert failed(merge(conflicting)).cause == "conflict"
    write(conflicting / "a.txt", "both\n")
    or_raise(GitTool(conflicting).commit("Merged", add=["a.txt"]))
    assert len(parents(conflicting)) == 2


@BOTH
def test_a_conflict_in_a_name_that_is_no_text(bring: Bring, diverged: Path) -> None:
    name = b"-na\nme\xff"
    path = bytes(diverged) + b"/" + name
    for branch in ("topic", "main"):
        git(diverged, "switch", "--quiet", branch)
        with open(path, "w") as file:
            file.write(branch)
        git(diverged, "add", "--", name)
        git(diverged, "commit", "--quiet", "-m", branch)
    assert failed(bring(diverged)).paths == ("-na\nme\\udcff",)


# What the user has set.

HOSTILE = {
    "pull.ff": "only",
    "pull.rebase": "interactive",
    "pull.twohead": "ours",
    "merge.ff": "only",
    "merge.log": "true",
    "merge.autoStash": "true",
    "merge.conflictStyle": "diff3",
    "merge.renames": "false",
    "merge.directoryRenames": "false",
    "rebase.autoStash": "true",
    "rebase.autoSquash": "true",
    "rebase.updateRefs": "true",
    "rebase.backend": "apply",
    "rebase.forkPoint": "true",
    "rebase.missingCommitsCheck": "error",
    "rebase.abbreviateCommands": "true",
    "rerere.enabled": "true",
    "rerere.autoUpdate": "true",
    "commit.cleanup": "strip",
    "core.commentChar": "p",
    "i18n.commitEncoding": "ISO-8859-1",
    "branch.main.rebase": "interactive",
    "branch.main.mergeOptions": "--no-commit --squash --strategy=ours",
}


@pytest.fixture
def hostile(diverged: Path, german: Mapping[str, str], hostile_display: Mapping[str, str]) -> Path:
    """The repository of a caller whose configuration is what a script would never expect."""
    for key, value in HOSTILE.items():
        git(diverged, "config", key, value)
    return diverged


@BOTH
@pytest.mark.parametrize("ff", ["only", "false"])
def test_the_call_says_how_and_no_configuration(bring: Bring, ff: str, hostile: Path) -> None:
    git(hostile, "config", "merge.ff", ff)
    ours, theirs = sha(hostile), sha(hostile, "topic")
    or_raise(bring(hostile))
    assert parents(hostile) == ([ours, theirs] if bring is merge else [theirs])
    assert {"ours.txt", "theirs.txt"} <= {path.name for path in hostile.iterdir()}
    assert or_raise(GitTool(hostile).status()).clean
    git(hostile, "switch", "--quiet", "-c", "behind", "topic^")
    or_raise(bring(hostile))
    assert sha(hostile) == theirs


def test_a_branch_whose_name_could_end_a_setting(diverged: Path) -> None:
    git(diverged, "branch", "--quiet", "--move", "main", "a=b.c")
    git(diverged, "config", "branch.a=b.c.mergeOptions", "--strategy=ours")
    or_raise(merge(diverged))
    assert (diverged / "theirs.txt").exists()


@BOTH
def test_a_conflict_looks_the_same_everywhere(bring: Bring, hostile: Path) -> None:
    for branch in ("topic", "main"):
        git(hostile, "switch", "--quiet", branch)
        write(hostile / "a.txt", f"{branch}\n")
        git(hostile, "commit", "--quiet", "-a", "-m", branch)
    assert failed(bring(hostile)).paths == ("a.txt",)
    assert b"|||||||" not in (hostile / "a.txt").read_bytes()


@BOTH
def test_a_change_follows_a_file_that_was_renamed(bring: Bring, hostile: Path) -> None:
    git(hostile, "switch", "--quiet", "-c", "ours", "topic")
    commit(hostile, "theirs.txt", f"by {hostile.name}\nand more\n")
    git(hostile, "switch", "--quiet", "topic")
    git(hostile, "mv", "theirs.txt", "renamed.txt")
    git(hostile, "commit", "--quiet", "-m", "renamed")
    git(hostile, "switch", "--quiet", "ours")
    or_raise(bring(hostile))
    assert (hostile / "renamed.txt").read_text() == f"by {hostile.name}\nand more\n"


def test_what_git_remembers_to_have_resolved_is_a_conflict_all_the_same(conflicting: Path) -> None:
    git(conflicting, "config", "rerere.enabled", "true")
    git(conflicting, "config", "rerere.autoUpdate", "true")
    assert failed(merge(conflicting)).cause == "conflict"
    write(conflicting / "a.txt", "both\n")
    git(conflicting, "commit", "--quiet", "-a", "-m", "merged")
    git(conflicting, "reset", "--quiet", "--hard", "HEAD^")
    error = failed(merge(conflicting))
    assert (error.cause, error.paths) == ("conflict", ("a.txt",))


@BOTH
def test_who_signs_every_commit_signs_these(bring: Bring, diverged: Path, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    git(diverged, "config", "commit.gpgSign", "true")
    git(diverged, "config", "gpg.program", str(script(tmp_path / "gpg", f"touch '{asked}'; exit 1")))
    hook(diverged, "commit-msg", "exit 0")  # which lets it pass, and is not to blame
    before = everything(diverged)
    error = failed(bring(diverged))
    assert asked.exists()
    assert (error.cause, error.effect) == ("signing-failed", "none")
    assert everything(diverged) == before


def test_who_demands_signatures_gets_no_other_commit(diverged: Path) -> None:
    git(diverged, "config", "merge.verifySignatures", "true")
    before = everything(diverged)
    error = failed(merge(diverged))
    assert (error.cause, error.effect) == ("exit", "none")
    assert "signature" in error.stderr
    assert everything(diverged) == before


@BOTH
def test_who_has_no_name_can_make_no_commit(bring: Bring, diverged: Path, home: Path) -> None:
    (home / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    before = everything(diverged)
    error = failed(bring(diverged))
    assert (error.cause, error.effect) == ("identity-missing", "none")
    assert everything(diverged) == before


HOOKS = [("merge", "pre-merge-commit"), ("merge", "commit-msg"), ("merge", "prepare-commit-msg")]
HOOKS += [("rebase", "pre-rebase"), ("rebase", "prepare-commit-msg")]


@pytest.mark.parametrize(("what", "name"), HOOKS)
def test_a_hook_that_refuses_leaves_everything_as_it_was(what: str, name: str, diverged: Path) -> None:
    write(diverged / "untracked", "untracked\n")
    git(diverged, "update-index", "--assume-unchanged", "ours.txt")
    before = everything(diverged)
    hook(diverged, name, "echo 'not on fridays' >&2; exit 1")
    error = failed(merge(diverged) if what == "merge" else rebase(diverged))
    assert (error.cause, error.effect) == ("hook-failed", "none")
    assert "not on fridays" in error.stderr
    assert everything(diverged) == before


@BOTH
def test_a_hook_of_this_repository_must_not_bring_anything_in(
    bring: Bring, diverged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(diverged / ".git"))
    before = everything(diverged)
    error = failed(bring(diverged))
    assert (error.cause, error.effect) == ("refused", "none")
    assert everything(diverged) == before


# What is in the way.


@BOTH
@pytest.mark.parametrize("staged", [True, False])
def test_changes_that_are_not_committed_are_not_lost(bring: Bring, staged: bool, conflicting: Path) -> None:
    write(conflicting / "a.txt", "precious\n")
    if staged:
        git(conflicting, "add", "a.txt")
    for key in ("merge.autoStash", "rebase.autoStash"):
        git(conflicting, "config", key, "true")
    before = everything(conflicting)
    error = failed(bring(conflicting))
    assert (error.cause, error.effect) == ("dirty", "none")
    assert everything(conflicting) == before
    assert git(conflicting, "stash", "list") == b""


def test_a_merge_leaves_changes_alone_that_are_not_in_its_way(conflicting: Path) -> None:
    write(conflicting / "ours.txt", "precious\n")
    before = state(conflicting)
    assert failed(merge(conflicting)).cause == "conflict"
    or_raise(GitTool(conflicting).abort())
    assert state(conflicting) == before
    git(conflicting, "switch", "--quiet", "--force", "-c", "behind", "main~2")
    write(conflicting / "new.txt", "precious\n")
    git(conflicting, "add", "new.txt")
    assert or_raise(merge(conflicting)).fast_forward
    assert or_raise(GitTool(conflicting).status()).staged[0].path == "new.txt"


@BOTH
@pytest.mark.parametrize("ignored", [True, False])
def test_files_in_the_way_are_not_overwritten(bring: Bring, ignored: bool, diverged: Path) -> None:
    if ignored:
        write(diverged / ".git" / "info" / "exclude", "theirs.txt\n")
    write(diverged / "theirs.txt", "precious\n")
    before = everything(diverged)
    error = failed(bring(diverged))
    assert (error.cause, error.effect) == ("dirty", "none")
    assert everything(diverged) == before


@BOTH
def test_an_ignored_file_where_a_moved_folder_takes_a_new_one_is_not_overwritten(bring: Bring, repo: Path) -> None:
    """They add a file to a folder that we have moved: git adds it to where the folder is now."""
    for name in "abc":
        commit(repo, f"old/{name}", f"{name * 99}\n")
    git(repo, "switch", "--quiet", "-c", "topic")
    commit(repo, "old/key", "theirs\n")
    git(repo, "switch", "--quiet", "main")
    git(repo, "mv", "old", "new")
    git(repo, "commit", "--quiet", "-m", "moved")
    write(repo / ".git" / "info" / "exclude", "key\n")
    write(repo / "new" / "key", "precious\n")
    before = everything(repo)
    error = failed(bring(repo))
    assert (error.cause, error.paths, error.effect) == ("dirty", ("new/key",), "none")
    assert everything(repo) == before


@BOTH
@pytest.mark.parametrize("lock", ["index.lock", "HEAD.lock", "refs/heads/main.lock"])
def test_a_lock_that_another_git_holds_stops_it(bring: Bring, lock: str, diverged: Path) -> None:
    before = state(diverged)
    write(diverged / ".git" / lock, "")
    error = failed(bring(diverged))
    assert (error.cause, error.effect) == ("locked", "none")
    (diverged / ".git" / lock).unlink()
    assert state(diverged) == before
    or_raise(bring(diverged))


@BOTH
def test_another_operation_in_progress_is_not_touched(bring: Bring, conflicting: Path) -> None:
    assert run_git(conflicting, "cherry-pick", "topic").returncode == 1
    before = everything(conflicting)
    error = failed(bring(conflicting))
    assert (error.cause, error.paths, error.effect) == ("conflict", ("a.txt",), "none")
    assert everything(conflicting) == before


# Out of time.


HANGS = "touch '{0}'; while test -e '{0}'; do sleep 0.05; done"


def out_of_time(repository: Path, what: str, mark: Path) -> CommandFailed:
    """The failure of a call that gets to where it leaves a mark, and hangs until it is taken away."""
    tool = GitTool(repository)
    for timeout in (1.5, 6.0, 24.0):
        started = time.monotonic()
        error = failed(
            tool.merge("topic", timeout=timeout) if what == "merge" else tool.rebase("topic", timeout=timeout)
        )
        assert time.monotonic() - started < timeout + LATE_S
        if mark.exists():
            break
    mark.unlink()
    assert error.cause == "timeout"
    return error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("merge", "pre-merge-commit"),
        ("merge", "commit-msg"),
        ("merge", "post-merge"),
        ("rebase", "post-checkout"),
        ("rebase", "post-rewrite"),
    ],
)
def test_what_runs_out_of_time_in_a_hook_is_undone(what: str, name: str, diverged: Path, tmp_path: Path) -> None:
    before, mark = everything(diverged), tmp_path / "hangs"
    hook(diverged, name, HANGS.format(mark))
    assert out_of_time(diverged, what, mark).effect == "none"
    assert everything(diverged) == before


@pytest.mark.slow
@pytest.mark.parametrize("what", ["merge", "rebase"])
def test_what_was_done_when_the_time_ran_out_is_undone(
    what: str, diverged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, mark = everything(diverged), tmp_path / "hangs"
    body = f'{GIT} "$@" || exit\ncase "$*" in *" {what} --quiet "*) {HANGS.format(mark)};; esac'
    monkeypatch.setenv("PATH", f"{script(tmp_path / 'bin' / 'git', body).parent}:{PATH}")
    assert out_of_time(diverged, what, mark).effect == "none"
    assert everything(diverged) == before


@pytest.mark.slow
def test_what_cannot_be_undone_says_so(diverged: Path, tmp_path: Path) -> None:
    mark = tmp_path / "hangs"
    hook(diverged, "pre-merge-commit", f"touch left.txt; {HANGS.format(mark)}")
    assert out_of_time(diverged, "merge", mark).effect == "unknown"
