"""What git says of branches, remotes and their refs, as values."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from orca.redaction import Redacted

UpdateKind: TypeAlias = Literal["created", "updated", "forced", "deleted", "unchanged"]


@dataclass(frozen=True, slots=True, repr=False)
class Branch(Redacted):
    """A local branch: `upstream` is a full ref, `worktree` where it is checked out, `sha` None before any commit."""

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


@dataclass(frozen=True, slots=True, repr=False)
class Remote(Redacted):
    """A configured remote and its addresses, as git uses them (`insteadOf` applied); `repr` hides what they hold."""

    name: str
    url: str
    push_url: str


@dataclass(frozen=True, slots=True, repr=False)
class RefUpdate(Redacted):
    """A ref that was brought up to date: full names on both sides, and its sha before and after (None: no ref)."""

    local: str
    remote: str
    old: str | None
    new: str | None
    kind: UpdateKind


def parse_refs(output: bytes) -> dict[str, str]:
    """Return name -> sha of what `ls-remote` printed."""
    pairs = (line.partition("\t") for line in os.fsdecode(output).split("\n") if line)
    return {name: sha for sha, _, name in pairs}


def parse_local_refs(output: bytes) -> dict[str, str]:
    """Return name -> sha of what `for-each-ref` printed as `sha name symref`; refs that stand for others left out."""
    rows = (line.split(" ") for line in os.fsdecode(output).split("\n") if line)
    return {name: sha for sha, name, stands_for in rows if not stands_for}


def parse_symref(output: bytes) -> str | None:
    """Return the branch that `ls-remote --symref <remote> HEAD` names, if it names one."""
    for line in os.fsdecode(output).split("\n"):
        if line.startswith("ref: refs/heads/") and line.endswith("\tHEAD"):
            return line.removeprefix("ref: refs/heads/").removesuffix("\tHEAD")
    return None


def updates(
    before: dict[str, str], after: dict[str, str], refspecs: Sequence[tuple[str, str]]
) -> tuple[RefUpdate, ...]:
    """Return what a fetch changed between two states of the local refs, by name; what it does not write is left out."""
    changed = ((name, fetched_as(name, refspecs)) for name in sorted({*before, *after}))
    return tuple(
        RefUpdate(
            local=name,
            remote=source,
            old=before.get(name),
            new=after.get(name),
            kind="created" if name not in before else "deleted" if name not in after else "updated",
        )
        for name, source in changed
        if source is not None and before.get(name) != after.get(name)
    )


def fetched_as(local: str, refspecs: Sequence[tuple[str, str]]) -> str | None:
    """Return the remote's ref that a fetch writes to a local one; None where it writes none."""
    for source, pattern in refspecs:
        start, star, end = pattern.partition("*")
        if not star and local == pattern:
            return source
        if star and local.startswith(start) and local.endswith(end) and len(local) > len(start + end):
            return source.replace("*", local[len(start) : len(local) - len(end)])
    return local if local.startswith("refs/tags/") else None


@dataclass(frozen=True, slots=True, repr=False)
class Pull(Redacted):
    """HEAD before and after a pull; they are the same where there was nothing to bring in."""

    old: str | None
    new: str


@dataclass(frozen=True, slots=True, repr=False)
class Merge(Redacted):
    """HEAD after a merge; `fast_forward` where no merge commit was made: the branch was moved forward, or stayed."""

    sha: str
    fast_forward: bool


@dataclass(frozen=True, slots=True, repr=False)
class Rebase(Redacted):
    """HEAD before and after a rebase; they are the same where there was nothing to do."""

    old: str
    new: str
