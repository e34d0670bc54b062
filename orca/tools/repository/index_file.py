"""The index as a file: a copy to work on, and the copy taken into use as git itself does it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Changed(Exception):
    """Somebody wrote the index meanwhile."""


@contextmanager
def copied(index: str, git_dir: str) -> Iterator[str]:
    """Yield the path of a copy of the index, which is gone afterwards; raises `OSError`.

    It lies beside the index: what a hook's index lies in is the git folder of its repository.
    """
    copy = os.path.join(git_dir, f"orca-index-{os.urandom(8).hex()}")
    try:
        if os.path.exists(index):
            from shutil import copyfile

            copyfile(index, copy)
        yield copy
    finally:
        for path in (copy, f"{copy}.lock"):
            with suppress(OSError):
                os.unlink(path)


def stamp(index: str) -> tuple[int, ...]:
    """Return what tells one state of the index from the next: git never writes into it, but puts a new one there."""
    try:
        state = os.stat(index)
    except FileNotFoundError:
        return ()
    return state.st_ino, state.st_mtime_ns, state.st_size


def replace(index: str, copy: str, expected: tuple[int, ...] | None = None) -> None:
    """Put the copy in the index's place in one step, under git's own lock.

    Raises `FileExistsError` where the lock is held, and `Changed` where the index is not the `expected` one any more.
    """
    lock = f"{index}.lock"
    os.link(copy, lock)
    if expected is not None and stamp(index) != expected:
        os.unlink(lock)
        raise Changed
    os.replace(lock, index)


def put_back(index: str, copy: str) -> None:
    """Make the index what it was when it was copied; where it is locked or cannot be written, it stays."""
    with suppress(OSError):
        if os.path.exists(copy):
            replace(index, copy)
        else:
            os.unlink(index)  # there was none
