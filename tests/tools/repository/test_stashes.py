"""`stash` and `pop_stash`: work put aside and brought back, whole or not at all, and never lost."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from outcomes import failed, files, message, staged, state
from worlds.disk import Disk
from worlds.repository import GIT, PATH, commit, copy, git, hook, run_git, script, sha, write

from orca.errors import CommandFailed, RuntimeError, UnsupportedFeature
from orca.results import Failure, Result, Success, or_raise, outcome
from orca.tools import GitTool, Stash
from orca.tools.repository.stash_log import newest, without
from orca.tools.repository.stash_trees import gitlinks, overlapping, parse_merged, staged_among

LATE_S = 3.0
GO = "read-tree --no-recurse-submodules"  # the step that takes away files, or brings them back


def worktree(repository: Path) -> tuple[object, ...]:
    """What a stash brings back: the files with their modes, every entry of the index, and what git says of both."""
    held = dict(files(os.fsencode(repository)))
    modes = {path: os.lstat(os.path.join(os.fsencode(repository), path)).st_mode & 0o170100 for path in held}
    return held, modes, staged(repository), git(repository, "status", "--porcelain", "-z", "--untracked-files=all")


def everything(repository: Path) -> tuple[object, ...]:
    return worktree(repository), state(repository), listed(repository), git(repository, "ls-files", "-v", "-z")


def listed(repository: Path) -> list[str]:
    """The stashes as git lists them, newest first."""
    return git(repository, "stash", "list", "--format=%H").decode().split()


def stash(repository: Path, text: str = "half done") -> Stash:
    made = or_raise(GitTool(repository).stash(text))
    assert made is not None
    return made


@pytest.fixture
def busy(repo: Path) -> Path:
    """Every kind of change at once: staged, unstaged, both in one file, deleted, moved, modes, links, untracked."""
    for name in ("both", "deleted", "moved", "mode", "removed", "staged", "unstaged", "kind", "folder", "kept"):
        write(repo / f"{name}.txt", f"{name} at first\n")
    git(repo, "add", ".")
    git(repo, "commit", "--quiet", "-m", "more")
    write(repo / ".git" / "info" / "exclude", "*.ignored\n")
    for name in ("staged", "both"):
        write(repo / f"{name}.txt", f"{name} as staged\n")
    git(repo, "rm", "--quiet", "--cached", "kept.txt")  # and still there
    git(repo, "rm", "--quiet", "removed.txt")
    git(repo, "mv", "moved.txt", "moved here.txt")
    git(repo, "add", "staged.txt", "both.txt")
    write(repo / "both.txt", "both in the worktree\n")
    write(repo / "unstaged.txt", "unstaged\n")
    write(repo / "gone again.txt", "staged, and gone\n")
    git(repo, "add", "gone again.txt")
    (repo / "gone again.txt").unlink()
    (repo / "deleted.txt").unlink()
    (repo / "mode.txt").chmod(0o755)
    (repo / "kind.txt").unlink()
    (repo / "kind.txt").symlink_to("nowhere")
    (repo / "folder.txt").unlink()
    write(repo / "folder.txt" / "inside", "inside\n")
    write(repo / "new" / "deep" / "untracked", "untracked\n").chmod(0o755)
    (repo / "link").symlink_to("/nowhere")
    write(repo / "new" / "some.ignored", "ignored\n")
    for odd in (b"-dash", b"*?[glob]", b"line\nbreak", b"no text \xff", b":colon"):
        with open(os.path.join(os.fsencode(repo), odd), "wb") as file:
            file.write(odd)
    return repo


# What it is.


def test_everything_comes_back_as_it_was(busy: Path) -> None:
    before = worktree(busy)
    made = stash(busy)
    assert (made.message, made.branch) == ("half done", "main")
    assert or_raise(GitTool(busy).status()).clean
    assert (busy / "new" / "some.ignored").read_text() == "ignored\n"
    assert not (busy / "new" / "deep").exists()
    assert listed(busy) == [made.sha]
    assert or_raise(GitTool(busy).pop_stash(made)) is None
    assert worktree(busy) == before
    assert listed(busy) == []
    assert run_git(busy, "rev-parse", "--verify", "refs/stash").returncode != 0


def test_where_there_is_nothing_there_is_no_stash(repo: Path) -> None:
    write(repo / ".git" / "info" / "exclude", "*.ignored\n")
    write(repo / "some.ignored", "ignored\n")
    os.utime(repo / "a.txt", (1, 1))
    (repo / "empty").mkdir()
    assert or_raise(GitTool(repo).stash("nothing")) is None
    assert (listed(repo), (repo / "some.ignored").exists(), (repo / "empty").exists()) == ([], True, True)


def test_the_entry_has_the_form_of_gits_own(busy: Path) -> None:
    made = stash(busy)
    assert git(busy, "stash", "list") == b"stash@{0}: On main: half done\n"
    assert len(git(busy, "log", "-1", "--format=%P", made.sha).split()) == 3
    assert {b"new/deep/untracked", b"link"} <= set(
        git(busy, "ls-tree", "-r", "-z", "--name-only", f"{made.sha}^3").split(b"\0")
    )


def test_a_stash_of_git_is_brought_back_by_its_sha(repo: Path) -> None:
    write(repo / "a.txt", "staged\n")
    git(repo, "add", "a.txt")
    write(repo / "a.txt", "unstaged\n")
    write(repo / "new.txt", "new\n")
    before = worktree(repo)
    git(repo, "stash", "push", "--quiet", "--include-untracked", "-m", "by hand")
    or_raise(GitTool(repo).pop_stash(Stash(sha(repo, "refs/stash"), "by hand", "main")))
    assert worktree(repo) == before


def test_git_brings_back_what_we_stashed(repo: Path) -> None:
    write(repo / "a.txt", "staged\n")
    git(repo, "add", "a.txt")
    write(repo / "a.txt", "unstaged\n")
    write(repo / "new.txt", "new\n")
    before = worktree(repo)
    stash(repo)
    git(repo, "stash", "pop", "--quiet", "--index")
    assert worktree(repo) == before


def test_untracked_files_alone_and_a_mode_alone(repo: Path) -> None:
    for change in (lambda: write(repo / "new.txt", "new\n"), lambda: (repo / "a.txt").chmod(0o755)):
        change()
        before = worktree(repo)
        made = stash(repo)
        assert or_raise(GitTool(repo).status()).clean
        or_raise(GitTool(repo).pop_stash(made))
        assert worktree(repo) == before


def test_what_was_intended_to_be_added_comes_back_untracked(repo: Path) -> None:
    write(repo / "new.txt", "new\n")
    git(repo, "add", "--intent-to-add", "new.txt")
    made = stash(repo)
    assert or_raise(GitTool(repo).status()).clean
    or_raise(GitTool(repo).pop_stash(made))
    assert (repo / "new.txt").read_text() == "new\n"
    assert git(repo, "status", "--porcelain") == b"?? new.txt\n"


def test_flags_of_files_that_did_not_change_stay(repo: Path) -> None:
    for name in ("assumed.txt", "skipped.txt"):
        commit(repo, name)
    git(repo, "update-index", "--assume-unchanged", "assumed.txt")
    git(repo, "update-index", "--skip-worktree", "skipped.txt")
    for name in ("assumed.txt", "skipped.txt", "a.txt"):
        write(repo / name, "changed\n")
    flags, before = git(repo, "ls-files", "-v"), worktree(repo)
    made = stash(repo)
    assert (repo / "a.txt").read_text() == "a\n"
    assert {(repo / name).read_text() for name in ("assumed.txt", "skipped.txt")} == {"changed\n"}
    or_raise(GitTool(repo).pop_stash(made))
    assert (git(repo, "ls-files", "-v"), worktree(repo)) == (flags, before)


def test_submodules_and_repositories_inside_stay_where_they_are(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", repo, "library")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "library"), "lib")
    git(repo, "commit", "--quiet", "-m", "library")
    moved = commit(repo / "lib", "more.txt")
    git(tmp_path, "clone", "--quiet", repo, repo / "nested")
    assert or_raise(GitTool(repo).stash("nothing of ours")) is None
    write(repo / "a.txt", "changed\n")
    before = worktree(repo)
    made = stash(repo)
    assert (sha(repo / "lib"), (repo / "nested" / "a.txt").exists()) == (moved, True)
    assert (repo / "a.txt").read_text() == "a\n"
    or_raise(GitTool(repo).pop_stash(made))
    assert worktree(repo) == before


def test_a_staged_submodule_comes_back_staged(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", repo, "library")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "library"), "lib")
    git(repo, "commit", "--quiet", "-m", "library")
    commit(repo / "lib", "more.txt")
    git(repo, "add", "lib")
    before = staged(repo)
    made = stash(repo)
    or_raise(GitTool(repo).pop_stash(made))
    assert staged(repo) == before


@pytest.mark.parametrize(
    "text", ["subject\n\nbody\n", "-m", "--all", "gr\u00fc\u00df dich", "%H stash@{0}", "a" * 3000]
)
def test_any_message(text: str, repo: Path) -> None:
    git(repo, "config", "i18n.commitEncoding", "ISO-8859-1")
    write(repo / "a.txt", "changed\n")
    made = stash(repo, text)
    assert made.message == text
    assert message(repo, made.sha).decode().strip() == f"On main: {text}".strip()
    or_raise(GitTool(repo).pop_stash(made))
    assert (repo / "a.txt").read_text() == "changed\n"


@pytest.mark.parametrize("text", ["", " \n", "a\0b", "\ud800"])
def test_a_message_that_is_none_is_refused(text: str, busy: Path) -> None:
    before = everything(busy)
    error = failed(GitTool(busy).stash(text))
    assert (error.cause, error.effect) == ("bad-argument", "none")
    assert everything(busy) == before


def test_a_detached_head_and_a_linked_worktree(busy: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(busy, "worktree", "add", "--quiet", "--detach", linked)
    write(linked / "a.txt", "linked\n")
    made, elsewhere = stash(linked), stash(busy)
    assert (made.branch, listed(busy)) == (None, [elsewhere.sha, made.sha])
    or_raise(GitTool(linked).pop_stash(made))
    assert ((linked / "a.txt").read_text(), listed(busy)) == ("linked\n", [elsewhere.sha])


def test_a_repository_of_sha256(tmp_path: Path) -> None:
    repository = tmp_path / "sha256"
    git(tmp_path, "init", "--quiet", "--object-format=sha256", repository)
    commit(repository, "a.txt", "a\n")
    for name in ("a.txt", "new.txt"):
        write(repository / name, "changed\n")
    made = stash(repository)
    assert len(made.sha) == 64
    commit(repository, "b.txt")
    or_raise(GitTool(repository).pop_stash(made))
    assert (repository / "new.txt").read_text() == "changed\n"


def test_who_has_no_name_can_stash_all_the_same(busy: Path, home: Path) -> None:
    (home / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    before = worktree(busy)
    made = stash(busy)
    or_raise(GitTool(busy).pop_stash(made))
    assert worktree(busy) == before


def test_no_hook_runs_and_nothing_is_signed(busy: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    for name in ("pre-commit", "commit-msg", "post-commit", "post-checkout", "post-merge", "prepare-commit-msg"):
        hook(busy, name, f"touch '{ran}'; exit 1")
    git(busy, "config", "commit.gpgSign", "true")
    git(busy, "config", "gpg.program", str(script(tmp_path / "gpg", f"touch '{ran}'; exit 1")))
    made = stash(busy)
    or_raise(GitTool(busy).pop_stash(made))
    assert not ran.exists()


def test_it_works_in_german_with_a_hostile_display_and_hostile_settings(
    busy: Path, german: Mapping[str, str], hostile_display: Mapping[str, str]
) -> None:
    for key, value in {
        "stash.showPatch": "true",
        "stash.showIncludeUntracked": "false",
        "submodule.recurse": "true",
        "core.logAllRefUpdates": "false",
        "log.follow": "true",
        "diff.ignoreSubmodules": "all",
        "status.showUntrackedFiles": "no",
        "merge.renames": "false",
        "core.untrackedCache": "true",
        "core.splitIndex": "true",
        "diff.renames": "copies",
    }.items():
        git(busy, "config", key, value)
    before = worktree(busy)
    first = stash(busy)
    write(busy / "a.txt", "another\n")
    second = stash(busy)
    assert listed(busy) == [second.sha, first.sha]
    or_raise(GitTool(busy).pop_stash(first))
    assert worktree(busy) == before
    assert listed(busy) == [second.sha]


# Brought back to another commit.


def test_what_was_committed_since_is_merged_with_it(repo: Path) -> None:
    commit(repo, "lines.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
    write(repo / "lines.txt", "one\n2\n3\n4\n5\n6\n7\n8\n9\n")
    git(repo, "add", "lines.txt")
    write(repo / "lines.txt", "one\n2\n3\n4\n5\n6\n7\n8\nnine\n")
    write(repo / "new.txt", "new\n")
    made = stash(repo)
    commit(repo, "lines.txt", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n")
    or_raise(GitTool(repo).pop_stash(made))
    assert git(repo, "show", ":lines.txt") == b"one\n2\n3\n4\nfive\n6\n7\n8\n9\n"
    assert (repo / "lines.txt").read_bytes() == b"one\n2\n3\n4\nfive\n6\n7\n8\nnine\n"
    assert git(repo, "status", "--porcelain") == b"MM lines.txt\n?? new.txt\n"


def test_another_branch_gets_the_change_and_nothing_else_of_the_first(repo: Path) -> None:
    commit(repo, "only on main.txt")
    write(repo / "a.txt", "changed\n")
    made = stash(repo)
    git(repo, "switch", "--quiet", "-c", "other", "HEAD^")
    or_raise(GitTool(repo).pop_stash(made))
    assert git(repo, "status", "--porcelain") == b" M a.txt\n"


def test_changes_that_are_not_in_its_way_stay(repo: Path) -> None:
    for name in ("staged.txt", "unstaged.txt"):
        commit(repo, name)
    write(repo / "a.txt", "changed\n")
    made = stash(repo)
    write(repo / "staged.txt", "staged\n")
    git(repo, "add", "staged.txt")
    write(repo / "unstaged.txt", "unstaged\n")
    write(repo / "untracked.txt", "untracked\n")
    or_raise(GitTool(repo).pop_stash(made))
    expected = b" M a.txt\nM  staged.txt\n M unstaged.txt\n?? untracked.txt\n"
    assert git(repo, "status", "--porcelain") == expected


def change(
    path: str, content: str = "precious\n", *, add: bool = False, ignore: bool = False
) -> Callable[[Path], None]:
    def act(repository: Path) -> None:
        if ignore:
            write(repository / ".git" / "info" / "exclude", f"{path}\n")
        write(repository / path, content)
        if add:
            git(repository, "add", "--force", "--", path)

    return act


IN_THE_WAY: dict[str, tuple[Callable[[Path], object], str, tuple[str, ...]]] = {
    "committed otherwise": (lambda repo: commit(repo, "a.txt", "theirs\n"), "conflict", ("a.txt",)),
    "committed, was untracked": (lambda repo: commit(repo, "new.txt", "theirs\n"), "conflict", ("new.txt",)),
    "committed as a folder": (lambda repo: commit(repo, "new.txt/inside"), "conflict", ("new.txt",)),
    "committed as a file": (lambda repo: commit(repo, "folder"), "conflict", ("folder/new.txt",)),
    "changed": (change("a.txt"), "dirty", ()),
    "staged": (change("a.txt", add=True), "dirty", ()),
    "untracked": (change("new.txt"), "dirty", ("new.txt",)),
    "untracked and the same": (change("new.txt", "new\n"), "dirty", ("new.txt",)),
    "staged, was untracked": (change("new.txt", add=True), "dirty", ("new.txt",)),
    "ignored": (change("new.txt", ignore=True), "dirty", ("new.txt",)),
    "an ignored file where a folder goes": (change("folder", ignore=True), "dirty", ("folder",)),
    "an ignored file in a folder where a file goes": (change("new.txt/x", ignore=True), "dirty", ("new.txt/x",)),
    "an untracked file in a folder where a file goes": (change("new.txt/x"), "dirty", ()),
}


@pytest.mark.parametrize("case", IN_THE_WAY)
def test_what_is_in_the_way_keeps_the_stash_and_everything_else(case: str, repo: Path) -> None:
    act, cause, paths = IN_THE_WAY[case]
    write(repo / "a.txt", "changed\n")
    git(repo, "add", "a.txt")
    write(repo / "new.txt", "new\n")
    write(repo / "folder" / "new.txt", "new\n")
    made = stash(repo)
    act(repo)
    before = everything(repo)
    error = failed(GitTool(repo).pop_stash(made))
    assert (error.cause, error.paths, error.effect) == (cause, paths or error.paths, "none")
    assert everything(repo) == before


def test_git_that_cannot_merge_trees_says_so(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repo / "a.txt", "changed\n")
    first, second = stash(repo), commit(repo, "b.txt")
    body = f'for word; do case $word in merge-tree) exit 129;; esac; done; exec {GIT} "$@"'
    monkeypatch.setenv("PATH", f"{script(tmp_path / 'bin' / 'git', body).parent}:{PATH}")
    match outcome(GitTool(repo).pop_stash(first)):
        case Failure(UnsupportedFeature() as error):
            assert "2.38" in error.reason
        case other:
            raise AssertionError(other)
    git(repo, "reset", "--quiet", "--hard", f"{second}^")
    or_raise(GitTool(repo).pop_stash(first))


def test_an_ignored_file_where_head_has_another_is_not_overwritten(repo: Path) -> None:
    """Its folder was taken for a file, or it for a folder, and what is there now no stash would hold."""
    commit(repo, "out.txt")
    commit(repo, "build/made.txt")
    write(repo / ".git" / "info" / "exclude", "precious\n/build\n")
    (repo / "out.txt").unlink()
    write(repo / "out.txt" / "precious", "precious\n")
    before = everything(repo)
    error = failed(GitTool(repo).stash("half done"))
    assert (error.cause, error.paths, error.effect) == ("dirty", ("out.txt/precious",), "none")
    assert everything(repo) == before


def test_a_link_that_leads_outside_is_put_aside_and_not_followed(repo: Path, tmp_path: Path) -> None:
    """In place of a folder of HEAD, which lies behind it as well."""
    outside = write(tmp_path / "outside" / "file.txt", "outside\n")
    commit(repo, "folder/file.txt", "inside\n")
    (repo / "folder" / "file.txt").unlink()
    (repo / "folder").rmdir()
    (repo / "folder").symlink_to(outside.parent)
    before = worktree(repo)
    made = stash(repo)
    assert (repo / "folder" / "file.txt").read_text() == "inside\n"
    or_raise(GitTool(repo).pop_stash(made))
    assert (worktree(repo), outside.read_text()) == (before, "outside\n")


@pytest.mark.parametrize("ignored", [True, False])
def test_a_link_that_leads_outside_is_in_the_way(ignored: bool, repo: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    write(repo / "folder" / "new.txt", "new\n")
    made = stash(repo)
    if ignored:
        write(repo / ".git" / "info" / "exclude", "folder\n")
    (repo / "folder").symlink_to(tmp_path / "outside")
    before = everything(repo)
    error = failed(GitTool(repo).pop_stash(made))
    assert (error.cause, error.paths, error.effect) == ("dirty", ("folder",), "none")
    assert everything(repo) == before
    assert list((tmp_path / "outside").iterdir()) == []


def test_what_is_neither_file_nor_link_nor_folder_stays(repo: Path) -> None:
    os.mkfifo(repo / "pipe")
    write(repo / "a.txt", "changed\n")
    made = stash(repo)
    assert (repo / "pipe").is_fifo()
    or_raise(GitTool(repo).pop_stash(made))
    assert ((repo / "a.txt").read_text(), (repo / "pipe").is_fifo()) == ("changed\n", True)


def test_a_disk_that_is_full_loses_nothing(tmpfs: Disk, repo: Path) -> None:
    """At whatever it is that does not fit any more, from a copy of the index to the second of the files of HEAD."""
    for name in ("big", "bigger"):
        commit(repo, name, random.Random(name).randbytes(40_000))
        (repo / name).unlink()
    write(repo / "a.txt", "staged\n")
    git(repo, "add", "a.txt")
    write(repo / "and later", "untracked\n")
    repository = copy(repo, tmpfs.path / "repo")
    before, effects = worktree(repository), set[str]()
    for room in range(0, 1 << 18, 1 << 13):
        tmpfs.fill()
        os.truncate(tmpfs.path / ".filler", (tmpfs.path / ".filler").stat().st_size - room)
        done = outcome(GitTool(repository).stash("half"))
        tmpfs.free()
        match done:
            case Failure(CommandFailed(effect="none")):
                effects.add("none")
                assert (worktree(repository), listed(repository)) == (before, [])
                continue
            case Failure(CommandFailed(effect=effect)):
                effects.add(effect)
            case _:
                effects.add("done")
        (entry,) = listed(repository)
        git(repository, "reset", "--quiet", "--hard")
        git(repository, "clean", "--quiet", "-d", "--force")
        or_raise(GitTool(repository).pop_stash(Stash(entry, "half", "main")))
        assert worktree(repository) == before
    assert effects == {"none", "unknown", "done"}


# What cannot be.


def test_a_branch_without_a_commit_has_nothing_to_go_back_to(repo: Path) -> None:
    write(repo / "a.txt", "changed\n")
    made = stash(repo)
    git(repo, "switch", "--quiet", "--orphan", "new")
    write(repo / "a.txt", "precious\n")
    before = everything(repo)
    for error in (failed(GitTool(repo).stash("half done")), failed(GitTool(repo).pop_stash(made))):
        assert (error.cause, error.effect) == ("unborn", "none")
    assert everything(repo) == before


@pytest.mark.parametrize("resolved", [True, False])
def test_a_merge_in_progress_is_not_put_aside(resolved: bool, busy: Path) -> None:
    made = stash(busy)
    git(busy, "switch", "--quiet", "-c", "topic")
    commit(busy, "a.txt", "theirs\n")
    git(busy, "switch", "--quiet", "main")
    commit(busy, "a.txt", "ours\n")
    assert run_git(busy, "merge", "topic").returncode == 1
    if resolved:
        git(busy, "add", "a.txt")
    before = everything(busy)
    for error in (failed(GitTool(busy).stash("half done")), failed(GitTool(busy).pop_stash(made))):
        assert (error.cause, error.paths, error.effect) == ("conflict", () if resolved else ("a.txt",), "none")
    assert everything(busy) == before


@pytest.mark.parametrize("given", ["stash@{0}", "HEAD", "-x", "", "abc"])
def test_what_is_no_sha_is_refused(given: str, repo: Path) -> None:
    error = failed(GitTool(repo).pop_stash(Stash(given, "", None)))
    assert (error.cause, error.effect) == ("bad-ref-name", "none")


def test_a_stash_that_is_gone_is_unknown(repo: Path) -> None:
    write(repo / "a.txt", "changed\n")
    made = stash(repo)
    or_raise(GitTool(repo).pop_stash(made))
    before = everything(repo)
    for gone in (made, replace(made, sha=sha(repo)), replace(made, sha="0" * 40)):
        error = failed(GitTool(repo).pop_stash(gone))
        assert (error.cause, error.effect) == ("unknown-ref", "none")
    assert everything(repo) == before


def test_what_is_in_the_list_and_no_stash_is_unknown(repo: Path) -> None:
    git(repo, "stash", "store", "-m", "by mistake", sha(repo))
    before = everything(repo)
    error = failed(GitTool(repo).pop_stash(Stash(sha(repo), "by mistake", "main")))
    assert (error.cause, error.effect) == ("unknown-ref", "none")
    assert everything(repo) == before


def test_a_list_that_is_damaged_is_an_error_and_no_exception(repo: Path) -> None:
    write(repo / "a.txt", "changed\n")
    made = stash(repo)
    log = repo / ".git" / "logs" / "refs" / "stash"
    write(log, log.read_text() + "damaged\n")
    error = failed(GitTool(repo).pop_stash(made))
    assert (error.cause, error.effect) == ("other", "landed")
    assert (repo / "a.txt").read_text() == "changed\n"
    assert not (log.parent / "stash.lock").exists()


def test_a_bare_repository_has_nothing_to_put_aside(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", repo, "bare.git")
    assert failed(GitTool(tmp_path / "bare.git").stash("half done")).cause == "not-a-repository"


def test_a_hook_of_this_repository_must_not_stash(busy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = stash(busy)
    write(busy / "a.txt", "changed\n")
    monkeypatch.setenv("GIT_DIR", str(busy / ".git"))
    before = everything(busy)
    for error in (failed(GitTool(busy).stash("half done")), failed(GitTool(busy).pop_stash(made))):
        assert (error.cause, error.effect) == ("refused", "none")
    assert everything(busy) == before


@pytest.mark.parametrize("lock", ["index.lock", "refs/stash.lock"])
def test_a_lock_that_another_git_holds_stops_it(lock: str, busy: Path) -> None:
    made = stash(busy)
    write(busy / "a.txt", "changed\n")
    before = everything(busy)
    write(busy / ".git" / lock, "")
    for error in (failed(GitTool(busy).stash("half done")), failed(GitTool(busy).pop_stash(made))):
        assert (error.cause, error.effect) == ("locked", "none")
    (busy / ".git" / lock).unlink()
    assert everything(busy) == before


def test_a_file_that_changes_meanwhile_stops_it_and_is_kept(
    busy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent writes on, after the stash has been recorded."""
    body = f'case " $* " in *" read-tree "*" -u "*) echo later >unstaged.txt;; esac; exec {GIT} "$@"'
    before = state(busy)
    monkeypatch.setenv("PATH", f"{script(tmp_path / 'bin' / 'git', body).parent}:{PATH}")
    error = failed(GitTool(busy).stash("half done"))
    assert (error.cause, error.effect) == ("dirty", "none")
    assert (busy / "unstaged.txt").read_text() == "later\n"
    assert (listed(busy), state(busy).index) == ([], before.index)


