"""`commit(only=…)`: exactly these paths as they are in the worktree, and the rest of the index as it was."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from outcomes import changed, failed, nothing, staged, state
from worlds.repository import commit, git, hook, run_git, script, sha, write

from orca.results import or_raise
from orca.tools import GitTool, Pathspec


@pytest.fixture
def busy(repo: Path) -> Path:
    """A repository with tracked files, and with changes of other files staged and not staged."""
    for name in ("modified", "deleted", "old name", "half", "removed", "folder/one", "folder/two"):
        write(repo / name, f"{name}\n" * 9)
    git(repo, "add", ".")
    git(repo, "commit", "--quiet", "-m", "files")
    write(repo / "half", "staged\n" + "half\n" * 9)
    git(repo, "add", "half")
    write(repo / "half", "staged\n" + "half\n" * 9 + "not staged\n")
    git(repo, "rm", "--quiet", "removed")
    write(repo / "added", "staged\n")
    git(repo, "add", "added")
    write(repo / "intended", "new\n")
    git(repo, "add", "--intent-to-add", "intended")
    write(repo / "a.txt", "not staged\n")
    write(repo / "untracked", "new\n")
    git(repo, "update-index", "--assume-unchanged", "folder/two")
    return repo


def others(repo: Path, *paths: bytes) -> list[bytes]:
    """The entries of the index that are not of these paths, with the flags that `ls-files` knows."""
    entries = staged(repo).split(b"\0") + git(repo, "ls-files", "-v", "-z").split(b"\0")
    return [entry for entry in entries if not entry.endswith(paths)]


def commits_exactly(repo: Path, *paths: str, wanted: set[bytes] | None = None) -> None:
    """`commit(only=paths)` commits these as they are in the worktree, and leaves every other entry of the index."""
    wanted = {os.fsencode(path) for path in paths} if wanted is None else wanted
    before, untouched = state(repo), others(repo, *wanted)
    made = or_raise(GitTool(repo).commit("x", only=paths))
    assert changed(repo) == wanted
    assert made.sha == sha(repo)
    assert state(repo).files == before.files
    assert others(repo, *wanted) == untouched
    assert git(repo, "diff", "--name-only", "HEAD", "--", *wanted) == b""
    assert git(repo, "diff", "--cached", "--name-only", "HEAD", "--", *wanted) == b""


def test_only_commits_a_modified_file(busy: Path) -> None:
    write(busy / "modified", "changed\n")
    commits_exactly(busy, "modified")


def test_only_commits_a_new_file(busy: Path) -> None:
    commits_exactly(busy, "untracked")


def test_only_commits_a_deleted_file(busy: Path) -> None:
    (busy / "deleted").unlink()
    commits_exactly(busy, "deleted")


def test_only_commits_a_file_that_is_deleted_in_the_index_too(busy: Path) -> None:
    commits_exactly(busy, "removed")


def test_only_commits_a_renamed_file_by_both_its_names(busy: Path) -> None:
    (busy / "old name").rename(busy / "new name")
    before = others(busy, b"old name", b"new name")
    made = or_raise(GitTool(busy).commit("x", only=["old name", "new name"]))
    assert [(file.path, file.old_path, file.kind) for file in made.files] == [("new name", "old name", "renamed")]
    assert others(busy, b"old name", b"new name") == before


def test_only_commits_a_half_staged_file_whole_as_it_is_in_the_worktree(busy: Path) -> None:
    commits_exactly(busy, "half")


def test_only_commits_an_added_and_an_intended_file(busy: Path) -> None:
    commits_exactly(busy, "added", "intended")


def test_only_commits_a_folder_with_all_its_changes(busy: Path) -> None:
    write(busy / "folder/one", "changed\n")
    write(busy / "folder/new", "new\n")
    commits_exactly(busy, "folder", wanted={b"folder/one", b"folder/new"})


def test_only_commits_what_a_pattern_matches(busy: Path) -> None:
    write(busy / "modified", "changed\n")
    write(busy / "folder/one", "changed\n")
    untouched = others(busy, b"modified", b"folder/one")
    or_raise(GitTool(busy).commit("x", only=[Pathspec("mod*"), Pathspec(":(glob)**/one")]))
    assert changed(busy) == {b"modified", b"folder/one"}
    assert others(busy, b"modified", b"folder/one") == untouched


def test_only_commits_a_mode_and_a_link(busy: Path) -> None:
    (busy / "modified").chmod(0o755)
    (busy / "deleted").unlink()
    (busy / "deleted").symlink_to("nowhere")
    commits_exactly(busy, "modified", "deleted")
    assert git(busy, "ls-tree", "HEAD", "modified", "deleted").count(b"100755") == 1


def test_only_commits_a_file_that_became_a_folder_and_a_folder_that_became_a_file(busy: Path) -> None:
    (busy / "deleted").unlink()
    write(busy / "deleted/inside", "new\n")
    git(busy, "update-index", "--no-assume-unchanged", "folder/two")
    for name in ("one", "two"):
        (busy / "folder" / name).unlink()
    (busy / "folder").rmdir()
    write(busy / "folder", "now a file\n")
    wanted = {b"deleted", b"deleted/inside", b"folder", b"folder/one", b"folder/two"}
    commits_exactly(busy, "deleted", "folder", wanted=wanted)


def test_only_commits_what_was_staged_by_force_though_it_is_ignored(busy: Path) -> None:
    write(busy / ".git/info/exclude", "*.log\n")
    for name in ("one.log", "logs/two.log", "logs/not asked for.log", "never.log"):
        write(busy / name, "new\n")
    or_raise(GitTool(busy).add("one.log", "logs/two.log", force=True))
    commits_exactly(busy, "one.log", "logs", wanted={b"one.log", b"logs/two.log"})
    assert failed(GitTool(busy).commit("x", only=["never.log"])).cause == "ignored-path"


def test_only_before_the_first_commit(repo: Path) -> None:
    git(repo, "switch", "--quiet", "--orphan", "fresh")
    for name in ("one", "two", "three"):
        write(repo / name, "new\n")
    git(repo, "add", "two")
    commits_exactly(repo, "one")
    assert git(repo, "rev-list", "--count", "HEAD") == b"1\n"
    assert git(repo, "diff", "--cached", "--name-only") == b"two\n"


def test_only_on_a_detached_head_and_in_a_linked_worktree(busy: Path) -> None:
    git(busy, "worktree", "add", "--quiet", "--detach", "../linked")
    linked = busy.parent / "linked"
    write(linked / "staged", "new\n")
    git(linked, "add", "staged")
    write(linked / "new", "new\n")
    commits_exactly(linked, "new")
    git(busy, "switch", "--quiet", "--detach")
    commits_exactly(busy, "untracked")


def split_index(repo: Path) -> None:
    git(repo, "config", "core.splitIndex", "true")
    git(repo, "update-index", "--split-index")


def index_of_version_4(repo: Path) -> None:
    git(repo, "update-index", "--index-version", "4")


def many_files(repo: Path) -> None:
    git(repo, "config", "feature.manyFiles", "true")
    git(repo, "update-index", "--force-write-index")


def fsmonitor(repo: Path) -> None:
    monitor = script(repo.parent / "fsmonitor", "printf 'token\\0/\\0'")
    git(repo, "config", "core.fsmonitor", str(monitor))
    git(repo, "update-index", "--fsmonitor")
    git(repo, "status")


def sparse_checkout(repo: Path) -> None:
    git(repo, "sparse-checkout", "set", "--no-cone", "/*", "!/folder")


def line_ends(repo: Path) -> None:
    write(repo / ".git/info/attributes", "* text eol=crlf\n")


Index = Callable[[Path], None]


@pytest.mark.parametrize(
    "kind",
    [split_index, index_of_version_4, many_files, fsmonitor, sparse_checkout, line_ends],
    ids=lambda kind: kind.__name__,
)
def test_only_with_every_kind_of_index(kind: Index, busy: Path) -> None:
    git(busy, "update-index", "--no-assume-unchanged", "folder/two")
    kind(busy)
    write(busy / "modified", "changed\r\n" if kind is line_ends else "changed\n")
    (busy / "deleted").unlink()
    commits_exactly(busy, "modified", "deleted", "untracked")
    or_raise(GitTool(busy).commit("rest"))
    assert changed(busy) == {b"added", b"half", b"removed"}


def test_only_takes_in_what_a_hook_adds_and_leaves_the_rest(busy: Path) -> None:
    hook(busy, "pre-commit", "echo generated > generated && git add generated")
    untouched = others(busy, b"untracked", b"generated")
    made = or_raise(GitTool(busy).commit("x", only=["untracked"]))
    assert [file.path for file in made.files] == ["generated", "untracked"]
    assert others(busy, b"untracked", b"generated") == untouched
    assert git(busy, "status", "--porcelain", "generated", "untracked") == b""


def test_a_hook_sees_only_what_will_be_committed(busy: Path) -> None:
    hook(busy, "pre-commit", "git diff --cached --name-only > ../seen")
    or_raise(GitTool(busy).commit("x", only=["untracked"]))
    assert (busy.parent / "seen").read_text() == "untracked\n"


@pytest.mark.parametrize("name", ["pre-commit", "commit-msg"])
def test_a_hook_that_fails_leaves_the_index_byte_for_byte(name: str, busy: Path) -> None:
    hook(busy, name, "git add a.txt; exit 1")
    before, index = state(busy), (busy / ".git/index").read_bytes()
    error = failed(GitTool(busy).commit("x", only=["untracked"]))
    assert (error.cause, error.effect) == ("hook-failed", "none")
    assert state(busy) == before
    assert (busy / ".git/index").read_bytes() == index
    assert [path.name for path in (busy / ".git").glob("orca-index-*")] == []


def test_nothing_or_unknown_or_ignored_leaves_the_index_byte_for_byte(busy: Path) -> None:
    write(busy / ".git/info/exclude", "ignored\n")
    write(busy / "ignored", "new\n")
    before, index = state(busy), (busy / ".git/index").read_bytes()
    tool = GitTool(busy)
    assert nothing(tool.commit("x", only=["modified"])) == (3, 1)
    assert failed(tool.commit("x", only=["untracked", "unknown"])).paths == ("unknown",)
    assert failed(tool.commit("x", only=["untracked", "ignored"])).cause == "ignored-path"
    assert state(busy) == before
    assert (busy / ".git/index").read_bytes() == index


def merge(repo: Path) -> None:
    run_git(repo, "merge", "--no-commit", "--no-ff", "other")


def cherry_pick(repo: Path) -> None:
    run_git(repo, "cherry-pick", "other")


def revert(repo: Path) -> None:
    run_git(repo, "revert", "--no-commit", "HEAD")


@pytest.mark.parametrize("operation", [merge, cherry_pick, revert], ids=lambda operation: operation.__name__)
def test_only_is_refused_while_an_operation_is_in_progress(operation: Callable[[Path], None], repo: Path) -> None:
    git(repo, "switch", "--quiet", "--create", "other")
    commit(repo, "b.txt", "theirs\n")
    git(repo, "switch", "--quiet", "main")
    commit(repo, "b.txt" if operation is cherry_pick else "c.txt", "ours\n")
    operation(repo)
    if operation is cherry_pick:
        git(repo, "add", "b.txt")
    write(repo / "new", "new\n")
    before = state(repo)
    error = failed(GitTool(repo).commit("x", only=["new"]))
    assert (error.cause, error.effect) == ("conflict", "none")
    assert state(repo) == before


def test_only_is_the_same_on_a_hostile_display(busy: Path, hostile_display: Mapping[str, str]) -> None:
    write(busy / "modified", "changed\n")
    commits_exactly(busy, "modified", "untracked")


def test_only_leaves_nothing_behind_in_the_git_folder(busy: Path) -> None:
    before = {path.name for path in (busy / ".git").iterdir()}
    split_index(busy)
    for _ in range(3):
        write(busy / "modified", os.urandom(9).hex())
        or_raise(GitTool(busy).commit("x", only=["modified"]))
    left = {path.name for path in (busy / ".git").iterdir()} - before
    assert {name for name in left if not name.startswith("sharedindex.")} <= {"orca-index.lock", "COMMIT_EDITMSG"}
