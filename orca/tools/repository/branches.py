"""Branches: listing, making, switching and deleting them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from orca.errors import branch_already_exists
from orca.redaction import Redacted
from orca.tools.repository.calls import Call, Located, Stop, tagged
from orca.tools.repository.commits import current_branch

_FATAL: Final = 128
_BRANCH: Final = "--format=%(refname)%00%(objectname)%00%(upstream)%00%(HEAD)%00%(worktreepath)%00"


@dataclass(frozen=True, slots=True, repr=False)
class Branch(Redacted):
    """A local branch; `upstream` is a full ref, `worktree` where it is checked out, `sha` None before a first commit."""

    name: str
    sha: str | None
    upstream: str | None = None
    current: bool = False
    worktree: str | None = None


def parse_branches(output: bytes) -> tuple[Branch, ...]:
    """Return what `for-each-ref refs/heads` printed with NUL-ended fields, a line break after each record."""
    fields = os.fsdecode(output).split("\0")
    return tuple(
        Branch(
            name=name.removeprefix("\n").removeprefix("refs/heads/"),
            sha=sha,
            upstream=upstream or None,
            current=head == "*",
            worktree=worktree or None,
        )
        for name, sha, upstream, head, worktree in zip(*[iter(fields[:-1])] * 5, strict=True)
    )


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
        return parse_branches(self._call(timeout).run("for-each-ref", "--sort=refname", _BRANCH, "refs/heads/").stdout)

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
        changes), `locked`, `refused`, and what `status` fails with.

        >>> from orca import git
        >>> git().create_branch("fix/total").unwrap().current
        True
        """
        call = self._call(timeout)
        call.checked_branch(name, "branch", name)
        if start is not None:
            call.checked_revision(start, "branch", name)
        with call.index("branch", name):
            if not switch and start is None and not _exists(call, "HEAD"):
                raise call.refuse("unborn", ("branch", name), "there is no commit for the branch to start at")
            args = ["switch", "--quiet", "--no-guess", "--no-overwrite-ignore", "--create", name]
            ended = call.attempt(
                *(args if switch else ["branch", "--", name]), *([start] if start is not None else []), kind="write"
            )
            if ended.cause != "exit" or ended.exit_code != 0:
                if ended.cause == "exit" and _exists(call, f"refs/heads/{name}"):
                    if switch and ended.exit_code != _FATAL and current_branch(call) == name:
                        raise Stop(call.failed(ended, cause="hook-failed", effect="landed"))
                    raise Stop(branch_already_exists(name))
                raise Stop(call.failed(ended, effect="none" if ended.cause == "exit" else None))
            return _branch(call, name)

    @tagged
    def switch(self, name: str, *, timeout: float | None = None) -> Branch:
        """Return the branch, checked out. Changes that it would overwrite stop it, ignored files among them.

        Fails with `CommandFailed`: `unknown-ref`, `bad-ref-name`, `dirty`, `conflict`, `hook-failed` (the post-checkout
        hook failed, `effect` is `landed`), `locked`, `refused`, and what `status` fails with.

        >>> from orca import git
        >>> _ = git().create_branch("fix/total")
        >>> git().switch("main").unwrap().name
        'main'
        """
        call = self._call(timeout)
        call.checked_branch(name, "switch", name)
        with call.index("switch", name):
            ended = call.attempt("switch", "--quiet", "--no-guess", "--no-overwrite-ignore", name, kind="write")
            if ended.cause != "exit" or ended.exit_code != 0:
                if ended.cause == "exit" and current_branch(call) == name:
                    raise Stop(call.failed(ended, cause="hook-failed", effect="landed"))
                raise Stop(call.failed(ended, effect="none" if ended.cause == "exit" else None))
            return _branch(call, name)

    @tagged
    def delete_branch(self, name: str, force: bool = False, *, timeout: float | None = None) -> str:
        """Return the sha that the deleted branch had: `create_branch(name, sha)` undoes it.

        A branch whose commits are neither in its upstream nor, without one, in HEAD is deleted only with `force`.

        Fails with `CommandFailed`: `unknown-ref`, `bad-ref-name`, `refused` (it is checked out somewhere, or not merged
        and not forced), `locked`, and what `status` fails with.

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
            if not force and not _merged(call, branch):
                raise call.refuse("refused", args, "the branch has commits that are merged nowhere")
            call.run("update-ref", "--no-deref", "-d", f"refs/heads/{name}", branch.sha, kind="write")
            call.attempt("config", "--local", "--remove-section", f"branch.{name}", kind="write")
            return branch.sha


def _exists(call: Call, ref: str) -> bool:
    return call.run("rev-parse", "--quiet", "--verify", ref, ok=(0, 1)).exit_code == 0


def _branch(call: Call, name: str) -> Branch:
    found = parse_branches(call.run("for-each-ref", _BRANCH, f"refs/heads/{name}").stdout)
    exact = [branch for branch in found if branch.name == name]
    return exact[0] if exact else Branch(name=name, sha=None, current=current_branch(call) == name)


def _merged(call: Call, branch: Branch) -> bool:
    into = branch.upstream if branch.upstream and _exists(call, branch.upstream) else "HEAD"
    ended = call.attempt("merge-base", "--is-ancestor", f"refs/heads/{branch.name}", into)
    return ended.exit_code == 0
