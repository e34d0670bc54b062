"""Pulling: what a remote has, fetched and brought in; and what to do about conflicts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from orca.tools.repository import integration
from orca.tools.repository.calls import Call, Located, tagged
from orca.tools.repository.commits import current_branch, head
from orca.tools.repository.integration import operation, refuse_another
from orca.tools.repository.remotes import checked_remote
from orca.tools.repository.staging import unmerged

if TYPE_CHECKING:
    from orca.tools.repository.refs import Pull

_AFTER_S: Final = 1.9  # beyond the deadline, to take away the ref that it was fetched to


class PullOperations(Located):
    """Pulling, and what to do about conflicts."""

    @tagged
    def pull(
        self, remote: str = "origin", branch: str | None = None, rebase: bool = True, *, timeout: float | None = None
    ) -> Pull:
        """Return HEAD before and after the remote's branch was brought in: by a rebase of ours onto it, or by a merge.

        `branch` defaults to the upstream of the current branch. Merges among our commits are kept. A conflict leaves
        the operation in progress, to be resolved or ended by `abort()`: `conflict`, with `paths`, `effect` `unknown`;
        so can a timeout, and a hook that refuses the merge commit. Where `effect` is `none`, nothing has changed.

        Fails with `CommandFailed`: `conflict`, `dirty` (uncommitted changes, or files that would be overwritten,
        ignored ones too), `no-upstream`, `detached`, `unknown-remote`, `unknown-ref`, `bad-ref-name`, `hook-failed`,
        `identity-missing`, `auth`, `network`, `timeout`, `locked`, `refused`, `exit` (a merge of unrelated histories),
        and what `status` fails with. `timeout` is seconds, default the tool's `network_timeout`.

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
        call.refuse_in_hook(*args)
        refuse_another(call, *args)
        source = branch if branch is not None else _upstream(call, remote, *args)
        from orca.tools.repository import refs

        sha = fetched(call, remote, source)  # before the lock: a slow remote holds up no commit
        with call.index(*args):
            before = head(call)
            if rebase and before is not None:
                integration.rebase(call, sha)
            else:
                integration.merge(call, sha, os.fsencode(f"Merge remote-tracking branch '{remote}/{source}'"))
            return refs.Pull(before, head(call) or sha)

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
        """Return what was in progress and is undone now: `rebase`, `merge`, `cherry-pick`, `revert` or `am`.

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


def fetched(call: Call, remote: str, branch: str) -> str:
    """Fetch one branch of a remote and return its sha, by a ref of our own: FETCH_HEAD is everybody's."""
    ref = f"refs/orca/fetched/{os.urandom(8).hex()}"
    flags = ("--quiet", "--no-prune", "--no-write-fetch-head")
    try:
        call.run("fetch", *flags, "--", remote, f"+refs/heads/{branch}:{ref}", kind="network", effect="none")
        return call.run("rev-parse", "--verify", ref).stdout.decode("ascii").strip()
    finally:
        with call.overtime(_AFTER_S):
            call.attempt("update-ref", "-d", ref, kind="write")


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
