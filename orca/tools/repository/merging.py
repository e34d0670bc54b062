"""Merging a revision into the current branch, and rebasing the branch onto one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from orca.tools.repository import integration
from orca.tools.repository.calls import Call, Located, tagged
from orca.tools.repository.commits import checked_message, current_branch, head, resolve
from orca.tools.repository.integration import put_back_unless_done, refuse_another

if TYPE_CHECKING:
    from orca.tools.repository.refs import Merge, Rebase

_KINDS: Final = (
    ("refs/heads/", "branch"),
    ("refs/remotes/", "remote-tracking branch"),
    ("refs/tags/", "tag"),
)


class MergeOperations(Located):
    """Bringing one history of the repository into another."""

    @tagged
    def merge(self, rev: str, message: str | None = None, *, timeout: float | None = None) -> Merge:
        """Return HEAD once `rev` is part of it: moved forward where that is enough, else by a merge commit.

        `message` is that of the merge commit, default `Merge branch 'topic'` and the like. Where HEAD has `rev` already
        nothing changes, and where it has no commit yet it gets that one: both count as `fast_forward`. The call decides
        this and no configuration (`merge.ff`, `branch.<name>.mergeOptions`, …), but what the user demands of commits
        does count: signing, hooks, `merge.verifySignatures`. Changes that are not committed stay, unless they are in
        the way.

        A conflict leaves the merge in progress, to be resolved and committed or ended by `abort()`: `conflict`, with
        `paths`, `effect` `unknown`. After any other failure, a timeout too, everything is as before (`effect` `none`);
        where that cannot be had it is `unknown`.

        Fails with `CommandFailed`: `conflict` (also while a merge or the like is in progress), `dirty` (uncommitted
        changes, untracked or ignored files would be overwritten), `unknown-ref`, `bad-ref-name`, `bad-argument` (an
        empty message), `hook-failed`, `identity-missing`, `signing-failed`, `timeout`, `locked`, `refused`, `exit`
        (unrelated histories, or a signature that is demanded and missing), and what `status` fails with. `timeout` is
        seconds, default the tool's `hook_timeout`.

        >>> from orca import git
        >>> _ = git().create_branch("topic")
        >>> topic = git().commit("On a branch", allow_empty=True).unwrap()
        >>> _ = git().switch("main")
        >>> merged = git().merge("topic").unwrap()
        >>> merged.sha == topic.sha, merged.fast_forward
        (True, True)
        """
        from orca.tools.repository.refs import Merge

        call = self._call(timeout, self._hook_timeout)
        args = ("merge", rev)
        call.checked_revision(rev, *args)
        text = checked_message(call, message, "merge") if message is not None else None
        with _integrating(call, *args):
            sha = _commit(call, rev)
            before = head(call)
            with put_back_unless_done(call, "merge", keep_conflict=True):
                integration.merge(call, sha, text if text is not None else _title(call, rev))
            after = head(call) or sha
            return Merge(after, fast_forward=after in (before, sha))

    @tagged
    def rebase(self, onto: str, *, timeout: float | None = None) -> Rebase:
        """Return HEAD before and after the commits that it has and `onto` has not were made anew on top of `onto`.

        Merges among them are kept; a change that `onto` has already is left out. Only the current branch moves (or the
        detached HEAD); other branches and tags stay where they are. A change that is not committed, anywhere, stops it:
        `dirty`. The call decides how and no configuration (`rebase.autoStash`, `rebase.updateRefs`,
        `rebase.autoSquash`, …), but signing and hooks are the user's.

        A conflict leaves the rebase in progress, to be ended by `abort()` or gone on with by git: `conflict`, with
        `paths`, `effect` `unknown`. After any other failure, a timeout too, everything is as before (`effect` `none`);
        where that cannot be had it is `unknown`.

        Fails with `CommandFailed`: `conflict` (also while a rebase or the like is in progress), `dirty` (uncommitted
        changes; untracked or ignored files would be overwritten), `unborn`, `unknown-ref`, `bad-ref-name`,
        `hook-failed`, `identity-missing`, `signing-failed`, `timeout`, `locked`, `refused`, and what `status` fails
        with. `timeout` is seconds, default the tool's `hook_timeout`.

        >>> from orca import git
        >>> rebased = git().rebase("main").unwrap()
        >>> rebased.old == rebased.new
        True
        """
        from orca.tools.repository.refs import Rebase

        call = self._call(timeout, self._hook_timeout)
        args = ("rebase", onto)
        call.checked_revision(onto, *args)
        with _integrating(call, *args):
            before = head(call)
            if before is None:
                raise call.refuse("unborn", args, "there is no commit to rebase")
            sha = _commit(call, onto)
            with put_back_unless_done(call, "rebase", keep_conflict=True):
                integration.rebase(call, sha)
            return Rebase(before, head(call) or sha)


@contextmanager
def _integrating(call: Call, *args: str) -> Iterator[None]:
    """Hold the index, where nothing that could be seen before would stop git half-way."""
    _ = call.top  # a bare repository has an index too
    with call.index(*args):
        refuse_another(call, *args)
        call.check_lock("index", *args)
        call.check_lock("HEAD", *args)
        if (branch := current_branch(call)) is not None:
            call.check_lock(os.path.join(call.common_dir, "refs/heads", branch), *args)
        yield


def _commit(call: Call, rev: str) -> str:
    return resolve(call, f"{resolve(call, rev)}^{{commit}}")


def _title(call: Call, rev: str) -> bytes:
    """The first line of the message, which git would write if it were told the name and not the sha."""
    ref = os.fsdecode(call.run("rev-parse", "--symbolic-full-name", rev).stdout).removesuffix("\n")
    for prefix, kind in _KINDS:
        if ref.startswith(prefix):
            return os.fsencode(f"Merge {kind} '{ref.removeprefix(prefix)}'")
    return os.fsencode(f"Merge commit '{rev}'")
