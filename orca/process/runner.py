"""One program, fed and read in the calling thread until its end, its deadline or its cancellation."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, Literal, NamedTuple, TypeAlias

from orca.errors import CommandCause
from orca.process import bell, live, tree
from orca.process.capture import Capture, LogFile
from orca.process.start import NotStarted, start

Stream: TypeAlias = Literal["stdout", "stderr"]
StrPath: TypeAlias = str | os.PathLike[str]

_LINGER_S: Final = 1.0
_TICK_S: Final = 0.02
_LEFTOVER_S: Final = 0.2
_REAP_S: Final = 1.0
_LONGEST_POLL_S: Final = 0.5  # a signal that another thread was given interrupts no poll of the main thread
_OUTPUT_ENDS: Final = select.POLLHUP | select.POLLERR | select.POLLNVAL


class Ended(NamedTuple):
    """How a run ended: `cause` is `exit` when the program exited by itself, whatever its code.

    `exit_code` is None when it did not exit by itself, when orca ended it, and when a host that reaps children took its
    status (`cause` is then `other`). `duration_s` is seconds; sizes and what was dropped are bytes.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    cause: CommandCause
    started: bool
    exit_code: int | None = None
    signal: str | None = None
    reason: str = ""
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_size: int = 0
    stderr_size: int = 0
    stdout_dropped: int = 0
    stderr_dropped: int = 0
    duration_s: float = 0.0
    log_error: str | None = None

    def __repr__(self) -> str:
        return f"Ended({self.argv[:1]!r}, cause={self.cause!r})"  # the environment holds secrets


def run(
    argv: Sequence[StrPath],
    *,
    cwd: str,
    env: dict[str, str],
    deadline: float,
    input: str | bytes | None = None,
    limit: int | None = None,
    on_line: Callable[[Stream, str], object] | None = None,
    log: StrPath | None = None,
    keep_background: bool = False,
    cancel: threading.Event | None = None,
    grace: float = live.GRACE_S,
) -> Ended:
    """Run a program to its end and return how it ended, soon after `deadline` (monotonic seconds) at the latest.

    After a timeout or a cancel nothing of its tree is left: TERM first, KILL after `grace` seconds. When the program
    ended while a background child holds its pipe, the call returns within a second; the rest of its process group is
    then ended unless `keep_background`. An exception of `on_line` ends the program and passes through.
    """
    started_at = time.monotonic()
    words = tuple(os.fspath(word) for word in argv)
    this = live.Run()

    def not_run(cause: CommandCause, reason: str) -> Ended:
        return Ended(words, cwd, env, cause, started=False, reason=reason, duration_s=time.monotonic() - started_at)

    if cancel is not None and cancel.is_set():
        return not_run("cancelled", "cancelled before it started")
    if started_at >= deadline:
        return not_run("timeout", "no time was left to start it")
    try:
        fed = input.encode("utf-8", "surrogateescape") if isinstance(input, str) else input
    except UnicodeEncodeError:
        return not_run("bad-argument", "the input holds a lone surrogate, which is no text")
    log_file: LogFile | None = None
    session: _Session | None = None
    try:
        if not live.enter(this):
            return not_run("cancelled", "everything is being stopped")
        signals = bell.reader()  # before the program can be seen: whoever sees it may send one
        log_file = None if log is None else LogFile(log)
        program = start(words, cwd, tree.tagged(env, this.token), stdin=fed is not None)
        if isinstance(program, NotStarted):
            return not_run(program.cause, program.message)
        this.pid = program.pid
        session = _Session(program, this, input=fed, limit=limit, on_line=on_line, log=log_file, signals=signals)
        why = session.follow(deadline, cancel)
        if why is None:
            session.end_group(keep_background)
        else:
            session.end_tree(grace)
        status = session.reap()
    except BaseException:
        live.end({this.token: this.pid}, grace)  # without a pid the tag finds what an interrupted start left
        raise
    finally:
        if session is not None:
            session.close()
        live.leave(this)
        if log_file is not None:
            log_file.close()
    assert session is not None  # a checker forgets it in `finally`
    stdout, stdout_dropped = session.stdout.data()
    stderr, stderr_dropped = session.stderr.data()
    cause, exit_code, signal_name = _verdict(why, status)
    return Ended(
        argv=words,
        cwd=cwd,
        env=env,
        cause=cause,
        started=True,
        exit_code=exit_code,
        signal=signal_name,
        reason=this.cancelled or "",
        stdout=stdout,
        stderr=stderr,
        stdout_size=session.stdout.size,
        stderr_size=session.stderr.size,
        stdout_dropped=stdout_dropped,
        stderr_dropped=stderr_dropped,
        duration_s=time.monotonic() - started_at,
        log_error=log_file.error if log_file is not None else None,
    )


