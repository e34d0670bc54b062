"""The kernel's own rule for staying beneath a directory, asked about thousands of random paths, says the same."""

import ctypes
import errno
import os
import platform
import random
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from canaries import SECRET, World, contents, failed, guarded

from orca import FsTool, Success, outcome
from orca.tools.files.failures import Call, Stop
from orca.tools.files.walk import Root, Walk

world = pytest.fixture(guarded)

_OPENAT2: Final = 437
_NO_MAGIC_LINKS: Final = 0x02
_BENEATH: Final = 0x08
TREES: Final = 25
PATHS_EACH: Final = 400
NAMES: Final = ("a", "b", "c", "d")
BY_ERRNO: Final = {
    errno.EXDEV: {"outside-root", "symlink"},
    errno.ELOOP: {"symlink"},
    errno.ENOENT: {"not-found"},
    errno.ENOTDIR: {"not-a-directory"},
    errno.EISDIR: {"is-a-directory"},
    errno.ENXIO: {"not-a-file"},
    errno.ENAMETOOLONG: {"other"},
}
MISSING: Final = {"ENOENT", "ENOTDIR"}


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def openat2(directory: int, path: str, flags: int, mode: int = 0) -> int | OSError:
    """What the kernel opens beneath a directory, following no magic link; or why not."""
    libc = ctypes.CDLL(None, use_errno=True)
    how = _How(flags | os.O_CLOEXEC, mode, _BENEATH | _NO_MAGIC_LINKS)
    while True:
        fd = libc.syscall(_OPENAT2, directory, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how))
        number = ctypes.get_errno()
        if fd >= 0:
            return int(fd)
        if number != errno.EAGAIN:  # something was renamed somewhere, and the kernel would not decide
            return OSError(number, os.strerror(number))


@contextmanager
def opened(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_PATH | os.O_DIRECTORY)
    try:
        yield fd
    finally:
        os.close(fd)


@pytest.fixture(autouse=True)
def the_kernel_has_it(tmp_path: Path) -> None:
    if platform.system() != "Linux":
        pytest.skip("openat2 is a call of Linux")
    with opened(tmp_path) as fd:
        found = openat2(fd, ".", os.O_PATH)
    if isinstance(found, OSError):
        pytest.skip(f"this kernel has no openat2: {found}")
    os.close(found)


def grow(top: Path, chance: random.Random) -> None:
    """A small tree in which links lead anywhere: inside, outside, nowhere and in circles."""
    top.mkdir()
    directories = [top]
    for _ in range(12):
        place = chance.choice(directories) / chance.choice(NAMES)
        if os.path.lexists(place):
            continue
        match chance.randrange(10):
            case 0 | 1 | 2 | 3:
                place.mkdir()
                directories.append(place)
            case 4 | 5:
                place.write_bytes(chance.randbytes(8))
            case 6 if chance.random() < 0.3:
                os.mkfifo(place)
            case _:
                place.symlink_to(a_path(chance, absolute=top.parent) or ".")


def a_path(chance: random.Random, absolute: Path | None = None) -> str:
    """A path that may be anything; rarely an absolute one."""
    parts = [chance.choice((*NAMES, *NAMES, *NAMES, "..", "..", ".", "", "outside", "secret", "n" * 256))
             for _ in range(chance.randrange(1, 6))]  # fmt: skip
    text = "/".join(parts)
    text += chance.choice(("", "", "", "", "/", "/."))
    if absolute is not None and chance.random() < 0.1:
        return f"{absolute}/outside/{text}"
    return text.lstrip("/")


