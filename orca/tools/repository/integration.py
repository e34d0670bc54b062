"""Bringing another history in: rebase and merge onto what was fetched, their conflicts, and the way back."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from orca.errors import CommandCause
from orca.process import Ended
from orca.redaction import Redacted
from orca.tools.repository.calls import Call, Located, Stop, tagged
from orca.tools.repository.commits import current_branch, has_hook, head
from orca.tools.repository.remotes import checked_remote
from orca.tools.repository.staging import ignored, parse_paths, unmerged

_UNDO_S: Final = 1.5
_OPERATIONS: Final = (
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
)
_REBASE: Final = (
    "rebase",
    "--quiet",
    "--rebase-merges",
    "--no-autostash",
    "--no-autosquash",
    "--no-fork-point",
    "--no-stat",
)
_MERGE: Final = ("merge", "--quiet", "--ff", "--no-edit", "--no-autostash", "--no-stat", "--no-overwrite-ignore")


@dataclass(frozen=True, slots=True, repr=False)
class Pull(Redacted):
    """HEAD before and after a pull; they are the same where there was nothing to bring in."""

    old: str | None
    new: str


def operation(call: Call) -> str | None:
    """Return what is in progress here: `rebase`, `merge`, `cherry-pick`, `revert`, or nothing."""
    for name, what in _OPERATIONS:
        if os.path.exists(os.path.join(call.git_dir, name)):
            return what
    return None


def fetched(call: Call, remote: str, branch: str) -> str:
    """Fetch one branch of a remote and return its sha, by a ref of our own: FETCH_HEAD is everybody's."""
    ref = f"refs/orca/fetched/{os.urandom(8).hex()}"
    refspec = f"+refs/heads/{branch}:{ref}"
    try:
        call.run("fetch", "--quiet", "--no-prune", "--", remote, refspec, kind="network")
        return call.run("rev-parse", "--verify", ref).stdout.decode("ascii").strip()
    finally:
        call.attempt("update-ref", "-d", ref, kind="write")


def rebase_onto(call: Call, sha: str) -> None:
    """Rebase HEAD onto a commit, or stop; a conflict leaves the rebase in progress."""
    _integrate(call, sha, "rebase", (*_REBASE, sha))


def merge_in(call: Call, sha: str, *flags: str) -> None:
    """Merge a commit into HEAD, or stop; a conflict leaves the merge in progress."""
    _integrate(call, sha, "merge", (*_MERGE, *flags, sha))


def undo(call: Call, before: str, branch: str | None) -> bool:
    """Abort the operation in progress; True when HEAD, its branch and a clean index are back."""
    call.extended(max(_UNDO_S, call.left()))
    what = operation(call)
    if what is not None:
        call.attempt(what, "--abort", kind="write")
    return operation(call) is None and head(call) == before and current_branch(call) == branch


def _integrate(call: Call, sha: str, what: str, args: tuple[str, ...]) -> None:
    going_on = operation(call)
    if going_on is not None:
        raise call.refuse("conflict", args, f"a {going_on} is in progress", unmerged(call))
    in_the_way = _ignored_in_the_way(call, sha)
    if in_the_way:
        raise call.refuse("dirty", args, "ignored files would be overwritten", in_the_way)
    ended = call.attempt(*args, kind="write")
    if ended.cause == "exit" and ended.exit_code == 0:
        return
    if ended.cause != "exit":
        raise Stop(call.failed(ended))
    conflicts = unmerged(call)
    if conflicts:
        raise Stop(call.failed(ended, cause="conflict", paths=conflicts))
    untouched = operation(call) is None
    raise Stop(call.failed(ended, cause=_cause(call, ended, what), effect="none" if untouched else None))


def _cause(call: Call, ended: Ended, what: str) -> CommandCause | None:
    hooks = ("pre-rebase",) if what == "rebase" else ("pre-merge-commit", "commit-msg", "prepare-commit-msg")
    return "hook-failed" if ended.exit_code == 1 and has_hook(call, *hooks) else None


