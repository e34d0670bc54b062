"""What runs now: the registry of live runs, their end on a signal, and `cancel_all` for programs with own handlers."""

from __future__ import annotations

import atexit
import os
import signal
import threading
import time
from collections.abc import Mapping
from types import FrameType
from typing import Final

from orca.process import interrupts, tree

GRACE_S: Final = 1.0
_STARTING_S: Final = 0.5
_KILLING_S: Final = 1.0
_TICK_S: Final = 0.01


class Run:
    """One run of a program: `pid` is None until it has started, `cancelled` holds the reason once it must end."""

    __slots__ = ("cancelled", "ended", "pid", "token")

    def __init__(self) -> None:
        self.token = os.urandom(8).hex()
        self.pid: int | None = None
        self.cancelled: str | None = None
        self.ended = False


_live: dict[str, Run] = {}
_stopping = False


def enter(run: Run) -> bool:
    """Register a run before its program starts; False where everything is being stopped and it must not start.

    A pool goes on with its queue after a signal: a new run from a worker is refused until the main thread, which
    decides whether life goes on, starts one itself.
    """
    global _stopping
    if _stopping:
        if threading.current_thread() is not threading.main_thread():
            return False
        _stopping = False
    _live[run.token] = run
    return True


def leave(run: Run) -> None:
    """Take a run out of the registry: nothing of it is left."""
    _live.pop(run.token, None)


def cancel_all(reason: str = "cancelled") -> None:
    """End every program that runs through orca, with its whole tree, and return when they are gone (about 2 s at most).

    The calls that wait for them, in whatever thread, return `CommandFailed(cause="cancelled")`; new ones are refused
    in other threads until the main thread starts one. For programs with signal handlers of their own: call it there.

    >>> from orca import cancel_all
    >>> cancel_all("shutting down")
    """
    global _stopping
    _stopping = True
    runs = list(_live.values())
    if not runs:
        return
    for run in runs:
        run.cancelled = reason
    # Between fork and exec a child shows our environment, and no sweep can see it.
    until = time.monotonic() + _STARTING_S
    if threading.active_count() > 1:
        while any(run.pid is None and not run.ended for run in runs) and time.monotonic() < until:
            time.sleep(_TICK_S)
    roots = {run.token: run.pid for run in runs}
    end(roots, GRACE_S)


def end(roots: Mapping[str, int | None], grace: float) -> None:
    """End the trees of some runs: TERM to all that was found before, KILL after the grace until none is left."""
    found = tree.find(roots)
    tree.signal_all(found, signal.SIGTERM)
    until = time.monotonic() + grace
    while tree.living(found) and time.monotonic() < until:
        time.sleep(_TICK_S)
    kill(roots)


def kill(roots: Mapping[str, int | None]) -> None:
    """KILL what is left of some runs, and what it started meanwhile, until none is left."""
    until = time.monotonic() + _KILLING_S
    while (found := tree.find(roots)) and time.monotonic() < until:
        tree.signal_all(found, signal.SIGKILL)
        time.sleep(_TICK_S)


def _handle(signum: int, frame: FrameType | None) -> None:
    """End all that runs, then do what would have happened without us, with the same exit status."""
    if interrupts.postponed(signum):
        return
    cancel_all(signal.Signals(signum).name)
    if signum == signal.SIGINT:
        signal.default_int_handler(signum, frame)
    signal.signal(signum, signal.SIG_DFL)
    os.kill(os.getpid(), signum)


def _install() -> None:
    """Put handlers over default dispositions only: a program's own, and an ignored SIGHUP, stay."""
    if threading.current_thread() is not threading.main_thread():
        return
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signum) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(signum, _handle)


def _forget() -> None:
    """A forked child holds none of its parent's runs: ending them would end the parent's work."""
    global _stopping
    _live.clear()
    _stopping = False


_install()
os.register_at_fork(after_in_child=_forget)
atexit.register(cancel_all, "exit")  # runs of daemon threads
