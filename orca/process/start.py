"""A program's start: every way of not starting, told apart by its cause."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from orca.errors import CommandCause

_BY_ERRNO: Final[dict[int, CommandCause]] = {
    errno.E2BIG: "too-long",
    errno.ENOEXEC: "bad-format",
    errno.ENOTDIR: "not-found",
    errno.ENAMETOOLONG: "not-found",
}
_LOOK_AT_FILE: Final = (errno.ENOENT, errno.EACCES, errno.ELOOP)


class NotStarted(NamedTuple):
    """Why a program did not start, in the system's words."""

    cause: CommandCause
    message: str


def start(
    argv: Sequence[str], cwd: str, env: Mapping[str, str], *, stdin: bool
) -> subprocess.Popen[bytes] | NotStarted:
    """Start `argv` in a session of its own, with pipes on its outputs and, where `stdin` is true, on its input."""
    if not argv or not argv[0]:
        return NotStarted("bad-argument", "the program's name is empty")
    if not os.path.isabs(cwd):
        return NotStarted("bad-cwd", f"{cwd}: the current directory is gone")
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
    except (ValueError, OSError) as error:
        return why_not(argv, cwd, env, error)


def why_not(argv: Sequence[str], cwd: str, env: Mapping[str, str], error: ValueError | OSError) -> NotStarted:
    """Return why a program did not start, from what `Popen` raised."""
    if isinstance(error, OSError):
        return _not_started(argv[0], cwd, env, error)
    return _not_passable(argv, cwd, env)


def _not_passable(argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> NotStarted:
    """Say what the system cannot take: a NUL, a lone surrogate, a "=" in a variable's name. Values are not shown."""
    if not _passable(cwd):
        return NotStarted("bad-cwd", f"{cwd!r} cannot be the name of a directory")
    for number, word in enumerate(argv):
        if not _passable(word):
            return NotStarted("bad-argument", f"argument {number} of {argv[0]!r} cannot be passed to a program")
    for name, value in env.items():
        if "=" in name or not _passable(name) or not _passable(value):
            return NotStarted("bad-argument", f"variable {name!r} cannot be passed to a program")
    return NotStarted("bad-argument", f"{argv[0]!r} cannot be started with what it was given")


def _passable(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _not_started(program: str, cwd: str, env: Mapping[str, str], error: OSError) -> NotStarted:
    """The system names the wrong thing for a missing interpreter or directory: look at what is there."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    if (problem := _cannot_enter(cwd)) is not None:
        return NotStarted("bad-cwd", f"{cwd}: {problem}")
    if error.errno not in _LOOK_AT_FILE:
        return NotStarted(_BY_ERRNO.get(error.errno or 0, "other"), f"{program}: {reason}")
    found = _candidates(program, cwd, env)
    if not found:
        if "/" not in program:
            return NotStarted("not-found", f"{program}: {os.strerror(errno.ENOENT)}")
        hidden = error.errno == errno.EACCES  # in a directory that may not be entered
        return NotStarted("not-executable" if hidden else "not-found", f"{program}: {reason}")
    runnable = [path for path in found if os.path.isfile(path) and os.access(path, os.X_OK)]
    if not runnable:
        return NotStarted("not-executable", f"{found[0]}: {os.strerror(errno.EACCES)}")
    interpreter = _interpreter(runnable[0])
    if interpreter is None and error.errno == errno.EACCES:
        return NotStarted("not-executable", f"{runnable[0]}: {reason}")
    return NotStarted("bad-interpreter", f"{runnable[0]}: bad interpreter {interpreter or '(loader)'}: {reason}")


def _cannot_enter(directory: str) -> str | None:
    try:
        if not stat.S_ISDIR(os.stat(directory).st_mode):
            return os.strerror(errno.ENOTDIR)
    except OSError as error:
        return error.strerror
    return None if os.access(directory, os.X_OK) else os.strerror(errno.EACCES)


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
