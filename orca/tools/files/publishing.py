"""A file or directory made out of sight and then put in its place in one step."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from orca.tools.files.contents import DIRECTORY, NEW, opened
from orca.tools.files.failures import Call, Stop
from orca.tools.files.trees import remove_tree
from orca.tools.files.walk import Walk

T = TypeVar("T")

_NO_SECOND_NAMES: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_CLEAN_UP_S: Final = 60.0

# Between the look at what is replaced and its replacement no thread of ours replaces it.
_publishing: Final = threading.Lock()


class Changed(Exception):
    """What was to be replaced is no longer what it was."""


class Entry(NamedTuple):
    """A name in a directory."""

    directory: int
    name: str


def put(
    walk: Walk,
    make: Callable[[int, str], T],
    call: Call,
    *,
    exclusive: bool = False,
    expected: os.stat_result | None = None,
    durable: bool = True,
) -> T:
    """Return what `make` returns, which makes something in a directory, once it has the place that the walk ends at.

    `exclusive`: fail where something is there. `expected`: raise `Changed` where it is no longer in this state.
    `durable`: its name is on the disk before this returns.
    """
    with opened(".", DIRECTORY, at=walk.fd) as directory:
        # Short, and not made from the name of the target, which may be as long as names can be.
        hidden = Entry(directory, f".{os.urandom(8).hex()}.tmp")
        try:
            made = make(*hidden)
            publish(hidden, Entry(directory, walk.name), call, exclusive=exclusive, expected=expected)
        except BaseException:
            _discard(hidden, call)
            raise
        if durable:
            sync(directory)
            sync_made(walk)
    return made


def publish(old: Entry, new: Entry, call: Call, *, exclusive: bool, expected: os.stat_result | None = None) -> None:
    """Give what has the old name the new one, in one step; `exclusive`: only if that is free."""
    while not _publishing.acquire(timeout=min(max(call.left(), 0.0), threading.TIMEOUT_MAX)):
        call.check()
    try:
        if expected is not None and _version(_state(new)) != _version(expected):
            raise Changed
        if not exclusive:
            _rename(old, new)
        elif stat.S_ISDIR(_state(old).st_mode) or not _is_linked(old, new, call):
            _claim(old, new, call)
        call.effect = "landed"
    finally:
        _publishing.release()


def _rename(old: Entry, new: Entry) -> None:
    os.rename(old.name, new.name, src_dir_fd=old.directory, dst_dir_fd=new.directory)


def _is_linked(old: Entry, new: Entry, call: Call) -> bool:
    """Whether it could be moved by a second name, which fails where the name is taken."""
    try:
        os.link(old.name, new.name, src_dir_fd=old.directory, dst_dir_fd=new.directory, follow_symlinks=False)
    except OSError as error:
        if error.errno in _NO_SECOND_NAMES:
            return False
        raise
    try:
        os.unlink(old.name, dir_fd=old.directory)
    except OSError:
        call.undo(lambda: os.unlink(new.name, dir_fd=new.directory))
        raise
    return True


def _claim(old: Entry, new: Entry, call: Call) -> None:
    """Move over something empty of our own, which could not be made where the name is taken."""
    make, take_back = (_make_directory, os.rmdir) if stat.S_ISDIR(_state(old).st_mode) else (_make_file, os.unlink)
    make(new)
    try:
        _rename(old, new)
    except OSError:  # nothing else: after a Ctrl-C what stands there may be no longer the empty one
        call.undo(lambda: take_back(new.name, dir_fd=new.directory))
        raise


def _make_directory(entry: Entry) -> None:
    os.mkdir(entry.name, 0o700, dir_fd=entry.directory)


def _make_file(entry: Entry) -> None:
    os.close(os.open(entry.name, NEW, 0o600, dir_fd=entry.directory))


def _discard(hidden: Entry, call: Call) -> None:
    """Remove what did not get to its place, and may never have been made."""
    try:
        if stat.S_ISDIR(_state(hidden).st_mode):
            remove_tree(hidden.name, hidden.name, Call(_CLEAN_UP_S), at=hidden.directory, unlock=True)
        else:
            os.unlink(hidden.name, dir_fd=hidden.directory)
    except FileNotFoundError:
        return
    except (OSError, Stop):
        call.has_begun()


def _state(entry: Entry) -> os.stat_result:
    return os.stat(entry.name, dir_fd=entry.directory, follow_symlinks=False)


def _version(state: os.stat_result) -> tuple[int, ...]:
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def sync(directory: int) -> None:
    """Bring a directory to the disk, where its file system has such a thing."""
    try:
        os.fsync(directory)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def sync_made(walk: Walk) -> None:
    """Bring to the disk the directories that the walk has made."""
    for parent, _ in walk.made:
        with opened(".", DIRECTORY, at=parent) as directory:
            sync(directory)
