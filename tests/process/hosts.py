"""Scripts that use orca in a process of their own, and the search for what they leave running."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

PRELUDE = """
import asyncio, json, os, signal, subprocess, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from orca import cancel_all, command, flow
from orca.process import live

MARK = os.environ["MARK"]
TREE = f"setsid sleep {MARK} & sleep {MARK}"

def go(*_, script=TREE, **given):
    return command().run("sh", "-c", script, **given)

def tell(**words):
    print(json.dumps(words), flush=True)

def awake(until=lambda: False):
    while not until():  # pause() and a lock sleep through a signal that comes just before
        time.sleep(0.05)

def causes(answers):
    return [(answer.failure().cause, answer.failure().exit_code) for answer in answers]
"""


def new_mark() -> str:
    """A number of seconds that nobody else sleeps, by which the processes of one test are found."""
    return f"300.{secrets.randbelow(10**9):09d}"


def until(condition: Callable[[], object], within: float = 20.0) -> bool:
    """Whether the condition came true in time; it is looked at again and again."""
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def marked(mark: str, *but: int) -> dict[int, list[str]]:
    """The living processes with the mark in their arguments or environment, each with its arguments."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) in (os.getpid(), *but):
            continue
        with contextlib.suppress(OSError):
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            arguments = (entry / "cmdline").read_bytes()
            if state not in "ZX" and mark.encode() in arguments + (entry / "environ").read_bytes():
                found[int(entry.name)] = arguments.decode().split("\0")[:-1]
    return found


def sleeping(mark: str) -> int:
    """How many `sleep` of that mark there are."""
    return sum(arguments[:2] == ["sleep", mark] for arguments in marked(mark).values())


def end_marked(mark: str) -> None:
    """Ends what a test has left, so that only that test fails."""
    for pid in marked(mark):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


class Host:
    """A running script; its standard input and output are pipes."""

    def __init__(self, code: str, mark: str, *wrapper: str) -> None:
        self.mark = mark
        self.process = subprocess.Popen(
            [*wrapper, sys.executable, "-c", PRELUDE + code],
            env={**os.environ, "MARK": mark},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )

    def says(self, line: str) -> None:
        """Asserts that this is the next line of its output."""
        pipe = self._pipe(self.process.stdout)
        assert select.select([pipe], [], [], 30)[0], f"not a word, with {marked(self.mark)}"
        said = pipe.readline().decode().rstrip("\n")
        assert said == line, f"said {said!r}"

    def hear(self, line: str = "") -> None:
        """Writes a line to its input."""
        self._pipe(self.process.stdin).write(f"{line}\n".encode())

    def sleeps(self, count: int) -> None:
        """Asserts that so many of its sleeps come to run."""
        assert until(lambda: sleeping(self.mark) == count), marked(self.mark)

    def signal(self, signum: signal.Signals) -> None:
        os.kill(self.process.pid, signum)

    def ends(self, code: int, within: float = 15.0) -> str:
        """Asserts that it ends with this exit status and leaves no process; returns the rest of its output."""
        by = time.monotonic() + within
        try:
            out, err = self.process.communicate(timeout=within)
        except subprocess.TimeoutExpired as expired:
            raise AssertionError(f"still running with {marked(self.mark)}") from expired
        assert until(lambda: not marked(self.mark), max(0.0, by - time.monotonic())), marked(self.mark)
        assert self.process.returncode == code, err.decode()
        return out.decode()

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe


@contextlib.contextmanager
def host(code: str, *wrapper: str) -> Iterator[Host]:
    """A host that runs the code after the prelude; at the end of the block nothing of it is left in any case."""
    running = Host(code, new_mark(), *wrapper)
    try:
        yield running
    finally:
        running.process.kill()
        end_marked(running.mark)  # before its pipes are read to their end, which what is left may hold open
        running.process.communicate()
