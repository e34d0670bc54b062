"""One public call on a repository: its deadline, git run under it, and its failures as values."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from orca import process
from orca.errors import CommandCause, Effect, RuntimeError, command_failed, unsupported_feature
from orca.process import Ended, StrPath
from orca.results import Failure, Result, Success
from orca.tools.arguments import absolute, seconds
from orca.tools.repository import lock, names, neutral
from orca.tools.repository.causes import cause_of
from orca.tools.repository.neutral import Kind

P = ParamSpec("P")
T = TypeVar("T")

_supported: set[tuple[str, int]] = set()
_VERSION: Final = re.compile(rb"git version (\d+)\.(\d+)")


class Stop(Exception):
    """A call ends here with this failure; it never leaves the method that `tagged` wraps."""

    def __init__(self, error: RuntimeError) -> None:
        super().__init__(error)
        self.error = error


def tagged(method: Callable[P, T]) -> Callable[P, Result[T, RuntimeError]]:
    """A method that stops with a failure, as one that returns it."""

    @wraps(method)
    def returning(*args: P.args, **kwargs: P.kwargs) -> Result[T, RuntimeError]:
        try:
            return Success(method(*args, **kwargs))
        except Stop as stop:
            return Failure(stop.error)

    return returning


class Place:
    """Where a tool works: the directory it was given, and what git found around it, once it was asked."""

    def __init__(self, given: StrPath) -> None:
        self.given = absolute(given)
        self.found: tuple[str, str, str | None] | None = None  # git folder, common folder, top of the worktree


class Call:
    """One public call: every git that it runs shares its deadline."""

    def __init__(self, place: Place, timeout: float) -> None:
        self._place = place
        self.deadline = time.monotonic() + seconds(timeout)
        self._locks: dict[str, str] = {}
        self._checked = False
        self._ssh: bool | None = None
        self._private_index: str | None = None

    @property
    def top(self) -> str:
        """The top of the worktree; what has none (a bare repository) stops with `not-a-repository`."""
        top = self._found()[2]
        if top is None:
            raise Stop(self._failure("not-a-repository", ("rev-parse", "--show-toplevel"), "there is no worktree here"))
        return top

    @property
    def git_dir(self) -> str:
        """The git folder of this worktree."""
        return self._found()[0]

    def run(
        self,
        *args: str,
        kind: Kind = "read",
        ok: Collection[int | None] = (0,),
        input: bytes | None = None,
        at_top: bool = True,
    ) -> Ended:
        """Run git and return how it ended, with one of the exit codes that are `ok`; any other end stops the call."""
        ended = self.attempt(*args, kind=kind, input=input, at_top=at_top)
        if ended.cause != "exit" or ended.exit_code not in ok:
            raise Stop(self.failed(ended))
        return ended

    def attempt(self, *args: str, kind: Kind = "read", input: bytes | None = None, at_top: bool = True) -> Ended:
        """Run git and return how it ended, however that was."""
        self._check_version()
        cwd = (self._found()[2] or self._place.given) if at_top else self._place.given
        return self._git(args, cwd, self._environment(kind), input)

    def failed(
        self,
        ended: Ended,
        *,
        cause: CommandCause | None = None,
        effect: Effect | None = None,
        paths: Iterable[str] = (),
    ) -> RuntimeError:
        """Return an ended git as a failure; without a cause, the one that the table finds."""
        if cause is None:
            cause = cause_of(ended.stderr) if ended.cause == "exit" else ended.cause
        return process.failed(ended, cause=cause, effect=effect, paths=paths)

    def refuse(self, cause: CommandCause, args: Iterable[str], why: str, paths: Iterable[str] = ()) -> Stop:
        """Return the stop of a call that runs nothing: `effect` is `none`."""
        return Stop(self._failure(cause, args, why, paths))

    @contextmanager
    def index(self, *args: str) -> Iterator[None]:
        """Hold the index of this worktree: the only writer of it among all that go through orca.

        Inside a hook of this repository the index belongs to the git that runs the hook: `refused`.
        """
        if neutral.inside_hook(os.environ) and self._is_hooks_own():
            raise self.refuse("refused", args, "a hook of this repository must not change the index under its git")
        try:
            with lock.hold(self.git_dir, self.deadline) as locks:
                self._locks = locks
                yield
        except lock.Locked as locked:
            raise self.refuse(locked.cause, args, str(locked)) from None
        finally:
            self._locks = {}

    @contextmanager
    def private_index(self, *args: str) -> Iterator[None]:
        """Work on a copy of the index, which is gone afterwards; the index itself stays as it is."""
        try:
            folder = tempfile.mkdtemp(prefix="orca-index-", dir=self.git_dir)
            try:
                index = os.path.join(self.git_dir, "index")
                if os.path.exists(index):
                    shutil.copyfile(index, os.path.join(folder, "index"))
            except OSError:
                shutil.rmtree(folder, ignore_errors=True)
                raise
        except OSError as error:
            raise self.refuse("other", args, f"no private index: {error.strerror}") from None
        self._private_index = os.path.join(folder, "index")
        try:
            yield
        finally:
            self._private_index = None
            shutil.rmtree(folder, ignore_errors=True)

    def checked_branch(self, name: str, *args: str) -> str:
        """Return the branch name, or stop with `bad-ref-name` where git does not allow it."""
        if not names.is_branch_name(name):
            raise self.refuse("bad-ref-name", args, f"{name!r} is not a name for a branch")
        return name

    def checked_revision(self, rev: str, *args: str) -> str:
        """Return the revision, or stop with `bad-ref-name` where git could take it for something else."""
        if not names.is_revision(rev):
            raise self.refuse("bad-ref-name", args, f"{rev!r} is not a revision")
        return rev

    def pathspecs(self, paths: Iterable[StrPath], *args: str) -> list[str]:
        """Return the paths as pathspecs, or stop with `refused` where one leads outside the worktree."""
        try:
            return names.pathspecs(paths, self.top)
        except names.Refused as refused:
            raise self.refuse("refused", args, str(refused)) from None

    def left(self) -> float:
        """Return the seconds until the deadline."""
        return self.deadline - time.monotonic()

    def extended(self, by: float) -> None:
        """Give the call `by` seconds from now, to find out what a git that was ended had done."""
        self.deadline = time.monotonic() + by

    def _environment(self, kind: Kind) -> dict[str, str]:
        given = os.environ
        in_hook = neutral.inside_hook(given)
        own_hook = in_hook and self._is_hooks_own()
        env = neutral.environment(kind, given, foreign_hook=in_hook and not own_hook) | self._locks
        if kind == "network" and not (env.get("GIT_SSH_COMMAND") or env.get("GIT_SSH") or self._configured_ssh(env)):
            env["GIT_SSH_COMMAND"] = "ssh -oBatchMode=yes"
        index = self._private_index
        if own_hook and given.get("GIT_INDEX_FILE"):
            index = os.path.abspath(given["GIT_INDEX_FILE"])
        return env if index is None else env | {"GIT_INDEX_FILE": index}

    def _is_hooks_own(self) -> bool:
        """Whether this is the worktree whose git runs the hook that we are in."""
        try:
            return neutral.hook_git_dir(os.environ) == os.path.realpath(self.git_dir)
        except Stop:  # no repository here yet: `init` or `clone`
            return False

    def _configured_ssh(self, env: dict[str, str]) -> bool:
        """Whether the user's configuration names an ssh of its own; git asks it for nothing on a terminal either."""
        if self._ssh is None:
            ended = self._git(("config", "--get", "core.sshCommand"), self._place.given, env, None)
            self._ssh = bool(ended.stdout.strip())
        return self._ssh

    def _found(self) -> tuple[str, str, str | None]:
        if self._place.found is None:
            self._check_version()
            self._place.found = self._discover()
        return self._place.found

    def _discover(self) -> tuple[str, str, str | None]:
        args = ("rev-parse", "--path-format=absolute", "--absolute-git-dir", "--git-common-dir", "--show-toplevel")
        ended = self._git(args, self._place.given, neutral.environment("read", os.environ), None)
        lines = os.fsdecode(ended.stdout).removesuffix("\n").split("\n")
        if ended.exit_code == 0 and len(lines) == 3:
            return lines[0], lines[1], lines[2]
        if ended.exit_code == 128 and len(lines) == 2:
            return lines[0], lines[1], None
        if ended.exit_code == 0:  # a path with a line break: one question at a time
            answers = [self._git((*args[:2], arg), self._place.given, dict(ended.env), None) for arg in args[2:]]
            one, two, three = (os.fsdecode(answer.stdout).removesuffix("\n") for answer in answers)
            return one, two, three
        raise Stop(self.failed(ended, effect="none"))

    def _check_version(self) -> None:
        """Stop with `UnsupportedFeature` where git is too old; asked once of each git."""
        program = shutil.which("git")
        if self._checked or program is None:  # without one, the start itself says so
            return
        self._checked = True
        key = (program, os.stat(program).st_mtime_ns)
        if key in _supported:
            return
        ended = self._git(("version",), self._place.given, neutral.environment("read", os.environ), None)
        found = _VERSION.match(ended.stdout)
        if ended.exit_code != 0 or found is None:
            raise Stop(self.failed(ended, effect="none"))
        if (int(found[1]), int(found[2])) < neutral.OLDEST_GIT:
            oldest = ".".join(map(str, neutral.OLDEST_GIT))
            raise Stop(unsupported_feature(ended.stdout.decode("utf-8", "replace").strip(), f"orca needs git {oldest}"))
        _supported.add(key)

    def _git(self, args: tuple[str, ...], cwd: str, env: dict[str, str], input: bytes | None) -> Ended:
        ended = process.run(
            ("git", *neutral.FLAGS, *args),
            cwd=cwd,
            env=env,
            deadline=self.deadline,
            input=input,
            keep_background=True,  # a credential cache that git started serves the next call
        )
        return replace(ended, argv=("git", *args))

    def _failure(self, cause: CommandCause, args: Iterable[str], why: str, paths: Iterable[str] = ()) -> RuntimeError:
        return command_failed(
            shlex.join(("git", *args)), None, "", why, cause=cause, effect="none", cwd=self._place.given, paths=paths
        )


class Located:
    """What every group of git operations stands on: a place, and the timeouts of its calls, in seconds."""

    _place: Place
    _timeout: float
    _network_timeout: float
    _hook_timeout: float

    def _call(self, timeout: float | None, default: float | None = None) -> Call:
        return Call(self._place, timeout if timeout is not None else default or self._timeout)
