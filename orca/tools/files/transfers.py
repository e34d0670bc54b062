"""What has a name and gets another one, a copy, or none: files, links and whole directories."""

from __future__ import annotations

import errno
import os
import stat

from orca.tools.files.contents import DIRECTORY, opened, require_file, require_writable
from orca.tools.files.failures import Call, Refused
from orca.tools.files.publishing import Entry, publish, put, sync
from orca.tools.files.trees import copy_file, copy_tree, identity, is_within, remove_empty, remove_tree
from orca.tools.files.walk import Walk


def require_entry(walk: Walk, state: os.stat_result) -> None:
    """Refuse to take away the root, or what holds it."""
    if walk.name == "." or (stat.S_ISDIR(state.st_mode) and is_within(walk.top, state, fence=walk.fence)):
        raise Refused("outside-root", "the root, and what holds it, stay where they are")


def require_room(target: Walk, state: os.stat_result, *, overwrite: bool, follow: bool) -> os.stat_result | None:
    """Refuse what a copy or move may not replace; returns the state of what it will, None where nothing is."""
    over = target.settled() if follow else _state(target)
    into_directory = over is not None and stat.S_ISDIR(over.st_mode)
    if over is not None and not overwrite:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    if over is not None and identity(over) == identity(state):
        raise Refused("already-exists", "both paths are the same file")
    if not stat.S_ISDIR(state.st_mode):
        if into_directory:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if target.must_be_directory:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        return over
    if over is not None and not into_directory:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if is_within(target.fd, state, fence=target.fence):
        raise Refused("other", "a directory cannot be put into itself", errno.EINVAL)
    if over is not None and (target.name == "." or not _is_empty(target)):
        raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))
    return over


def _is_empty(walk: Walk) -> bool:
    with opened(walk.name, DIRECTORY, at=walk.fd) as fd:
        return not os.listdir(fd)


def _state(walk: Walk) -> os.stat_result | None:
    try:
        return walk.state()
    except FileNotFoundError:
        return None


def copy(
    source: Walk, state: os.stat_result, target: Walk, over: os.stat_result | None, call: Call, *, exclusive: bool
) -> int:
    """Put a copy of what stands at the source at the target; returns the size of its files in bytes."""
    name, path = source.name, source.shown

    def make(at: int, hidden: str) -> int:
        if stat.S_ISDIR(state.st_mode):
            return copy_tree(name, path, hidden, target.shown, call, at=source.fd, to=at)
        if stat.S_ISLNK(state.st_mode):
            os.symlink(os.readlink(name, dir_fd=source.fd), hidden, dir_fd=at)
            return 0
        with call.naming(path):
            require_file(state)
        return copy_file(name, path, hidden, call, at=source.fd, to=at, like=over)

    if over is not None and not stat.S_ISDIR(over.st_mode):
        require_file(over)
        require_writable(target)
    return put(target, make, call, exclusive=exclusive)


def move(
    source: Walk,
    left: int,
    state: os.stat_result,
    target: Walk,
    over: os.stat_result | None,
    call: Call,
    *,
    exclusive: bool,
) -> None:
    """Give what stands at the source, in the directory `left`, the target's name; across devices as a copy."""
    with opened(".", DIRECTORY, at=target.fd) as entered:
        try:
            publish(Entry(left, source.name), Entry(entered, target.name), call, exclusive=exclusive)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            copy(source, state, target, over, call, exclusive=exclusive)
            with call.naming(source.shown):
                remove(source, left, state, call, recursive=True)
        else:
            sync(entered)
            sync(left)


def remove(walk: Walk, parent: int, state: os.stat_result, call: Call, *, recursive: bool) -> int:
    """Remove what stands at the end of the walk, in the directory `parent`; returns how many entries that were."""
    entries = 1
    if not stat.S_ISDIR(state.st_mode):
        os.unlink(walk.name, dir_fd=parent)
    elif recursive:
        entries = remove_tree(walk.name, walk.shown, call, at=parent)
    else:
        remove_empty(walk.name, at=parent)
    call.effect = "landed"
    sync(parent)
    return entries
