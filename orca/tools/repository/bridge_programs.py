"""The programs that GitPython starts during one call: in git's neutral environment, and gone when the call is over."""

from __future__ import annotations

import contextlib
import io
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, Final, TypeAlias, cast

from orca import process
from orca.errors import CommandCause
from orca.process import Ended, live, tree
from orca.process.runner import signal_name
from orca.process.start import why_not
from orca.redaction import redact
from orca.tools.repository import neutral
from orca.tools.repository.bridge_pushes import GIT, Pushes, subcommand
from orca.tools.repository.calls import Call
from orca.tools.repository.remotes import configured

_REAP_S: Final = 1.0
_MANY: Final = 64
_GONE: Final = "the repository that was here is gone"
_NETWORK: Final = frozenset("archive clone fetch fetch-pack ls-remote pull push remote send-pack submodule".split())

Stdin: TypeAlias = int | IO[Any]


class Heard:
    """A text stream of a program that keeps what was read from it line by line, with `env` redacted."""

    def __init__(self, stream: IO[Any], env: Mapping[str, str] | None = None) -> None:
        self._stream = stream
        self._env = env
        self.lines: list[str] = []

    def __iter__(self) -> Iterator[str]:
        for line in self._stream:
            shown = line if self._env is None else redact(line, self._env)
            self.lines.append(shown)
            yield shown

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Program(subprocess.Popen[Any]):
    """A program that GitPython reads from while it runs; it is registered as live until it has been reaped."""

    live: live.Run | None = None
    ended: Ended | None = None

    def poll(self) -> int | None:
        code = super().poll()
        self._leave(code)
        return code

    def wait(self, timeout: float | None = None) -> int:
        code = super().wait(timeout)
        self._leave(code)
        return code

    def _leave(self, code: int | None) -> None:
        if code is not None and self.live is not None:
            live.leave(self.live)


