"""The flow hands out tools rooted in one place, to its own code and to its threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import TypeVar

import pytest

from orca import CommandFailed, CommandTool, GitTool, TypecheckTool, command, flow, git, typecheck
from orca.flows import Flow

T = TypeVar("T")


def elsewhere(fn: Callable[[], T]) -> T:
    """What `fn` returns in a thread that carries nothing."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(fn).result()


def here() -> str:
    return command().run("pwd", "-P").unwrap().stdout.rstrip("\n")


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    return one, two


def test_inside_a_flow_the_tools_are_its_own(places: tuple[Path, Path]) -> None:
    with flow(places[0]) as run:
        assert isinstance(run, Flow)
        assert run.cwd == places[0]
        assert command() is run.command is command()
        assert git() is run.git
        assert typecheck() is run.typecheck
        assert here() == str(places[0])
    assert command() is not run.command


def test_tools_are_rooted_at_the_worktree_and_command_at_the_cwd(repo: Path) -> None:
    (repo / "sub").mkdir()
    with flow(repo / "sub") as run:
        assert run.root == run.git.root == repo
        assert here() == str(repo / "sub")
        assert git().current_branch().unwrap() == "main"


def test_outside_a_worktree_the_root_is_the_cwd(tmp_path: Path) -> None:
    with flow(tmp_path) as run:
        assert run.root == tmp_path
        error = git().status().failure()
        assert isinstance(error, CommandFailed)
        assert error.cause == "not-a-repository"


def test_flows_nest(places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert here() == str(tmp_path)
    with flow(places[0]) as outer:
        with flow(places[1]):
            assert here() == str(places[1])
            with outer:
                assert here() == str(places[0])
            assert here() == str(places[1])
        assert here() == str(places[0])
    assert here() == str(tmp_path)


def test_a_flow_can_be_entered_again_and_in_many_threads(places: tuple[Path, Path]) -> None:
    run = flow(places[0])
    for _ in range(2):
        with run:
            assert here() == str(places[0])

    inside = threading.Barrier(3)

    def work() -> str:
        with run:
            inside.wait(10)
            place = here()
            inside.wait(10)
        return place

    with ThreadPoolExecutor(3) as pool:
        assert [done.result() for done in [pool.submit(work) for _ in range(3)]] == [str(places[0])] * 3
    assert elsewhere(here) == str(Path.cwd())


def test_an_exception_closes_the_flow(places: tuple[Path, Path]) -> None:
    with pytest.raises(LookupError), flow(places[0]):
        raise LookupError
    assert here() == str(Path.cwd())
    assert elsewhere(here) == str(Path.cwd())


def test_given_tools_are_used(places: tuple[Path, Path]) -> None:
    tools = CommandTool(places[1]), GitTool(places[1]), TypecheckTool(places[1])
    with flow(places[0], command=tools[0], git=tools[1], typecheck=tools[2]) as run:
        assert (command(), git(), typecheck()) == tools
        assert run.root == places[1]


def test_a_thread_without_a_flow_has_the_only_open_one(places: tuple[Path, Path]) -> None:
    assert elsewhere(here) == str(Path.cwd())
    with flow(places[0]) as run:
        assert elsewhere(here) == str(places[0])
        assert elsewhere(command) is run.command
        with run:
            assert elsewhere(here) == str(places[0])


def test_with_two_open_a_thread_without_a_flow_must_be_told(places: tuple[Path, Path]) -> None:
    with flow(places[0]) as one, flow(places[1]) as two:
        for accessor in (command, git, typecheck):
            with pytest.raises(ValueError, match="bind"):
                elsewhere(accessor)
        assert elsewhere(one.bind(here)) == str(places[0])
        assert elsewhere(two.bind(here)) == str(places[1])
        assert here() == str(places[1])
    assert elsewhere(here) == str(Path.cwd())


def test_bind_carries_arguments_names_and_exceptions(places: tuple[Path, Path]) -> None:
    def place(prefix: str, *, suffix: str) -> str:
        return prefix + here() + suffix

    run = flow(places[0])
    bound = run.bind(place)
    assert bound.__name__ == "place"
    assert bound("<", suffix=">") == f"<{places[0]}>"
    with flow(places[1]):
        assert bound("<", suffix=">") == f"<{places[0]}>"
        with pytest.raises(ZeroDivisionError):
            run.bind(lambda: 1 // 0)()
        assert here() == str(places[1])


def test_a_copied_context_carries_the_flow(places: tuple[Path, Path]) -> None:
    with flow(places[0]), flow(places[1]):
        context = copy_context()
        assert elsewhere(lambda: context.run(here)) == str(places[1])


def test_map_keeps_the_order_and_carries_the_flow(places: tuple[Path, Path]) -> None:
    def work(number: int) -> tuple[int, str, str]:
        if number == 0:
            assert later.wait(10)
        later.set()
        return number, here(), threading.current_thread().name

    later = threading.Event()
    with flow(places[0]) as run, flow(places[1]):
        done = run.map(work, range(8), workers=3)
    assert [(number, place) for number, place, _ in done] == [(number, str(places[0])) for number in range(8)]
    assert 1 < len({thread for *_, thread in done}) <= 3
    with flow() as run:
        assert run.map(work, []) == []
        assert run.map(str, iter("ab")) == ["a", "b"]


def test_map_passes_the_first_exception_drops_the_queue_and_waits_for_what_runs() -> None:
    started: list[int] = []
    finished: list[int] = []
    other_runs, failed = threading.Event(), threading.Event()

    def work(number: int) -> None:
        started.append(number)
        if number == 1:
            assert other_runs.wait(10)
            failed.set()
            raise LookupError(number)
        other_runs.set()
        assert failed.wait(10)
        command().run("sleep", "0.2").unwrap()
        finished.append(number)

    with flow() as run, pytest.raises(LookupError, match="1"):
        run.map(work, range(20), workers=2)
    assert sorted(finished) == [number for number in sorted(started) if number != 1]
    assert 0 in finished
    assert len(started) < 20


def test_map_passes_an_exception_of_the_items_through() -> None:
    def items() -> object:
        yield 1
        raise LookupError

    with flow() as run, pytest.raises(LookupError):
        run.map(str, items())  # type: ignore[arg-type]
    with flow() as run, pytest.raises(ValueError, match="max_workers"):
        run.map(str, [1], workers=0)


def test_a_deleted_directory_raises_nothing_and_fails_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(FileNotFoundError):
        os.getcwd()
    for run in (flow(), flow(gone), flow("sub")):
        with run:
            for result in (command().run("true"), git().status(), typecheck().run()):
                error = result.failure()
                assert isinstance(error, CommandFailed)
                assert (error.cause, error.effect) == ("bad-cwd", "none")
    for outside in (command().run("true"), git().status()):
        assert isinstance(outside.failure(), CommandFailed)
    assert flow().root
