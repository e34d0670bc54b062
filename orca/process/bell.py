"""Wakes the main thread where a signal has come and it sleeps on.

Python runs signal handlers in the main thread alone, and only when that runs. A signal that comes while it falls asleep
on a lock, or that the system gives to another thread, does not wake it. So the runs of other threads poll a pipe to
which Python writes the number of each signal that comes, and the one that reads it interrupts the main thread's sleep
with a signal that means nothing else, again and again until the main thread has answered.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import Final

from orca.process import interrupts

_RING: Final = signal.SIGURG  # ignored by default, so that one which comes too late harms nobody
_WAITED_FOR: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_FIRST_S: Final = 0.1
_LAST_S: Final = 5.0  # one that is long in foreign code shall not be disturbed all the time


class _Bell:
    """The pipe, once a run of another thread has needed it, and whether the main thread has to answer."""

    reader = -1
    writer = -1
    inode = -1
    unanswered = False
    rung_at = 0.0
    again_s = _FIRST_S


_making = threading.Lock()


def install() -> None:
    """Put the main thread's answer over a default disposition; called in the main thread."""
    if signal.getsignal(_RING) is signal.SIG_DFL:
        signal.signal(_RING, _answer)


def reader() -> int | None:
    """Return what a run has to poll; None where it need not or cannot hear.

    That is in the main thread, where the ring is another's, and where no descriptor is left.
    """
    if threading.current_thread() is threading.main_thread() or signal.getsignal(_RING) is not _answer:
        return None
    with _making:
        if not _is_ours(_Bell.reader):
            try:
                _Bell.reader, _Bell.writer = os.pipe()
            except OSError:
                return None
            _Bell.inode = os.fstat(_Bell.reader).st_ino
            os.set_blocking(_Bell.reader, False)
            os.set_blocking(_Bell.writer, False)
            _call()  # only the main thread can ask Python to write to it
    return _Bell.reader


def hear() -> None:
    """Read which signals came, and ring where the main thread has to act on one."""
    try:
        came = os.read(_Bell.reader, 1 << 12)
    except OSError:  # another run has read them
        return
    if any(signum in came for signum in _WAITED_FOR):
        _call()


def patience() -> float | None:
    """Return how many seconds may pass until the next call, having rung again if need be; None where all is quiet."""
    if not _Bell.unanswered:
        return None
    if time.monotonic() - _Bell.rung_at >= _Bell.again_s:
        _Bell.again_s = min(2 * _Bell.again_s, _LAST_S)
        _ring()
    return _Bell.again_s


def listen() -> None:
    """Have Python write to the pipe, if there is one, unless it writes to another's; called in the main thread.

    trio warns where it finds somebody else's, and does the same for a main thread that it runs in.
    """
    if _Bell.writer < 0:
        return
    with interrupts.deferred():  # what was another's must come back
        _write_to(-1 if "trio" in sys.modules else _Bell.writer)


def forget() -> None:
    """A forked child leaves its parent's bell alone."""
    global _making  # noqa: PLW0603 - a thread that the child does not have may hold the old one
    _making = threading.Lock()
    if _Bell.writer >= 0:
        _write_to(-1)
    for fd in filter(_is_ours, (_Bell.reader, _Bell.writer)):
        os.close(fd)
    _Bell.reader = _Bell.writer = -1
    _Bell.unanswered = False
    if signal.getsignal(_RING) is _answer:
        signal.signal(_RING, signal.SIG_DFL)


def _is_ours(fd: int) -> bool:
    """Whether the host has not closed it, so that the number may be of another file by now."""
    try:
        return fd >= 0 and os.fstat(fd).st_ino == _Bell.inode
    except OSError:
        return False


def _write_to(fd: int) -> None:
    before = signal.set_wakeup_fd(fd, warn_on_full_buffer=False)
    if before not in (-1, _Bell.writer):
        signal.set_wakeup_fd(before, warn_on_full_buffer=False)


def _call() -> None:
    _Bell.unanswered, _Bell.again_s = True, _FIRST_S
    _ring()


def _ring() -> None:
    _Bell.rung_at = time.monotonic()
    main = threading.main_thread().ident
    if main is not None and signal.getsignal(_RING) is _answer:
        signal.pthread_kill(main, _RING)


def _answer(*_: object) -> None:
    """The main thread is awake: Python has run, or runs next, the handlers of all signals that had come."""
    _Bell.unanswered = False
    listen()
