"""`unstage`: the index as HEAD has it, and the worktree untouched."""

from pathlib import Path

from outcomes import failed, state
from worlds.repository import commit, git, run_git, write

from orca.results import or_raise
from orca.tools import GitTool, Pathspec


def names(repo: Path) -> set[str]:
    """The paths whose index differs from HEAD."""
    return set(git(repo, "diff", "--cached", "--name-only", "--no-renames", "-z").decode().split("\0")) - {""}


def test_unstage_brings_back_what_head_holds_and_leaves_the_files(repo: Path) -> None:
    commit(repo, "deleted")
    git(repo, "rm", "--quiet", "--cached", "deleted")
    write(repo / "a.txt", "changed\n")
    write(repo / "new", "new\n")
    write(repo / "folder/new", "new\n")
    git(repo, "add", "a.txt", "new", "folder")
    files = state(repo).files
    tool = GitTool(repo)
    or_raise(tool.unstage("a.txt", "deleted", "folder"))
    assert names(repo) == {"new"}
    or_raise(tool.unstage())
    assert (names(repo), state(repo).files) == (set(), files)


def test_unstage_takes_patterns_and_leaves_alone_what_git_does_not_know(repo: Path) -> None:
    for name in ("a.py", "b.py", "c.txt"):
        write(repo / name, "new\n")
    git(repo, "add", ".")
    tool = GitTool(repo)
    or_raise(tool.unstage(Pathspec("*.py"), "unknown"))
    assert names(repo) == {"c.txt"}


def test_unstage_refuses_what_is_unmerged_and_only_that(repo: Path) -> None:
    git(repo, "switch", "--quiet", "--create", "other")
    commit(repo, "a.txt", "theirs\n")
    git(repo, "switch", "--quiet", "main")
    commit(repo, "a.txt", "ours\n")
    assert run_git(repo, "merge", "other").returncode == 1
    write(repo / "new", "new\n")
    git(repo, "add", "new")
    before = state(repo)
    tool = GitTool(repo)
    for paths in ((), ("a.txt",), (Pathspec("*.txt"),), (".",)):
        error = failed(tool.unstage(*paths))
        assert (error.cause, error.effect, error.paths) == ("conflict", "none", ("a.txt",))
    assert state(repo) == before
    or_raise(tool.unstage("new"))
    assert names(repo) == {"a.txt"}
