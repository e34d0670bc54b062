"""Merging pull requests."""

from __future__ import annotations

from typing import Final, get_args

from orca import process
from orca.errors import CommandFailed
from orca.tools.github.calls import Call, Located, Stop, checked_number, tagged
from orca.tools.github.pull_requests import Mergeability, MergedPullRequest, MergeMethod, parse_mergeability

_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 4.0
_CHECK_S: Final = 1.5


class MergeOperations(Located):
    """Merging pull requests."""

    @tagged
    def merge_pull_request(
        self, number: int, *, method: MergeMethod, expected_sha: str, timeout: float | None = None
    ) -> MergedPullRequest:
        """Return the merge of a pull request whose head is `expected_sha`, the whole sha: what was checked is merged.

        Where GitHub has yet to find out whether there are conflicts, it is waited for. One that was merged at this
        head before is returned, `already`: a call that ran out of time can be made again. The branch stays.

        Fails with `CommandFailed`: `ref-conflict` (the head, or meanwhile the base, is another commit), `conflict`,
        `refused` (closed, a draft, a check or a review that a rule asks for is missing, a method that is not allowed),
        and as `pull_request` does. After a request that was not answered the pull request is looked at before `effect`
        is set.

        >>> from orca import gh
        >>> merged = gh().merge_pull_request(12, method="squash", expected_sha="4f2a" * 10)
        """
        if method not in get_args(MergeMethod):
            raise ValueError(f"method must be one of {', '.join(get_args(MergeMethod))}, not {method!r}")
        checked_number(number)
        call = self._call(timeout)
        found = _settled(call, number)
        if found.head_sha != expected_sha:
            raise call.refuse("ref-conflict", f"the head of {number} is {found.head_sha}, not {expected_sha}")
        if found.state == "merged" and found.sha is not None:
            return MergedPullRequest(number, found.sha, already=True)
        if found.state != "open" or found.draft:
            raise call.refuse("refused", f"pull request {number} is {'a draft' if found.draft else found.state}")
        if found.conflicts:
            raise call.refuse("conflict", f"pull request {number} has conflicts with its base")
        return _merge(call, number, method, expected_sha)


def _look(call: Call, number: int) -> Mergeability:
    return call.parsed(parse_mergeability, call.get(f"pulls/{number}"))


def _settled(call: Call, number: int) -> Mergeability:
    """The pull request once GitHub has tried the merge, which it begins to do when it is asked."""
    pause = _FIRST_PAUSE_S
    while True:
        found = _look(call, number)
        if found.state != "open" or found.conflicts is not None:
            return found
        if call.left() <= pause:
            raise call.refuse("timeout", f"GitHub has not yet found out whether {number} can be merged")
        if process.pause(pause) is not None:
            raise call.refuse("cancelled", "everything is being stopped")
        pause = min(2 * pause, _LONGEST_PAUSE_S)


def _merge(call: Call, number: int, method: MergeMethod, sha: str) -> MergedPullRequest:
    try:
        merged = call.send("PUT", f"pulls/{number}/merge", {"merge_method": method, "sha": sha})
        return MergedPullRequest(number, call.parsed(lambda found: found.text("sha"), merged, "landed"), already=False)
    except Stop as stop:
        error = stop.error
    assert isinstance(error, CommandFailed)
    if error.effect == "none":
        raise Stop(error)
    call.extended(_CHECK_S)
    try:
        found = _look(call, number)
    except Stop:
        raise Stop(error) from None
    if found.state != "merged" or found.head_sha != sha or found.sha is None:
        raise Stop(error)
    if error.cause in ("timeout", "cancelled"):
        raise call.amended(error, f"pull request {number} is merged: {found.sha}", effect="landed")
    return MergedPullRequest(number, found.sha, already=False)
