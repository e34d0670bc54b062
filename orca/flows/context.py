"""The flow: one place of work, and the tools rooted there, for the code inside it and for its threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import cached_property, wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Self, TypeVar

from orca.process import StrPath, live
from orca.tools.arguments import absolute

if TYPE_CHECKING:
    from concurrent.futures import Future
    from pathlib import Path

    from orca.tools import CommandTool, FsTool, GitHubTool, GitTool, TypecheckTool

P = ParamSpec("P")
T = TypeVar("T")
Item = TypeVar("Item")

_LONGEST_WAIT_S: Final = 0.5  # a signal that another thread was given interrupts no wait of the main thread

_entered: ContextVar[tuple[Flow, ...]] = ContextVar("orca_flows", default=())
_open: list[Flow] = []


class Flow:
    """One place of work: `cwd`, the worktree around it, and the tools rooted there. Made by `flow`."""

    def __init__(
        self,
        cwd: StrPath,
        git: GitTool | None = None,
        command: CommandTool | None = None,
        typecheck: TypecheckTool | None = None,
        fs: FsTool | None = None,
        gh: GitHubTool | None = None,
    ) -> None:
        self._cwd = absolute(cwd)
        self._given = (git, command, typecheck, fs, gh)

    @property
    def cwd(self) -> Path:
        """The place of work."""
        from pathlib import Path

        return Path(self._cwd)

    @property
    def root(self) -> Path:
        """The top of the worktree that holds `cwd`; `cwd` itself where there is none."""
        return self.git.root

    @cached_property
    def git(self) -> GitTool:
        """The git tool of the worktree that holds `cwd`."""
        from orca.tools.repository import GitTool

        return self._given[0] or GitTool(self._cwd)

    @cached_property
    def command(self) -> CommandTool:
        """The command tool at `cwd`."""
        from orca.tools.commands import CommandTool

        return self._given[1] or CommandTool(self._cwd)

    @cached_property
    def typecheck(self) -> TypecheckTool:
        """The type checking tool at `root`."""
        from orca.tools.typecheckers import TypecheckTool

        return self._given[2] or TypecheckTool(self.root)

    @cached_property
    def fs(self) -> FsTool:
        """The files tool at `root`."""
        from orca.tools.files import FsTool

        return self._given[3] or FsTool(self.root)

    @cached_property
    def gh(self) -> GitHubTool:
        """The GitHub tool at `root`."""
        from orca.tools.github import GitHubTool

        return self._given[4] or GitHubTool(self.root)

    def bind(self, fn: Callable[P, T]) -> Callable[P, T]:
        """Return `fn` such that it runs in this flow, in whatever thread it is called.

        >>> from orca import flow, git
        >>> with flow() as run:
        ...     run.bind(git)() is run.git
        True
        """

        @wraps(fn)
        def bound(*args: P.args, **kwargs: P.kwargs) -> T:
            token = _entered.set((self,))
            try:
                return fn(*args, **kwargs)
            finally:
                _entered.reset(token)

        return bound

    def map(self, fn: Callable[[Item], T], items: Iterable[Item], workers: int = 4) -> list[T]:
        """Return `fn(item)` for each item, in their order, computed by `workers` threads that carry this flow.

        The first exception of `fn` passes through: what was queued is dropped, what runs is waited for. Ctrl-C ends
        the programs of all of them.

        >>> from orca import command, flow
        >>> with flow() as run:
        ...     run.map(lambda word: command().run("echo", word).unwrap().stdout.strip(), ["a", "b"])
        ['a', 'b']
        """
        from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

        bound = self.bind(fn)
        live.resume()
        with ThreadPoolExecutor(workers, thread_name_prefix="orca") as pool:
            try:
                futures = [pool.submit(bound, item) for item in items]
                while wait(futures, _LONGEST_WAIT_S, FIRST_EXCEPTION).not_done and not any(map(_has_failed, futures)):
                    pass
                failed = list(filter(_has_failed, futures))
                return [future.result() for future in failed or futures]
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> Self:
        _entered.set((*_entered.get(), self))
        _open.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _open.remove(self)
        _entered.set(_entered.get()[:-1])


def flow(
    cwd: StrPath = ".",
    *,
    git: GitTool | None = None,
    command: CommandTool | None = None,
    typecheck: TypecheckTool | None = None,
    fs: FsTool | None = None,
    gh: GitHubTool | None = None,
) -> Flow:
    """Return the context of work in `cwd`: inside its `with`, `git()`, `fs()` and their like are its tools.

    `git`, `fs`, `typecheck` and `gh` are rooted at the top of the worktree that holds `cwd`, `command` at `cwd`; a tool
    that is given is used instead. Threads made by `map` and functions made by `bind` carry the flow with them.

    >>> from orca import command, flow
    >>> with flow("/") as run:
    ...     command().run("pwd").unwrap().stdout
    '/\\n'
    """
    return Flow(cwd, git=git, command=command, typecheck=typecheck, fs=fs, gh=gh)


def git() -> GitTool:
    """Return the current flow's git tool; without a flow, one for the current directory.

    In a thread without a flow the only open one serves; with several open, this is misuse (`ValueError`).

    >>> from orca import git
    >>> git().current_branch().unwrap()
    'main'
    """
    return (_here() or Flow(".")).git


def fs() -> FsTool:
    """Return the current flow's files tool; without a flow, one for the current worktree.

    >>> from orca import fs
    >>> fs().read_text("a.txt").unwrap()
    'a\\n'
    """
    return (_here() or Flow(".")).fs


def gh() -> GitHubTool:
    """Return the current flow's GitHub tool; without a flow, one for the current worktree.

    >>> from orca import gh
    >>> request = gh().pull_request("fix/total")
    """
    return (_here() or Flow(".")).gh


def command() -> CommandTool:
    """Return the current flow's command tool; without a flow, one for the current directory.

    >>> from orca import command
    >>> command().run("true").unwrap().exit_code
    0
    """
    here = _here()
    if here is not None:
        return here.command
    from orca.tools.commands import CommandTool

    return CommandTool()


def typecheck() -> TypecheckTool:
    """Return the current flow's type checking tool; without a flow, one for the current worktree.

    >>> from orca import typecheck
    >>> report = typecheck().run(checker="mypy")
    """
    return (_here() or Flow(".")).typecheck


def _has_failed(future: Future[Any]) -> bool:
    return future.done() and future.exception() is not None


def _here() -> Flow | None:
    entered = _entered.get()
    if entered:
        return entered[-1]
    flows = list(dict.fromkeys(_open))
    if len(flows) > 1:
        raise ValueError(
            f"{len(flows)} flows are open and thread {threading.current_thread().name!r} carries none: use run.bind()"
        )
    return flows[0] if flows else None
