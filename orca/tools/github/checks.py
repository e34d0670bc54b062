"""The checks of a commit: check runs and commit statuses as one list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from orca.redaction import Redacted
from orca.tools.github.records import Record

CheckState: TypeAlias = Literal[
    "pending",
    "success",
    "failure",
    "neutral",
    "skipped",
    "cancelled",
    "timed-out",
    "action-required",
    "stale",
    "unknown",
]
CheckKind: TypeAlias = Literal["check-run", "status"]

_PASSING: Final = ("success", "neutral", "skipped")
_CONCLUSIONS: Final[dict[str, CheckState]] = {
    "success": "success",
    "failure": "failure",
    "startup_failure": "failure",
    "neutral": "neutral",
    "skipped": "skipped",
    "cancelled": "cancelled",
    "timed_out": "timed-out",
    "action_required": "action-required",
    "stale": "stale",
}
_STATUSES: Final[dict[str, CheckState]] = {
    "success": "success",
    "failure": "failure",
    "error": "failure",
    "pending": "pending",
}


@dataclass(frozen=True, slots=True, repr=False)
class Check(Redacted):
    """One check of a commit: a check run (of GitHub Actions or another app) or a commit status.

    `state` is `pending` until it is complete, then what it came to; `unknown` for a word that this version does not
    know. `summary` is what it says of itself.
    """

    name: str
    state: CheckState
    kind: CheckKind
    app: str | None
    url: str | None
    summary: str


@dataclass(frozen=True, slots=True, repr=False)
class Checks(Redacted):
    """All checks that were reported for the commit `sha`.

    `running` counts the suites that are not at their end: jobs may follow of which there is no check yet.
    """

    sha: str
    checks: tuple[Check, ...]
    running: int

    @property
    def complete(self) -> bool:
        """Whether nothing is pending; true where there are no checks."""
        return not self.pending and not self.running

    @property
    def passed(self) -> bool:
        """Whether there are checks, all complete, and none of them failed; those that were skipped count as passed."""
        return self.complete and bool(self.checks) and not self.failed

    @property
    def pending(self) -> tuple[Check, ...]:
        """The checks that are not complete."""
        return tuple(check for check in self.checks if check.state == "pending")

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that came to anything but success, neutral or skipped; what is not known is no success."""
        return tuple(check for check in self.checks if check.state not in (*_PASSING, "pending"))


def parse_check_run(found: Record) -> Check:
    """Return the check run that GitHub describes; what is not `completed` is pending, by whatever name."""
    app, output = found.record_or_none("app"), found.record_or_none("output")
    is_complete = found.text("status") == "completed"
    return Check(
        name=found.text("name"),
        state=found.word("conclusion", _CONCLUSIONS, "unknown") if is_complete else "pending",
        kind="check-run",
        app=None if app is None else app.text_or_none("slug"),
        url=found.text_or_none("details_url") or found.text_or_none("html_url"),
        summary=(output and output.text_or_none("title")) or "",
    )


def parse_status(found: Record) -> Check:
    """Return the commit status that GitHub describes, the latest of its context."""
    return Check(
        name=found.text("context"),
        state=found.word("state", _STATUSES, "unknown"),
        kind="status",
        app=None,
        url=found.text_or_none("target_url"),
        summary=found.text_or_none("description") or "",
    )


def is_running(suite: Record) -> bool:
    """Return whether a check suite is at work; one without any run is an app's that never began, and may never."""
    return suite.text("status") != "completed" and suite.number("latest_check_runs_count") > 0