@pytest.mark.slow
def test_ten_thousand_paths_lead_where_the_kernel_says(world: World) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    chance = random.Random(seed)
    seen: dict[str, int] = {}
    for number in range(TREES):
        top = world.root / str(number)
        grow(top, chance)
        root, tool = Root(top), FsTool(top)
        with opened(top) as beneath:
            for _ in range(PATHS_EACH):
                path = a_path(chance, absolute=world.outside.parent)
                where = f"seed {seed}, tree {number}, path {path!r}"
                theirs = openat2(beneath, path, os.O_PATH)
                if isinstance(theirs, OSError):
                    answer = errno.errorcode[theirs.errno or 0]
                    method = chance.choice((tool.stat, tool.read_bytes, tool.list))
                    assert failed(method(path)).cause in BY_ERRNO[theirs.errno or 0], where
                    assert tool.exists(path).value_or(None) == (False if answer in MISSING else None), where
                else:
                    answer = "found"
                    try:
                        state = os.fstat(theirs)
                        with Walk(root, path, Call(60.0)) as walk:
                            assert os.path.samestat(walk.settle(), state), where
                        check_reads(tool, path, state, theirs, where)
                    finally:
                        os.close(theirs)
                seen[answer] = seen.get(answer, 0) + 1
    assert sum(seen.values()) == TREES * PATHS_EACH
    for kind in ("found", "EXDEV", "ENOENT", "ENOTDIR", "ELOOP"):
        assert seen.get(kind, 0) > 20, f"seed {seed}: {seen}"


def check_reads(tool: FsTool, path: str, state: os.stat_result, theirs: int, where: str) -> None:
    """What the tool reads there is what is there."""
    there = f"/proc/self/fd/{theirs}"
    assert tool.exists(path).unwrap(), where
    match stat.S_IFMT(state.st_mode):
        case stat.S_IFREG:
            assert tool.read_bytes(path).unwrap() == Path(there).read_bytes(), where
        case stat.S_IFDIR:
            assert failed(tool.read_bytes(path)).cause == "is-a-directory", where
            names = sorted(info.path.rpartition("/")[2] for info in tool.list(path).unwrap())
            assert names == sorted(os.listdir(there)), where
        case _:
            assert failed(tool.read_bytes(path)).cause == "not-a-file", where


def test_what_is_written_is_where_the_kernel_would_have_written_it(world: World) -> None:
    """The same tree twice: in one the kernel opens and creates, in the other the tool writes."""
    seed = random.SystemRandom().randrange(1 << 32)
    chance = random.Random(seed)
    written = number = 0
    while written < 60:
        number += 1
        growth = chance.randbytes(8)
        tops = [world.root / f"{side}{number}" for side in ("kernel", "tool")]
        for top in tops:
            grow(top, random.Random(growth))
        tool = FsTool(tops[1])
        with opened(tops[0]) as beneath:
            for _ in range(30):
                path, content = a_path(chance).replace("n" * 256, "new"), chance.randbytes(6)
                where = f"seed {seed}, tree {number}, path {path!r}"
                fd = openat2(beneath, path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK, 0o666)
                if not isinstance(fd, OSError):
                    os.write(fd, content)
                    os.close(fd)
                    assert isinstance(outcome(tool.write_bytes(path, content)), Success), where
                    written += 1
                elif fd.errno != errno.ENOENT:  # there the tool makes the directories that are missing
                    cause = failed(tool.write_bytes(path, content)).cause
                    # With a slash at the end, of a link too, the kernel does not look any further.
                    assert fd.errno == errno.EISDIR or cause in BY_ERRNO[fd.errno or 0], where
        assert contents(tops[0]) == contents(tops[1]), f"seed {seed}, tree {number}"


def test_the_canary_is_found_by_a_walk_that_is_not_contained(world: World) -> None:
    """Else nothing here would be shown: the outside can be reached, by who is allowed to."""
    (world.root / "link").symlink_to("../outside")
    with pytest.raises(Stop), Walk(Root(world.root), "link/secret", Call(60.0)):
        pass
    with Walk(Root(world.root, contained=False), "link/secret", Call(60.0)) as walk:
        assert walk.settle().st_size == len(SECRET)
