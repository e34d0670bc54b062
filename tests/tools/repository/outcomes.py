"""What a call came to, by the tag that it should have, and what a repository holds before and after it."""

import os
from dataclasses import dataclass
from pathlib import Path

from worlds.repository import git, run_git

from orca.errors import CommandFailed, NothingToCommit, PushRejected, RuntimeError
from orca.results import Failure, Result, Success, outcome


def error_of(result: Result[object, RuntimeError]) -> RuntimeError:
    """The error of a call that failed."""
    match outcome(result):
        case Failure(error):
            return error
        case Success(value):
            raise AssertionError(f"it succeeded: {value!r}")


def failed(result: Result[object, RuntimeError]) -> CommandFailed:
    """The error of a call that failed as a command."""
    error = error_of(result)
    assert isinstance(error, CommandFailed), error
    return error


def rejected(result: Result[object, RuntimeError]) -> PushRejected:
    """The error of a push that the remote refused."""
    error = error_of(result)
    assert isinstance(error, PushRejected), error
    return error


def nothing(result: Result[object, RuntimeError]) -> tuple[int | None, int | None]:
    """How many files `NothingToCommit` counted: unstaged, and untracked."""
    error = error_of(result)
    assert isinstance(error, NothingToCommit), error
    return error.unstaged, error.untracked


@dataclass(frozen=True)
class State:
    """All that a call that fails must leave as it was: HEAD, every ref, the index, the files."""

    head: bytes
    refs: bytes
    index: bytes
    files: dict[bytes, bytes]


def state(repository: Path) -> State:
    """What the repository holds now."""
    return State(
        head=run_git(repository, "symbolic-ref", "HEAD").stdout + run_git(repository, "rev-parse", "HEAD").stdout,
        refs=git(repository, "for-each-ref", "--format=%(refname) %(objectname)"),
        index=staged(repository),
        files=dict(files(os.fsencode(repository))),
    )


def staged(repository: Path) -> bytes:
    """Every entry of the index."""
    return git(repository, "ls-files", "--stage", "-z")


def files(top: bytes) -> list[tuple[bytes, bytes]]:
    """Every file of a worktree, by its path, with what it holds or, of a link, where it leads to."""
    found = []
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name != b".git"]
        for name in names:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                found.append((os.path.relpath(path, top), b"-> " + os.readlink(path)))
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    found.append((os.path.relpath(path, top), file.read()))
    return found


def changed(repository: Path, revision: str = "HEAD") -> set[bytes]:
    """The paths that a commit changes, as git lists them."""
    args = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--root", "--no-commit-id", "-m", "--first-parent")
    return set(git(repository, *args, revision, "--").split(b"\0")) - {b""}


def message(repository: Path, revision: str = "HEAD") -> bytes:
    """The message of a commit, byte for byte."""
    return git(repository, "cat-file", "commit", revision).partition(b"\n\n")[2]
