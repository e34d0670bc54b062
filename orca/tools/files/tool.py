"""The files tool: reading and changing files below one directory, each call returning a `Result`."""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

from orca.process import StrPath
from orca.tools.arguments import seconds
from orca.tools.files.contents import DIRECTORY, create, kept_mode, opened, read, require_file, require_writable
from orca.tools.files.edits import edited
from orca.tools.files.entries import FileInfo, MovedFile, RemovedFile, WrittenFile, file_info
from orca.tools.files.failures import Call, Refused, Stop, tagged
from orca.tools.files.patterns import matcher
from orca.tools.files.publishing import Changed, put, sync, sync_made
from orca.tools.files.transfers import copy, move, remove, require_entry, require_room
from orca.tools.files.trees import list_tree, relative
from orca.tools.files.walk import Root, Walk

_LIMIT: Final = 64 << 20


class FsTool:
    """Files below one directory, the root: read, written, listed, moved; each call returns a `Result`.

    Paths are relative to the root, or absolute and begin with it; those of results are relative to it. No path leads
    out: `..` that leaves is `outside-root`, a symbolic link that leads outside is `symlink`, and what is outside is
    neither opened nor named. A link that stays inside is followed; an absolute one does when it begins with the path of
    the root. A hard link cannot be told from any other file. `allow_outside=True` lifts all that: absolute paths, `..`
    and links are followed as the system does.

    What is written is there whole or not at all, and on the disk when the call returns. Nothing but regular files is
    read or written; nothing waits for a pipe or a device. `timeout` is seconds and bounds each call, but for a single
    step that a disk holds up; a call that ran out of time fails with cause `other` and `errno.ETIMEDOUT`.

    Every method fails with `FileSystemError`. Its `effect` is `none`, `unknown` (a part has happened), or `landed` (all
    has, and then the directory could not be brought to the disk). Beside its own causes each method has `not-found` and
    `not-a-directory` (for a part of the path, or the root), `outside-root`, `symlink` (also for a circle of them),
    `permission`, and `other`: a name that is too long or cannot be one, the time, and whatever else `errno` says.

    >>> from orca.tools import FsTool
    >>> FsTool(".").read_text("a.txt").unwrap()
    'a\\n'
    """

    def __init__(self, root: StrPath = ".", *, allow_outside: bool = False, timeout: float = 60.0) -> None:
        self._root = Root(root, contained=not allow_outside)
        self._timeout = seconds(timeout)

    @tagged
    def read_text(self, path: StrPath) -> str:
        """Return what a file holds, as UTF-8, with its line ends and byte order mark: written back, it is the same.

        Fails with `FileSystemError`: `not-text` (not UTF-8), `too-large` (more than 64 MiB), `is-a-directory`,
        `not-a-file`, and as every method does.

        >>> from orca import fs
        >>> fs().read_text("a.txt").unwrap()
        'a\\n'
        """
        call = self._call()
        with self._walk(path, call) as walk:
            return _decoded(read(walk, _LIMIT, call)[0])

    @tagged
    def read_bytes(self, path: StrPath, limit: int = _LIMIT) -> bytes:
        """Return what a file holds; more than `limit` bytes are a failure.

        Fails with `FileSystemError`: `too-large`, `is-a-directory`, `not-a-file`, and as every method does.

        >>> from orca import fs
        >>> fs().read_bytes("a.txt").unwrap()
        b'a\\n'
        """
        if limit < 0:
            raise ValueError(f"limit must be a number of bytes, not {limit!r}")
        call = self._call()
        with self._walk(path, call) as walk:
            return read(walk, limit, call)[0]

    @tagged
    def write_text(self, path: StrPath, text: str, mode: int | None = None) -> WrittenFile:
        """Return what was written: the text as UTF-8, its line ends as they are. See `write_bytes`.

        Fails as `write_bytes` does, and with `not-text` where the text holds what UTF-8 cannot (a lone surrogate).

        >>> from orca import fs
        >>> fs().write_text("notes/today.md", "# Today\\n").unwrap()
        WrittenFile(path='notes/today.md', size=8, created=True)
        """
        call = self._call()
        with call.naming(self._root.shown(path)):
            content = _encoded(text)
        return self._write(path, content, mode, call)

    @tagged
    def write_bytes(self, path: StrPath, data: bytes | bytearray | memoryview, mode: int | None = None) -> WrittenFile:
        """Return what was written; directories that are missing on the way are made.

        A file that was there is replaced in one step. It keeps its permissions unless `mode` gives others, and its
        owner where the system lets it; its other names (hard links) keep the old content. A new one gets what the umask
        leaves of 0666. Where a link stands that leads to a file inside, that file is written and the link stays. What
        fails leaves the old content, and no directory that was made for it.

        Fails with `FileSystemError`: `permission` (also where only the file itself is protected), `is-a-directory`,
        `not-a-file`, `no-space`, `read-only`, and as every method does.

        >>> from orca import fs
        >>> fs().write_bytes("run.sh", b"#!/bin/sh\\n", mode=0o755).unwrap().created
        True
        """
        return self._write(path, memoryview(data).cast("B"), mode, self._call())

    @tagged
    def edit_text(self, path: StrPath, old: str, new: str, count: int = 1) -> WrittenFile:
        r"""Return the file in which exactly `count` occurrences of `old` have become `new`.

        All else keeps its bytes, the byte order mark too. Line ends fit the file: unless `old` holds a carriage return,
        a `\n` in it stands for `\n` and `\r\n` alike, and a `\n` in `new` becomes the line end that it takes the place
        of; one too many becomes as the last of those, or as the next one in the file. To change line ends, put `\r` in
        `old`: both texts are then taken as they are. A file that others change meanwhile is read and edited again.

        Fails with `FileSystemError`: `no-match` (fewer than `count`), `ambiguous` (more than `count`, or some overlap),
        `not-text`, `too-large` (more than 64 MiB), and as `write_text` does. An empty `old` or a `count` below one is
        misuse (`ValueError`).

        >>> from orca import fs
        >>> fs().edit_text("a.txt", "a", "b").unwrap().path
        'a.txt'
        """
        if not old:
            raise ValueError("there must be some text to replace")
        if count < 1:
            raise ValueError(f"count must be at least one, not {count!r}")
        call = self._call()
        with self._walk(path, call) as walk:
            while True:
                content, state = read(walk, _LIMIT, call)
                require_writable(walk)
                content = _encoded(edited(_decoded(content), old, new, count))
                try:
                    size = _put(walk, content, kept_mode(state), state, call, expected=state)
                except Changed:
                    call.check()
                else:
                    return WrittenFile(walk.shown, size, created=False)

    @tagged
    def exists(self, path: StrPath) -> bool:
        """Return whether something is there; where a link leads nowhere, nothing is.

        Fails with `FileSystemError`: `outside-root`, `symlink`, `permission`, or because of the root: nobody knows.

        >>> from orca import fs
        >>> fs().exists("a.txt").unwrap(), fs().exists("b.txt").unwrap()
        (True, False)
        """
        try:
            with self._walk(path, self._call()) as walk:
                return walk.settle() is not None
        except Stop as stop:
            if isinstance(stop.__cause__, FileNotFoundError | NotADirectoryError):
                return False
            raise

    @tagged
    def stat(self, path: StrPath) -> FileInfo:
        """Return what is there: of a link, what it leads to.

        Fails with `FileSystemError` as every method does.

        >>> from orca import fs
        >>> fs().stat("a.txt").unwrap().size
        2
        """
        with self._walk(path, self._call()) as walk:
            return file_info(walk.shown, walk.settle())

    @tagged
    def list(self, path: StrPath = ".", pattern: str | None = None, recursive: bool = False) -> tuple[FileInfo, ...]:
        """Return what a directory holds, hidden files too, sorted by path.

        `recursive`: and what its directories hold. A link is listed as itself (`symlink`) and not entered. `pattern` is
        a glob over paths relative to that directory: without a `/` for the name alone (`*.py`), with one for the whole
        path, where `**` stands for any number of directories (`src/**/test_*.py`). Case counts, and a leading dot is
        nothing special.

        Fails with `FileSystemError`: `not-a-directory`, `permission` (for any directory in it), and as every method
        does.

        >>> from orca import fs
        >>> [file.path for file in fs().list(pattern="*.txt").unwrap()]
        ['a.txt']
        """
        call = self._call()
        fits = None if pattern is None else matcher(pattern)
        with self._walk(path, call) as walk:
            if not stat.S_ISDIR(walk.settle().st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            top = walk.shown
            found = list_tree(walk.name, top, call, at=walk.fd, deep=recursive)
        found.sort(key=lambda entry: entry[0])
        return tuple(
            file_info(inner, state) for inner, state in found if fits is None or fits(relative(inner, top).split("/"))
        )

    @tagged
    def make_dir(self, path: StrPath) -> FileInfo:
        """Return the directory that was made, with those that were missing on the way.

        Fails with `FileSystemError`: `already-exists` (a directory too: `exists` asks), `no-space`, `read-only`, and as
        every method does.

        >>> from orca import fs
        >>> fs().make_dir("build/logs").unwrap().kind
        'directory'
        """
        call = self._call()
        with self._walk(path, call, make=True) as walk, opened(".", DIRECTORY, at=walk.fd) as parent:
            os.mkdir(walk.name, dir_fd=parent)
            call.effect = "landed"
            sync(parent)
            sync_made(walk)
            return file_info(walk.shown, walk.state())

    @tagged
    def copy(self, src: StrPath, dst: StrPath, overwrite: bool = False) -> WrittenFile:
        """Return the copy at `dst` of the file or directory at `src`: content and permissions.

        `dst` is the path of the copy itself, never of a directory to put it in, and its parent is there. `overwrite`
        replaces a file, or an empty directory by a directory; links at `src` and, to overwrite, at `dst` are followed.
        A directory is copied whole or not at all; links in it stay links, as they are.

        Fails with `FileSystemError`: `already-exists` (also a directory that is not empty, and a file over
        itself), `is-a-directory` and `not-a-directory` (one over the other), `not-a-file` (something else, also inside
        a directory), `no-space`, `read-only`, `other` (a directory into itself), and as every method does.

        >>> from orca import fs
        >>> fs().copy("a.txt", "b.txt").unwrap()
        WrittenFile(path='b.txt', size=2, created=True)
        """
        call = self._call()
        with self._walk(src, call) as source:
            state = source.settle()
            if not stat.S_ISDIR(state.st_mode):
                require_file(state)
            with self._walk(dst, call) as target:
                over = require_room(target, state, overwrite=overwrite, follow=overwrite)
                size = copy(source, state, target, over, call, exclusive=not overwrite)
                return WrittenFile(target.shown, size, created=over is None)

    @tagged
    def move(self, src: StrPath, dst: StrPath, overwrite: bool = False) -> MovedFile:
        """Return the new place of the file, directory or link that was at `src`.

        `dst` is the new path itself, never of a directory to put it in, and its parent is there. `overwrite` replaces a
        file or link, or an empty directory by a directory. Links at either end are not followed. It is one step, except
        between file systems: there a copy is made first, and then what was at `src` is removed.

        Fails with `FileSystemError`: as `copy` does; `outside-root` for the root itself, and for what holds it; with
        `effect` `landed` also when a copy was made and the original could not be removed.

        >>> from orca import fs
        >>> fs().move("a.txt", "b.txt").unwrap()
        MovedFile(path='b.txt', old_path='a.txt', created=True)
        """
        call = self._call()
        with self._walk(src, call) as source, opened(".", DIRECTORY, at=source.fd) as left:
            state = source.state()
            require_entry(source, state)
            with self._walk(dst, call) as target:
                over = require_room(target, state, overwrite=overwrite, follow=False)
                move(source, left, state, target, over, call, exclusive=not overwrite)
                return MovedFile(target.shown, source.shown, created=over is None)

    @tagged
    def remove(self, path: StrPath, recursive: bool = False) -> RemovedFile:
        """Return what is gone: a file, a link (not what it leads to), an empty directory.

        `recursive`: any directory, with all that it holds.

        Fails with `FileSystemError`: `is-a-directory` (not empty, without `recursive`), `outside-root` (the root
        itself, or what holds it), `read-only`, and as every method does.

        >>> from orca import fs
        >>> fs().remove("a.txt").unwrap()
        RemovedFile(path='a.txt', entries=1)
        """
        call = self._call()
        with self._walk(path, call) as walk, opened(".", DIRECTORY, at=walk.fd) as parent:
            state = walk.state()
            require_entry(walk, state)
            return RemovedFile(walk.shown, remove(walk, parent, state, call, recursive=recursive))

    def _call(self) -> Call:
        return Call(self._timeout)

    def _walk(self, path: StrPath, call: Call, *, make: bool = False) -> Walk:
        return Walk(self._root, path, call, make=make)

    def _write(self, path: StrPath, content: bytes | memoryview, mode: int | None, call: Call) -> WrittenFile:
        if mode is not None and not 0 <= mode <= 0o7777:
            raise ValueError(f"mode must be permission bits, not {mode!r}")
        with self._walk(path, call, make=True) as walk:
            over = walk.settled()
            if over is not None:
                require_file(over)
                require_writable(walk)
                mode = kept_mode(over) if mode is None else mode
            elif walk.must_be_directory:
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            size = _put(walk, content, mode, over, call)
            return WrittenFile(walk.shown, size, created=over is None)


def _put(
    walk: Walk,
    content: bytes | memoryview,
    mode: int | None,
    over: os.stat_result | None,
    call: Call,
    expected: os.stat_result | None = None,
) -> int:
    def make(at: int, hidden: str) -> int:
        return create(hidden, (content,), call, at=at, mode=mode, like=over)

    return put(walk, make, call, expected=expected)


def _decoded(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Refused("not-text", f"the file is not UTF-8, from byte {error.start} on") from None


def _encoded(text: str) -> bytes:
    try:
        return str.encode(text)  # of the class: anything but a text is a TypeError
    except UnicodeEncodeError as error:
        raise Refused("not-text", f"UTF-8 has no word for character {error.start} of the text") from None
