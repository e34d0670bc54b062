"""The lock on the index of a worktree: one writer at a time, waited for until the call's deadline, left to nobody."""

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from outcomes import failed, state
from worlds.repository import git, write

from orca.errors import RuntimeError
from orca.results import Result, Success, or_raise
from orca.tools import GitTool
from orca.tools.repository import lock

HOLD = """
import os, sys, time
from orca.tools.repository import lock
with lock.hold(sys.argv[1], time.monotonic() + 60) as held:
    print(held, flush=True)
    sys.stdin.readline()
    if sys.argv[2] == "die":
        os.kill(os.getpid(), 9)
"""


@contextmanager
def held_elsewhere(repo: Path, then: str = "end") -> Iterator["subprocess.Popen[str]"]:
    """Another process that holds the lock of the repository, until it is given a line or the block ends."""
    argv = [sys.executable, "-c", HOLD, str(repo / ".git"), then]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() != ""
            yield process
        finally:
            process.kill()


def let_go(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


Call = Callable[[GitTool, float | None], Result[object, RuntimeError]]
WRITES: Mapping[str, Call] = {
    "add": lambda tool, timeout: tool.add("a.txt", timeout=timeout),
    "unstage": lambda tool, timeout: tool.unstage(timeout=timeout),
    "commit": lambda tool, timeout: tool.commit("x", add="all", timeout=timeout),
    "commit of paths": lambda tool, timeout: tool.commit("x", only=["a.txt"], timeout=timeout),
    "create_branch": lambda tool, timeout: tool.create_branch("new", timeout=timeout),
    "switch": lambda tool, timeout: tool.switch("other", timeout=timeout),
    "delete_branch": lambda tool, timeout: tool.delete_branch("other", timeout=timeout),
}
READS: Mapping[str, Call] = {
    "status": lambda tool, timeout: tool.status(timeout=timeout),
    "log": lambda tool, timeout: tool.log(timeout=timeout),
    "branches": lambda tool, timeout: tool.branches(timeout=timeout),
    "head": lambda tool, timeout: tool.head(timeout=timeout),
}


@pytest.fixture
def busy(repo: Path) -> Path:
    git(repo, "branch", "other")
    write(repo / "a.txt", "changed\n")
    return repo


@pytest.mark.parametrize("method", WRITES)
def test_a_call_that_finds_the_index_held_waits_until_its_deadline_and_no_longer(method: str, busy: Path) -> None:
    before = state(busy)
    with held_elsewhere(busy):
        began = time.monotonic()
        error = failed(WRITES[method](GitTool(busy), 0.3))
        assert (error.cause, error.effect) == ("locked", "none")
        assert 0.3 <= time.monotonic() - began < 2
    assert state(busy) == before


@pytest.mark.parametrize("method", READS)
def test_a_read_waits_for_nobody(method: str, busy: Path) -> None:
    with held_elsewhere(busy):
        assert isinstance(READS[method](GitTool(busy), 5), Success)


def test_a_call_goes_on_as_soon_as_the_index_is_free(busy: Path) -> None:
    with held_elsewhere(busy) as process:
        results: list[Result[object, RuntimeError]] = []
        waiting = threading.Thread(target=lambda: results.append(GitTool(busy).add("a.txt", timeout=30)))
        waiting.start()
        let_go(process)
        waiting.join(10)
        assert isinstance(results[0], Success)


def test_a_lock_ends_with_the_process_that_held_it(busy: Path) -> None:
    with held_elsewhere(busy, "die") as process:
        let_go(process)
        assert process.wait(10) == -signal.SIGKILL
        assert or_raise(GitTool(busy).add("a.txt", timeout=5)) == ("a.txt",)


def test_a_lock_is_free_again_after_every_failure(busy: Path) -> None:
    tool = GitTool(busy)
    assert failed(tool.add("unknown")).cause == "unknown-path"
    assert failed(tool.commit("x", only=["unknown"])).cause == "unknown-path"
    assert failed(tool.switch("nowhere")).cause == "unknown-ref"
    with pytest.raises(TypeError):
        tool.add(3)  # type: ignore[arg-type]
    assert or_raise(tool.add("a.txt", timeout=5)) == ("a.txt",)


def test_threads_of_one_process_wait_for_each_other(busy: Path) -> None:
    with lock.hold(str(busy / ".git"), time.monotonic() + 5):
        results: list[Result[object, RuntimeError]] = []
        other = threading.Thread(target=lambda: results.append(GitTool(busy).add("a.txt", timeout=0.3)))
        other.start()
        other.join(10)
        assert failed(results[0]).cause == "locked"
    assert or_raise(GitTool(busy).add("a.txt", timeout=5)) == ("a.txt",)


def test_by_whatever_path_it_is_one_index(busy: Path) -> None:
    (busy.parent / "link").symlink_to(busy)
    (busy / "folder").mkdir()
    with held_elsewhere(busy):
        for root in (busy.parent / "link", busy / "folder", busy.parent / "link/folder"):
            assert failed(GitTool(root).add("a.txt", timeout=0.1)).cause == "locked"


def test_worktrees_do_not_wait_for_each_other(busy: Path) -> None:
    git(busy, "worktree", "add", "--quiet", "../linked")
    linked = busy.parent / "linked"
    write(linked / "new", "new\n")
    with held_elsewhere(busy):
        assert or_raise(GitTool(linked).commit("x", add=["new"], timeout=5)).branch == "linked"
        assert failed(GitTool(busy).add("a.txt", timeout=0.1)).cause == "locked"


def test_a_child_of_the_holder_is_refused_at_once_and_one_of_another_is_not(
    busy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lock.hold(str(busy / ".git"), time.monotonic() + 5) as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        began = time.monotonic()
        for method in WRITES.values():
            error = failed(method(GitTool(busy), 60))
            assert (error.cause, error.effect) == ("locked", "none")
        assert time.monotonic() - began < 5
    git(busy, "worktree", "add", "--quiet", "../linked")
    write(busy.parent / "linked/new", "new\n")
    assert or_raise(GitTool(busy.parent / "linked").add("new")) == ("new",)


def test_what_outlives_the_holder_is_not_locked_out_for_ever(busy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with lock.hold(str(busy / ".git"), time.monotonic() + 5) as variables:
        pass
    for name, value in variables.items():  # a server, say, that a hook has started
        monkeypatch.setenv(name, value)
    assert or_raise(GitTool(busy).add("a.txt")) == ("a.txt",)


def test_a_forked_child_neither_inherits_nor_keeps_the_lock(busy: Path) -> None:
    reading, writing = os.pipe()
    with lock.hold(str(busy / ".git"), time.monotonic() + 5):
        child = os.fork()
        if child == 0:
            os.close(writing)
            os.read(reading, 1)  # until the parent closes its end
            os._exit(0)
    try:
        assert or_raise(GitTool(busy).add("a.txt", timeout=2)) == ("a.txt",)
    finally:
        os.close(writing)
        os.close(reading)
        os.waitpid(child, 0)


def test_a_lock_file_that_is_a_link_is_not_followed(busy: Path) -> None:
    (busy / ".git" / lock.FILE).symlink_to(busy.parent / "elsewhere")
    error = failed(GitTool(busy).add("a.txt"))
    assert (error.cause, error.effect) == ("other", "none")
    assert not (busy.parent / "elsewhere").exists()


def test_a_held_lock_of_ours_is_no_lock_of_gits(busy: Path) -> None:
    with held_elsewhere(busy):
        git(busy, "commit", "--quiet", "--all", "-m", "by hand")
        with open(busy / ".git" / lock.FILE, "rb") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
