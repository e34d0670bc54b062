"""Whatever shape its tree has, nothing of a run is left when the call is back."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hosts import end_marked, marked, new_mark, sleeping, until

from orca import CommandFailed, command
from orca.process import live, tree


@pytest.fixture
def mark() -> Iterator[str]:
    """A mark whose processes are gone after the test in any case."""
    mark = new_mark()
    yield mark
    end_marked(mark)


# The script, which says `up`, and how many sleeps there are when all of it runs.
SHAPES = {
    "one process": ("echo up; exec sleep $MARK", 1),
    "child": ("sleep $MARK & echo up; wait", 1),
    "new session": ("setsid sleep $MARK & echo up; sleep $MARK", 2),
    "double fork": ("(setsid sleep $MARK & setsid sleep $MARK &); echo up; sleep $MARK", 3),
    "new process groups": ("set -m; sleep $MARK & sleep $MARK & echo up; wait", 2),
    "term ignored": ("trap '' TERM; sleep $MARK & echo up; sleep $MARK", 2),
    "term ignored, new session": ("(trap '' TERM; setsid sleep $MARK & setsid sleep $MARK &); echo up; wait; cat", 2),
    "one more for each term": ("trap 'setsid sleep $MARK &' TERM; sleep $MARK & echo up; while :; do wait; done", 1),
    "environment cleared": ("env -i sh -c 'setsid sleep $0 & sleep $0' $MARK & echo up; wait", 2),
    "environment cleared, parent gone": ("set -m; (env -i sleep $MARK &); echo up; sleep $MARK", 2),
    "environment cleared, term ignored, parent gone": (
        """env -i setsid sh -c 'trap "" TERM; sleep $0; sleep $0' $MARK & echo up; wait""",
        1,
    ),
    "environment cleared, child born after term": (
        """env -i setsid sh -c 'trap "setsid sleep $0 &" TERM
        sleep $0 & while :; do wait; done' $MARK & echo up; wait""",
        1,
    ),
    "stopped": ("sleep $MARK & echo up; kill -STOP $$", 1),
    "outputs closed": ("sleep $MARK & echo up; exec >&- 2>&-; sleep $MARK", 2),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_of_a_cancelled_tree_is_left(shape: str, mark: str) -> None:
    script, sleeps = SHAPES[shape]
    cancel = threading.Event()
    at = 0.0

    def up(line: str) -> None:  # bash says more when a child is terminated
        nonlocal at
        if line == "up" and until(lambda: sleeping(mark) == sleeps):
            at = time.monotonic()
            cancel.set()

    error = command().run("bash", "-c", script, env={"MARK": mark}, on_line=up, cancel=cancel, timeout=20).failure()
    left, took = marked(mark), time.monotonic() - at
    assert isinstance(error, CommandFailed)
    assert (error.cause, error.exit_code, error.effect, error.stdout) == ("cancelled", None, "unknown", "up\n")
    assert left == {}
    assert took < 15
    assert not live._live


@pytest.mark.parametrize("shape", ["new session", "double fork", "term ignored", "stopped"])
def test_nothing_of_a_tree_whose_time_is_over_is_left(shape: str, mark: str) -> None:
    started = time.monotonic()
    error = command().run("bash", "-c", SHAPES[shape][0], env={"MARK": mark}, timeout=1.0).failure()
    left, took = marked(mark), time.monotonic() - started
    assert isinstance(error, CommandFailed)
    assert (error.cause, error.exit_code, error.stdout) == ("timeout", None, "up\n")
    assert left == {}
    assert 1.0 <= took < 16


def test_a_program_is_asked_to_end_before_its_children_are() -> None:
    cancel = threading.Event()
    orders: list[list[int | None]] = []

    def look(_: str) -> None:
        roots = {run.token: run.pid for run in live._live.values()}
        orders.append([*roots.values(), *(process.pid for process in tree.find(roots))])
        cancel.set()

    command().run("sh", "-c", "sleep 300 & sleep 300 & echo up; wait", on_line=look, cancel=cancel).failure()
    program, first, *children = orders[0]
    assert program == first
    assert len(children) == 2


