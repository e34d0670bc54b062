"""Branches: listing, making, switching and deleting them."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from orca.errors import CommandFailed, branch_already_exists
from orca.process import Ended
from orca.tools.repository.calls import Call, Located, Stop, tagged
from orca.tools.repository.commits import current_branch, has_hook, head
from orca.tools.repository.staging import unmerged

if TYPE_CHECKING:
    from orca.tools.repository.refs import Branch

_CHECK_S: Final = 1.5
# What git finds before it touches a file; on a full disk, say, it stops in the middle.
_FOUND_FIRST: Final = ("dirty", "conflict", "unknown-ref", "ref-conflict", "hook-failed", "locked")
_SWITCH: Final = ("switch", "--quiet", "--no-guess", "--no-overwrite-ignore")
_COMES_BACK: Final = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")
_BRANCH: Final = "--format=%(refname)%00%(objectname)%00%(upstream)%00%(HEAD)%00%(worktreepath)%00"


class BranchOperations(Located):
    """Reading and changing branches."""

    @tagged
    def current_branch(self, *, timeout: float | None = None) -> str | None:
        """Return the branch that HEAD is on, with or without a commit; None when HEAD is detached.

        Fails as `status` does.

        >>> from orca import git
        >>> git().current_branch().unwrap()
        'main'
        """
        return current_branch(self._call(timeout))

    @tagged
    def branches(self, *, timeout: float | None = None) -> tuple[Branch, ...]:
        """Return the local branches that have a commit, by name.

        Fails as `status` does.

        >>> from orca import git
        >>> [branch.name for branch in git().branches().unwrap()]
        ['main']
        """
        from orca.tools.repository import refs

        return refs.parse_branches(
            self._call(timeout).run("for-each-ref", "--sort=refname", _BRANCH, "refs/heads/").stdout
        )

    @tagged
    def create_branch(
        self, name: str, start: str | None = None, switch: bool = True, *, timeout: float | None = None
    ) -> Branch:
        """Return the branch made at `start` (default HEAD), checked out unless `switch=False`.

        A branch that exists on a remote only does not count as existing: this one is made at `start` or HEAD, and
        follows a remote branch only when `start` names one. Where there is no commit yet, a new name renames the
        branch to be, and making the one that HEAD is already on changes nothing.

        Fails with `BranchAlreadyExists` and `CommandFailed`: `bad-ref-name`, `unknown-ref` (start), `unborn` (without
        a commit and with `switch=False`), `ref-conflict` (`a/b` beside `a`), `dirty` (the switch would overwrite
        changes), `conflict`, `hook-failed` (as `switch`), `locked`, `refused`, and what `status` fails with.

        >>> from orca import git
        >>> git().create_branch("fix/total").unwrap().current
        True
        """
        call = self._call(timeout)
        call.checked_branch(name, "branch", name)
        if start is not None:
            call.checked_revision(start, "branch", name)
        with call.index("branch", name):
            if _exists(call, f"refs/heads/{name}"):
                raise Stop(branch_already_exists(name))
            start = head(call) if start is None else start  # git would take the current branch's name, maybe a tag's
            if start is not None:
                _create(call, name, start, switch)
            elif switch:
                _switch(call, "--create", name)
            else:
                raise call.refuse("unborn", ("branch", name), "there is no commit for the branch to start at")
            return _branch(call, name)

    @tagged
    def switch(self, name: str, *, timeout: float | None = None) -> Branch:
        """Return the branch, checked out. Changes that it would overwrite stop it, ignored files among them.

        Fails with `CommandFailed`: `unknown-ref`, `bad-ref-name`, `dirty`, `conflict` (with `paths`, or while a merge
        or the like is in progress), `hook-failed` (the post-checkout hook failed, `effect` is `landed`), `refused` (it
        is checked out in another worktree; inside a hook of this repository), `locked`, and what `status` fails with.

        >>> from orca import git
        >>> _ = git().create_branch("fix/total")
        >>> git().switch("main").unwrap().name
        'main'
        """
        call = self._call(timeout)
        call.checked_branch(name, "switch", name)
        with call.index("switch", name):
            _switch(call, name)
            return _branch(call, name)

    @tagged
    def delete_branch(self, name: str, force: bool = False, *, timeout: float | None = None) -> str:
        """Return the sha that the deleted branch had: `create_branch(name, sha)` undoes it.

        A branch whose commits are neither in its upstream nor, without one, in HEAD is deleted only with `force`.

        Fails with `CommandFailed`: `unknown-ref`, `bad-ref-name`, `refused` (it is checked out, rebased or bisected
        somewhere, or not merged and not forced), `ref-conflict` (it was moved meanwhile), `locked`, and what `status`
        fails with.

        >>> from orca import git
        >>> _ = git().create_branch("old", switch=False)
        >>> git().delete_branch("old").unwrap() == git().head().unwrap()
        True
        """
        call = self._call(timeout)
        args = ("branch", "-D" if force else "-d", "--", call.checked_branch(name, "branch", "-d", name))
        with call.index(*args):
            branch = _branch(call, name)
            if branch.sha is None:
                raise call.refuse("unknown-ref", args, f"there is no branch {name!r}")
            if branch.worktree is not None:
                raise call.refuse("refused", args, f"the branch is checked out at {branch.worktree}")
            if _is_at_work(call, name):
                raise call.refuse("refused", args, "the branch is being rebased or bisected")
            if not force and not _merged(call, branch):
                raise call.refuse("refused", args, "the branch has commits that are merged nowhere")
            call.change("update-ref", "--no-deref", "-d", f"refs/heads/{name}", branch.sha)
            call.attempt("config", "--local", "--remove-section", f"branch.{name}", kind="write")
            return branch.sha


def _create(call: Call, name: str, start: str, switch: bool) -> None:
    """Make the branch, then switch to it: in one step git finds only with the files changed that it cannot make it."""
    ended = call.attempt("branch", "--", name, start, kind="write")
    if ended.cause != "exit":
        raise Stop(call.failed(ended))
    if ended.exit_code != 0:
        is_made = b"upstream branch configuration" in ended.stderr  # git's last step, which is all that failed
        if not is_made and _exists(call, f"refs/heads/{name}"):  # another worktree was quicker
            raise Stop(branch_already_exists(name))
        raise Stop(call.failed(ended, effect="landed" if is_made else "none"))
    if switch:
        try:
            _switch(call, name)
        except Stop as stop:
            if isinstance(stop.error, CommandFailed) and stop.error.effect == "none":
                call.attempt("branch", "-D", "--", name, kind="write")
            raise


def _switch(call: Call, *args: str) -> None:
    call.check_lock("HEAD", "switch", *args)
    ended = call.attempt(*_SWITCH, *args, kind="write")
    if ended.cause != "exit" or ended.exit_code != 0:
        raise Stop(_not_switched(call, ended, args[-1]))


def _not_switched(call: Call, ended: Ended, name: str) -> CommandFailed:
    """Why a switch failed, or was made though git failed."""
    call.extended(max(call.left(), _CHECK_S))
    is_there = ended.started and current_branch(call) == name
    if ended.cause != "exit":
        return call.failed(ended, effect="landed" if is_there else None)
    if conflicts := unmerged(call):
        return call.failed(ended, cause="conflict", effect="none", paths=conflicts)
    if is_there and ended.exit_code == 1 and has_hook(call, "post-checkout"):
        return call.failed(ended, cause="hook-failed", effect="landed")
    if _branch(call, name).worktree not in (None, call.top):
        return call.failed(ended, cause="refused", effect="none")
    error = call.failed(ended)
    is_first = error.cause in _FOUND_FIRST and b"unable to update HEAD" not in ended.stderr
    return replace(error, effect="none") if is_first else error


def _is_at_work(call: Call, name: str) -> bool:
    """Whether a rebase or a bisection, in whichever worktree, will come back to the branch: HEAD is detached then."""
    import glob

    others = os.path.join(call.common_dir, "worktrees")
    folders = [call.common_dir, *(glob.glob(os.path.join(glob.escape(others), "*")))]
    for path in (os.path.join(folder, file) for folder in folders for file in _COMES_BACK):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                if os.fsdecode(file.read()).strip().removeprefix("refs/heads/") == name:
                    return True
    return False


def _exists(call: Call, ref: str) -> bool:
    return call.run("show-ref", "--verify", "--quiet", ref, ok=(0, 1)).exit_code == 0


def _branch(call: Call, name: str) -> Branch:
    from orca.tools.repository import refs

    found = refs.parse_branches(call.run("for-each-ref", _BRANCH, f"refs/heads/{name}").stdout)
    exact = [branch for branch in found if branch.name == name]
    return exact[0] if exact else refs.Branch(name=name, sha=None, current=current_branch(call) == name)


def _merged(call: Call, branch: Branch) -> bool:
    into = branch.upstream if branch.upstream and _exists(call, branch.upstream) else "HEAD"
    ended = call.attempt("merge-base", "--is-ancestor", f"refs/heads/{branch.name}", into)
    return ended.exit_code == 0
