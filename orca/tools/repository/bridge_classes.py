"""GitPython's classes as `with_repo` hands them out: all that they start goes through one call's `Programs`.

This module loads GitPython, which takes some 70 ms: it is imported when the first repository is opened.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import git
from git.cmd import Git
from git.exc import CommandError, GitCommandError, GitCommandNotFound, HookExecutionError
from git.util import remove_password_if_present

from orca.process import Ended
from orca.tools.arguments import absolute
from orca.tools.repository.bridge_programs import Program, Programs
from orca.tools.repository.bridge_pushes import GIT
from orca.tools.repository.calls import Found

_ENDED: Final = "orca_ended"


def ended_of(error: BaseException) -> Ended | None:
    """Return how the program ended of which an exception speaks; None where no program of ours is meant."""
    ended = vars(error).get(_ENDED)
    return ended if isinstance(ended, Ended) else None


def undecorated(text: str, stream: str) -> str:
    """Return what a program wrote, out of `stdout` or `stderr` of a `CommandError`: "\\n  stderr: '…'"."""
    return text.removeprefix(f"\n  {stream}: '").removesuffix("'") if text.startswith(f"\n  {stream}: '") else text


def opened(programs: Programs, found: Found) -> git.Repo:
    """Return the repository that git found, opened for one call.

    What GitPython reads of this process's environment may be another repository's: a hook's `GIT_COMMON_DIR`, say.
    """
    wrapper = partial(_Git, programs)
    own = type("Repo", (_Repo,), {"GitCommandWrapperType": staticmethod(wrapper)})
    repo: git.Repo = own(found.git_dir, expand_vars=False)
    repo.git_dir = found.git_dir
    repo._common_dir = found.common_dir
    repo._working_tree_dir = found.top
    repo._bare = found.top is None
    repo.working_dir = found.top or found.git_dir
    repo.git = wrapper(repo.working_dir)
    if found.top is not None and not found.is_at_top:
        repo.git.update_environment(GIT_DIR=found.git_dir, GIT_WORK_TREE=found.top)
    repo.odb = git.GitCmdObjectDB(os.path.join(found.common_dir, "objects"), repo.git)
    return repo


def is_ours(repo: git.Repo) -> bool:
    """Return whether a repository was opened by `with_repo`."""
    return isinstance(repo, _Repo)


class _Interrupt(Git.AutoInterrupt):
    """A program that is read from while it runs; a failure of it says how it ended."""

    __slots__ = ("_program", "_programs")

    def __init__(self, program: Program, programs: Programs) -> None:
        super().__init__(program, program.args)
        self._program = program
        self._programs = programs

    def wait(self, stderr: str | bytes | None = b"") -> int:
        try:
            status = super().wait(stderr)
        except GitCommandError as error:
            vars(error)[_ENDED] = self._ended(undecorated(error.stderr, "stderr"), error)
            raise
        self._ended("", None)
        return status

    def _ended(self, stderr: str, error: GitCommandError | None) -> Ended:
        ended = self._programs.ended(self._program, stderr, out_of_time=self._timeout_error is not None)
        self._programs.pushes.note(ended, error)
        return ended


class _Git(Git):
    """GitPython's git, which runs programs as the other methods of the git tool do.

    A program that ends by itself is run and read at once, one that GitPython asks for as a process is started.
    Whatever the caller allows, a program that ran out of the call's time raises.
    """

    __slots__ = ("_programs",)

    GIT_PYTHON_GIT_EXECUTABLE: Any = GIT  # the one on PATH, as everywhere else

    def __init__(self, programs: Programs, working_dir: str | os.PathLike[str] | None = None) -> None:
        super().__init__(working_dir)
        self._working_dir = absolute(working_dir or ".")  # as it is: a `$` in a path is no variable
        self._programs = programs

    def execute(
        self,
        command: str | Sequence[Any],
        istream: Any = None,
        with_extended_output: bool = False,
        with_exceptions: bool = True,
        as_process: bool = False,
        output_stream: Any = None,
        stdout_as_string: bool = True,
        kill_after_timeout: float | None = None,
        with_stdout: bool = True,
        universal_newlines: bool = False,
        shell: bool | None = None,
        env: Mapping[str, str] | None = None,
        max_chunk_size: int = io.DEFAULT_BUFFER_SIZE,
        strip_newline_in_stdout: bool = True,
        **subprocess_kwargs: Any,
    ) -> Any:
        if subprocess_kwargs:
            raise TypeError(f"with_repo() starts programs itself, without {', '.join(subprocess_kwargs)}")
        argv = _argv(command, shell=bool(shell))
        cwd = os.fspath(self._working_dir or ".")
        changes = {**self._environment, **(env or {})}
        if as_process:
            stdin = istream or subprocess.DEVNULL
            program = self._programs.start(argv, cwd, changes, stdin=stdin, stdout=with_stdout, text=universal_newlines)
            if isinstance(program, Ended):
                raise _failure(command, program)
            return _Interrupt(program, self._programs)
        ended = self._programs.run(argv, cwd, changes, input=_input(istream), timeout=kill_after_timeout)
        ok = ended.cause == "exit" and ended.exit_code == 0
        error = None if ok else _failure(command, ended)
        self._programs.pushes.note(ended, error)
        if error is not None and (with_exceptions or ended.cause not in ("exit", "signal")):
            raise error
        stdout: bytes | str | None = ended.stdout if with_stdout else None
        if stdout is not None and output_stream is not None:
            for at in range(0, len(ended.stdout), max_chunk_size):
                output_stream.write(ended.stdout[at : at + max_chunk_size])
            stdout = b""
        elif strip_newline_in_stdout and with_stdout:
            stdout = ended.stdout.removesuffix(b"\n")
        if isinstance(stdout, bytes) and (stdout_as_string or universal_newlines):
            stdout = stdout.decode("utf-8", "surrogateescape")
            if universal_newlines:
                stdout = stdout.replace("\r\n", "\n").replace("\r", "\n")
        if with_extended_output:
            return _status(ended), stdout, _stderr(ended)
        return stdout


class _Index(git.IndexFile):
    """GitPython's index, whose commits run their hooks as git does, and are by whom git says.

    GitPython invents an identity where there is none, and takes one that a running git left in the environment for
    its own repository.
    """

    def commit(
        self,
        message: str,
        parent_commits: Any = None,
        head: bool = True,
        author: git.Actor | None = None,
        committer: git.Actor | None = None,
        author_date: Any = None,
        commit_date: Any = None,
        skip_hooks: bool = False,
        trailers: Any = None,
    ) -> git.Commit:
        if author is None or author_date is None:
            actor, date = self._identity("GIT_AUTHOR_IDENT", author)
            author, author_date = author or actor, author_date or date
        if committer is None or commit_date is None:
            actor, date = self._identity("GIT_COMMITTER_IDENT", committer)
            committer, commit_date = committer or actor, commit_date or date
        if not skip_hooks:
            self._run_hook("pre-commit")
            message = self._through_hook("commit-msg", message)
        made = super().commit(
            message,
            parent_commits,
            head,
            author,
            committer,
            author_date,
            commit_date,
            skip_hooks=True,
            trailers=trailers,
        )
        if not skip_hooks:
            self._run_hook("post-commit")
        return made

    def _identity(self, name: str, given: git.Actor | None) -> tuple[git.Actor, str]:
        """Who git says it is, and the date in the form that GitPython reads."""
        prefix = name.removesuffix("IDENT")
        named = {"NAME": given.name, "EMAIL": given.email} if given is not None else {}
        changes = {prefix + part: value for part, value in named.items() if value}
        who, _, rest = self.repo.git.var(name, env=changes).rpartition("> ")
        who, _, email = who.rpartition(" <")
        return git.Actor(who, email), rest

    def _through_hook(self, name: str, message: str) -> str:
        path = os.path.join(self.repo.git_dir, "COMMIT_EDITMSG")
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(message)
        self._run_hook(name, path)
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()

    def _run_hook(self, name: str, *args: str) -> None:
        changes = {"GIT_INDEX_FILE": os.fspath(self.path), "GIT_EDITOR": ":"}
        argv = [GIT, "hook", "run", "--ignore-missing", name, *(("--", *args) if args else ())]
        try:
            self.repo.git.execute(argv, env=changes)
        except GitCommandError as error:
            ended = ended_of(error)
            if ended is None or ended.cause != "exit":
                raise
            failure = HookExecutionError([name, *args], ended.exit_code, ended.stderr, ended.stdout)
            vars(failure)[_ENDED] = ended
            raise failure from error


class _Repo(git.Repo):
    @property
    def index(self) -> git.IndexFile:
        return _Index(self)


def _argv(command: str | Sequence[Any], *, shell: bool) -> tuple[str, ...]:
    if isinstance(command, (str, bytes)):
        words: Sequence[Any] = ("/bin/sh", "-c", command) if shell else (command,)
    else:
        words = ("/bin/sh", "-c", *command) if shell else command
    return tuple(os.fsdecode(word) if isinstance(word, (bytes, os.PathLike)) else str(word) for word in words)


def _input(istream: Any) -> bytes | None:
    """What a program is to read; a stream that is still being written to is read to its end."""
    if istream is None or (isinstance(istream, int) and istream < 0):
        return None
    if isinstance(istream, int):
        with open(istream, "rb", closefd=False) as file:
            return file.read()
    data = istream.read()
    return data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data


def _failure(command: str | Sequence[Any], ended: Ended) -> CommandError:
    """The exception that GitPython raises for such an end."""
    shown = remove_password_if_present(command)
    error: CommandError
    if not ended.started and ended.cause == "not-found":
        error = GitCommandNotFound(shown, ended.reason)
    else:
        said = ended.stderr.removesuffix(b"\n") if ended.started else ended.reason
        error = GitCommandError(shown, _status(ended), said, ended.stdout.removesuffix(b"\n"))
    vars(error)[_ENDED] = ended
    return error


def _status(ended: Ended) -> int:
    """The exit status as GitPython counts: negative for a signal, and for a program that was ended."""
    if ended.exit_code is not None:
        return ended.exit_code
    known = ended.signal is not None and ended.signal in signal.Signals.__members__
    return -signal.Signals[ended.signal] if known and ended.signal is not None else -signal.SIGTERM


def _stderr(ended: Ended) -> str:
    return ended.stderr.removesuffix(b"\n").decode("utf-8", "surrogateescape")