class Programs:
    """What runs for one call: ended at its deadline, when everything is being stopped, and when the call is over.

    `stopped` is the first program that was ended so, or could not start any more, while somebody waited for it;
    `cut_short` also one that nobody waited for just then.
    """

    def __init__(self, call: Call, cwd: str, is_gone: Callable[[], bool]) -> None:
        self.call = call
        self.cwd = cwd
        self.stopped: Ended | None = None
        self.pushes = Pushes()
        call.environment("write")  # from here on
        self._is_gone = is_gone
        self._late = False
        self._cut_short: Ended | None = None
        self._running: dict[str, Program] = {}
        self._over = threading.Event()
        self._watch: threading.Thread | None = None

    def run(
        self,
        argv: tuple[str, ...],
        cwd: str,
        changes: Mapping[str, str],
        *,
        input: bytes | None = None,
        timeout: float | None = None,
    ) -> Ended:
        """Run a program to its end; `timeout` is one of its own, within that of the call."""
        deadline = self.call.deadline
        if timeout is not None:
            deadline = min(deadline, time.monotonic() + timeout)
        env = self._environment(argv, cwd, changes)
        if self._is_gone():
            return Ended(argv, cwd, env, "not-a-repository", started=False, reason=_GONE)
        given = _with_flags(argv)
        ended = process.run(given, cwd=cwd, env=env, deadline=deadline, input=input, keep_background=True)
        ended = ended._replace(argv=argv)
        if ended.cause == "cancelled" or (ended.cause == "timeout" and self.call.left() <= 0):
            return self._noted(ended)
        return ended

    def start(
        self, argv: tuple[str, ...], cwd: str, changes: Mapping[str, str], *, stdin: Stdin, stdout: bool, text: bool
    ) -> Program | Ended:
        """Start a program to read from while it runs, or say how it did not start."""
        env = self._environment(argv, cwd, changes)
        this = live.Run()
        not_started = Ended(argv, cwd, env, "timeout", started=False, reason="no time was left to start it")
        if self._is_gone():
            return not_started._replace(cause="not-a-repository", reason=_GONE)
        if self._late or self.call.left() <= 0:
            return self._noted(not_started)
        if not live.enter(this):
            return self._noted(not_started._replace(cause="cancelled", reason="everything is being stopped"))
        try:
            program = Program(
                _with_flags(argv),
                cwd=cwd,
                env=tree.tagged(env, this.token),
                stdin=stdin,
                stdout=subprocess.PIPE if stdout else subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
                text=text,
                # Whatever the bytes: GitPython would stop reading at a wrong one. Names come through as in a path.
                encoding="utf-8" if text else None,
                errors="surrogateescape" if text else None,
            )
            program.args = argv
            program.live, this.pid = this, program.pid
            program.ended = not_started._replace(cause="exit", started=True, reason="")
            self._running[this.token] = program
        except (ValueError, OSError) as error:
            live.leave(this)
            cause, reason = why_not(argv, cwd, env, error)
            return not_started._replace(cause=cause, reason=reason)
        except BaseException:
            live.end({this.token: this.pid}, live.GRACE_S)  # by the tag: an interrupted start may have left one
            live.leave(this)
            raise
        if text:
            _hear(program, env)
        if len(self._running) > _MANY:
            self._running = {token: known for token, known in self._running.items() if known.returncode is None}
        self._start_watch()
        if self._late:  # it was started while the watch ended the others
            self._end([program])
        return program

    def ended(self, program: Program, stderr: str, *, out_of_time: bool = False) -> Ended:
        """Return how a program ended that was started; `stderr` is for what nobody heard line by line."""
        assert program.ended is not None
        code = program.returncode
        cause: CommandCause = "signal" if code is not None and code < 0 else "exit"
        cancelled = program.live.cancelled if program.live is not None else None
        if cancelled is not None:
            cause = "cancelled"
        elif (self._late and cause == "signal") or out_of_time:
            cause = "timeout"
        ended = program.ended._replace(
            cause=cause,
            exit_code=code if cause == "exit" else None,
            signal=signal_name(-code) if code is not None and code < 0 else None,
            reason=cancelled or "",
            stdout=_heard(program.stdout),
            stderr=_heard(program.stderr) or stderr.encode("utf-8", "surrogateescape"),
        )
        if cause == "cancelled" or (cause == "timeout" and self._late):
            return self._noted(ended)
        return ended

    @property
    def cut_short(self) -> Ended | None:
        """A program that was ended at the deadline, or because everything was being stopped."""
        cancelled = (program for program in self._running.values() if program.live and program.live.cancelled)
        if self.stopped is None and (program := next(cancelled, None)) is not None:
            return self.ended(program, "")
        return self.stopped or self._cut_short

    def close(self) -> None:
        """End what still runs."""
        self._over.set()
        self._end([program for program in self._running.values() if program.poll() is None])
        for program in self._running.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(_REAP_S)
            for stream in (program.stdin, program.stdout, program.stderr):
                if stream is not None:
                    with contextlib.suppress(OSError):  # what was not written yet nobody will read
                        stream.close()
            if program.live is not None:
                live.leave(program.live)
        if self._watch is not None:
            self._watch.join()

    def _environment(self, argv: Sequence[str], cwd: str, changes: Mapping[str, str]) -> dict[str, str]:
        if self._over.is_set():
            raise ValueError("a repository of with_repo() is of no use after the call")
        command, args = subcommand(argv)
        if command in _NETWORK and cwd == self.cwd:
            remotes = configured(self.call)
            named = [arg for arg in args if arg in remotes.names]
            self.call.shield = remotes.shield(named[0] if named else "origin")
        return self.call.environment("network" if command in _NETWORK else "write") | dict(changes)

    def _noted(self, ended: Ended) -> Ended:
        self.stopped = self.stopped or ended
        return ended

    def _start_watch(self) -> None:
        if self._watch is None:
            self._watch = threading.Thread(target=self._end_at_the_deadline, name="orca-with-repo", daemon=True)
            self._watch.start()

    def _end_at_the_deadline(self) -> None:
        if not self._over.wait(max(0.0, self.call.left())):
            self._late = True
            for program in list(self._running.values()):
                if program.ended is not None and program.live is not None and not program.live.ended:
                    self._cut_short = program.ended._replace(cause="timeout")
            self._end(list(self._running.values()))

    def _end(self, programs: Iterable[Program]) -> None:
        """TERM and KILL, by the tag, the session and descent; one that has been reaped has no pid any more."""
        runs = [program.live for program in programs if program.live is not None and not program.live.ended]
        if runs:
            live.end({run.token: run.pid for run in runs}, live.GRACE_S)


def _with_flags(argv: tuple[str, ...]) -> tuple[str, ...]:
    return (GIT, *neutral.FLAGS, *argv[1:]) if argv[0] == GIT else argv


def _hear(program: Program, env: Mapping[str, str]) -> None:
    cast("io.TextIOWrapper", program.stderr).reconfigure(errors="backslashreplace")
    program.stderr = cast("IO[Any]", Heard(cast("IO[Any]", program.stderr), env))
    if program.stdout is not None:
        program.stdout = cast("IO[Any]", Heard(program.stdout))


def _heard(stream: Any) -> bytes:
    return "".join(stream.lines).encode("utf-8", "surrogateescape") if isinstance(stream, Heard) else b""
