"""What `push --porcelain` says: the refs that a remote took, and those that it refused."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final

from orca.errors import PushCause, RefRejection
from orca.redaction import Redacted
from orca.tools.repository.refs import RefUpdate, UpdateKind

_LINE: Final = rb"(?s)([ +\-*!=])\t([^\t]*):([^\t]+)\t(.*)"
_SHAS: Final = r"([0-9a-f]{4,64})\.{2,3}([0-9a-f]{4,64})"
_REJECTION: Final = r"(?s)\[(?:remote )?rejected\](?: \((.*)\))?"
_KINDS: Final[dict[str, UpdateKind]] = {
    " ": "updated",
    "+": "forced",
    "-": "deleted",
    "*": "created",
    "=": "unchanged",
}
_CAUSES: Final[tuple[tuple[str, PushCause], ...]] = (
    ("fetch first", "fetch-first"),
    ("non-fast-forward", "non-fast-forward"),
    ("stale info", "stale-lease"),
    ("remote ref updated since checkout", "stale-lease"),
    ("already exists", "already-exists"),
    ("protected branch hook declined", "protected"),
    ("repository rule violations", "protected"),
    ("hook declined", "hook-declined"),
    ("atomic", "atomic"),
    ("currently checked out", "checked-out"),
    ("deletion prohibited", "deletion-denied"),
    ("deletion of the current branch prohibited", "deletion-denied"),
    ("shallow update not allowed", "shallow"),
)


@dataclass(frozen=True, slots=True, repr=False)
class Push(Redacted):
    """What a push did: each ref with its sha before and after, whether a rebase was needed, and the sha pushed."""

    remote: str
    refs: tuple[RefUpdate, ...]
    rebased: bool
    head: str


@dataclass(frozen=True, slots=True)
class PushReport:
    """What `push --porcelain` printed: refs that the remote took, refs that it refused."""

    updates: tuple[RefUpdate, ...]
    rejections: tuple[RefRejection, ...]


def parse_push(output: bytes) -> PushReport:
    """Return what `push --porcelain` printed with full shas (`core.abbrev=no`).

    Lines that are not of a ref are skipped. A ref whose fate the remote did not report is in neither list.
    """
    updates: list[RefUpdate] = []
    rejections: list[RefRejection] = []
    for line in output.split(b"\n"):
        match = re.fullmatch(_LINE, line)
        if match is None:
            continue
        flag, local, remote, summary = (os.fsdecode(group) for group in match.groups())
        if flag != "!":
            shas = re.match(_SHAS, summary)
            old, new = (shas[1], shas[2]) if shas else (None, None)
            updates.append(RefUpdate(local, remote, old, new, _KINDS[flag]))
        elif rejected := re.fullmatch(_REJECTION, summary):
            reason = rejected[1] or ""
            rejections.append(RefRejection(local=local, remote=remote, cause=rejection_cause(reason), message=reason))
    return PushReport(tuple(updates), tuple(rejections))


def rejection_cause(reason: str) -> PushCause:
    """Return the cause for the reason that git gives in brackets."""
    for words, cause in _CAUSES:
        if words in reason:
            return cause
    return "other"
