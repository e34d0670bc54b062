"""However a run ends, no descriptor, zombie or registration of it stays."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from orca import cancel_all, command
from orca.process import live
from orca.results import Result


def _raise(line: str) -> None:
    raise LookupError(line)


def _listener_fails() -> None:
    with pytest.raises(LookupError):
        command().run("sh", "-c", "echo up; exec sleep 300", on_line=_raise)


def _cancelled() -> object:
    cancel = threading.Event()
    return command().run("sh", "-c", "echo up; exec sleep 300", on_line=lambda _: cancel.set(), cancel=cancel)


def _cancelled_before() -> object:
    cancel = threading.Event()
    cancel.set()
    return command().run("true", cancel=cancel)


def _misused() -> None:
    with pytest.raises(TypeError):
        command().run("true", env={"NAME": 3})  # type: ignore[dict-item]


CHEAP: dict[str, Callable[[], object]] = {
    "success": lambda: command().run("true"),
    "exit": lambda: command().run("false"),
    "signal": lambda: command().run("sh", "-c", "kill -KILL $$"),
    "not found": lambda: command().run("no-such-program"),
    "bad cwd": lambda: command().run("true", cwd="no-such-directory"),
    "bad argument": lambda: command().run("a\0b"),
    "fed": lambda: command().run("cat", input="text"),
    "input not wanted": lambda: command().run("true", input="i" * 200_000),
    "log": lambda: command().run("echo", "x", log=os.devnull),
    "outputs closed": lambda: command().run("sh", "-c", "exec >&- 2>&-"),
    "cancelled before": _cancelled_before,
}
ENDED_BY_US: dict[str, Callable[[], object]] = {
    "timeout": lambda: command().run("sleep", "300", timeout=0.01),
    "input at the timeout": lambda: command().run("sleep", "300", input="i" * 200_000, timeout=0.01),
    "cancelled": _cancelled,
    "the listener fails": _listener_fails,
    "misused": _misused,
}


def _children() -> list[str]:
    return [path.read_text() for path in Path("/proc/self/task").glob("*/children")]


@pytest.mark.parametrize(
    ("outcome", "times"), [*((name, 200) for name in CHEAP), *((name, 10) for name in ENDED_BY_US)]
)
def test_nothing_stays_open(outcome: str, times: int, tmp_path: Path) -> None:
    call = {**CHEAP, **ENDED_BY_US}[outcome]
    call()  # what is loaded once
    before, children = os.listdir("/proc/self/fd"), _children()
    for _ in range(times):
        call()
    assert os.listdir("/proc/self/fd") == before
    assert _children() == children
    assert not live._live
    gc.collect()  # a pipe or a process that nobody closed says so now, and a warning is an error


def test_many_threads_at_once() -> None:
    once = threading.Thread(target=command().run, args=("true",))  # the first such run makes a pipe, once
    once.start()
    once.join()
    before = os.listdir("/proc/self/fd")
    results: list[Result[object, object]] = []

    def work(number: int) -> None:
        run = partial(command().run, "sh", "-c", f"cat; exit {number}", input=f"{number}", ok_codes=(number,))
        results.extend(run() for _ in range(10))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted((done.unwrap().stdout, done.unwrap().exit_code) for done in results) == sorted(  # type: ignore[attr-defined]
        [(str(number), number) for number in range(8)] * 10
    )
    assert os.listdir("/proc/self/fd") == before
    assert not live._live


def test_cancel_all_ends_what_other_threads_run_and_refuses_more_until_the_main_thread_goes_on() -> None:
    causes: list[tuple[str, str]] = []
    up = threading.Barrier(17)

    def work() -> None:
        first = command().run("sh", "-c", "echo up; exec sleep 300", on_line=lambda _: up.wait(10)).failure()
        second = command().run("true").failure()
        causes.append((first.cause, second.cause))  # type: ignore[union-attr]

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    up.wait(10)
    cancel_all("enough")
    for thread in threads:
        thread.join()
    assert causes == [("cancelled", "cancelled")] * 16
    assert command().run("true").unwrap().exit_code == 0
    results: list[int] = []
    thread = threading.Thread(target=lambda: results.append(command().run("true").unwrap().exit_code))
    thread.start()
    thread.join()
    assert results == [0]


def test_cancel_all_inside_a_listener_ends_its_own_run() -> None:
    error = command().run("sh", "-c", "echo up; exec sleep 300", on_line=lambda _: cancel_all()).failure()
    assert error.cause == "cancelled"  # type: ignore[union-attr]
    assert not live._live


def test_a_run_that_is_over_knows_no_pid_that_may_be_anothers() -> None:
    seen: list[tuple[live.Run, int | None]] = []

    def look(_: str) -> None:
        seen.extend((run, run.pid) for run in live._live.values())

    command().run("echo", on_line=look).unwrap()
    ((run, pid),) = seen
    assert pid is not None
    assert (run.pid, run.ended) == (None, True)
