"""What regular files hold: read without ever waiting, written to the disk before anybody sees it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from orca.tools.files.failures import Call, Refused
from orca.tools.files.walk import Walk

# `O_NONBLOCK`: a pipe may stand now where a regular file was when it was looked at.
READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_WRITE: Final = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_PIECE: Final = 1 << 20


@contextmanager
def opened(name: str, flags: int, *, at: int) -> Iterator[int]:
    """A descriptor for a while."""
    fd = os.open(name, flags, dir_fd=at)
    try:
        yield fd
    finally:
        os.close(fd)


def require_file(state: os.stat_result) -> None:
    """Refuse what is not a regular file."""
    if stat.S_ISDIR(state.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(state.st_mode):
        raise Refused("not-a-file", "this is not a regular file")


def require_writable(walk: Walk) -> None:
    """Refuse to replace a file that its own permissions protect: the system would only ask those of its directory."""
    if not os.access(walk.name, os.W_OK, dir_fd=walk.fd, effective_ids=True, follow_symlinks=False):
        os.close(os.open(walk.name, _WRITE, dir_fd=walk.fd))  # fails, and says why


def open_file(name: str, *, at: int) -> tuple[int, os.stat_result]:
    """Return a descriptor of a file and its state. What it is has been looked at: to open a device may do something."""
    fd = os.open(name, READ, dir_fd=at)
    try:
        state = os.fstat(fd)
        require_file(state)
    except BaseException:
        os.close(fd)
        raise
    return fd, state


def read(walk: Walk, limit: int, call: Call) -> tuple[bytes, os.stat_result]:
    """Return what the file at the end of the walk holds, at most `limit` bytes, and its state before it was read."""
    require_file(walk.settle())
    fd, state = open_file(walk.name, at=walk.fd)
    try:
        if state.st_size > limit:
            raise _too_large(limit)
        content = os.read(fd, state.st_size + 1)
        if len(content) != state.st_size:  # it grew, it shrank, or it is one of /proc that say they are empty
            content = _rest(fd, content, limit, call)
    finally:
        os.close(fd)
    return content, state


def _rest(fd: int, content: bytes, limit: int, call: Call) -> bytes:
    pieces = [content]
    size = len(content)
    while size <= limit and (piece := os.read(fd, _PIECE)):
        call.check()
        pieces.append(piece)
        size += len(piece)
    if size > limit:
        raise _too_large(limit)
    return b"".join(pieces)


def _too_large(limit: int) -> Refused:
    return Refused("too-large", f"the file is larger than {limit} bytes")


def pieces_of(fd: int, path: str, call: Call) -> Iterator[bytes]:
    """What a descriptor gives, piece by piece; a failure to read names the path."""
    while True:
        with call.naming(path):
            piece = os.read(fd, _PIECE)
        if not piece:
            return
        yield piece


def create(
    name: str,
    pieces: Iterable[bytes | memoryview],
    call: Call,
    *,
    at: int,
    mode: int | None,
    like: os.stat_result | None = None,
) -> int:
    """Make a file of the pieces and bring it to the disk; returns its size in bytes.

    `mode` None: what the umask leaves of 0666. The owner is that of `like`, where the system lets us.
    """
    # The umask is left to the system: to read it is to change it, for all threads.
    fd = os.open(name, NEW, 0o666 if mode is None else 0o600, dir_fd=at)
    try:
        size = _fill(fd, pieces, call)
        if like is not None:
            _keep_owner(fd, like)
        if mode is not None:
            os.fchmod(fd, mode)
        os.fsync(fd)
    finally:
        os.close(fd)
    return size


def _fill(fd: int, pieces: Iterable[bytes | memoryview], call: Call) -> int:
    size = 0
    for piece in pieces:
        rest = memoryview(piece)
        size += len(rest)
        while rest:
            call.check()
            rest = rest[os.write(fd, rest[:_PIECE]) :]
    return size


def _keep_owner(fd: int, like: os.stat_result) -> None:
    own = os.fstat(fd)
    if (own.st_uid, own.st_gid) == (like.st_uid, like.st_gid):
        return
    for user in (like.st_uid, -1):
        with suppress(OSError):  # only root may give files away; but the group may be one of ours
            os.fchown(fd, user, like.st_gid)
            return


def kept_mode(state: os.stat_result) -> int:
    """The mode of what takes the place of a file, or is its copy: a set-id bit was for the old content only."""
    mode = stat.S_IMODE(state.st_mode)
    return mode if stat.S_ISDIR(state.st_mode) else mode & 0o1777
