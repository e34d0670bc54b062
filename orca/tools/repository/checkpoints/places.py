"""What stands where in the worktree: looked at, read, written and removed by descriptors that no link leads astray."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from typing import TypeVar

from orca.tools.files.contents import DIRECTORY, NEW, opened, require_file
from orca.tools.files.contents import READ as READ_FLAGS
from orca.tools.files.failures import Call, Refused
from orca.tools.files.publishing import put
from orca.tools.files.walk import Root, Walk

T = TypeVar("T")


class Places:
    """A directory and what is below it; paths are relative to it, and nothing leads out of it."""

    def __init__(self, top: str, call: Call) -> None:
        self._root = Root(top)
        self._call = call

    def states(self, paths: Iterable[str]) -> dict[str, os.stat_result]:
        """Return the state of each that is there, a link's own; one below a link is not there."""
        found: dict[str, os.stat_result] = {}
        for folder, group in groupby(sorted(paths, key=os.path.dirname), os.path.dirname):
            self._call.check()
            try:
                with self._at(os.path.join(folder, "x")) as fd:
                    for path in group:
                        with suppress(FileNotFoundError, NotADirectoryError):
                            found[path] = os.stat(os.path.basename(path), dir_fd=fd, follow_symlinks=False)
            except _Absent:
                continue
        return found

    def read(self, path: str) -> bytes:
        """Return what a file holds, or where a link leads."""
        with self._at(path) as fd:
            name = os.path.basename(path)
            state = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if stat.S_ISLNK(state.st_mode):
                return os.fsencode(os.readlink(name, dir_fd=fd))
            require_file(state)
            with opened(name, READ_FLAGS, at=fd) as file:
                require_file(os.fstat(file))
                with open(file, "rb", closefd=False) as stream:
                    return stream.read()

    def write(self, path: str, data: bytes, mode: int) -> None:
        """Put a file in its place, in one step."""

        def make(directory: int, name: str) -> None:
            fd = os.open(name, NEW, 0o600, dir_fd=directory)
            with open(fd, "wb") as file:
                file.write(data)
                os.fchmod(fd, mode)

        self._put(path, make)

    def link(self, path: str, target: bytes) -> None:
        """Put a link in its place, in one step."""
        self._put(path, lambda directory, name: os.symlink(target, os.fsencode(name), dir_fd=directory))

    def change_mode(self, path: str, mode: int) -> None:
        """Give a file that stands there other permissions."""
        with self._at(path) as fd, opened(os.path.basename(path), READ_FLAGS, at=fd) as file:
            os.fchmod(file, mode)

    def remove(self, path: str) -> None:
        """Remove a file or a link; what is not there stays so."""
        with suppress(_Absent, FileNotFoundError), self._at(path) as fd:
            os.unlink(os.path.basename(path), dir_fd=fd)

    def remove_folder(self, path: str) -> bool:
        """Remove a directory, if it is one, and empty."""
        try:
            with self._at(path) as fd:
                os.rmdir(os.path.basename(path), dir_fd=fd)
        except _Absent:
            return False
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR):
                return False
            raise
        return True

    def make_folder(self, path: str) -> None:
        """Make a directory, and those above it."""
        with Walk(self._root, f"{path}/x", self._call, follow=False, make=True):
            pass

    def held(self, path: str) -> Iterator[str]:
        """Yield all that a directory holds at any depth, except directories."""
        for inner, state in self._listed(path):
            if stat.S_ISDIR(state.st_mode):
                yield from self.held(inner)
            else:
                yield inner

    def folders(self, path: str) -> list[str]:
        """Return the directories in a directory, at any depth, each before those that are in it."""
        inside = [inner for inner, state in self._listed(path) if stat.S_ISDIR(state.st_mode)]
        return [folder for inner in inside for folder in (inner, *self.folders(inner))]

    def empty_folders(self, but: Collection[str]) -> list[str]:
        """Return the directories that hold nothing; those named in `but`, and repositories, are not entered."""
        found: list[str] = []
        todo = [""]
        while todo:
            self._call.check()
            folder = todo.pop()
            inside = self._listed(folder)
            if not inside and folder:
                found.append(folder)
            elif not folder or all(os.path.basename(path) != ".git" for path, _ in inside):
                todo += [
                    path
                    for path, state in inside
                    if stat.S_ISDIR(state.st_mode) and path not in but and os.path.basename(path) != ".git"
                ]
        return sorted(found)

    def _listed(self, folder: str) -> list[tuple[str, os.stat_result]]:
        found = []
        with suppress(_Absent), self._at(os.path.join(folder, "x")) as fd, opened(".", DIRECTORY, at=fd) as directory:
            for name in os.listdir(directory):
                with suppress(FileNotFoundError):
                    state = os.stat(name, dir_fd=directory, follow_symlinks=False)
                    found.append((os.path.join(folder, name), state))
        return found

    def _put(self, path: str, make: Callable[[int, str], T]) -> T:
        with Walk(self._root, path, self._call, follow=False, make=True) as walk:
            return put(walk, make, self._call, durable=False)  # the checkpoint can be restored again

    def _at(self, path: str) -> _Parent:
        return _Parent(self._root, path, self._call)


class _Absent(Exception):
    """What is above it is not there, or no directory."""


class _Parent:
    """The directory that a path ends in; where a link or a file stands above it, the path is not there."""

    def __init__(self, root: Root, path: str, call: Call) -> None:
        self._walk = Walk(root, path, call, follow=False)

    def __enter__(self) -> int:
        try:
            return self._walk.__enter__().fd
        except Exception as error:
            cause = error.__cause__
            if isinstance(cause, FileNotFoundError | NotADirectoryError) or (
                isinstance(cause, Refused) and cause.reason.cause == "symlink"
            ):
                raise _Absent from None
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: object) -> None:
        self._walk.__exit__(None, None, None)
