"""The branch that a pull request is about: whose it is, as the caller names it or as git has it checked out."""

from __future__ import annotations

import re
from typing import Final, NamedTuple, TypeVar

from orca.errors import RuntimeError
from orca.results import Failure, Result, Success, outcome
from orca.tools.github.calls import Call, Quoted, Stop, quoted
from orca.tools.github.pull_requests import PullRequest
from orca.tools.repository import GitTool

T = TypeVar("T")

_OWNER: Final = r"[A-Za-z0-9][\w.-]*"
_ADDRESS: Final = r"(?:[a-z+]+://[^/]+/|[^/:]+:)/?(?P<owner>[^/:]+)/[^/:]+/?"
_TRACKED: Final = "refs/remotes/"


class Head(NamedTuple):
    """A branch and its owner; `{owner}` stands for that of the repository, gh knows which."""

    owner: str
    branch: str

    @property
    def label(self) -> str:
        """The name by which GitHub takes it."""
        return f"{self.owner}:{self.branch}"

    @property
    def query(self) -> Quoted:
        """The name for a query, in which gh has to find its place for the owner, and no other."""
        return Quoted(f"{self.owner}%3A{quoted(self.branch)}")

    def of(self, owner: str) -> Head:
        """Return the same with the owner of the repository, where it stands for that one."""
        return self._replace(owner=owner) if self.owner == "{owner}" else self

    def is_of(self, request: PullRequest) -> bool:
        """Return whether the pull request is of this branch; the names of owners know no case."""
        owner, colon, branch = request.head.rpartition(":")
        return branch == self.branch and (not colon or owner.lower() == self.owner.lower())


def named(call: Call, name: str, owner: str) -> Head:
    """Return the branch that a caller names, `BRANCH` or `OWNER:BRANCH`, or stop with `bad-ref-name`."""
    before, colon, branch = name.rpartition(":")
    if colon and re.fullmatch(_OWNER, before) is None:
        raise call.refuse("bad-ref-name", f"{name!r} is neither BRANCH nor OWNER:BRANCH")
    return Head(before or owner, call.checked_branch(branch))


def checked_out(call: Call, owner: str) -> Head:
    """Return the branch that is checked out; its owner is that of the remote it follows, where there are several."""
    git = GitTool(call.root)
    branch = _value(git.current_branch(timeout=_left(call)))
    if branch is None:
        raise call.refuse("detached", "HEAD is on no branch: name the head")
    remotes = _value(git.remotes(timeout=_left(call)))
    if len(remotes) > 1:
        upstreams = [found.upstream for found in _value(git.branches(timeout=_left(call))) if found.name == branch]
        for remote in remotes:
            followed = any(upstream and upstream.startswith(f"{_TRACKED}{remote.name}/") for upstream in upstreams)
            address = re.fullmatch(_ADDRESS, remote.url)
            if followed and address is not None:
                return Head(address["owner"], branch)
    return Head(owner, branch)


def _value(result: Result[T, RuntimeError]) -> T:
    match outcome(result):
        case Success(value):
            return value
        case Failure(error):
            raise Stop(error)


def _left(call: Call) -> float:
    if call.left() <= 0:
        raise call.refuse("timeout", "no time was left to ask git for the branch")
    return call.left()