# The list of stashes.


def test_an_entry_is_found_wherever_it_stands(repo: Path) -> None:
    made = []
    for number in range(4):
        write(repo / f"{number}.txt", f"{number}\n")
        made.append(stash(repo, f"number {number}"))
    git(repo, "pack-refs", "--all")
    for number in (2, 0, 3, 1):
        or_raise(GitTool(repo).pop_stash(made[number]))
        assert (repo / f"{number}.txt").exists()
        left = [one for one in reversed(made) if not (repo / f"{made.index(one)}.txt").exists()]
        assert listed(repo) == [one.sha for one in left]
        subjects = git(repo, "stash", "list", "--format=%gs").decode().splitlines()
        assert subjects == [f"On main: {one.message}" for one in left]
        if left:
            assert sha(repo, "refs/stash") == left[0].sha
            git(repo, "stash", "show", "--include-untracked", "stash@{0}")


def test_an_entry_that_cannot_be_taken_out_has_been_brought_back(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(repo / "a.txt", "changed\n")
    made = stash(repo)
    body = f'case " $* " in *" read-tree "*" -u "*) touch .git/refs/stash.lock;; esac; exec {GIT} "$@"'
    monkeypatch.setenv("PATH", f"{script(tmp_path / 'bin' / 'git', body).parent}:{PATH}")
    error = failed(GitTool(repo).pop_stash(made))
    assert (error.cause, error.effect) == ("locked", "landed")
    assert ((repo / "a.txt").read_text(), listed(repo)) == ("changed\n", [made.sha])


def test_stashes_from_many_threads_and_of_plain_git_are_all_there(repo: Path, tmp_path: Path) -> None:
    """Each in a worktree of its own, as parallel agents work; plain git puts aside and drops meanwhile."""
    folders = [tmp_path / f"agent-{number}" for number in range(4)]
    for folder in (*folders, tmp_path / "plain"):
        git(repo, "worktree", "add", "--quiet", "--detach", folder)

    def agent(folder: Path) -> None:
        for turn in range(3):
            write(folder / "a.txt", f"{folder.name} {turn}\n")
            write(folder / f"{turn}.txt", f"{folder.name}\n")
            before = worktree(folder)
            made = again(partial(GitTool(folder).stash, "the same message"))
            assert made is not None
            assert or_raise(GitTool(folder).status()).clean
            again(partial(GitTool(folder).pop_stash, made))
            assert worktree(folder) == before
            git(folder, "clean", "--quiet", "--force")
            git(folder, "reset", "--quiet", "--hard")

    def plain() -> list[str]:
        made = []
        for turn in range(8):
            write(tmp_path / "plain" / "a.txt", f"plain {turn}\n")
            while run_git(tmp_path / "plain", "stash", "push", "--quiet", "-m", "the same message").returncode != 0:
                pass
            made.append(f"plain {turn}\n")
        return made

    with ThreadPoolExecutor(5) as pool:
        agents = [pool.submit(agent, folder) for folder in folders]
        of_git = pool.submit(plain)
        for done in agents:
            done.result()
    held = [git(repo, "show", f"{one}:a.txt").decode() for one in reversed(listed(repo))]
    assert held == of_git.result()


T = TypeVar("T")


def again(call: Callable[[], Result[T, RuntimeError]]) -> T:
    """What a call returns once nobody else holds the list."""
    while True:
        match outcome(call()):
            case Failure(CommandFailed(cause="locked", effect="none")):
                continue
            case Failure(error):
                raise AssertionError(error)
            case Success(value):
                return value


# Out of time, and killed.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "before_it"),
    [("write-tree", True), ("stash store", True), ("stash store", False), (GO, True), (GO, False)],
)
def test_a_stash_that_runs_out_of_time_loses_nothing(
    step: str, before_it: bool, busy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = worktree(busy)
    error = out_of_time(monkeypatch, tmp_path, step, before_it, lambda tool, t: tool.stash("half", timeout=t), busy)
    assert error.cause == "timeout"
    if step == GO and not before_it:
        assert error.effect == "unknown"
        (entry,) = listed(busy)
        git(busy, "reset", "--quiet", "--hard")
        or_raise(GitTool(busy).pop_stash(Stash(entry, "half", "main")))
    else:
        assert (error.effect, listed(busy)) == ("none", [])
    assert worktree(busy) == before


@pytest.mark.slow
@pytest.mark.parametrize(("step", "before_it"), [("ls-tree", True), (GO, True), (GO, False), ("update-ref -d", False)])
def test_a_pop_that_runs_out_of_time_loses_nothing(
    step: str, before_it: bool, busy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = worktree(busy)
    made = stash(busy)
    aside = everything(busy)
    error = out_of_time(monkeypatch, tmp_path, step, before_it, lambda tool, t: tool.pop_stash(made, timeout=t), busy)
    assert error.cause in ("timeout", "locked")
    if step.startswith("update-ref"):
        assert error.effect == "landed"
        assert worktree(busy) == before
    elif step == "ls-tree" or before_it:
        assert error.effect == "none"
        assert everything(busy) == aside
    else:
        assert (error.effect, listed(busy)) == ("unknown", [made.sha])


def out_of_time(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    step: str,
    before_it: bool,
    call: Callable[[GitTool, float], Result[object, RuntimeError]],
    repository: Path,
) -> CommandFailed:
    """The failure of a call whose git hangs at a step: before it has begun, or once it is done."""
    mark = tmp_path / "hangs"
    hangs = f"touch '{mark}'; while test -e '{mark}'; do sleep 0.05; done"
    hanging = f'{hangs}; exec {GIT} "$@"' if before_it else f'{GIT} "$@"; {hangs}'
    body = f'case " $* " in *" {step} "*) {hanging};; *) exec {GIT} "$@";; esac'
    with monkeypatch.context() as patched:
        patched.setenv("PATH", f"{script(tmp_path / 'bin' / 'git', body).parent}:{PATH}")
        for timeout in (2.0, 8.0, 30.0):
            started = time.monotonic()
            error = failed(call(GitTool(repository), timeout))
            assert time.monotonic() - started < timeout + LATE_S
            if mark.exists():
                break
    mark.unlink()
    return error


@pytest.mark.slow
@pytest.mark.parametrize("step", ["write-tree", "stash store", GO])
def test_who_is_killed_while_it_stashes_loses_nothing(step: str, busy: Path, tmp_path: Path) -> None:
    """SIGKILL, for us and for git, as the step is done."""
    before = worktree(busy)
    kill = 'kill -KILL "$PPID"; kill -KILL $$'
    body = f'case " $* " in *" {step} "*) {GIT} "$@"; {kill};; *) exec {GIT} "$@";; esac'
    code = f"from orca.tools import GitTool; GitTool({str(busy)!r}).stash('half')"
    env = dict(os.environ, PATH=f"{script(tmp_path / 'bin' / 'git', body).parent}:{PATH}")
    done = subprocess.run([sys.executable, "-c", code], env=env, timeout=60, check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    for entry in listed(busy):
        git(busy, "reset", "--quiet", "--hard")
        git(busy, "clean", "--quiet", "-d", "--force")
        or_raise(GitTool(busy).pop_stash(Stash(entry, "half", "main")))
    assert worktree(busy) == before


# Any state of a worktree.


@pytest.mark.slow
def test_any_state_comes_back(repo: Path) -> None:
    """40 random ones; the seed is fixed."""
    dice = random.Random(20260)
    names = ["a.txt", "b", "b/c", "d/e", "d/e/f", "g"]
    kinds = ["file", "file", "link", "gone", "exec", "stage", "unstage", "commit"]
    for _ in range(40):
        for _ in range(dice.randrange(1, 8)):
            act(repo, dice.choice(kinds), dice.choice(names), dice)
        before, clean = worktree(repo), or_raise(GitTool(repo).status()).clean
        made = or_raise(GitTool(repo).stash("any"))
        assert (made is None) == clean
        assert or_raise(GitTool(repo).status()).clean
        if made is not None:
            or_raise(GitTool(repo).pop_stash(made))
            assert worktree(repo) == before
    assert listed(repo) == []


def act(repository: Path, kind: str, name: str, dice: random.Random) -> None:
    path = repository / name
    if kind in ("file", "link", "exec", "gone"):
        for above in reversed(path.relative_to(repository).parents):
            if (repository / above).is_symlink() or (repository / above).is_file():
                (repository / above).unlink()
        if path.is_dir() and not path.is_symlink():
            subprocess.run(["rm", "-r", path], check=True)
        elif path.is_symlink() or path.exists():
            path.unlink()
    if kind in ("file", "exec"):
        write(path, f"{dice.random()}\n").chmod(0o755 if kind == "exec" else 0o644)
    elif kind == "link":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(f"{dice.random()}")
    elif kind == "stage":
        run_git(repository, "add", "-A", "--", name)
    elif kind == "unstage":
        run_git(repository, "reset", "--quiet", "--", name)
    elif kind == "commit":
        run_git(repository, "commit", "--quiet", "-m", "some")


# Parsers.

LOG = b"0 1 T <t> 1 +0000\tOn main: one\n1 2 T <t> 2 +0000\tOn main: two\n2 3 T <t> 3 +0000\tOn main: three\n"


def test_an_entry_is_taken_out_of_the_log_and_the_next_follows_on() -> None:
    assert without(LOG, "3") == b"".join(LOG.splitlines(keepends=True)[:2])
    assert without(LOG, "2") == LOG.splitlines(keepends=True)[0] + b"1 3 T <t> 3 +0000\tOn main: three\n"
    assert without(LOG, "1") == b"0 2 T <t> 2 +0000\tOn main: two\n2 3 T <t> 3 +0000\tOn main: three\n"
    assert without(LOG, "4") is None
    assert (newest(LOG), newest(LOG + b"damaged\n"), newest(b"")) == (b"3", None, None)
    assert without(LOG.splitlines(keepends=True)[0], "1") == b""


def test_a_file_and_a_folder_of_one_name_overlap() -> None:
    assert overlapping(["a", "b", "c/d", "e/f", "g"], ["a", "b/x", "c", "e/g"]) == ("a", "b", "c/d")


def test_trees_are_read() -> None:
    assert parse_merged(b"abc\0") == ("abc", ())
    assert parse_merged(b"abc\0\0001\0a\0CONFLICT\0") == ("abc", ())
    assert parse_merged(b"abc\0a\nb\0c\xff\0\0001\0a\0Auto-merging\0") == ("abc", ("a\nb", "c\udcff"))
    listing = b"100644 1 0\ta\x00100644 2 0\tb\tc\0"
    assert staged_among(listing, {"b\tc"}) == b"100644 2 0\tb\tc\0"
    raw = b":160000 160000 1 2 M\0lib\0:100644 100755 3 4 M\0a\0:160000 000000 5 0 D\0gone\0"
    assert gitlinks(raw) == b"160000 1 0\tlib\x00160000 5 0\tgone\0"
