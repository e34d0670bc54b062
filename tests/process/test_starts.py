"""Every way of not starting is told apart, names the right thing, and leaves nothing open."""

from __future__ import annotations

import json
import os
import resource
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hosts import host
from worlds.disk import Disk

from orca import CommandFailed, command
from orca.process import live


@dataclass(frozen=True)
class Start:
    """What is run, what the failure must say of it, and what it must name."""

    argv: tuple[str | os.PathLike[str], ...]
    cause: str
    names: str = ""
    cwd: str | None = None
    env: Mapping[str, str | None] = field(default_factory=dict)


def _file(path: Path, content: bytes = b"#!/bin/sh\necho ran\n", mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
    return path


def _link(path: Path, target: str) -> Path:
    path.symlink_to(target)
    return path


def _no_loader(path: Path) -> Path:
    """A real program whose loader, as its header names it, is not there."""
    program = Path("/bin/sh").resolve().read_bytes()
    at = program.index(b"/ld-")
    start = program.rindex(b"\0", 0, at) + 1
    assert program[start:].startswith(b"/lib")
    return _file(path, program[:start] + b"/nol" + program[start + 4 :])


def _socket(path: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(os.path.relpath(path))
    return path


STARTS: dict[str, Callable[[Path], Start]] = {
    "no such program": lambda at: Start(("no-such-program",), "not-found", "no-such-program"),
    "no such path": lambda at: Start((at / "no-such",), "not-found", f"{at}/no-such"),
    "no such relative path": lambda at: Start(("./no-such",), "not-found", "./no-such"),
    "below a file": lambda at: Start((_file(at / "file") / "below",), "not-found", f"{at}/file/below"),
    "name too long": lambda at: Start(("n" * 300,), "not-found"),
    "dangling link": lambda at: Start((_link(at / "link", "nowhere"),), "not-found", f"{at}/link"),
    "looping link": lambda at: Start((_link(at / "loop", "loop"),), "not-found", f"{at}/loop"),
    "no x bit": lambda at: Start((_file(at / "plain", mode=0o644),), "not-executable", f"{at}/plain"),
    "a directory": lambda at: Start((at,), "not-executable", f"{at}"),
    "a directory in PATH": lambda at: Start(
        ("tool",), "not-executable", f"{at}/bin/tool", env={"PATH": str(_file(at / "bin/tool/x").parent.parent)}
    ),
    "no x bit in PATH": lambda at: Start(
        ("tool",), "not-executable", f"{at}/bin/tool", env={"PATH": str(_file(at / "bin/tool", mode=0o644).parent)}
    ),
    "a socket": lambda at: Start((_socket(at / "socket"),), "not-executable", f"{at}/socket"),
    "no format": lambda at: Start((_file(at / "text", b"echo no shebang\n"),), "bad-format", f"{at}/text"),
    "empty file": lambda at: Start((_file(at / "empty", b""),), "bad-format", f"{at}/empty"),
    "missing interpreter": lambda at: Start(
        (_file(at / "script", b"#!/no/such/interpreter -x\n"),), "bad-interpreter", "/no/such/interpreter"
    ),
    "interpreter with CRLF": lambda at: Start(
        (_file(at / "script", b"#!/bin/sh\r\n"),), "bad-interpreter", r"/bin/sh\r"
    ),
    "interpreter not executable": lambda at: Start(
        (_file(at / "script", b"#!/etc/passwd\n"),), "bad-interpreter", "/etc/passwd"
    ),
    "interpreter that is itself": lambda at: Start(
        (_file(at / "script", f"#!{at}/script\n".encode()),), "bad-interpreter", f"{at}/script"
    ),
    "missing interpreter in PATH": lambda at: Start(
        ("tool",), "bad-interpreter", "/no/such", env={"PATH": str(_file(at / "bin/tool", b"#!/no/such\n").parent)}
    ),
    "missing loader": lambda at: Start((_no_loader(at / "program"),), "bad-interpreter", f"{at}/program"),
    "no argv": lambda at: Start((), "bad-argument"),
    "empty name": lambda at: Start(("",), "bad-argument"),
    "NUL in the program": lambda at: Start(("tr\0ue",), "bad-argument", "argument 0"),
    "NUL in an argument": lambda at: Start(("echo", "a", "b\0c"), "bad-argument", "argument 2"),
    "lone surrogate in an argument": lambda at: Start(("echo", "\ud83d"), "bad-argument", "argument 1"),
    "NUL in a value": lambda at: Start(("true",), "bad-argument", "'NAME'", env={"NAME": "hidden\0value"}),
    "lone surrogate in a value": lambda at: Start(("true",), "bad-argument", "'NAME'", env={"NAME": "hidden\ud83d"}),
    "= in a name": lambda at: Start(("true",), "bad-argument", "'NA=ME'", env={"NA=ME": "hidden"}),
    "NUL in a name": lambda at: Start(("true",), "bad-argument", r"'NA\x00ME'", env={"NA\0ME": "hidden"}),
    "NUL in the cwd": lambda at: Start(("true",), "bad-cwd", r"x\x00y", cwd="x\0y"),
    "lone surrogate in the cwd": lambda at: Start(("true",), "bad-cwd", r"\ud83d", cwd="\ud83d"),
    "one huge argument": lambda at: Start(("true", "x" * 200_000), "too-long", "true"),
    "one huge value": lambda at: Start(("true",), "too-long", "true", env={"NAME": "x" * 200_000}),
    "very many arguments": lambda at: Start(("true", *["x" * 1000] * 10_000), "too-long", "true"),
    "missing cwd": lambda at: Start(("true",), "bad-cwd", f"{at}/gone", cwd=f"{at}/gone"),
    "missing cwd and program": lambda at: Start(("no-such-program",), "bad-cwd", f"{at}/gone", cwd=f"{at}/gone"),
    "cwd is a file": lambda at: Start(("true",), "bad-cwd", f"{at}/file", cwd=str(_file(at / "file"))),
    "cwd is a dangling link": lambda at: Start(("true",), "bad-cwd", f"{at}/link", cwd=str(_link(at / "link", "no"))),
}


@pytest.fixture(autouse=True)
def nothing_left_open() -> Iterator[None]:
    before = os.listdir("/proc/self/fd")
    yield
    assert os.listdir("/proc/self/fd") == before
    assert not live._live


@pytest.mark.parametrize("kind", STARTS)
def test_what_could_not_start_says_why_and_names_the_right_thing(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    start = STARTS[kind](tmp_path)
    error = command().run(*start.argv, cwd=start.cwd, env=start.env).failure()
    assert isinstance(error, CommandFailed)
    assert (error.cause, error.effect, error.exit_code, error.signal) == (start.cause, "none", None, None)
    assert start.names in error.stderr
    assert "hidden" not in error.stderr
    assert error.stdout == ""
    assert error.stderr.encode()


def test_a_program_later_in_path_is_found_behind_what_cannot_run(tmp_path: Path) -> None:
    _file(tmp_path / "one/tool", mode=0o644)
    _file(tmp_path / "two/tool/x")
    _file(tmp_path / "three/tool")
    path = ":".join(f"{tmp_path}/{folder}" for folder in ("none", "one", "two", "three"))
    assert command().run("tool", env={"PATH": f"{path}:{os.environ['PATH']}"}).unwrap().stdout == "ran\n"


def test_a_relative_program_is_looked_for_in_the_cwd(tmp_path: Path) -> None:
    _file(tmp_path / "bin/tool")
    assert command().run("bin/tool", cwd=tmp_path).unwrap().stdout == "ran\n"
    assert command().run("./tool", cwd=tmp_path / "bin").unwrap().stdout == "ran\n"
    relative = {"PATH": f"bin:{os.environ['PATH']}"}
    assert command().run("tool", cwd=tmp_path, env=relative).unwrap().stdout == "ran\n"


def test_a_program_on_a_file_system_that_runs_nothing(tmpfs: Disk) -> None:
    program = _file(tmpfs.path / "tool")
    assert command().run("mount", "-o", "remount,noexec", tmpfs.path).unwrap().exit_code == 0
    error = command().run(program).failure()
    assert isinstance(error, CommandFailed)
    assert (error.cause, error.effect) == ("not-executable", "none")


def test_a_program_that_is_being_written_is_no_exception(tmp_path: Path) -> None:
    program = _file(tmp_path / "tool", Path("/bin/true").read_bytes())
    with program.open("r+b"):
        error = command().run(program).failure()
    assert isinstance(error, CommandFailed)
    assert (error.cause, error.effect) == ("other", "none")
    assert f"{program}" in error.stderr


def test_no_descriptors_left_is_no_exception() -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        error = command().run("true").failure()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert isinstance(error, CommandFailed)
    assert (error.cause, error.effect) == ("other", "none")


def test_what_another_user_may_not_enter() -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    code = """
from orca import CommandTool
tool = CommandTool("/")
tool.run("no-such"), go(script=":")  # everything is loaded before the modules' files are out of reach
closed = sys.stdin.readline().strip()
os.setgroups([]); os.setgid(65534); os.setuid(65534)
tell(causes=causes([
    tool.run("true", cwd=closed),
    tool.run("true", cwd=closed + "/below"),
    tool.run(closed + "/tool"),
]))
"""
    with tempfile.TemporaryDirectory() as directory, host(code) as other:
        Path(directory).chmod(0o755)
        closed = _file(Path(directory, "closed/tool")).parent
        closed.chmod(0o700)
        other.hear(str(closed))
        told = json.loads(other.ends(0, within=20))
    assert told["causes"] == [["bad-cwd", None], ["bad-cwd", None], ["not-executable", None]]


def test_misuse_raises() -> None:
    with pytest.raises(TypeError):
        command().run("echo", 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        command().run("true", env={"NAME": 3})  # type: ignore[dict-item]
    with pytest.raises(TypeError):
        command().run("true", log=3)  # type: ignore[arg-type]
