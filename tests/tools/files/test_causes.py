"""Every method, in every state that a path can be in: success, or the one cause that says what is wrong."""

import errno
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from canaries import World, contents, failed, guarded, within
from worlds.disk import Disk

from orca import Failure, FileSystemError, FsTool, Success, outcome
from orca.results import Result

world = pytest.fixture(guarded)

METHODS: dict[str, Callable[[FsTool, str], Result[Any, Any]]] = {
    "read_text": lambda tool, path: tool.read_text(path),
    "read_bytes": lambda tool, path: tool.read_bytes(path),
    "write_text": lambda tool, path: tool.write_text(path, "new"),
    "write_bytes": lambda tool, path: tool.write_bytes(path, b"new"),
    "edit_text": lambda tool, path: tool.edit_text(path, "text", "new"),
    "exists": lambda tool, path: tool.exists(path),
    "stat": lambda tool, path: tool.stat(path),
    "list": lambda tool, path: tool.list(path),
    "make_dir": lambda tool, path: tool.make_dir(path),
    "copy from": lambda tool, path: tool.copy(path, "new"),
    "copy to": lambda tool, path: tool.copy("own", path),
    "copy over": lambda tool, path: tool.copy("own", path, overwrite=True),
    "move from": lambda tool, path: tool.move(path, "new"),
    "move to": lambda tool, path: tool.move("own", path),
    "move over": lambda tool, path: tool.move("own", path, overwrite=True),
    "remove": lambda tool, path: tool.remove(path),
}
PATHS = {
    "missing": "missing",
    "in missing": "missing/x",
    "file": "file",
    "in a file": "file/x",
    "binary": "binary",
    "directory": "folder",
    "link to nothing": "dangling",
    "circle": "circle",
    "link outside": "out",
    "pipe": "pipe",
    "outside": "../outside/secret",
    "too long": "n" * 256,
    "with a NUL": "a\0b",
    "no text": "\ud800",
    "empty": "",
}
# For each method what comes of it, in the order of the paths.
TABLE = """
read_text    not-found not-found ok not-a-directory not-text is-a-directory not-found symlink symlink not-a-file
read_bytes   not-found not-found ok not-a-directory ok is-a-directory not-found symlink symlink not-a-file
write_text   ok ok ok not-a-directory ok is-a-directory ok symlink symlink not-a-file
write_bytes  ok ok ok not-a-directory ok is-a-directory ok symlink symlink not-a-file
edit_text    not-found not-found ok not-a-directory not-text is-a-directory not-found symlink symlink not-a-file
exists       ok ok ok ok ok ok ok symlink symlink ok
stat         not-found not-found ok not-a-directory ok ok not-found symlink symlink ok
list         not-found not-found not-a-directory not-a-directory not-a-directory ok not-found symlink symlink not-a-directory
make_dir     ok ok already-exists not-a-directory already-exists already-exists already-exists already-exists already-exists already-exists
copy-from    not-found not-found ok not-a-directory ok ok not-found symlink symlink not-a-file
copy-to      ok not-found already-exists not-a-directory already-exists already-exists already-exists already-exists already-exists already-exists
copy-over    ok not-found ok not-a-directory ok is-a-directory ok symlink symlink not-a-file
move-from    not-found not-found ok not-a-directory ok ok ok ok ok ok
move-to      ok not-found already-exists not-a-directory already-exists already-exists already-exists already-exists already-exists already-exists
move-over    ok not-found ok not-a-directory ok is-a-directory ok ok ok ok
remove       not-found not-found ok not-a-directory ok is-a-directory ok ok ok ok
"""  # noqa: E501
FOR_ALL = {"outside": "outside-root", "too long": "other", "with a NUL": "other", "no text": "other"}


def wanted() -> Iterator[tuple[str, str, str]]:
    for line in TABLE.strip().splitlines():
        method, *causes = line.split()
        name = method.replace("-", " ")
        for path, cause in zip(PATHS, causes, strict=False):
            yield name, path, cause
        for path, cause in FOR_ALL.items():
            yield name, path, cause
        yield name, "empty", "ok" if name == "exists" else "not-found"


@pytest.fixture
def states(world: World) -> World:
    root = world.root
    (root / "folder" / "held").mkdir(parents=True)
    for name in ("file", "own"):
        (root / name).write_text("text")
    (root / "binary").write_bytes(b"text\xff")
    for name, target in (("dangling", "nothing"), ("circle", "circle"), ("out", "../outside/secret")):
        (root / name).symlink_to(target)
    os.mkfifo(root / "pipe")
    return world


def test_the_table_is_complete() -> None:
    assert len(list(wanted())) == len(METHODS) * len(PATHS)
    public = {name for name in dir(FsTool) if not name.startswith("_")}
    assert {name.split()[0] for name in METHODS} == public


