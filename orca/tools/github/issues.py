"""Issues, and the comments on them and on pull requests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from orca.redaction import Redacted
from orca.tools.github.calls import Call, Located, checked_number, tagged
from orca.tools.github.records import Record, login

IssueState: TypeAlias = Literal["open", "closed", "unknown"]
IssueReason: TypeAlias = Literal["completed", "not-planned", "duplicate", "reopened", "unknown"]

_STATES: Final[dict[str, IssueState]] = {"open": "open", "closed": "closed"}
_REASONS: Final[dict[str, IssueReason]] = {
    "completed": "completed",
    "not_planned": "not-planned",
    "duplicate": "duplicate",
    "reopened": "reopened",
}
_MARKER: Final = r"[A-Za-z0-9](?:[\w.:/ ]|-(?!-))*(?<![- ])"  # what an HTML comment holds without ending
_OURS: Final = "query($ids: [ID!]!) { nodes(ids: $ids) { ... on IssueComment { databaseId viewerDidAuthor } } }"
_ASKED_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True, repr=False)
class Issue(Redacted):
    """An issue, or a pull request looked at as one; `reason` is why it is in its state, where GitHub says.

    Times are as GitHub writes them: ISO 8601 in UTC. `author` is None where the account is gone.
    """

    number: int
    url: str
    title: str
    state: IssueState
    reason: IssueReason | None
    body: str
    author: str | None
    labels: tuple[str, ...]
    assignees: tuple[str, ...]
    is_pull_request: bool
    created_at: str


@dataclass(frozen=True, slots=True, repr=False)
class Comment(Redacted):
    """A comment on an issue or a pull request; `created` says that the call which returned it made it."""

    id: int
    url: str
    author: str | None
    body: str
    created: bool


class IssueOperations(Located):
    """Reading issues and commenting on them."""

    @tagged
    def issue(self, number: int, *, timeout: float | None = None) -> Issue:
        """Return an issue, or a pull request as the issue that it is too.

        Fails as `pull_request` does.

        >>> from orca import gh
        >>> issue = gh().issue(7)
        """
        call = self._call(timeout)
        return call.parsed(parse_issue, call.get(f"issues/{checked_number(number)}"))

    @tagged
    def comment(self, number: int, body: str, *, timeout: float | None = None) -> Comment:
        """Return the new comment on an issue or a pull request.

        Fails with `CommandFailed`: `refused` (an empty or too long text, a locked issue), and as `pull_request` does.
        One that was not answered may have been made: `effect` is `unknown`; `upsert_comment` can be made again.

        >>> from orca import gh
        >>> comment = gh().comment(7, "Looking into it.")
        """
        return _comment(self._call(timeout), checked_number(number), body)

    @tagged
    def upsert_comment(self, number: int, marker: str, body: str, *, timeout: float | None = None) -> Comment:
        """Return this login's comment that begins with a hidden marker, now with this text: changed, or made.

        The marker is a word of your own, one for each kind of report; it stands before the text as an HTML comment,
        which GitHub does not show. Only comments that this login wrote count, the oldest first: nobody else's is
        changed. One that has the text already is left alone. Two processes at once may make two, of which every later
        call changes the first.

        Fails as `comment` does; it can be made again whatever its effect was.

        >>> from orca import gh
        >>> comment = gh().upsert_comment(7, "nightly report", "3 failures")
        """
        if re.fullmatch(_MARKER, marker) is None:
            raise ValueError(f"a marker is a word that can stand in an HTML comment, not {marker!r}")
        call = self._call(timeout)
        first = f"<!-- {marker} -->"
        text = f"{first}\n{body}"
        ours = _ours(call, checked_number(number), first)
        if ours is None:
            return _comment(call, number, text)
        found = call.parsed(parse_comment, ours)
        if found.body.replace("\r\n", "\n") == text:
            return found
        changed = call.send("PATCH", f"issues/comments/{found.id}", {"body": text})
        return call.parsed(parse_comment, changed, "landed")


def parse_issue(found: Record) -> Issue:
    """Return the issue that GitHub describes."""
    reason: IssueReason = found.word("state_reason", _REASONS, "unknown")
    return Issue(
        number=found.number("number"),
        url=found.text("html_url"),
        title=found.text("title"),
        state=found.word("state", _STATES, "unknown"),
        reason=reason if found.has("state_reason") else None,
        body=found.text_or_none("body") or "",
        author=login(found.record_or_none("user")),
        labels=tuple(label.text("name") for label in found.records("labels")),
        assignees=tuple(account.text("login") for account in found.records("assignees")),
        is_pull_request=found.has("pull_request"),
        created_at=found.text("created_at"),
    )


def parse_comment(found: Record, *, created: bool = False) -> Comment:
    """Return the comment that GitHub describes."""
    return Comment(
        id=found.number("id"),
        url=found.text("html_url"),
        author=login(found.record_or_none("user")),
        body=found.text_or_none("body") or "",
        created=created,
    )


def _comment(call: Call, number: int, body: str) -> Comment:
    made = call.send("POST", f"issues/{number}/comments", {"body": body})
    return call.parsed(lambda found: parse_comment(found, created=True), made, "landed")


def _ours(call: Call, number: int, first: str) -> Record | None:
    """The oldest comment with the marker that this login wrote.

    The marker alone is no proof, anybody can write one; and a name is none for a login that may not ask for its own,
    as those of a CI job may not. GitHub says it of each comment, in its other language only.
    """
    marked = [
        found
        for found in call.pages(f"issues/{number}/comments")
        if (call.parsed(lambda comment: comment.text_or_none("body"), found) or "").startswith(first)
    ]
    for at in range(0, len(marked), _ASKED_AT_ONCE):
        asked = marked[at : at + _ASKED_AT_ONCE]
        ids = [call.parsed(lambda comment: comment.text("node_id"), found) for found in asked]
        answers = call.parsed(lambda data: data.records("nodes"), call.graphql(_OURS, ids=ids))
        for found, answer in zip(asked, answers, strict=False):
            if answer.flag("viewerDidAuthor"):
                return found
    return None
