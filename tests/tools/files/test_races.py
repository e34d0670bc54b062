"""What stands in the root may be swapped at any moment: still nothing leads outside, and nothing waits."""

import ctypes
import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from canaries import SECRET, World, failed, guarded, within

from orca import Failure, FsTool, Success, outcome
from orca.results import Result

world = pytest.fixture(guarded)

METHODS: dict[str, Callable[[FsTool], Result[Any, Any]]] = {
    "read_text": lambda tool: tool.read_text("a/folder/file"),
    "read_bytes by way of the parent": lambda tool: tool.read_bytes("a/folder/deep/../file"),
    "read_text by a link": lambda tool: tool.read_text("link"),
    "write_text": lambda tool: tool.write_text("a/folder/file", "written"),
    "write_text of a new file": lambda tool: tool.write_text("a/folder/deep/new/secret", "written"),
    "write_text by a link": lambda tool: tool.write_text("link", "written"),
    "edit_text": lambda tool: tool.edit_text("a/folder/file", "in", "out"),
    "exists": lambda tool: tool.exists("a/folder/secret"),
    "stat": lambda tool: tool.stat("a/folder/file"),
    "list": lambda tool: tool.list("a", recursive=True),
    "make_dir": lambda tool: tool.make_dir("a/folder/deep/made"),
    "copy of a file": lambda tool: tool.copy("a/folder/file", "copied"),
    "copy of a directory": lambda tool: tool.copy("a", "copied"),
    "copy into it": lambda tool: tool.copy("own", "a/folder/secret"),
    "copy over it": lambda tool: tool.copy("own", "a/folder/file", overwrite=True),
    "move of a file": lambda tool: tool.move("a/folder/file", "moved"),
    "move of a directory": lambda tool: tool.move("a", "moved"),
    "move into it": lambda tool: tool.move("own", "a/folder/secret"),
    "move over it": lambda tool: tool.move("own", "a/folder/file", overwrite=True),
    "remove of a file": lambda tool: tool.remove("a/folder/file"),
    "remove of a directory": lambda tool: tool.remove("a", recursive=True),
    "remove of the swapped": lambda tool: tool.remove("a/folder", recursive=True),
}
CALLS = (
    *("open", "stat", "listdir", "mkdir", "rename", "link", "unlink", "rmdir", "symlink", "readlink", "access", "read"),
    *("write", "fstat", "fsync", "fchmod", "close"),
)


def grow(world: World) -> None:
    """What every method works on."""
    shutil.rmtree(world.root)
    (world.root / "a" / "folder" / "deep").mkdir(parents=True)
    for name in ("file", "deep/file"):
        (world.root / "a" / "folder" / name).write_text("inside")
    (world.root / "a" / "other").write_text("inside")
    (world.root / "own").write_text("inside")
    (world.root / "link").symlink_to("a/folder/file")