def test_a_program_that_heeds_the_term_may_clean_up_and_say_its_last_words() -> None:
    cancel = threading.Event()
    script = "trap 'echo tidy; exit 0' TERM; echo up; sleep 300 & wait"
    error = command().run("sh", "-c", script, on_line=lambda _: cancel.set(), cancel=cancel).failure()
    assert isinstance(error, CommandFailed)
    assert (error.cause, error.exit_code, error.stdout) == ("cancelled", None, "up\ntidy\n")


def test_a_stopped_program_goes_on_for_its_clean_up(tmp_path: Path) -> None:
    cancel = threading.Event()
    script = f"trap 'echo tidy >{tmp_path}/said; exit' TERM; echo up; kill -STOP $$; wait"
    command().run("bash", "-c", script, on_line=lambda _: cancel.set(), cancel=cancel).failure()
    assert (tmp_path / "said").read_text() == "tidy\n"


@pytest.mark.parametrize("timeout", [0.001, 0.01, 0.03])
def test_a_deadline_that_is_over_almost_at_once(timeout: float, mark: str) -> None:
    for _ in range(5):
        started = time.monotonic()
        tree = ("sh", "-c", "setsid sleep $MARK & sleep $MARK")
        error = command().run(*tree, env={"MARK": mark}, timeout=timeout).failure()
        left, took = marked(mark), time.monotonic() - started
        assert isinstance(error, CommandFailed)
        assert error.cause == "timeout"
        assert left == {}
        assert took < timeout + 15


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_flood_of_output_does_not_hold_the_deadline_up(stream: str, mark: str) -> None:
    started = time.monotonic()
    error = command().run("sh", "-c", f"exec yes $MARK >&{stream}", env={"MARK": mark}, timeout=0.3).failure()
    left, took = marked(mark), time.monotonic() - started
    assert isinstance(error, CommandFailed)
    assert error.cause == "timeout"
    assert error.stdout_dropped + error.stderr_dropped > 0
    assert left == {}
    assert took < 15


def test_an_orca_inside_an_orca_is_ended_with_its_sessions(mark: str) -> None:
    inner = "from orca import command; command().run('sh', '-c', 'setsid sleep $MARK & echo up >&2; sleep $MARK')"
    cancel = threading.Event()

    def watch() -> None:
        if until(lambda: sleeping(mark) == 2):
            cancel.set()

    threading.Thread(target=watch).start()
    error = command().run(sys.executable, "-c", inner, env={"MARK": mark}, cancel=cancel).failure()
    assert marked(mark) == {}
    assert isinstance(error, CommandFailed)
    assert error.cause == "cancelled"


