"""Reviews of pull requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from orca.redaction import Redacted
from orca.tools.github.calls import Located, checked_number, tagged
from orca.tools.github.records import Record, login

ReviewEvent: TypeAlias = Literal["COMMENT", "APPROVE", "REQUEST_CHANGES"]
ReviewState: TypeAlias = Literal["commented", "approved", "changes-requested", "dismissed", "pending", "unknown"]
Side: TypeAlias = Literal["LEFT", "RIGHT"]

_STATES: Final[dict[str, ReviewState]] = {
    "commented": "commented",
    "approved": "approved",
    "changes_requested": "changes-requested",
    "dismissed": "dismissed",
    "pending": "pending",
}


@dataclass(frozen=True, slots=True, repr=False)
class ReviewComment(Redacted):
    """A remark on a line of the diff, or on those from `start_line` to it; `RIGHT` counts lines of the new file."""

    path: str
    line: int
    body: str
    side: Side = "RIGHT"
    start_line: int | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Review(Redacted):
    """A review: `commit` is the one that it is about, `author` None where the account is gone."""

    id: int
    url: str
    state: ReviewState
    author: str | None
    body: str
    commit: str | None


class ReviewOperations(Located):
    """Reviewing pull requests."""

    @tagged
    def review(
        self,
        number: int,
        body: str,
        comments: Sequence[ReviewComment] = (),
        event: ReviewEvent = "COMMENT",
        *,
        commit: str | None = None,
        timeout: float | None = None,
    ) -> Review:
        """Return the review that was given, whole: the remarks on lines with the text.

        `commit` is the sha that was read, by default the head as it is now. `event` says what the review comes to.

        Fails with `CommandFailed`: `refused` (a line that is not in the diff, one's own pull request approved, nothing
        said), and as `pull_request` does. One that was not answered may have been given: `effect` is `unknown`.

        >>> from orca import gh
        >>> from orca.tools import ReviewComment
        >>> remark = ReviewComment("cart.py", 3, "An empty cart has no total.")
        >>> review = gh().review(12, "One remark.", [remark], "REQUEST_CHANGES")
        """
        if event not in get_args(ReviewEvent):
            raise ValueError(f"event must be one of {', '.join(get_args(ReviewEvent))}, not {event!r}")
        given = {"body": body, "event": event, "comments": [_remark(comment) for comment in comments]}
        about = {} if commit is None else {"commit_id": commit}
        path = f"pulls/{checked_number(number)}/reviews"
        call = self._call(timeout)
        return call.parsed(parse_review, call.send("POST", path, {**given, **about}), "landed")


def parse_review(found: Record) -> Review:
    """Return the review that GitHub describes."""
    return Review(
        id=found.number("id"),
        url=found.text("html_url"),
        state=found.word("state", _STATES, "unknown"),
        author=login(found.record_or_none("user")),
        body=found.text_or_none("body") or "",
        commit=found.text_or_none("commit_id"),
    )


def _remark(comment: ReviewComment) -> dict[str, object]:
    place = {"path": comment.path, "line": comment.line, "side": comment.side, "body": comment.body}
    if comment.start_line is None:
        return place
    return {**place, "start_line": comment.start_line, "start_side": comment.side}