def _verdict(
    why: Literal["timeout", "cancelled"] | None, status: int | None
) -> tuple[CommandCause, int | None, str | None]:
    code = None if status is None else os.waitstatus_to_exitcode(status)
    name = None if code is None or code >= 0 else signal_name(-code)
    if why is not None:
        return why, None, name
    if code is None:
        return "other", None, None
    return ("signal", None, name) if name is not None else ("exit", code, None)


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


class _Session:
    """The pipes and the process of one run, polled in the calling thread."""

    def __init__(
        self,
        program: subprocess.Popen[bytes],
        this: live.Run,
        *,
        input: bytes | None,
        limit: int | None,
        on_line: Callable[[Stream, str], object] | None,
        log: LogFile | None,
        signals: int | None,
    ) -> None:
        assert program.stdout is not None
        assert program.stderr is not None
        self._program = program
        self._pid = program.pid
        self._run = this
        self._input = memoryview(input or b"")
        on_out, on_err = (None, None) if on_line is None else (partial(on_line, "stdout"), partial(on_line, "stderr"))
        self.stdout = Capture(program.stdout.fileno(), limit, on_out, log)
        self.stderr = Capture(program.stderr.fileno(), limit, on_err, log)
        self._open = {capture.fd: capture for capture in (self.stdout, self.stderr)}
        self._exited = False
        self._status: int | None = None
        self._lost = False
        self._poller = select.poll()
        for fd in self._open:
            os.set_blocking(fd, False)
            self._poller.register(fd, select.POLLIN)
        self._stdin: int | None = None
        if program.stdin is not None:
            self._stdin = program.stdin.fileno()
            os.set_blocking(self._stdin, False)
            self._poller.register(self._stdin, select.POLLOUT)
        self._pidfd = self._open_pidfd()
        self._signals = signals
        if self._signals is not None:
            self._poller.register(self._signals, select.POLLIN)

    def close(self) -> None:
        """Leave neither a zombie nor an open descriptor, however the run ended."""
        self.reap()
        for pipe in (self._program.stdin, self._program.stdout, self._program.stderr):
            if pipe is not None:
                pipe.close()
        if self._pidfd is not None:
            os.close(self._pidfd)

    def follow(self, deadline: float, cancel: threading.Event | None) -> Literal["timeout", "cancelled"] | None:
        """Feed and read until the program has ended, and its pipes or a second of lingering; or say why it must end."""
        while True:
            if self._run.cancelled is not None:  # first: its end may be what cancel_all did
                return "cancelled"
            if self._exited and not self._open:
                break
            now = time.monotonic()
            if cancel is not None and cancel.is_set():
                return "cancelled"
            if now >= deadline:
                self._poll(0)  # a slow listener may have kept us from seeing that it ended in time
                if self._exited:
                    break
                return "timeout"
            tick = _TICK_S if cancel is not None or (self._pidfd is None and not self._exited) else _LONGEST_POLL_S
            if (patience := bell.patience()) is not None:
                tick = min(tick, patience)
            if self._poll(min(deadline - now, tick)):
                deadline = min(deadline, time.monotonic() + _LINGER_S)
        self._end_lines()
        return None

    def end_tree(self, grace: float) -> None:
        """TERM to the whole tree, read its last words for the grace, then KILL until nothing is left."""
        roots = {self._run.token: self._run.pid}
        found = tree.find(roots)  # before the TERM: afterwards orphans hang on init
        tree.terminate(found)
        until = time.monotonic() + grace
        while tree.living(found) and time.monotonic() < until:
            self._poll(_TICK_S)
        live.kill(roots, found)
        if not self._lost:  # where no descriptor was left to look with, this is all that can be reached
            _signal_group(self._pid, signal.SIGKILL)
        self._poll(0)
        self._end_lines()

    def end_group(self, keep_background: bool) -> None:
        """End what the program left behind in its process group, while its zombie still holds the group's id."""
        if keep_background or self._lost:
            return
        _signal_group(self._pid, signal.SIGTERM)
        self._wait()
        until = time.monotonic() + _LEFTOVER_S
        while _signal_group(self._pid, 0):
            if time.monotonic() >= until:
                _signal_group(self._pid, signal.SIGKILL)
                break
            time.sleep(0.005)

    def reap(self) -> int | None:
        """Return the wait status, or None where somebody else took it: never to be read as success."""
        until = time.monotonic() + _REAP_S
        while (status := self._wait()) is None and not self._lost and time.monotonic() < until:
            time.sleep(0.005)
        return status

    def _end_lines(self) -> None:
        for capture in (self.stdout, self.stderr):
            capture.end()

    def _wait(self) -> int | None:
        if self._status is None and not self._lost:
            try:
                pid, status = os.waitpid(self._pid, os.WNOHANG)
            except ChildProcessError:
                self._lose()
                return None
            if pid:
                self._status = status
                self._program.returncode = os.waitstatus_to_exitcode(status)
                self._run.end()
        return self._status

    def _poll(self, timeout: float) -> bool:
        """Serve what is ready within `timeout` seconds; True when the program was just seen to have ended."""
        had_exited = self._exited
        for fd, event in self._poller.poll(max(0, timeout) * 1000):
            if fd == self._pidfd:
                self._note_exit()
            elif fd == self._signals:
                self._hear(event)
            elif fd == self._stdin:
                self._feed(event)
            elif not self._open[fd].read():
                self._poller.unregister(fd)
                del self._open[fd]
        if self._pidfd is None and not self._exited and self._has_exited():
            self._note_exit()
        return self._exited and not had_exited

    def _hear(self, event: int) -> None:
        assert self._signals is not None
        if event & select.POLLIN:
            bell.hear()
        else:  # the host closed it
            self._poller.unregister(self._signals)
            self._signals = None

    def _feed(self, event: int) -> None:
        assert self._stdin is not None
        assert self._program.stdin is not None
        if not event & _OUTPUT_ENDS:
            try:
                self._input = self._input[os.write(self._stdin, self._input[: 1 << 16]) :]
            except BlockingIOError:
                return
            except OSError:  # EPIPE: the program does not want the rest
                self._input = self._input[:0]
        else:
            self._input = self._input[:0]
        if not len(self._input):
            self._poller.unregister(self._stdin)
            self._program.stdin.close()
            self._stdin = None

    def _note_exit(self) -> None:
        self._exited = True
        if self._pidfd is not None:
            self._poller.unregister(self._pidfd)
        self._has_exited()

    def _has_exited(self) -> bool:
        """Whether the program has ended, leaving it unreaped: its zombie keeps the process group's id from reuse."""
        if not hasattr(os, "waitid"):  # macOS before Python 3.13
            return self._wait() is not None or self._lost
        try:
            return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            self._lose()
            return True

    def _lose(self) -> None:
        """The host took the program's status: it is unknown for good."""
        self._lost = True
        self._program.returncode = -1  # Popen must not wait for it again
        self._run.end()

    def _open_pidfd(self) -> int | None:
        try:
            pidfd = os.pidfd_open(self._pid)
        except (AttributeError, OSError):  # no such call here, or the child is gone and reaped by the host
            return None
        self._poller.register(pidfd, select.POLLIN)
        return pidfd


def _signal_group(pid: int, signum: int) -> bool:
    try:
        os.killpg(pid, signum)
    except OSError:
        return False
    return True
