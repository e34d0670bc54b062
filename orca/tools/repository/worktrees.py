"""Worktrees: a place of work of its own for each branch, made beside the others and taken away again."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from orca.errors import RuntimeError, branch_already_exists
from orca.process import StrPath
from orca.results import Failure, Result, Success, outcome
from orca.tools.repository.calls import Call, Located, Place, Stop, tagged
from orca.tools.repository.commits import has_hook, head
from orca.tools.repository.integration import operation
from orca.tools.repository.states import STATUS, parse_status

if TYPE_CHECKING:
    from orca.tools.repository.tool import GitTool
    from orca.tools.repository.worktree_list import RemovedWorktree, Worktree, WorktreeEnd

Existing: TypeAlias = Literal["fail", "reuse", "reset"]
Keep: TypeAlias = Literal["dirty", "always", "never"]

_CLEANING_S: Final = 6.0  # beyond the deadline, and as a rule a tenth of a second
_LEAST_S: Final = 0.001
_NAMED: Final = 100  # paths of a failure
_LOOKED: Final = (b"failed to run 'git status'", b"contains modified or untracked files", b"containing submodules")
_FOLDER: Final = ".worktrees"
_LIST: Final = ("worktree", "list", "--porcelain", "-z")
_NO_GUESS: Final = ("-c", "worktree.guessRemote=false")


class WorktreeOperations(Located):
    """Making, listing and removing worktrees."""

    def worktree(
        self,
        branch: str,
        *,
        start: str | None = None,
        path: StrPath | None = None,
        existing: Existing = "fail",
        keep: Keep = "dirty",
        timeout: float | None = None,
    ) -> WorktreeContext:
        """Return a context manager that yields the tool of a new worktree on `branch`, as a `Result`.

        Makes it as `add_worktree` does. At the end of the block it is removed, and its branch stays, unless it holds
        what a removal would lose: changes, untracked files, an operation in progress, or commits that no branch holds.
        Then it is kept, a warning (logger `orca.worktrees`) names it, and `end` of the context manager says why.
        Ignored files go with it. `keep="always"` removes nothing, `keep="never"` also what holds changes. What the
        block raises passes through, and whatever the removal meets does not raise.

        >>> from orca import Success, git
        >>> place = git().worktree("agent/one")
        >>> with place as made:
        ...     tool = made.unwrap()
        ...     _ = (tool.root / "one.txt").write_text("one")
        ...     tool.commit("One", add="all").unwrap().branch
        'agent/one'
        >>> place.end.removed, git().resolve("agent/one").unwrap() == git().head().unwrap()
        (True, False)
        """
        return WorktreeContext(self, self._beside, branch, start, path, existing, keep, timeout)

    @tagged
    def add_worktree(
        self,
        branch: str,
        *,
        start: str | None = None,
        path: StrPath | None = None,
        existing: Existing = "fail",
        timeout: float | None = None,
    ) -> Worktree:
        """Return the worktree that was made, with `branch` checked out, new at `start` (default: HEAD of this one).

        `existing` says what is done with a branch that is there: `"fail"`, check it out as it is (`"reuse"`), or move
        it to `start` first (`"reset"`; `replaced` is the sha that it had). Without a `path` the worktree is put beside
        the repository, in the folder `<its name>.worktrees`, under a name made of the branch's. A `path` counts from
        the top of this worktree; it must be new or empty, and inside this worktree it must be ignored.

        Worktrees of one repository are made one after the other, across threads and processes. One that cannot be made
        leaves nothing behind. `timeout` is seconds, default the tool's.

        Fails with `BranchAlreadyExists` and `CommandFailed`: `bad-ref-name`, `unknown-ref` (start), `unborn` (there is
        no commit to start at), `ref-conflict` (`a/b` beside `a`), `refused` (the branch is checked out elsewhere, with
        `paths`; `path` is not empty, or not ignored; inside a hook of this repository), `hook-failed` (the
        post-checkout hook failed: `effect` is `landed`, `paths` the worktree), `locked`, `timeout`, `exit`, and what
        `status` fails with.

        >>> from orca import git
        >>> made = git().add_worktree("agent/two").unwrap()
        >>> made.branch, made.is_main
        ('agent/two', False)
        >>> git().remove_worktree(made.path).unwrap().branch
        'agent/two'
        """
        call = self._call(timeout)
        args = ("worktree", "add", call.checked_branch(branch, "worktree", "add", branch))
        if start is not None:
            call.checked_revision(start, *args)
        with call.index(*args, shared=True):
            old = _sha(call, branch)
            if old is not None and existing == "fail":
                raise Stop(branch_already_exists(branch))
            _refuse_elsewhere(call, branch, args)
            at = start if start is not None else head(call)
            if at is None and (old is None or existing == "reset"):
                raise call.refuse("unborn", args, "there is no commit for the branch to start at")
            with _place(call, branch, path, args) as target:
                how: tuple[str, ...]
                if old is None:
                    how = ("-b", branch, "--", target, str(at))
                elif existing == "reset":
                    how = ("-B", branch, "--", target, str(at))
                else:
                    how = ("--", target, branch)
                _add(call, branch, old, target, how)
            made = _entry(call, target)
            if made is None:
                raise call.refuse("other", args, "the worktree is not in git's list")
            return replace(made, replaced=old if existing == "reset" and old != made.head else None)

    @tagged
    def worktrees(self, *, timeout: float | None = None) -> tuple[Worktree, ...]:
        """Return all worktrees of this repository, the main one first; also those whose folder is gone.

        Fails as `status` does.

        >>> from orca import git
        >>> [tree.branch for tree in git().worktrees().unwrap()]
        ['main']
        """
        return _listed(self._call(timeout))

    @tagged
    def remove_worktree(self, path: StrPath, force: bool = False, *, timeout: float | None = None) -> RemovedWorktree:
        """Return the worktree that was removed: its folder with what is ignored in it, and git's entry for it.

        Its branch stays. What a removal would lose stops it, unless `force` is given, which records it first: changes
        and untracked files (`dirty`, with `paths`), an operation in progress, commits of a detached HEAD that no
        branch, tag or remote branch holds. The main worktree, this tool's own, and a locked one are never removed. One
        whose folder is gone loses its entry. `path` counts from the top of this worktree. `timeout` is seconds,
        default the tool's.

        Fails with `CommandFailed`: `unknown-path` (no worktree is there), `dirty`, `conflict` (an operation is in
        progress), `refused`, `locked`, `timeout`, `exit`, and what `status` fails with.

        >>> from orca import git
        >>> made = git().add_worktree("agent/three").unwrap()
        >>> git().remove_worktree(made.path).unwrap().path == made.path
        True
        """
        call = self._call(timeout)
        target = _absolute(call, path)
        args = ("worktree", "remove", target)
        with call.index(*args, shared=True):
            found = _entry(call, target)
            if found is None:
                raise call.refuse("unknown-path", args, "no worktree is there", (target,))
            if found.is_main or _same(found.path, call.top_or_git_dir):
                raise call.refuse("refused", args, "the main worktree, and the tool's own, are not removed")
            if found.locked is not None:
                raise call.refuse("refused", args, f"the worktree is locked: {found.locked}")
            is_there, undo = os.path.lexists(os.path.join(found.path, ".git")), None
            if is_there:
                there = Call(Place(found.path), max(call.left(), _LEAST_S))
                try:
                    _refuse_to_lose(there, args)
                except Stop:
                    if not force:
                        raise
                    undo = _recorded(there)
            flags = ("--force",) if force or not is_there else ()
            ended = call.attempt("worktree", "remove", *flags, "--", found.path, kind="write")
            if ended.cause != "exit" or ended.exit_code != 0:
                looked = ended.cause == "exit" and any(words in ended.stderr for words in _LOOKED)
                raise Stop(call.failed(ended, effect="none" if looked else None))
            _tidy(os.path.dirname(found.path))
            return _removed(found, undo)

    def _beside(self, path: str) -> GitTool:
        """Return a tool like this one for another worktree."""
        from orca.tools.repository.tool import GitTool

        return GitTool(
            path, timeout=self._timeout, network_timeout=self._network_timeout, hook_timeout=self._hook_timeout
        )


class WorktreeContext:
    """A worktree for the time of a `with` block; `end` says afterwards what became of it (None: it was not made)."""

    def __init__(
        self,
        tool: WorktreeOperations,
        tool_at: Callable[[str], GitTool],
        branch: str,
        start: str | None,
        path: StrPath | None,
        existing: Existing,
        keep: Keep,
        timeout: float | None,
    ) -> None:
        if keep not in ("dirty", "always", "never"):
            raise ValueError(f"keep must be 'dirty', 'always' or 'never', not {keep!r}")
        self.end: WorktreeEnd | None = None
        self._tool = tool
        self._tool_at = tool_at
        self._branch = branch
        self._asked = (start, path, existing, timeout)
        self._keep = keep
        self._path: str | None = None

    def __enter__(self) -> Result[GitTool, RuntimeError]:
        start, path, existing, timeout = self._asked
        made = self._tool.add_worktree(self._branch, start=start, path=path, existing=existing, timeout=timeout)
        match outcome(made):
            case Failure(error):
                return Failure(error)
            case Success(worktree):
                self._path = worktree.path
                return Success(self._tool_at(worktree.path))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._path is None:
            return
        from orca.tools.repository.worktree_list import WorktreeEnd

        why: str | None = "it was asked for"
        if self._keep != "always":
            removed = self._tool.remove_worktree(self._path, force=self._keep == "never")
            why = str(removed.failure()) if isinstance(removed, Failure) else None
        self.end = WorktreeEnd(path=self._path, branch=self._branch, removed=why is None, why=why)
        if why is not None and self._keep != "always":
            import logging

            from orca.redaction import redact_text

            logging.getLogger("orca.worktrees").warning("kept %s: %s", redact_text(self._path), why)


def _listed(call: Call) -> tuple[Worktree, ...]:
    from orca.tools.repository.worktree_list import parse_worktrees

    return parse_worktrees(call.run(*_LIST).stdout)


def _entry(call: Call, path: str) -> Worktree | None:
    return next((tree for tree in _listed(call) if _same(tree.path, path)), None)


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _removed(tree: Worktree, undo: str | None) -> RemovedWorktree:
    from orca.tools.repository.worktree_list import RemovedWorktree

    return RemovedWorktree(path=tree.path, branch=tree.branch, head=tree.head, checkpoint=undo)


def _recorded(there: Call) -> str:
    """The commit of a checkpoint of a worktree that is about to go."""
    from orca.tools.repository.checkpoints.operations import checkpoint
    from orca.tools.repository.checkpoints.recording import refs_of

    made = checkpoint(there, "before remove_worktree()")
    return there.run("rev-parse", "--verify", refs_of(there) + made.id).stdout.decode("ascii").strip()


def _sha(call: Call, branch: str) -> str | None:
    ended = call.run("rev-parse", "--quiet", "--verify", f"refs/heads/{branch}", ok=(0, 1))
    return ended.stdout.decode("ascii").strip() or None


def _absolute(call: Call, path: StrPath) -> str:
    return os.path.normpath(os.path.join(call.top_or_git_dir, path))


def _refuse_elsewhere(call: Call, branch: str, args: tuple[str, ...]) -> None:
    """Stop where another worktree has the branch; one whose folder is gone gives it back."""
    for tree in _listed(call):
        if tree.branch == branch:
            if tree.is_main or tree.locked is not None or os.path.lexists(tree.path):
                raise call.refuse("refused", args, f"the branch is checked out at {tree.path}", (tree.path,))
            call.run("worktree", "remove", "--force", "--", tree.path, kind="write")


@contextmanager
def _place(call: Call, branch: str, path: StrPath | None, args: tuple[str, ...]) -> Iterator[str]:
    """Yield the folder for a new worktree; what was made of it is gone again where the block stops without effect."""
    made = None
    try:
        if path is None:
            target = made = _beside(call.common_dir, branch)
        else:
            target = _absolute(call, path)
            if os.path.lexists(target) and (not os.path.isdir(target) or os.listdir(target)):
                raise call.refuse("refused", args, f"{target} is not an empty folder")
            _refuse_unignored(call, target, args)
    except OSError as error:
        raise call.refuse("other", args, f"no folder for the worktree: {error}") from None
    try:
        yield target
    except BaseException as error:
        effect = getattr(error.error, "effect", "none") if isinstance(error, Stop) else "unknown"
        if made is not None and effect == "none":
            with suppress(OSError):
                os.rmdir(made)
            _tidy(os.path.dirname(made))
        raise


def _beside(common_dir: str, branch: str) -> str:
    """Make a folder beside the repository, under a name that no other process gets as well."""
    repository = common_dir.removesuffix("/.git").removesuffix(".git")
    folder = repository + _FOLDER
    os.makedirs(folder, exist_ok=True)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", branch).strip("-.")[:100] or "branch"
    number = 1
    while True:
        path = os.path.join(folder, name if number == 1 else f"{name}-{number}")
        try:
            os.mkdir(path)
        except FileExistsError:
            number += 1
        else:
            return path


def _tidy(folder: str) -> None:
    """Take our folder of worktrees away with its last one."""
    if folder.endswith(_FOLDER):
        with suppress(OSError):
            os.rmdir(folder)


def _refuse_unignored(call: Call, target: str, args: tuple[str, ...]) -> None:
    """A worktree inside this one, and not ignored there, would be one of its untracked files."""
    top = call.top_or_git_dir
    if not os.path.realpath(target).startswith(os.path.realpath(top) + os.sep):
        return
    inside = os.path.relpath(os.path.realpath(target), os.path.realpath(top)) + "/"
    if call.run("check-ignore", "--quiet", "--", inside, ok=(0, 1, 128)).exit_code != 0:
        raise call.refuse("refused", args, f"{target} lies in this worktree, which does not ignore it")


def _add(call: Call, branch: str, old: str | None, target: str, how: tuple[str, ...]) -> None:
    """Run `git worktree add`; what fails or runs out of time is taken away again."""
    ended = call.attempt(*_NO_GUESS, "worktree", "add", "--quiet", *how, kind="write")
    if ended.cause == "exit" and ended.exit_code == 0:
        return
    is_there = os.path.lexists(os.path.join(target, ".git"))
    if ended.cause == "exit" and is_there and has_hook(call, "post-checkout"):
        raise Stop(call.failed(ended, cause="hook-failed", effect="landed", paths=(target,)))
    with call.overtime(_CLEANING_S):
        call.attempt("worktree", "remove", "--force", "--force", "--", target, kind="write")
        now = _sha(call, branch)
        if now is not None and now != old:
            change = ("-d",) if old is None else ()
            before = () if old is None else (old,)
            call.attempt("update-ref", *change, f"refs/heads/{branch}", *before, now, kind="write")
        gone = _entry(call, target) is None and _sha(call, branch) == old
    raise Stop(call.failed(ended, effect="none" if gone else "unknown"))


def _refuse_to_lose(there: Call, args: tuple[str, ...]) -> None:
    """Stop where the worktree holds what a removal would lose."""
    if (what := operation(there)) is not None:
        raise there.refuse("conflict", args, f"a {what} is in progress there")
    status = parse_status(there.run(*STATUS).stdout)
    if not status.clean:
        paths = tuple(entry.path for entry in status.entries)
        raise there.refuse("dirty", args, "the worktree holds changes or untracked files", paths[:_NAMED])
    if status.branch is None and status.head is not None:
        lost = there.run("rev-list", "--max-count=1", "HEAD", "--not", "--branches", "--tags", "--remotes").stdout
        if lost.strip():
            raise there.refuse("refused", args, f"no branch holds {lost.decode('ascii').strip()}, its detached HEAD")
