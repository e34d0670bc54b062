"""The whole tree of a program: found by descent, by session and by a tag in the environment, and ended."""

from __future__ import annotations

import os
import signal
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from orca.process import interrupts

if TYPE_CHECKING:
    from psutil import Process

TAG_VARIABLE: Final = "ORCA_RUN"


def tagged(env: dict[str, str], token: str) -> dict[str, str]:
    """Return `env` with the run's token appended to the tag of the run around it, so that both can find the child."""
    around = env.get(TAG_VARIABLE)
    return {**env, TAG_VARIABLE: f"{around}:{token}" if around else token}


def find(roots: Mapping[str, int | None], known: Sequence[Process] = ()) -> list[Process]:
    """Return the living processes of some runs, given as token -> pid of the program (None while it is unknown).

    Three ways, since each misses some: a child that left its session keeps the tag, one that cleared its environment
    keeps its parent, one that lost its parent keeps its session. What was found before is `known`: it and what it
    started stay found when all three are gone. Nothing is found where no descriptor is left to look with.
    """
    try:
        with interrupts.deferred():  # a handler that finds psutil half imported could find nothing
            import psutil

        pids = psutil.pids()
    except (OSError, ImportError):
        return []
    sessions = {pid for pid in roots.values() if pid is not None and pid > 1}
    tokens = set(roots)
    before = {process.pid: process for process in known}
    own = os.getpid()
    processes: dict[int, Process] = {}
    children: defaultdict[int, list[int]] = defaultdict(list)
    todo: deque[int] = deque()
    for pid in pids:
        if pid <= 1 or pid == own:
            continue
        try:
            process = psutil.Process(pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            children[process.ppid()].append(pid)
            processes[pid] = process
            if (
                pid in sessions
                or os.getsid(pid) in sessions
                or before.get(pid) == process  # the same start time: not another one of that pid
                or not tokens.isdisjoint(_tokens(process))
            ):
                todo.append(pid)
        except (psutil.Error, OSError):
            continue
    todo.extend(child for pid in sessions for child in children[pid])  # the program itself may be a zombie by now
    found: dict[int, Process] = {}
    while todo:  # in this order a parent comes before its children, and is asked to end before it misses them
        pid = todo.popleft()
        if pid in processes and pid not in found:
            found[pid] = processes[pid]
            todo.extend(children[pid])
    return list(found.values())


def terminate(processes: Sequence[Process]) -> None:
    """Ask each process to end; one that is stopped can only do so once it goes on."""
    signal_all(processes, signal.SIGTERM)
    signal_all(processes, signal.SIGCONT)


def signal_all(processes: Sequence[Process], signum: signal.Signals) -> None:
    """Send a signal to each process that is still the one that was found: a pid may have been reused since."""
    if not processes:
        return
    import psutil

    for process in processes:
        try:
            process.send_signal(signum)
        except (psutil.Error, OSError):
            continue


def living(processes: Sequence[Process]) -> list[Process]:
    """Return those that still run; a zombie has ended."""
    if not processes:
        return []
    import psutil

    left = []
    for process in processes:
        try:
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                left.append(process)
        except (psutil.Error, OSError):
            continue
    return left


def _tokens(process: Process) -> set[str]:
    import psutil

    try:
        return set(process.environ().get(TAG_VARIABLE, "").split(":"))
    except (psutil.Error, OSError):
        return set()
