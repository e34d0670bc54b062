"""One writer at a time for the index of one worktree: across threads, across processes, and never against a parent."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from orca.errors import CommandCause

FILE: Final = "orca-index.lock"
_VARIABLE: Final = "ORCA_INDEX_LOCKS"
_SHORTEST_WAIT_S: Final = 0.001
_LONGEST_WAIT_S: Final = 0.02

_threads: dict[str, threading.Lock] = {}
_held: set[int] = set()
_holders: dict[str, int] = {}  # which thread holds which


class Locked(Exception):
    """The lock could not be had: `cause` is `locked`, unless it cannot exist at all."""

    def __init__(self, why: str, cause: CommandCause = "locked") -> None:
        super().__init__(why)
        self.cause: CommandCause = cause


@contextmanager
def hold(git_dir: str, deadline: float) -> Iterator[dict[str, str]]:
    """Hold the index of a worktree; yields the variable that tells git's children (hooks) that it is held."""
    identity = _identity(git_dir)
    held_above = [held for held in os.environ.get(_VARIABLE, "").split(",") if held]
    if identity in held_above:  # by a process that waits for us, unless it has ended and left us behind
        deadline = time.monotonic()
    if _holders.get(identity) == threading.get_ident():
        raise Locked("this thread holds the index lock itself, for the call that it is in")
    mutex = _threads.setdefault(identity, threading.Lock())
    if not mutex.acquire(timeout=min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX)):
        raise Locked("this process held the index lock until the deadline")
    try:
        fd = _open(os.path.join(git_dir, FILE))
        _held.add(fd)
        try:
            _wait_for(fd, deadline)
            _holders[identity] = threading.get_ident()
            yield {_VARIABLE: ",".join([*held_above, identity])}
        finally:
            _holders.pop(identity, None)
            _held.discard(fd)
            os.close(fd)
    finally:
        mutex.release()


def _identity(git_dir: str) -> str:
    try:
        state = os.stat(git_dir)
    except OSError as error:
        raise Locked(f"{git_dir}: {error.strerror}", "not-a-repository") from None
    return f"{state.st_dev}:{state.st_ino}"


def _open(path: str) -> int:
    # Opened for each call: a lock is shared by all copies of one open file, a forked child's too.
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        raise Locked(f"{path}: {error.strerror}", "other") from None


def _wait_for(fd: int, deadline: float) -> None:
    wait = _SHORTEST_WAIT_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise Locked("another process held the index lock until the deadline") from None
            time.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT_S)
        except OSError as error:
            raise Locked(f"{FILE}: {error.strerror}", "other") from None
        else:
            return


def _forget() -> None:
    """A forked child must neither wait for a thread that it does not have nor keep its parent's lock alive."""
    _threads.clear()
    _holders.clear()
    for fd in _held:
        os.close(fd)
    _held.clear()


os.register_at_fork(after_in_child=_forget)