@pytest.mark.parametrize(("method", "path", "cause"), list(wanted()))
def test_the_cause_says_what_is_wrong(method: str, path: str, cause: str, states: World) -> None:
    before = contents(states.root)
    with within(20):
        result = METHODS[method](states.tool, PATHS[path])
    if cause == "ok":
        assert isinstance(outcome(result), Success)
        return
    error = failed(result)
    assert (error.cause, error.effect) == (cause, "none")
    assert contents(states.root) == before
    if path == "too long":
        assert error.errno == errno.ENAMETOOLONG
    if path in {"with a NUL", "no text"}:
        assert error.errno == errno.EINVAL
    if path not in {"no text", "empty"}:
        assert error.path == PATHS[path]


ROOTS = {
    "missing": "not-found",
    "missing/missing": "not-found",
    "file": "not-a-directory",
    "file/x": "not-a-directory",
    "circle": "symlink",
    "dangling": "not-found",
    "pipe": "not-a-directory",
    "n" * 256: "other",
    "a\0b": "other",
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("allow_outside", [False, True])
def test_a_root_that_is_none_is_a_failure_of_the_call(allow_outside: bool, method: str, states: World) -> None:
    for root, cause in ROOTS.items():
        tool = FsTool(f"{states.root}/{root}", allow_outside=allow_outside)
        for path in ("file", ".", ".."):
            with within(20):
                error = failed(METHODS[method](tool, path))
            assert (error.cause, error.effect) == (cause, "none"), root


@pytest.mark.parametrize("method", METHODS)
def test_a_deleted_current_directory_is_a_failure_of_the_call(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    (tmp_path / "file").write_text("x")
    monkeypatch.chdir(gone)
    before = FsTool()
    gone.rmdir()
    for tool in (before, FsTool(), FsTool("sub"), FsTool(".", allow_outside=True)):
        for path in ("file", ".", "new", str(tmp_path / "file")):
            assert failed(METHODS[method](tool, path)).cause in {"not-found", "outside-root"}
    monkeypatch.chdir(tmp_path)
    assert failed(METHODS[method](before, "file")).cause == "not-found"


def test_a_tool_made_before_its_root_works_when_that_is_there(tmp_path: Path) -> None:
    tool = FsTool(tmp_path / "later")
    failed(tool.list())
    (tmp_path / "later").mkdir()
    assert tool.list().unwrap() == ()


def test_a_relative_root_stays_where_it_was_when_the_tool_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    tool = FsTool("sub")
    monkeypatch.chdir("/")
    tool.write_text("file", "x").unwrap()
    assert (tmp_path / "sub" / "file").read_text() == "x"


def test_a_read_only_file_system(tmpfs: Disk) -> None:
    (tmpfs.path / "folder" / "held").mkdir(parents=True)
    for name in ("file", "own"):
        (tmpfs.path / name).write_text("text")
    subprocess.run(["mount", "-o", "remount,ro", tmpfs.path], check=True)
    tool = FsTool(tmpfs.path)
    before = contents(tmpfs.path)
    writing = [name for name in METHODS if name not in {"read_text", "read_bytes", "exists", "stat", "list"}]
    for method in writing:
        path = "missing" if method in {"make_dir", "copy to", "move to"} else "file"
        error = failed(METHODS[method](tool, path))
        assert (error.cause, error.errno, error.effect) == ("read-only", errno.EROFS, "none"), method
    for result in (tool.write_text("new/new", "x"), tool.remove("folder", recursive=True), tool.move("folder", "new")):
        assert failed(result).cause == "read-only"
    assert contents(tmpfs.path) == before
    assert tool.read_text("file").unwrap() == "text"


AS_NOBODY = """
import json, os, sys
from orca.tools import FsTool
top = sys.argv[1]
os.setgroups([]); os.setegid(65534); os.seteuid(65534)
tool = FsTool(top)
cases = {
    "read": tool.read_text("closed-file"),
    "read in": tool.read_text("closed/file"),
    "exists in": tool.exists("closed/file"),
    "stat in": tool.stat("closed/file"),
    "list": tool.list("closed"),
    "list all": tool.list(recursive=True),
    "write in": tool.write_text("fixed/file", "new"),
    "write new in": tool.write_text("fixed/new/new", "new"),
    "write protected": tool.write_text("own/protected", "new"),
    "edit protected": tool.edit_text("own/protected", "text", "new"),
    "copy over protected": tool.copy("own/file", "own/protected", overwrite=True),
    "copy from": tool.copy("closed-file", "own/copy"),
    "copy of all": tool.copy("closed", "own/copy"),
    "copy of half": tool.copy("half", "own/copy"),
    "copy to": tool.copy("own/file", "fixed/copy"),
    "move from": tool.move("fixed/file", "own/moved"),
    "move to": tool.move("own/file", "fixed/moved"),
    "make_dir": tool.make_dir("fixed/new"),
    "remove": tool.remove("fixed/file"),
    "remove all": tool.remove("fixed", recursive=True),
}
good = {
    "passed through": tool.read_text("passage/file"),
    "passed through and up": tool.read_text("passage/../passage/file"),
    "own": tool.write_text("own/file", "new"),
    "theirs, writable": tool.write_text("own/theirs", "new"),
}
print(json.dumps([
    {name: [getattr(result.failure(), field) for field in ("cause", "effect", "errno", "path")]
     for name, result in cases.items()},
    [name for name, result in good.items() if result.value_or(None) is None],
]))
"""


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A directory that other users can reach, unlike those of the tests."""
    if os.getuid() != 0:
        pytest.skip("only root may become another user")
    with tempfile.TemporaryDirectory(prefix="orca-files-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_what_the_permissions_do_not_allow(open_to_all: Path) -> None:
    top = open_to_all / "top"
    for name, mode in (("closed", 0o700), ("fixed", 0o755), ("own", 0o777), ("passage", 0o711)):
        (top / name).mkdir(parents=True)
        (top / name / "file").write_text("text")
        (top / name).chmod(mode)
    (top / "half" / "a" / "locked").mkdir(parents=True)
    (top / "half" / "a" / "locked" / "file").write_text("text")
    (top / "half" / "a" / "locked").chmod(0o555)
    (top / "half" / "a").chmod(0o555)
    (top / "half" / "z").write_text("text")
    (top / "half" / "z").chmod(0o600)
    (top / "closed-file").write_text("text")
    (top / "closed-file").chmod(0o600)
    for name, mode in (("protected", 0o444), ("theirs", 0o666), ("file", 0o666)):
        (top / "own" / name).write_text("text")
        (top / "own" / name).chmod(mode)
    top.chmod(0o755)
    before = contents(top)
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(top)], capture_output=True, text=True, timeout=60, check=True
    )
    bad, not_good = json.loads(done.stdout)
    assert not_good == []
    assert {name: error[:2] for name, error in bad.items()} == {name: ["permission", "none"] for name in bad}
    assert {error[2] for error in bad.values()} <= {errno.EACCES, errno.EPERM}
    assert bad["list all"][3] == "closed"
    assert bad["copy from"][3] == "closed-file"
    assert bad["copy of half"][3] == "half/z"
    after = contents(top)
    for name in ("own/file", "own/theirs"):
        assert after.pop(name)[1] == b"new"
        del before[name]
    assert after == before


# ------------------------------------------------------------------ time


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_a_timeout_that_bounds_nothing_is_misuse(timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout"):
        FsTool(timeout=timeout)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, as the tool sees it."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_who_runs_out_of_time_says_so_and_what_came_of_it(
    world: World, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        path = world.root / "tree" / str(number) / "file"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x" * 100)
    tool = FsTool(world.root, timeout=10)
    before = contents(world.root)

    def slow(name: str) -> None:
        real = getattr(os, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            clock[0] += 1
            return real(*args, **kwargs)

        monkeypatch.setattr(os, name, call)

    def timed_out(result: Result[Any, Any], effect: str) -> None:
        error = failed(result)
        assert (error.cause, error.errno, error.effect) == ("other", errno.ETIMEDOUT, effect)

    slow("listdir")
    timed_out(tool.list(recursive=True), "none")
    slow("write")
    timed_out(tool.copy("tree", "copy"), "none")
    timed_out(tool.write_bytes("new/file", b"x" * (12 << 20)), "none")
    assert contents(world.root) == before
    slow("unlink")
    timed_out(tool.remove("tree", recursive=True), "unknown")
    assert 0 < len(contents(world.root)) < len(before)
    assert tool.list("tree").unwrap()


def test_a_path_that_goes_up_and_down_for_ever_ends_in_time(world: World) -> None:
    (world.root / "/".join(["d"] * 300)).mkdir(parents=True)
    path = "/".join(["d"] * 299 + ["d/.."] * 100_000)
    tool = FsTool(world.root, timeout=0.2)
    with within(20):
        error = failed(tool.stat(path))
    assert (error.cause, error.errno) == ("other", errno.ETIMEDOUT)


# ------------------------------------------------------------------ the words


def test_an_error_is_said_in_plain_words_whatever_the_language_of_the_host(states: World) -> None:
    for method in METHODS.values():
        for path in PATHS.values():
            match outcome(method(states.tool, path)):
                case Failure(FileSystemError() as error):
                    assert error.message
                    assert str(states.root) not in str(error)
                    assert os.strerror(error.errno or 0) != error.message
                case Failure(other):
                    raise AssertionError(other)
                case Success():
                    pass
