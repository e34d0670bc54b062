"""Programs and shell scripts, run to their end."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from orca import process
from orca.errors import RuntimeError
from orca.process import Ended, StrPath
from orca.redaction import Redacted, redact
from orca.results import Failure, Result, Success
from orca.tools.arguments import absolute, environment, seconds


class _Shown(Redacted):
    """Redacts by what the program's environment held too, which may be more than ours; no field, it is not data."""

    __slots__ = ("_env",)
    _env: Mapping[str, str]

    def __repr__(self) -> str:
        return redact(super().__repr__(), getattr(self, "_env", None))  # a copy was not run in any environment


@dataclass(frozen=True, slots=True, repr=False)
class CommandResult(_Shown):
    """What a program did: its outputs as text (UTF-8, replaced where it is not, newlines as they were) and as bytes.

    Sizes are bytes that the program wrote, `*_dropped` the bytes between head and tail that were not kept; `log_error`
    says why the log file is not whole. The fields are as the program wrote them; `repr` is redacted.
    """

    argv: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str
    stdout_raw: bytes = field(repr=False)
    stderr_raw: bytes = field(repr=False)
    stdout_size: int
    stderr_size: int
    stdout_dropped: int
    stderr_dropped: int
    duration_s: float
    log_error: str | None = None


class CommandTool:
    """Runs programs in one directory, with one environment.

    `env` changes the inherited environment: a value of None takes the variable out. `timeout` is seconds and bounds
    every call that names none of its own.

    >>> from orca.tools import CommandTool
    >>> CommandTool().run("echo", "hello").unwrap().stdout
    'hello\\n'
    """

    def __init__(
        self, cwd: StrPath = ".", *, env: Mapping[str, str | None] | None = None, timeout: float = 600.0
    ) -> None:
        self._cwd = absolute(cwd)
        self._env = dict(env or {})
        self._timeout = seconds(timeout)

    def run(
        self,
        *argv: StrPath,
        cwd: StrPath | None = None,
        env: Mapping[str, str | None] | None = None,
        input: str | bytes | None = None,
        timeout: float | None = None,
        ok_codes: Collection[int] = (0,),
        on_line: Callable[[str], object] | None = None,
        log: StrPath | None = None,
        limit: int | None = 1 << 20,
        keep_background: bool = False,
        cancel: threading.Event | None = None,
    ) -> Result[CommandResult, RuntimeError]:
        """Return what the program did, once it has ended with one of `ok_codes`.

        The program gets no terminal, and an empty stdin unless `input` is given (text goes as UTF-8). `cwd` is relative
        to the tool's, `env` is laid over the tool's. Each output is kept up to `limit` bytes, head and tail (None: all
        of it); `log` names a file, relative to the tool's directory, that gets both outputs whole, raw, readable by its
        owner only. `on_line` is called in this thread with every line of either output, without its line end, one
        beyond 16 MiB in pieces: a slow one holds the call up beyond its deadline; its exception ends the program and
        passes through. When the program ends while a child of it holds
        an output open, the call returns within a second, and what is left of the program's process group is ended
        unless `keep_background`. Setting `cancel` ends the program.

        Fails with `CommandFailed`. Cause by cause: `exit` (another code), `signal`, `timeout` (after `timeout` seconds,
        default the tool's; the whole tree has been ended), `cancelled`, `not-found`, `not-executable`, `bad-format`,
        `bad-interpreter`, `bad-cwd`, `bad-argument`, `too-long`, `other` (its exit status was taken by a host that
        reaps children). `effect` is `none` if it did not start, else `unknown`.

        >>> from orca import command, outcome, Failure
        >>> match outcome(command().run("sh", "-c", "exit 3")):
        ...     case Failure(error):
        ...         print(error.cause, error.exit_code)
        exit 3
        """
        if limit is not None and limit < 0:
            raise ValueError(f"limit must be a number of bytes or None, not {limit!r}")
        deadline = time.monotonic() + (self._timeout if timeout is None else seconds(timeout))
        ended = process.run(
            argv,
            cwd=self._cwd if cwd is None else os.path.join(self._cwd, cwd),
            env=environment(self._env, env or {}),
            deadline=deadline,
            input=input,
            limit=limit,
            on_line=None if on_line is None else (lambda _, line: on_line(line)),
            log=None if log is None else os.path.join(self._cwd, log),
            keep_background=keep_background,
            cancel=cancel,
        )
        if ended.cause == "exit" and ended.exit_code in ok_codes:
            return Success(_command_result(ended))
        return Failure(process.failed(ended))

    def shell(
        self,
        script: str,
        *,
        cwd: StrPath | None = None,
        env: Mapping[str, str | None] | None = None,
        input: str | bytes | None = None,
        timeout: float | None = None,
        ok_codes: Collection[int] = (0,),
        on_line: Callable[[str], object] | None = None,
        log: StrPath | None = None,
        limit: int | None = 1 << 20,
        keep_background: bool = False,
        cancel: threading.Event | None = None,
    ) -> Result[CommandResult, RuntimeError]:
        """Return what a shell script did: `bash -euo pipefail -c`, or `sh -eu -c` where there is no bash.

        Everything else is as in `run`; 126 and 127 are the shell's words for what it could not start, cause `exit`.

        >>> from orca import command
        >>> command().shell("printf '%s' one | tr o O").unwrap().stdout
        'One'
        """
        path = environment(self._env, env or {}).get("PATH", os.defpath)
        shell = ("bash", "-euo", "pipefail", "-c") if shutil.which("bash", path=path) else ("sh", "-eu", "-c")
        return self.run(
            *shell,
            script,
            cwd=cwd,
            env=env,
            input=input,
            timeout=timeout,
            ok_codes=ok_codes,
            on_line=on_line,
            log=log,
            limit=limit,
            keep_background=keep_background,
            cancel=cancel,
        )


def _command_result(ended: Ended) -> CommandResult:
    assert ended.exit_code is not None
    result = CommandResult(
        argv=ended.argv,
        exit_code=ended.exit_code,
        stdout=ended.stdout.decode("utf-8", "replace"),
        stderr=ended.stderr.decode("utf-8", "replace"),
        stdout_raw=ended.stdout,
        stderr_raw=ended.stderr,
        stdout_size=ended.stdout_size,
        stderr_size=ended.stderr_size,
        stdout_dropped=ended.stdout_dropped,
        stderr_dropped=ended.stderr_dropped,
        duration_s=ended.duration_s,
        log_error=ended.log_error,
    )
    object.__setattr__(result, "_env", ended.env)
    return result