def test_what_a_killed_inner_orca_left_is_found_by_the_outer_one(mark: str, tmp_path: Path) -> None:
    inner = tmp_path / "inner.py"
    inner.write_text("""
import os, signal
from orca import command
command().run("sh", "-c", "setsid sleep $MARK & echo up; wait", on_line=lambda _: os.kill(os.getpid(), signal.SIGKILL))
""")
    cancel = threading.Event()
    script = 'python "$0" || echo killed; exec sleep $MARK'
    here = {"MARK": mark, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    error = command().run("sh", "-c", script, inner, env=here, on_line=lambda _: cancel.set(), cancel=cancel).failure()
    assert marked(mark) == {}
    assert isinstance(error, CommandFailed)
    assert (error.cause, error.stdout) == ("cancelled", "killed\n")


def test_an_exception_of_the_caller_ends_the_tree_and_passes_through(mark: str) -> None:
    def fail(line: str) -> None:
        raise LookupError(line)

    with pytest.raises(LookupError, match="up"):
        command().run("bash", "-c", SHAPES["term ignored, new session"][0], env={"MARK": mark}, on_line=fail)
    assert marked(mark) == {}
    assert not live._live


# ------------------------------------------------------------------ the normal end

BACKGROUND = "sleep $MARK & exec echo done"


def test_a_background_child_that_holds_the_pipe_holds_the_call_for_a_second_and_is_ended(mark: str) -> None:
    started = time.monotonic()
    done = command().run("sh", "-c", BACKGROUND, env={"MARK": mark}, timeout=60).unwrap()
    left, took = marked(mark), time.monotonic() - started
    assert (done.exit_code, done.stdout) == (0, "done\n")
    assert 0.9 < took < 15
    assert left == {}


def test_a_background_child_that_ignores_the_term_is_ended_too(mark: str) -> None:
    script = "trap '' TERM; sleep $MARK >/dev/null 2>&1 & exec echo done"
    assert command().run("sh", "-c", script, env={"MARK": mark}).unwrap().stdout == "done\n"
    assert until(lambda: not marked(mark), 1)


def test_a_background_child_is_kept_when_the_caller_says_so(mark: str) -> None:
    started = time.monotonic()
    done = command().run("sh", "-c", BACKGROUND, env={"MARK": mark}, keep_background=True, timeout=60).unwrap()
    assert done.stdout == "done\n"
    assert time.monotonic() - started < 2.5
    assert sleeping(mark) == 1


def test_keep_background_does_not_keep_anything_after_a_timeout(mark: str) -> None:
    script = "sleep $MARK & setsid sleep $MARK & wait"
    error = command().run("sh", "-c", script, env={"MARK": mark}, keep_background=True, timeout=0.3).failure()
    assert isinstance(error, CommandFailed)
    assert error.cause == "timeout"
    assert marked(mark) == {}


def test_a_deadline_while_a_background_child_holds_the_pipe_is_no_failure(mark: str) -> None:
    started = time.monotonic()
    done = command().run("sh", "-c", BACKGROUND, env={"MARK": mark}, timeout=0.5).unwrap()
    assert done.exit_code == 0
    assert time.monotonic() - started < 2
    assert marked(mark) == {}


def test_the_callers_own_process_group_is_untouched(mark: str) -> None:
    other = os.posix_spawnp("sleep", ["sleep", mark], os.environ)
    command().run("sh", "-c", "trap '' TERM; sleep 300", timeout=0.1).failure()
    command().run("sh", "-c", "sleep 300 >/dev/null 2>&1 & exit 0").unwrap()
    assert sleeping(mark) == 1
    os.kill(other, signal.SIGKILL)
    os.waitpid(other, 0)


# ------------------------------------------------------------------ where the system has less


def test_a_deadline_holds_when_no_descriptor_is_left(mark: str) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken: list[int] = []

    def take_all(_: str) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 2, limits[1]))
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.dup(0))

    started = time.monotonic()
    try:
        error = (
            command()
            .run("sh", "-c", "sleep $MARK & echo up; wait", env={"MARK": mark}, timeout=0.5, on_line=take_all)
            .failure()
        )
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for fd in taken:
            os.close(fd)
    assert isinstance(error, CommandFailed)
    assert error.cause == "timeout"
    assert time.monotonic() - started < 15
    assert until(lambda: not marked(mark), 1), marked(mark)


@pytest.mark.parametrize("absent", [("pidfd_open",), ("pidfd_open", "waitid")])
def test_without_the_newer_calls_of_linux(absent: tuple[str, ...], mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in absent:
        monkeypatch.delattr(os, name)
    assert command().run("sh", "-c", "exit 3", ok_codes=(3,)).unwrap().exit_code == 3
    assert command().run("cat", input=b"x" * 300_000).unwrap().stdout_size == 300_000
    assert command().run("sh", "-c", "kill -KILL $$").failure().cause == "signal"  # type: ignore[union-attr]
    error = command().run("sh", "-c", "setsid sleep $MARK & sleep $MARK", env={"MARK": mark}, timeout=0.3).failure()
    assert isinstance(error, CommandFailed)
    assert error.cause == "timeout"
    assert marked(mark) == {}
    assert command().run("sh", "-c", BACKGROUND, env={"MARK": mark}).unwrap().stdout == "done\n"
    assert until(lambda: not marked(mark), 1)
