"""Opening, finding and updating pull requests."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Final

from orca.errors import CommandFailed
from orca.tools.github.calls import Call, Located, Stop, checked_number, tagged
from orca.tools.github.heads import Head, checked_out, named
from orca.tools.github.pull_requests import PullRequest, parse_pull_request

_CHECK_S: Final = 1.5
_NOT_PUSHED: Final = "is it pushed? A branch of a fork is named OWNER:BRANCH"


class PullRequestOperations(Located):
    """Opening, finding and updating pull requests."""

    @tagged
    def create_pull_request(
        self,
        title: str,
        body: str,
        *,
        base: str | None = None,
        head: str | None = None,
        draft: bool = False,
        labels: Collection[str] = (),
        reviewers: Collection[str] = (),
        timeout: float | None = None,
    ) -> PullRequest:
        """Return the pull request of a branch: the open one that there is, as it is, else a new one (`created`).

        `head` is the pushed branch, by default the one that is checked out; `OWNER:BRANCH` names one of a fork, and a
        checked-out branch whose upstream is in a fork is taken from there. `base` is by default the repository's
        default branch; where it is given, only a pull request into it counts as the branch's own. Labels and
        reviewers (`ORG/TEAM` for a team) are added to either, after it is there. Two processes at once get the same
        one. `timeout` is seconds, default the tool's.

        Fails with `CommandFailed`: `detached` (no branch to take), `unknown-ref` (head or base is not on GitHub: push
        it first), `refused` (GitHub will not have it: nothing to merge, head is base, no such reviewer),
        `bad-ref-name`, what `pull_request` fails with, and what finding the branch does (as `GitTool.status`). A
        request that was not answered is looked for before `effect` is set: a pull request that is there is returned,
        or named by the failure (`landed`) where time ran out. Where only labels or reviewers failed, `effect` is
        `landed` too and the failure's text names the number.

        >>> from orca import gh
        >>> request = gh().create_pull_request("Total", "Sums the cart.", labels=["bot"])
        """
        call = self._call(timeout)
        if base is not None:
            call.checked_branch(base)
        wanted = None if head is None else named(call, head, call.owner)
        repository = call.get()
        owner = call.parsed(lambda found: found.record("owner").text("login"), repository)
        into = call.parsed(lambda found: found.text("default_branch"), repository) if base is None else base
        wanted = checked_out(call, owner) if wanted is None else wanted.of(owner)
        if wanted == Head(owner, into):
            raise call.refuse("refused", f"{into!r} is the base: it cannot be merged into itself")
        request = _find(call, wanted, "open", base)
        if request is None:
            request = _create(call, wanted, into, {"title": title, "body": body, "draft": draft})
        return _add(call, request, labels, reviewers)

    @tagged
    def pull_request(self, which: int | str, *, timeout: float | None = None) -> PullRequest:
        """Return a pull request by its number, or by its branch: the open one, else the latest.

        A branch is one of this repository, or `OWNER:BRANCH` of a fork; what is a text is a branch, digits too.

        Fails with `CommandFailed`: `unknown-ref` (there is none, or this login may not see it), `bad-ref-name`,
        `auth` (no login, or one that may not), `rate-limit`, `network` (also GitHub's own failures), `timeout`,
        `not-found` (no `gh`, or no git), `not-a-repository`, `unknown-remote` (no remote is on GitHub, or the
        repository is not there), `other` (an answer that cannot be read), and what keeps a program from starting.
        `timeout` is seconds, default the tool's.

        >>> from orca import gh
        >>> request = gh().pull_request("fix/total")
        """
        if not isinstance(which, str):
            checked_number(which)
        call = self._call(timeout)
        if not isinstance(which, str):
            return call.parsed(parse_pull_request, call.get(f"pulls/{which}"))
        head = named(call, which, call.owner)
        found = _find(call, head, "open", None) or _find(call, head, "closed", None)
        if found is None:
            raise call.refuse("unknown-ref", f"there is no pull request of the branch {which!r}")
        return found

    @tagged
    def update_pull_request(
        self,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
        base: str | None = None,
        timeout: float | None = None,
    ) -> PullRequest:
        """Return the pull request with a new title, body or base; what is None stays as it is.

        Fails as `pull_request` does, and with `CommandFailed`: `refused` (an empty title, say), `unknown-ref` (no such
        base).

        >>> from orca import gh
        >>> request = gh().update_pull_request(12, title="Total of a cart")
        """
        call = self._call(timeout)
        if base is not None:
            call.checked_branch(base)
        given = {"title": title, "body": body, "base": base}
        changes = {name: value for name, value in given.items() if value is not None}
        if not changes:
            raise ValueError("nothing to update: give a title, a body or a base")
        updated = call.send("PATCH", f"pulls/{checked_number(number)}", changes)
        return call.parsed(parse_pull_request, updated, "landed")


def _find(call: Call, head: Head, state: str, base: str | None) -> PullRequest | None:
    """The latest pull request of a branch: what is listed is looked at, a filter that GitHub cannot read it ignores."""
    into = {} if base is None else {"base": base}
    for found in call.pages("pulls", state=state, head=head.query, **into, sort="created", direction="desc"):
        request = call.parsed(parse_pull_request, found)
        if head.is_of(request) and base in (None, request.base):
            return request
    return None


def _create(call: Call, head: Head, base: str, texts: dict[str, object]) -> PullRequest:
    try:
        made = call.send("POST", "pulls", {**texts, "head": head.label, "base": base})
        return call.parsed(partial(parse_pull_request, created=True), made, "landed")
    except Stop as stop:
        error = stop.error
    assert isinstance(error, CommandFailed)
    if error.cause == "unknown-ref":
        raise call.amended(error, _NOT_PUSHED)
    was_faster = error.cause == "refused" and "already exists" in error.stderr
    if not was_faster and error.effect == "none":
        raise Stop(error)
    found = _look_again(call, head, base)
    if found is None:
        raise Stop(error)
    if error.cause in ("timeout", "cancelled"):
        raise call.amended(error, _there(found), effect="landed")
    return found if was_faster else replace(found, created=True)


def _look_again(call: Call, head: Head, base: str) -> PullRequest | None:
    """What is there after a request of which nobody knows what it did; None where GitHub does not say that either."""
    call.extended(_CHECK_S)
    try:
        return _find(call, head, "open", base)
    except Stop:
        return None


def _add(call: Call, request: PullRequest, labels: Collection[str], reviewers: Collection[str]) -> PullRequest:
    """What is beside the pull request itself; from now on it is there whatever fails."""
    if request.created:
        call.landed = _there(request)
    if labels:
        call.request("POST", call.url(f"issues/{request.number}/labels"), {"labels": list(labels)})
    if reviewers:
        teams = [name.partition("/")[2] for name in reviewers if "/" in name]
        people = [name for name in reviewers if "/" not in name]
        asked = {"reviewers": people, "team_reviewers": teams}
        call.request("POST", call.url(f"pulls/{request.number}/requested_reviewers"), asked)
    return request


def _there(request: PullRequest) -> str:
    return f"pull request {request.number} is there: {request.url}"
