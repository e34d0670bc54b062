"""The history: a commit as `log` tells of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from orca.redaction import Redacted

_FIELDS: Final = ("%H", "%h", "%P", "%an", "%ae", "%ad", "%cn", "%ce", "%cd", "%s", "%b")
LOG: Final = ("log", "-z", f"--format={''.join(f'{field}%x00' for field in _FIELDS)}", "--date=raw")

_EPOCH: Final = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True, repr=False)
class LogEntry(Redacted):
    """A commit in the history; `body` is the message after its subject.

    A date that is missing, or that no `datetime` can hold, is the first of January 1970, as git shows it.
    """

    sha: str
    short: str
    parents: tuple[str, ...]
    author: str
    author_email: str
    author_date: datetime
    committer: str
    committer_email: str
    committer_date: datetime
    subject: str
    body: str


def parse_log(output: bytes) -> tuple[LogEntry, ...]:
    """Return what `log -z` printed with one NUL-ended field after the other; a message cannot hold a NUL."""
    fields = output.split(b"\0")
    width = len(_FIELDS) + 1  # the record's own end, an empty field
    return tuple(_log_entry(fields[at : at + width]) for at in range(0, len(fields) - width + 1, width))


def _log_entry(fields: Sequence[bytes]) -> LogEntry:
    words = [field.decode("utf-8", "replace") for field in fields]
    return LogEntry(
        sha=words[0],
        short=words[1],
        parents=tuple(words[2].split()),
        author=words[3],
        author_email=words[4],
        author_date=_date(words[5]),
        committer=words[6],
        committer_email=words[7],
        committer_date=_date(words[8]),
        subject=words[9],
        body=words[10].strip("\n"),
    )


def _date(raw: str) -> datetime:
    """The time that git's raw format gives: seconds and a zone, of which a commit can hold any nonsense."""
    seconds, _, zone = raw.partition(" ")
    try:
        ahead = timedelta(hours=int(zone[:3]), minutes=int(zone[:1] + zone[3:]))
        return datetime.fromtimestamp(int(seconds), timezone(ahead))
    except (ValueError, OverflowError, OSError):
        return _without_zone(seconds)


def _without_zone(seconds: str) -> datetime:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return _EPOCH
