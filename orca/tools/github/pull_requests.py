"""Pull requests as GitHub describes them, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from orca.redaction import Redacted
from orca.tools.github.records import Record

PullRequestState: TypeAlias = Literal["open", "closed", "merged", "unknown"]
MergeMethod: TypeAlias = Literal["merge", "squash", "rebase"]

_STATES: Final[dict[str, PullRequestState]] = {"open": "open", "closed": "closed"}


@dataclass(frozen=True, slots=True, repr=False)
class PullRequest(Redacted):
    """A pull request: `head` is its branch (`OWNER:BRANCH` in a fork), `head_sha` the commit that stands there.

    `created` says that the call which returned it opened it. `state` is `unknown` where GitHub uses a word that this
    version does not know.
    """

    number: int
    url: str
    title: str
    state: PullRequestState
    base: str
    head: str
    head_sha: str
    created: bool
    draft: bool
    body: str


@dataclass(frozen=True, slots=True, repr=False)
class MergedPullRequest(Redacted):
    """A pull request that is merged: `sha` is the commit on its base, `already` says that it was merged before."""

    number: int
    sha: str
    already: bool


@dataclass(frozen=True, slots=True)
class Mergeability:
    """What GitHub says of a merge: `conflicts` is None while it has not tried yet, `sha` that of a merge done."""

    state: PullRequestState
    draft: bool
    head_sha: str
    conflicts: bool | None
    sha: str | None


def parse_pull_request(found: Record, *, created: bool = False) -> PullRequest:
    """Return the pull request that GitHub describes, in a list or alone."""
    head, base = found.record("head"), found.record("base")
    return PullRequest(
        number=found.number("number"),
        url=found.text("html_url"),
        title=found.text("title"),
        state=_state(found),
        base=base.text("ref"),
        head=head.text("ref") if _repository(head) == _repository(base) else head.text("label"),
        head_sha=head.text("sha"),
        created=created,
        draft=found.flag("draft"),
        body=found.text_or_none("body") or "",
    )


def parse_mergeability(found: Record) -> Mergeability:
    """Return what GitHub says of a merge, of a pull request that it describes alone."""
    return Mergeability(
        state=_state(found),
        draft=found.flag("draft"),
        head_sha=found.record("head").text("sha"),
        conflicts=not found.flag("mergeable") if found.has("mergeable") else None,
        sha=found.text_or_none("merge_commit_sha"),
    )


def _state(found: Record) -> PullRequestState:
    """A merged one GitHub calls closed; only its time says it, in a list too."""
    return "merged" if found.has("merged_at") else found.word("state", _STATES, "unknown")


def _repository(side: Record) -> str | None:
    repository = side.record_or_none("repo")  # None for a fork that was deleted
    return None if repository is None else repository.text("full_name")
