"""What runs now: the registry of live runs, their end on a signal, and `cancel_all` for programs with own handlers."""

from __future__ import annotations

import atexit
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Final

from orca.process import bell, interrupts, tree

if TYPE_CHECKING:
    from psutil import Process

GRACE_S: Final = 1.0
_STARTING_S: Final = 0.5
_KILLING_S: Final = 1.0
_TICK_S: Final = 0.01


class Run:
    """One run of a program: `pid` is its own while it is set, `cancelled` holds the reason once it must end."""

    __slots__ = ("cancelled", "ended", "pid", "token")

    def __init__(self) -> None:
        self.token = os.urandom(8).hex()
        self.pid: int | None = None
        self.cancelled: str | None = None
        self.ended = False

    def end(self) -> None:
        """The program has been reaped, or never was: from now on its pid may be another's."""
        self.pid = None
        self.ended = True


class _Stopping:
    """Whether everything is being stopped, and how many signal handlers are at it."""

    now = False
    handlers = 0


_live: dict[str, Run] = {}
_stopping = _Stopping()
_forking = threading.local()
_replaced: dict[int, Callable[[int, FrameType | None], object] | int | None] = {}


def enter(run: Run) -> bool:
    """Register a run before its program starts; False where everything is being stopped and it must not start.

    A pool goes on with its queue after a signal: a new run from a worker is refused until the main thread, which
    decides whether life goes on, starts one itself.
    """
    resume()
    _live[run.token] = run  # before the look at `now`: either the one who stops sees the run, or the run sees that
    if _stopping.now:
        leave(run)
        return False
    return True


def leave(run: Run) -> None:
    """Take a run out of the registry: nothing of it is left."""
    run.end()
    _live.pop(run.token, None)


def resume() -> None:
    """Accept runs again, when the main thread says so; there too, put in handlers that no worker could."""
    if threading.current_thread() is threading.main_thread():
        _stopping.now = False
        _install()
        bell.listen()


def cancel_all(reason: str = "cancelled") -> None:
    """End every program that runs through orca, with its whole tree, and return when they are gone (about 2 s at most).

    The calls that wait for them, in whatever thread, return `CommandFailed(cause="cancelled")`; new ones are refused
    in other threads until the main thread starts one. For programs with signal handlers of their own: call it there.

    >>> from orca import cancel_all
    >>> cancel_all("shutting down")
    """
    _end_all(reason, GRACE_S)


def _end_all(reason: str, grace: float) -> None:
    _stopping.now = True
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
    end({run.token: run.pid for run in runs}, grace)


def end(roots: Mapping[str, int | None], grace: float) -> None:
    """End the trees of some runs: TERM to all that was found before, KILL after the grace until none is left."""
    found = tree.find(roots)
    try:
        tree.terminate(found)
        until = time.monotonic() + grace
        while tree.living(found) and time.monotonic() < until:
            time.sleep(_TICK_S)
    finally:  # an interrupt cuts the grace short, not the end
        kill(roots, found)


def kill(roots: Mapping[str, int | None], found: Sequence[Process]) -> None:
    """KILL what is left of some runs, and what it started meanwhile, until none is left."""
    until = time.monotonic() + _KILLING_S
    while (found := tree.find(roots, found)) and time.monotonic() < until:
        tree.signal_all(found, signal.SIGKILL)
        time.sleep(_TICK_S)


def _handle(signum: int, frame: FrameType | None) -> None:
    """End all that runs, then do what would have happened without us, with the same exit status.

    Python calls this in the main thread alone, between two of its steps; one that sleeps is woken by the bell.
    """
    if interrupts.postponed(signum):
        return
    grace = 0.0 if _stopping.handlers else GRACE_S  # whoever sends a second one does not want to wait
    _stopping.handlers += 1
    try:
        _end_all(signal.Signals(signum).name, grace)
    finally:
        _stopping.handlers -= 1
        before = _replaced[signum]
        if callable(before):
            before(signum, frame)
        else:
            signal.signal(signum, signal.SIG_DFL)
            os.kill(os.getpid(), signum)


def _install() -> None:
    """Put handlers over default dispositions, once: a program's own, and an ignored SIGHUP, stay."""
    if _replaced or threading.current_thread() is not threading.main_thread():
        return
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        _replaced[signum] = before = signal.getsignal(signum)
        if before is signal.SIG_DFL or (signum == signal.SIGINT and before is signal.default_int_handler):
            signal.signal(signum, _handle)
    bell.install()


def _before_fork() -> None:
    """Hold signals back: Python drops what reaches a child before it is set up, and a default would not have."""
    ours = {signum for signum in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(signum) is _handle}
    _forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, ours)


def _after_fork() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _forking.mask)


def _after_fork_in_child() -> None:
    """A forked child starts as if orca were not loaded: ending its parent's runs would end its parent's work."""
    _live.clear()
    _stopping.now = False
    _stopping.handlers = 0
    interrupts.forget()
    bell.forget()
    for signum, before in _replaced.items():
        if signal.getsignal(signum) is _handle:
            signal.signal(signum, before)
    _replaced.clear()
    _after_fork()


_install()
os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
atexit.register(cancel_all, "exit")  # runs of daemon threads