def _ignored_in_the_way(call: Call, sha: str) -> tuple[str, ...]:
    """Ignored files at paths that the other side adds: git would overwrite them without a word."""
    if head(call) is None:
        return ()
    args = ("diff", "--name-only", "--diff-filter=A", "--no-renames", "--no-ext-diff", "-z", "HEAD", sha)
    added = parse_paths(call.run(*args).stdout)
    return ignored(call, [path for path in added if os.path.lexists(os.path.join(call.top, path))])


class IntegrationOperations(Located):
    """Pulling, and what to do about conflicts."""

    @tagged
    def pull(
        self, remote: str = "origin", branch: str | None = None, rebase: bool = True, *, timeout: float | None = None
    ) -> Pull:
        """Return HEAD before and after the remote's branch was brought in: by a rebase of ours onto it, or by a merge.

        `branch` defaults to the upstream of the current branch. Merges among our commits are kept. A conflict leaves
        the operation in progress, to be resolved or ended by `abort()`: `conflict`, with `paths`, `effect` unknown.

        Fails with `CommandFailed`: `conflict`, `dirty` (uncommitted changes, or ignored files that would be
        overwritten), `no-upstream`, `detached`, `unknown-remote`, `unknown-ref`, `bad-ref-name`, `hook-failed`, `auth`,
        `network`, `locked`, `refused`, and what `status` fails with. `timeout` is seconds, default the tool's
        `network_timeout`.

        >>> from orca import git
        >>> from orca.tools import GitTool
        >>> clone = GitTool.clone(str(git().root), "clone").unwrap()
        >>> pulled = clone.pull().unwrap()
        >>> pulled.old == pulled.new
        True
        """
        call = self._call(timeout, self._network_timeout)
        args = ("pull", remote)
        if branch is not None:
            call.checked_branch(branch, *args)
        checked_remote(call, remote, *args)
        with call.index(*args):
            source = branch if branch is not None else _upstream(call, remote, *args)
            before = head(call)
            sha = fetched(call, remote, source)
            if before is None:
                merge_in(call, sha, "--ff-only")
            elif rebase:
                rebase_onto(call, sha)
            else:
                merge_in(call, sha)
            return Pull(before, head(call) or sha)

    @tagged
    def conflicts(self, *, timeout: float | None = None) -> tuple[str, ...]:
        """Return the unmerged paths.

        Fails as `status` does.

        >>> from orca import git
        >>> git().conflicts().unwrap()
        ()
        """
        return unmerged(self._call(timeout))

    @tagged
    def abort(self, *, timeout: float | None = None) -> str:
        """Return what was in progress and is undone now: `rebase`, `merge`, `cherry-pick` or `revert`.

        The branch, the index and the worktree are as they were before it began; resolutions made since are gone.

        Fails with `CommandFailed`: `refused` (nothing is in progress), `dirty`, `locked`, and what `status` fails with.

        >>> from orca import Failure, git, outcome
        >>> match outcome(git().abort()):
        ...     case Failure(error):
        ...         print(error.cause)
        refused
        """
        call = self._call(timeout)
        with call.index("merge", "--abort"):
            what = operation(call)
            if what is None:
                raise call.refuse("refused", ("merge", "--abort"), "nothing is in progress")
            call.run(what, "--abort", kind="write")
            return what


def _upstream(call: Call, remote: str, *args: str) -> str:
    branch = current_branch(call)
    if branch is None:
        raise call.refuse("detached", args, "HEAD is detached, and no branch was named")
    form = "--format=%(upstream:remotename)%00%(upstream:remoteref)"
    found = os.fsdecode(call.run("for-each-ref", form, f"refs/heads/{branch}").stdout).split("\n")[0]
    name, _, ref = found.partition("\0")
    if name != remote or not ref:
        raise call.refuse("no-upstream", args, f"branch {branch!r} follows no branch of {remote!r}")
    return ref.removeprefix("refs/heads/")
