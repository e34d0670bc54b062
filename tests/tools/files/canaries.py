"""A root with a guarded outside: whoever opens, reads or changes anything beside the root has failed the test."""

import ctypes
import os
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from orca import Failure, FileSystemError, FsTool, outcome
from orca.errors import RuntimeError
from orca.results import Result

T = TypeVar("T")

SECRET: Final = "canary 7f3a: nobody reads this"
_OPENED_READ_OR_CHANGED: Final = 0x00000FFF  # IN_ALL_EVENTS
_NON_BLOCKING: Final = os.O_NONBLOCK
IS_TOLD: Final = hasattr(ctypes.CDLL(None), "inotify_init1")  # Linux tells who opens what


@dataclass(frozen=True)
class World:
    """The directory `root`, and beside it `outside` and `root-evil`, whose name begins as that of the root does."""

    root: Path
    outside: Path
    evil: Path

    @property
    def tool(self) -> FsTool:
        """The tool under test."""
        return FsTool(self.root)


def failed(result: Result[T, RuntimeError]) -> FileSystemError:
    """The error of a call that must have failed; nothing in it says anything about the outside."""
    match outcome(result):
        case Failure(FileSystemError() as error):
            assert SECRET not in repr(error)
            assert "outside" not in error.message.removesuffix("outside the root")
            assert "/" not in error.message
            return error
        case other:
            raise AssertionError(f"not a FileSystemError: {other}")


def snapshot(top: Path) -> dict[str, tuple[object, ...]]:
    """Every file, directory and link below `top`: what it is, what it holds, its mode, and when it was changed."""
    found: dict[str, tuple[object, ...]] = {}
    for path in [top, *sorted(top.rglob("*"))]:
        state = path.lstat()
        held: object = None
        if stat.S_ISREG(state.st_mode):
            held = path.read_bytes()
        elif stat.S_ISLNK(state.st_mode):
            held = os.readlink(path)
        found[os.path.relpath(path, top)] = (state.st_mode, state.st_ino, state.st_mtime_ns, held)
    return found


def contents(top: Path) -> dict[str, tuple[int, bytes | str | None]]:
    """Every file, directory and link below `top`: its mode, and the bytes or the target."""
    found: dict[str, tuple[int, bytes | str | None]] = {}
    for name, (mode, _, _, held) in snapshot(top).items():
        assert isinstance(mode, int)
        assert held is None or isinstance(held, bytes | str)
        found[name] = (mode, held)
    del found["."]
    return found


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """What is done inside ends in time; else it is ended, and the test has failed."""

    def too_late(*_: object) -> None:
        raise AssertionError(f"still waiting after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, too_late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def unchanged(top: Path) -> Iterator[None]:
    """What is done inside leaves the tree as it was, to the time of its last change."""
    before = snapshot(top)
    yield
    assert snapshot(top) == before


@contextmanager
def watching(*tops: Path) -> Iterator[list[int]]:
    """Every opening, reading and changing of what is in the trees, filled in at the end."""
    events: list[int] = []
    libc = ctypes.CDLL(None)
    if not IS_TOLD:
        yield events
        return
    fd = libc.inotify_init1(_NON_BLOCKING)
    assert fd >= 0
    try:
        for top in tops:
            for path in [top, *top.rglob("*")]:
                if path.is_dir() and not path.is_symlink():
                    assert libc.inotify_add_watch(fd, os.fsencode(path), _OPENED_READ_OR_CHANGED) >= 0
        yield events
        with suppress(BlockingIOError):
            events.extend(os.read(fd, 1 << 16))
    finally:
        os.close(fd)


def guarded(tmp_path: Path) -> Iterator[World]:
    """A fixture: a root whose outside nobody may touch."""
    here = World(tmp_path / "root", tmp_path / "outside", tmp_path / "root-evil")
    for directory in (here.root, here.outside / "folder", here.evil):
        directory.mkdir(parents=True)
    for path in (here.outside / "secret", here.outside / "folder" / "secret", here.evil / "secret"):
        path.write_text(SECRET)
    (here.outside / "program").write_text(SECRET)
    (here.outside / "program").chmod(0o755)
    (here.outside / "link").symlink_to("secret")
    os.mkfifo(here.outside / "pipe")
    before = [snapshot(here.outside), snapshot(here.evil)]
    with watching(here.outside, here.evil) as events:
        yield here
    assert [snapshot(here.outside), snapshot(here.evil)] == before
    assert not events
    assert set(os.listdir(tmp_path)) == {"root", "outside", "root-evil"}