@contextmanager
def before_call(number: int, act: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Act once, right before that call to the system, counted over all of them; yields whether it came to that."""
    acted = [False]
    count = 0

    def counting(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count == number and not acted[0]:
                acted[0] = True
                with monkeypatch.context() as real_ones:
                    for name, function in reals.items():
                        real_ones.setattr(os, name, function)
                    act()
            return real(*args, **kwargs)

        return call

    reals = {name: getattr(os, name) for name in CALLS}
    with monkeypatch.context() as patched:
        for name, real in reals.items():
            patched.setattr(os, name, counting(real))
        yield acted


def link_for_folder(world: World) -> None:
    (world.root / "a" / "folder").rename(world.root / "swapped")
    (world.root / "a" / "folder").symlink_to("../../outside")


def link_for_file(world: World) -> None:
    (world.root / "a" / "folder" / "file").unlink()
    (world.root / "a" / "folder" / "file").symlink_to(world.outside / "secret")


def pipe_for_file(world: World) -> None:
    (world.root / "a" / "folder" / "file").unlink()
    os.mkfifo(world.root / "a" / "folder" / "file")


def link_for_parent(world: World) -> None:
    (world.root / "a").rename(world.root / "swapped")
    (world.root / "a").symlink_to("../outside")


SWAPS = [link_for_folder, link_for_file, pipe_for_file, link_for_parent]


@pytest.mark.parametrize("swap", SWAPS, ids=lambda swap: swap.__name__)
@pytest.mark.parametrize("method", METHODS)
def test_a_swap_right_before_any_call_to_the_system(
    method: str, swap: Callable[[World], None], world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def act() -> None:
        try:
            swap(world)
        except FileNotFoundError:  # the method has taken it away already
            return

    monkeypatch.setattr(os, "fsync", lambda _: None)  # hundreds of runs, none of which must survive a power cut
    failures = 0
    for number in range(1, 1000):
        grow(world)
        with within(20), before_call(number, act, monkeypatch) as acted:
            result = METHODS[method](world.tool)
        assert SECRET not in repr(result)
        match outcome(result):
            case Success(value):
                assert not method.startswith("read") or value in {"inside", b"inside"}
            case Failure():
                failures += 1
                failed(result)
        for path in world.root.rglob("*"):
            # Nothing from outside, nothing empty, nothing half.
            assert path.is_symlink() or not path.is_file() or path.read_text() in {"inside", "outside", "written"}
        if not acted[0]:
            assert isinstance(outcome(result), Success)
            break
    else:
        raise AssertionError("it never ends")
    assert number > 5


def test_a_folder_that_became_a_link_between_two_calls(world: World) -> None:
    grow(world)
    tool = world.tool
    assert tool.read_text("a/folder/file").unwrap() == "inside"
    link_for_folder(world)
    for path in ("a/folder/file", "a/folder/secret", "a/folder"):
        assert failed(tool.read_text(path)).cause == "symlink"
        assert failed(tool.write_text(path, "x")).cause == "symlink"
        assert failed(tool.list(path)).cause == "symlink"
    assert tool.remove("a/folder", recursive=True).unwrap().entries == 1


def test_a_directory_that_is_moved_away_does_not_take_the_traversal_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else going up from it would arrive where it was moved to, and go on removing there."""
    moved = 0
    for number in range(1, 1000):
        case = tmp_path / str(number)
        (case / "root" / "tree" / "b" / "c").mkdir(parents=True)
        (case / "elsewhere" / "tree").mkdir(parents=True)
        bystanders = [case / "elsewhere" / "bystander", case / "elsewhere" / "tree" / "bystander"]
        for path in (*bystanders, case / "root" / "tree" / "a", case / "root" / "tree" / "b" / "c" / "d"):
            path.write_text("here")

        def act(case: Path = case) -> None:
            if (case / "root" / "tree" / "b").exists():
                (case / "root" / "tree" / "b").rename(case / "elsewhere" / "b")

        with before_call(number, act, monkeypatch) as acted:
            result = FsTool(case / "root").remove("tree", recursive=True)
        assert [path.read_text() for path in bystanders] == ["here", "here"]
        moved += isinstance(outcome(result), Failure)
        if not acted[0]:
            break
    else:
        raise AssertionError("it never ends")
    assert moved > 3


def test_going_up_does_not_arrive_where_a_directory_was_moved_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = 0
    for number in range(1, 100):
        case = tmp_path / str(number)
        (case / "root" / "a" / "b").mkdir(parents=True)
        (case / "elsewhere").mkdir()
        (case / "elsewhere" / "file").write_text(SECRET)
        (case / "root" / "a" / "file").write_text("inside")

        def act(case: Path = case) -> None:
            (case / "root" / "a" / "b").rename(case / "elsewhere" / "b")

        with before_call(number, act, monkeypatch) as acted:
            result = FsTool(case / "root").read_text("a/b/../file")
        assert result.value_or("inside") == "inside"
        if not acted[0]:
            break
    assert number > 8


def test_what_is_there_before_and_after_a_swap_is_there_at_any_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link for a directory: in between nothing is missing."""
    for path in ("folder/file", "link/file", "folder/../link/file", "chain"):
        number = 0
        for number in range(1, 100):
            root = tmp_path / f"{path}-{number}".replace("/", "-")
            for place in ("real", "folder"):
                (root / place).mkdir(parents=True)
                (root / place / "file").write_text("inside")
            (root / "link").symlink_to("real")
            (root / "chain").symlink_to("link/../folder/file")

            def act(root: Path = root) -> None:
                exchange(root / "folder", root / "link")

            with before_call(number, act, monkeypatch) as acted:
                result = FsTool(root).read_text(path)
            assert result.value_or(None) == "inside", (path, number)
            if not acted[0]:
                break
        assert number > 5


def exchange(one: Path, other: Path) -> None:
    spare = one.with_name("spare")
    one.rename(spare)
    other.rename(one)
    spare.rename(other)


def test_a_directory_that_somebody_else_made_at_the_last_moment_stays(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.mkdir

    def mkdir(path: str, *args: Any, **kwargs: Any) -> None:
        if path == "theirs":
            real(world.root / "ours" / "theirs")
        real(path, *args, **kwargs)

    def no_space(_: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patched:
        patched.setattr(os, "mkdir", mkdir)
        patched.setattr(os, "fsync", no_space)
        assert failed(world.tool.write_text("ours/theirs/ours/file", "x")).effect == "none"
    assert [path.name for path in world.root.rglob("*")] == ["ours", "theirs"]


SWAPPER = """
import ctypes, os, sys
one, other = map(os.fsencode, sys.argv[1:])
exchange = ctypes.CDLL(None).renameat2
AT_FDCWD, EXCHANGE = -100, 2
print("ready", flush=True)
os.set_blocking(0, False)
swaps = 0
while True:
    assert exchange(AT_FDCWD, one, AT_FDCWD, other, EXCHANGE) == 0
    swaps += 1
    try:
        if swaps % 2 == 0 and os.read(0, 1) == b"":
            break
    except BlockingIOError:
        pass
"""


@contextmanager
def swapping(place: Path, link: Path) -> Iterator[None]:
    """Another process swaps a directory and a link, as fast as it can; in the end each is where it was."""
    args = [sys.executable, "-c", SWAPPER, str(place), str(link)]
    with subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as swapper:
        assert swapper.stdout is not None
        assert swapper.stdin is not None
        assert swapper.stdout.readline() == b"ready\n"
        try:
            yield
        finally:
            swapper.stdin.close()
    assert swapper.returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "renameat2"), reason="this system cannot exchange two names")
def test_a_folder_that_another_process_swaps_for_a_link_all_the_time(world: World) -> None:
    grow(world)
    (world.root / "a" / "folder" / "secret").write_text("inside")
    (world.root / "a" / "swapped").symlink_to("../../outside")
    tool = world.tool
    seen: dict[str, int] = dict.fromkeys(("read inside", "read symlink", "wrote Success", "wrote Failure"), 0)
    started = time.monotonic()
    with swapping(world.root / "a" / "folder", world.root / "a" / "swapped"):
        # Until the folder and the link have been met many times, by what reads and by what writes.
        while min(seen.values()) < 10 and time.monotonic() < started + 60:
            for _ in range(50):
                read = outcome(tool.read_text("a/folder/secret"))
                seen[f"read {read.unwrap() if isinstance(read, Success) else failed(read).cause}"] += 1
                failed(tool.read_text("a/folder/../../outside/secret"))
                tool.list("a", recursive=True)
                tool.exists("a/folder/deep/../secret")
            wrote = outcome(tool.write_text("a/folder/new/new", "inside"))
            seen[f"wrote {type(wrote).__name__}"] += 1
            tool.edit_text("a/folder/secret", "inside", "inside")
            tool.remove("a/folder/new", recursive=True)
            tool.copy("a", "copy")
            tool.remove("copy", recursive=True)
            tool.move("a/folder/file", "a/folder/secret", overwrite=True)
            tool.copy("a/folder/secret", "a/folder/file", overwrite=True)
    assert min(seen.values()) >= 10, seen
    assert (world.root / "a" / "folder" / "secret").read_text() == "inside"
    assert os.readlink(world.root / "a" / "swapped") == "../../outside"
