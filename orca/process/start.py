"""A program's start: every way of not starting, told apart by its cause."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orca.errors import CommandCause

_BY_ERRNO: Final[dict[int, CommandCause]] = {
    errno.E2BIG: "too-long",
    errno.ENOEXEC: "bad-format",
    errno.ENOTDIR: "not-found",
    errno.ELOOP: "not-found",
    errno.ENAMETOOLONG: "not-found",
}


@dataclass(frozen=True, slots=True)
class NotStarted:
    """Why a program did not start, in the system's words."""

    cause: CommandCause
    message: str


def start(
    argv: Sequence[str | os.PathLike[str]], cwd: str, env: Mapping[str, str], *, stdin: bool
) -> subprocess.Popen[bytes] | NotStarted:
    """Start `argv` in a session of its own, with pipes on its outputs and, where `stdin` is true, on its input."""
    program = os.fspath(argv[0]) if argv else ""
    if not program:
        return NotStarted("bad-argument", "the program's name is empty")
    try:
        return subprocess.Popen(
            argv,
            bufsize=0,
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except ValueError as error:  # a NUL, a lone surrogate, a "=" in a variable's name
        return NotStarted("bad-argument", f"{program!r}: {type(error).__name__}")
    except OSError as error:
        return _not_started(program, cwd, env, error)


def _not_started(program: str, cwd: str, env: Mapping[str, str], error: OSError) -> NotStarted:
    """The system names the wrong thing for a missing interpreter or directory: look at what is there."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    if not os.path.isdir(cwd):
        return NotStarted("bad-cwd", f"{cwd}: {'Not a directory' if os.path.exists(cwd) else 'No such directory'}")
    if not os.access(cwd, os.X_OK):
        return NotStarted("bad-cwd", f"{cwd}: {reason}")
    if error.errno in (errno.ENOENT, errno.EACCES):
        found = _candidates(program, cwd, env)
        if not found:
            return NotStarted("not-found", f"{program}: {os.strerror(errno.ENOENT)}")
        runnable = [path for path in found if os.path.isfile(path) and os.access(path, os.X_OK)]
        if not runnable:
            return NotStarted("not-executable", f"{found[0]}: {os.strerror(errno.EACCES)}")
        interpreter = _interpreter(runnable[0])
        if interpreter is None and error.errno == errno.EACCES:
            return NotStarted("not-executable", f"{runnable[0]}: {reason}")
        return NotStarted("bad-interpreter", f"{runnable[0]}: bad interpreter {interpreter or '(loader)'}: {reason}")
    return NotStarted(_BY_ERRNO.get(error.errno or 0, "other"), f"{program}: {reason}")


def _candidates(program: str, cwd: str, env: Mapping[str, str]) -> list[str]:
    if "/" in program:
        paths = [os.path.join(cwd, program)]
    else:
        paths = [os.path.join(cwd, folder, program) for folder in os.get_exec_path(env)]
    return [path for path in paths if os.path.exists(path)]


def _interpreter(path: str) -> str | None:
    """The interpreter that a script's first line names, as it stands there; None for what is no script."""
    try:
        with open(path, "rb") as file:
            line = file.read(256).partition(b"\n")[0]
    except OSError:
        return None
    return repr(line[2:].strip(b" \t").decode("utf-8", "replace")) if line.startswith(b"#!") else None
