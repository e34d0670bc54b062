"""What a commit or a diff changes, file by file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from orca.redaction import Redacted

ChangeKind: TypeAlias = Literal["added", "copied", "deleted", "modified", "renamed", "type-changed", "unmerged"]

# Both formats in one run of git; `-m --first-parent`, or a merge would show no file at all.
FORMAT: Final = ("--raw", "--numstat", "-z", "-M", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none")

_KINDS: Final[dict[bytes, ChangeKind]] = {
    b"A": "added",
    b"C": "copied",
    b"D": "deleted",
    b"M": "modified",
    b"R": "renamed",
    b"T": "type-changed",
    b"U": "unmerged",
}


@dataclass(frozen=True, slots=True, repr=False)
class FileChange(Redacted):
    """One changed file; `insertions` and `deletions` are lines, None for a binary file.

    `old_path` is where a renamed or copied file was. Paths that are not UTF-8 keep their bytes (`surrogateescape`).
    """

    path: str
    old_path: str | None
    kind: ChangeKind
    insertions: int | None
    deletions: int | None
    binary: bool


def parse_changes(output: bytes) -> tuple[FileChange, ...]:
    """Return what `--raw --numstat -z` printed: first a record for each file, then its line counts, in one order."""
    fields = iter(output.split(b"\0"))
    kinds: dict[bytes, tuple[ChangeKind, bytes | None]] = {}
    changes: list[FileChange] = []
    for field in fields:
        if field.startswith(b":"):
            letter = field.rsplit(b" ", 1)[1][:1]
            old_path = next(fields) if letter in b"RC" else None
            kinds[next(fields)] = (_KINDS.get(letter, "modified"), old_path)
        elif field.count(b"\t") >= 2:
            insertions, deletions, path = field.split(b"\t", 2)
            if not path:  # a rename: both names follow
                next(fields)
                path = next(fields)
            kind, old_path = kinds.get(path, ("modified", None))
            binary = insertions == b"-"
            changes.append(
                FileChange(
                    path=os.fsdecode(path),
                    old_path=None if old_path is None else os.fsdecode(old_path),
                    kind=kind,
                    insertions=None if binary else int(insertions),
                    deletions=None if binary else int(deletions),
                    binary=binary,
                )
            )
    return tuple(changes)


@dataclass(frozen=True, slots=True, repr=False)
class Commit(Redacted):
    """A commit that was made: its files and line counts are against its first parent.

    `branch` is None when HEAD is detached; `insertions` and `deletions` count lines of text files.
    """

    sha: str
    short: str
    branch: str | None
    subject: str
    files: tuple[FileChange, ...]
    insertions: int
    deletions: int


def parse_commit(output: bytes, branch: str | None) -> Commit:
    """Return what `log -1 -z --format=%H%x00%h%x00%s%x00 --raw --numstat` printed."""
    sha, short, subject, changes = output.split(b"\0", 3)
    files = parse_changes(changes.lstrip(b"\0\n"))
    return Commit(
        sha=sha.decode("ascii"),
        short=short.decode("ascii"),
        branch=branch,
        subject=subject.decode("utf-8", "replace"),
        files=files,
        insertions=sum(file.insertions or 0 for file in files),
        deletions=sum(file.deletions or 0 for file in files),
    )
