"""Whole directories, by one descriptor at a time: what stands in them is not followed, whatever it is swapped for."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeAlias

from orca.tools.files.contents import DIRECTORY, create, kept_mode, open_file, pieces_of, require_file
from orca.tools.files.failures import Call, Refused
from orca.tools.files.walk import PASS

Visitor: TypeAlias = Callable[[str, str, os.stat_result], None]  # path, name, state


class Cursor:
    """A place in a tree, `fd`, that goes up only where it came down."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._above: list[tuple[int, int]] = []

    def down(self, name: str) -> None:
        """Go into a directory that stands here."""
        fd = os.open(name, DIRECTORY, dir_fd=self.fd)
        self._above.append(identity(os.fstat(self.fd)))
        self._move_to(fd)

    def up(self) -> None:
        """Go back, unless somebody has moved the directory meanwhile: perhaps to outside."""
        self._move_to(os.open("..", DIRECTORY, dir_fd=self.fd))
        if identity(os.fstat(self.fd)) != self._above.pop():
            raise Refused("other", "a directory was moved while it was used", errno.ESTALE)

    def _move_to(self, fd: int) -> None:
        os.close(self.fd)
        self.fd = fd


@contextmanager
def cursor(name: str, *, at: int) -> Iterator[Cursor]:
    """A cursor at a directory, for a while."""
    place = Cursor(os.open(name, DIRECTORY, dir_fd=at))
    try:
        yield place
    finally:
        os.close(place.fd)


def visit(place: Cursor, path: str, call: Call, entry: Visitor, left: Visitor, *, deep: bool = True) -> None:
    """Call `entry` for all that the directory at the cursor holds; when `deep`, for what its directories hold too.

    For a directory `entry` is called with the cursor in it, then for what it holds, then `left` with the cursor back
    above it. What is gone by the time that it is its turn is passed over. Failures name the path of the entry.
    """
    levels: list[tuple[str, str, os.stat_result, list[str]]] = []
    held = sorted(os.listdir(place.fd), reverse=True)
    while held or levels:
        call.check()
        if held:
            name = held.pop()
            inner = join(path, name)
            with call.naming(inner):
                try:
                    state = os.stat(name, dir_fd=place.fd, follow_symlinks=False)
                    enters = deep and stat.S_ISDIR(state.st_mode)
                    if enters:
                        place.down(name)
                except FileNotFoundError:
                    continue
                entry(inner, name, state)
                if enters:
                    levels.append((path, name, state, held))
                    path, held = inner, sorted(os.listdir(place.fd), reverse=True)
        else:
            with call.naming(path):
                place.up()
                above, name, state, held = levels.pop()
                left(path, name, state)
            path = above


def list_tree(name: str, path: str, call: Call, *, at: int, deep: bool) -> list[tuple[str, os.stat_result]]:
    """Return the path and state of all that a directory holds, in no particular order."""
    found: list[tuple[str, os.stat_result]] = []
    with cursor(name, at=at) as place:
        visit(place, path, call, lambda inner, _, state: found.append((inner, state)), _nothing, deep=deep)
    return found


def remove_tree(name: str, path: str, call: Call, *, at: int, unlock: bool = False) -> int:
    """Remove a directory and all that it holds; returns how many entries that were.

    `unlock`: also where the permissions of a directory in it do not allow that.
    """
    removed = 0

    def gone() -> None:
        nonlocal removed
        removed += 1
        call.has_begun()

    def entry(_: str, name: str, state: os.stat_result) -> None:
        if not stat.S_ISDIR(state.st_mode):
            with suppress(FileNotFoundError):  # somebody else was faster
                os.unlink(name, dir_fd=place.fd)
            gone()
        elif unlock:
            os.fchmod(place.fd, 0o700)

    def left(_: str, name: str, __: os.stat_result) -> None:
        with suppress(FileNotFoundError):
            remove_empty(name, at=place.fd)
        gone()

    with call.naming(path), cursor(name, at=at) as place:
        visit(place, path, call, entry, left)
        remove_empty(name, at=at)
    return removed + 1


def remove_empty(name: str, *, at: int) -> None:
    """Remove a directory that is empty."""
    try:
        os.rmdir(name, dir_fd=at)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        raise Refused("is-a-directory", "this is a directory that is not empty", error.errno) from None


def copy_tree(name: str, path: str, new_name: str, new_path: str, call: Call, *, at: int, to: int) -> int:
    """Make a directory like another one, modes and links too; returns the size of its files in bytes.

    Failures to read name what is below `path`, others what is below `new_path`.
    """
    size = 0

    def entry(inner: str, name: str, state: os.stat_result) -> None:
        nonlocal size
        kind = stat.S_IFMT(state.st_mode)
        if kind not in (stat.S_IFDIR, stat.S_IFLNK):
            require_file(state)
        text = os.readlink(name, dir_fd=old.fd) if kind == stat.S_IFLNK else ""
        with call.naming(moved(inner)):
            if kind == stat.S_IFDIR:
                os.mkdir(name, 0o700, dir_fd=new.fd)
                new.down(name)
            elif kind == stat.S_IFLNK:
                os.symlink(text, name, dir_fd=new.fd)
            else:
                size += copy_file(name, inner, name, call, at=old.fd, to=new.fd)

    def left(inner: str, _: str, state: os.stat_result) -> None:
        with call.naming(moved(inner)):
            _finish(new.fd, state)
            new.up()

    def moved(inner: str) -> str:
        return join(new_path, relative(inner, path))

    os.mkdir(new_name, 0o700, dir_fd=to)
    with cursor(new_name, at=to) as new, call.naming(path), cursor(name, at=at) as old:
        visit(old, path, call, entry, left)
        state = os.fstat(old.fd)
        with call.naming(new_path):
            _finish(new.fd, state)
    return size


def copy_file(
    name: str, path: str, new_name: str, call: Call, *, at: int, to: int, like: os.stat_result | None = None
) -> int:
    """Make a file like another one, its mode too, owned as `like`; returns its size in bytes.

    Failures to read name `path`.
    """
    with call.naming(path):
        fd, state = open_file(name, at=at)
    try:
        return create(new_name, pieces_of(fd, path, call), call, at=to, mode=kept_mode(state), like=like)
    finally:
        os.close(fd)


def is_within(fd: int, above: os.stat_result, *, fence: int | None) -> bool:
    """Whether a directory is the one `above`, or somewhere in it; what is above the fence is not looked at."""
    end = None if fence is None else identity(os.fstat(fence))
    here = os.dup(fd)
    try:
        before = None
        while (place := identity(os.fstat(here))) not in (identity(above), end, before):
            parent = os.open("..", PASS, dir_fd=here)
            os.close(here)
            here, before = parent, place
        return place == identity(above)
    finally:
        os.close(here)


def identity(state: os.stat_result) -> tuple[int, int]:
    """What tells a file from all others."""
    return state.st_dev, state.st_ino


def join(path: str, name: str) -> str:
    """Return the path of what a directory holds; `.` holds plain names."""
    return name if path == "." else f"{path.rstrip('/')}/{name}"


def relative(inner: str, path: str) -> str:
    """Return what `join` has put after the path."""
    return inner if path == "." else inner[len(path.rstrip("/")) + 1 :]


def _finish(fd: int, state: os.stat_result) -> None:
    os.fchmod(fd, kept_mode(state))
    os.fsync(fd)


def _nothing(*_: object) -> None:
    pass
