"""One public call on a repository: its deadline, git run under it, and its failures as values."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Final, NamedTuple, ParamSpec, TypeVar

from orca import process
from orca.errors import CommandCause, CommandFailed, Effect, RuntimeError, command_failed, unsupported_feature
from orca.process import Ended, StrPath
from orca.results import Failure, Result, Success
from orca.tools.arguments import absolute, seconds
from orca.tools.repository import index_file, lock, names, neutral
from orca.tools.repository.addresses import Shield
from orca.tools.repository.causes import cause_of
from orca.tools.repository.neutral import Kind

P = ParamSpec("P")
T = TypeVar("T")

_supported: set[tuple[str, int]] = set()
_VERSION: Final = rb"git version (\d+)\.(\d+)"


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


class Found(NamedTuple):
    """What git found around a directory; a repository without a worktree has no `top`."""

    git_dir: str
    common_dir: str
    top: str | None

    @property
    def is_at_top(self) -> bool:
        """Whether git would find this repository from the top of the worktree: not where `core.worktree` moved it."""
        if self.top is None:
            return False
        link = os.path.join(self.top, ".git")
        try:
            return os.path.isfile(link) or os.path.samefile(link, self.git_dir)
        except OSError:
            return False


class Place:
    """Where a tool works: the directory it was given, and what git found around it, once it was asked."""

    def __init__(self, given: StrPath) -> None:
        self.given = absolute(given)
        self.cwd = self.given
        self.found: Found | None = None

    @property
    def is_gone(self) -> bool:
        """Whether the repository that was found is gone: git would look on, and might find one further up."""
        at_top = self.found is not None and self.cwd == self.found.top
        return at_top and os.path.isdir(self.cwd) and not os.path.lexists(os.path.join(self.cwd, ".git"))


class Call:
    """One public call: every git that it runs shares its deadline."""

    def __init__(self, place: Place, timeout: float) -> None:
        self._place = place
        self.deadline = time.monotonic() + seconds(timeout)
        self._locks: dict[str, str] = {}
        self._checked = False
        self._ssh: bool | None = None
        self._private_index: str | None = None
        self._own_hook: bool | None = None
        self._has_written = False
        self.shield = Shield()
        self.settings = Shield()  # of every git of this call

    @property
    def top(self) -> str:
        """The top of the worktree; what has none (a bare repository) stops with `not-a-repository`."""
        top = self._found().top
        if top is None:
            raise Stop(self._failure("not-a-repository", ("rev-parse", "--show-toplevel"), "there is no worktree here"))
        return top

    @property
    def top_or_git_dir(self) -> str:
        """The top of the worktree; of a repository without one, its git folder."""
        found = self._found()
        return found.top or found.git_dir

    @property
    def git_dir(self) -> str:
        """The git folder of this worktree."""
        return self._found().git_dir

    @property
    def common_dir(self) -> str:
        """The git folder that all worktrees of this repository share."""
        return self._found().common_dir

    @property
    def config_file(self) -> str:
        """The configuration file of the repository, which its worktrees share."""
        return os.path.join(self.common_dir, "config")

    def run(
        self,
        *args: str,
        kind: Kind = "read",
        ok: Collection[int | None] = (0,),
        input: bytes | None = None,
        at_top: bool = True,
        effect: Effect | None = None,
    ) -> Ended:
        """Run git and return how it ended, with one of the exit codes that are `ok`; any other end stops the call.

        `effect` is that of the whole call, where it is known whatever becomes of this git.
        """
        ended = self.attempt(*args, kind=kind, input=input, at_top=at_top)
        if ended.cause != "exit" or ended.exit_code not in ok:
            raise Stop(self.failed(ended, effect=effect))
        return ended

    def attempt(
        self,
        *args: str,
        kind: Kind = "read",
        input: bytes | None = None,
        at_top: bool = True,
        limit: int | None = None,
    ) -> Ended:
        """Run git and return how it ended, however that was; with a `limit`, head and tail of its outputs are kept."""
        self._check_version()
        if at_top:
            self._found()
        if self._place.is_gone:
            effect: Effect = "unknown" if self._has_written else "none"
            raise Stop(self._failure("not-a-repository", args, "the repository that was here is gone", effect=effect))
        self._has_written |= kind != "read"
        return self._git(args, self._place.cwd, self._environment(kind), input, limit)

    def change(self, *args: str, input: bytes | None = None) -> Ended:
        """Run a git that makes its change in one last step: where it exits with an error, nothing has happened."""
        ended = self.attempt(*args, kind="write", input=input)
        if ended.cause != "exit" or ended.exit_code != 0:
            raise Stop(self.failed(ended, effect="none" if ended.cause == "exit" else None))
        return ended

    def failed(
        self,
        ended: Ended,
        *,
        cause: CommandCause | None = None,
        effect: Effect | None = None,
        paths: Iterable[str] = (),
    ) -> CommandFailed:
        """Return an ended git as a failure; without a cause, the one that the table finds.

        Without an effect, it is `none` as long as this call has only read, else `unknown`.
        """
        if cause is None:
            cause = cause_of(ended.stderr) if ended.cause == "exit" else ended.cause
        if effect is None and not self._has_written:
            effect = "none"
        return process.failed(ended, cause=cause, effect=effect, paths=paths)

    def refuse(self, cause: CommandCause, args: Iterable[str], why: str, paths: Iterable[str] = ()) -> Stop:
        """Return the stop of a call that runs nothing: `effect` is `none`."""
        return Stop(self._failure(cause, args, why, paths))

    @contextmanager
    def index(self, *args: str, shared: bool = False) -> Iterator[None]:
        """Hold the index of this worktree: the only writer of it among all that go through orca.

        With `shared`, hold the list of worktrees instead, by the index of the main one. Inside a hook of this
        repository the index belongs to the git that runs the hook: `refused`.
        """
        self.refuse_in_hook(*args)
        try:
            with lock.hold(self.common_dir if shared else self.git_dir, self.deadline) as locks:
                self._locks = locks
                yield
        except lock.Locked as locked:
            raise self.refuse(locked.cause, args, str(locked)) from None
        finally:
            self._locks = {}

    def refuse_in_hook(self, *args: str) -> None:
        """Stop with `refused` inside a hook of this worktree's repository."""
        if neutral.inside_hook(os.environ) and self._is_hooks_own():
            raise self.refuse("refused", args, "a hook of this repository must not change the index under its git")

    @contextmanager
    def private_index(self, *args: str, keep: bool = False) -> Iterator[None]:
        """Work on a copy of the index; with `keep` it takes the index's place, unless something stopped the call."""
        target = self._index_file()
        before, expected = self._private_index, index_file.stamp(target)
        try:
            with index_file.copied(target, self.git_dir) as copy:
                self._private_index = copy
                try:
                    yield
                finally:
                    self._private_index = before
                if keep:
                    index_file.replace(target, copy, expected)
        except index_file.Changed:
            raise self.refuse("locked", args, "another git changed the index meanwhile") from None
        except FileExistsError as error:
            raise self.refuse("locked", args, f"{error.filename2}: {error.strerror}") from None
        except OSError as error:
            raise self.refuse("other", args, f"the index cannot be copied or replaced: {error.strerror}") from None

    @contextmanager
    def index_put_back(self, *args: str) -> Iterator[None]:
        """Put the index back as it was where the call stops without an effect."""
        target = self._index_file()
        try:
            with index_file.copied(target, self.git_dir) as copy:
                try:
                    yield
                except Stop as stop:
                    if getattr(stop.error, "effect", "none") == "none":
                        index_file.put_back(target, copy)
                    raise
        except OSError as error:
            raise self.refuse("other", args, f"the index cannot be copied: {error.strerror}") from None

    def check_lock(self, name: str, *args: str) -> None:
        """Stop with `locked` where another git holds, or has left, a lock that would stop ours half-way."""
        if os.path.lexists(os.path.join(self.git_dir, f"{name}.lock")):
            raise self.refuse("locked", args, f"there is a {name}.lock: another git is at work, or one has died")

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
            return names.pathspecs(paths, self._found().top or self.git_dir)
        except names.Refused as refused:
            raise self.refuse("refused", args, str(refused)) from None

    def left(self) -> float:
        """Return the seconds until the deadline."""
        return self.deadline - time.monotonic()

    def extended(self, by: float) -> None:
        """Give the call `by` seconds from now, to find out what a git that was ended had done."""
        self.deadline = time.monotonic() + by

    @contextmanager
    def overtime(self, by: float) -> Iterator[None]:
        """Let what must be done in any case run until `by` seconds beyond the deadline."""
        self.deadline += by
        try:
            yield
        finally:
            self.deadline -= by

    def environment(self, kind: Kind) -> dict[str, str]:
        """Return the environment for a git of this call that somebody else starts: it may write."""
        self._has_written = True
        return self._environment(kind)

    def _environment(self, kind: Kind) -> dict[str, str]:
        given = os.environ
        in_hook = neutral.inside_hook(given)
        own_hook = in_hook and self._is_hooks_own()
        foreign_hook, changes = in_hook and not own_hook, bool(self._locks)
        env = neutral.environment(kind, given, foreign_hook=foreign_hook, may_fetch=changes) | self._locks
        env = self.settings.over(env)
        if kind == "network":
            env = self.shield.over(env)
            if not (env.get("GIT_SSH_COMMAND") or env.get("GIT_SSH") or self._configured_ssh(env)):
                env["GIT_SSH_COMMAND"] = "ssh -oBatchMode=yes"
        index = self._private_index
        if own_hook and given.get("GIT_INDEX_FILE"):
            index = neutral.hook_path(given["GIT_INDEX_FILE"])
        return env if index is None else env | {"GIT_INDEX_FILE": index}

    def _index_file(self) -> str:
        return self._private_index or os.path.join(self.git_dir, "index")

    def _is_hooks_own(self) -> bool:
        """Whether this is the worktree whose git runs the hook that we are in."""
        if self._own_hook is None:
            try:
                self._own_hook = neutral.hook_git_dir(os.environ) == os.path.realpath(self.git_dir)
            except Stop:  # no repository here yet: `init` or `clone`
                return False
        return self._own_hook

    def _configured_ssh(self, env: dict[str, str]) -> bool:
        """Whether the user's configuration names an ssh of its own; git asks it for nothing on a terminal either."""
        if self._ssh is None:
            ended = self._git(("config", "--get", "core.sshCommand"), self._place.given, env, None)
            self._ssh = bool(ended.stdout.strip())
        return self._ssh

    def _found(self) -> Found:
        if self._place.found is None:
            self._check_version()
            found = self._discover()
            if found.top is not None and found.is_at_top:
                self._place.cwd = found.top
            self._place.found = found
        return self._place.found

    def _discover(self) -> Found:
        args = ("rev-parse", "--path-format=absolute", "--absolute-git-dir", "--git-common-dir", "--show-toplevel")
        ended = self._git(args, self._place.given, neutral.environment("read", os.environ), None)
        lines = os.fsdecode(ended.stdout).removesuffix("\n").split("\n")
        if ended.exit_code == 0 and len(lines) == 3:
            return Found(lines[0], lines[1], lines[2])
        if ended.exit_code == 128 and len(lines) == 2:
            return Found(lines[0], lines[1], None)
        if len(lines) > 2:  # a path with a line break: one question at a time
            answers = [self._git((*args[:2], arg), self._place.given, dict(ended.env), None) for arg in args[2:]]
            git_dir, common_dir, top = (os.fsdecode(answer.stdout).removesuffix("\n") for answer in answers)
            return Found(git_dir, common_dir, top or None)
        raise Stop(self.failed(ended, effect="none"))

    def _check_version(self) -> None:
        """Stop with `UnsupportedFeature` where git is too old; asked once of each git."""
        program = _program()
        if self._checked or program is None:  # without one, the start itself says so
            return
        self._checked = True
        key = (program, os.stat(program).st_mtime_ns)
        if key in _supported:
            return
        ended = self._git(("version",), self._place.given, neutral.environment("read", os.environ), None)
        found = re.match(_VERSION, ended.stdout)
        if ended.exit_code != 0 or found is None:
            raise Stop(self.failed(ended, effect="none"))
        if (int(found[1]), int(found[2])) < neutral.OLDEST_GIT:
            oldest = ".".join(map(str, neutral.OLDEST_GIT))
            raise Stop(unsupported_feature(ended.stdout.decode("utf-8", "replace").strip(), f"orca needs git {oldest}"))
        _supported.add(key)

    def _git(
        self, args: tuple[str, ...], cwd: str, env: dict[str, str], input: bytes | None, limit: int | None = None
    ) -> Ended:
        ended = process.run(
            ("git", *neutral.FLAGS, *args),
            cwd=cwd,
            env=env,
            deadline=self.deadline,
            input=input,
            limit=limit,
            keep_background=True,  # a credential cache that git started serves the next call
        )
        return ended._replace(argv=("git", *args))

    def _failure(
        self, cause: CommandCause, args: Iterable[str], why: str, paths: Iterable[str] = (), effect: Effect = "none"
    ) -> RuntimeError:
        command = process.line(("git", *args))
        return command_failed(command, None, "", why, cause=cause, effect=effect, cwd=self._place.given, paths=paths)


def _program() -> str | None:
    """The git that will be started: a look along PATH, which every call needs, without all that shutil loads."""
    for folder in os.get_exec_path():
        path = os.path.join(folder, "git")
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return None


class Located:
    """What every group of git operations stands on: a place, and the timeouts of its calls, in seconds."""

    _place: Place
    _timeout: float
    _network_timeout: float
    _hook_timeout: float

    def _call(self, timeout: float | None, default: float | None = None) -> Call:
        return Call(self._place, timeout if timeout is not None else default or self._timeout)
