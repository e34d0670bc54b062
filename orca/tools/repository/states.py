"""What the worktree and the index hold: `status`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from orca.redaction import Redacted
from orca.tools.repository.calls import Located, tagged

STATUS: Final = (
    "status",
    "--porcelain=v2",
    "--branch",
    "-z",
    "--untracked-files=all",
    "--ahead-behind",
    "--find-renames",
)


@dataclass(frozen=True, slots=True, repr=False)
class StatusEntry(Redacted):
    """One path that differs: `index` and `worktree` are git's letters (`.` unchanged, `?` untracked, `U` unmerged).

    `old_path` is where a renamed or copied file was. Paths that are not UTF-8 keep their bytes (`surrogateescape`).
    """

    path: str
    index: str
    worktree: str
    old_path: str | None = None

    @property
    def conflicted(self) -> bool:
        """Whether the path is unmerged."""
        return "U" in (self.index, self.worktree) or self.index + self.worktree in ("AA", "DD")


@dataclass(frozen=True, slots=True, repr=False)
class Status(Redacted):
    """The branch and every path that differs from HEAD or the index.

    `branch` is None when HEAD is detached, `head` when there is no commit yet, `upstream` when none is configured;
    `ahead` and `behind` count commits and are None when there is nothing to count against.
    """

    branch: str | None
    head: str | None
    upstream: str | None
    ahead: int | None
    behind: int | None
    entries: tuple[StatusEntry, ...]

    @property
    def clean(self) -> bool:
        """Whether nothing differs and nothing is untracked."""
        return not self.entries

    @property
    def staged(self) -> tuple[StatusEntry, ...]:
        """The entries whose index differs from HEAD; conflicts are not among them."""
        return tuple(entry for entry in self.entries if entry.index not in ".?" and not entry.conflicted)

    @property
    def unstaged(self) -> tuple[StatusEntry, ...]:
        """The entries whose worktree differs from the index; conflicts and untracked files are not among them."""
        return tuple(entry for entry in self.entries if entry.worktree not in ".?" and not entry.conflicted)

    @property
    def untracked(self) -> tuple[StatusEntry, ...]:
        """The entries that git does not know and does not ignore."""
        return tuple(entry for entry in self.entries if entry.index == "?")

    @property
    def conflicted(self) -> tuple[StatusEntry, ...]:
        """The unmerged entries."""
        return tuple(entry for entry in self.entries if entry.conflicted)


def parse_status(output: bytes) -> Status:
    """Return what `status --porcelain=v2 --branch -z` printed."""
    headers: dict[bytes, bytes] = {}
    entries: list[StatusEntry] = []
    records = iter(output.split(b"\0"))
    for record in records:
        kind = record[:2]
        if kind == b"# ":
            name, _, value = record[2:].partition(b" ")
            headers[name] = value
        elif kind == b"1 ":
            entries.append(_entry(record, record.split(b" ", 8)[8]))
        elif kind == b"2 ":
            entries.append(_entry(record, record.split(b" ", 9)[9], next(records)))
        elif kind == b"u ":
            entries.append(_entry(record, record.split(b" ", 10)[10]))
        elif kind == b"? ":
            entries.append(StatusEntry(os.fsdecode(record[2:]), "?", "?"))
    head, branch = headers.get(b"branch.oid"), headers.get(b"branch.head")
    upstream = headers.get(b"branch.upstream")
    ahead, _, behind = headers.get(b"branch.ab", b"").partition(b" ")
    return Status(
        branch=None if branch in (None, b"(detached)") else os.fsdecode(branch),
        head=None if head in (None, b"(initial)") else head.decode("ascii"),
        upstream=None if upstream is None else os.fsdecode(upstream),
        ahead=int(ahead) if ahead else None,
        behind=-int(behind) if behind else None,
        entries=tuple(entries),
    )


def _entry(record: bytes, path: bytes, old_path: bytes | None = None) -> StatusEntry:
    letters = record[2:4].decode("ascii")
    return StatusEntry(os.fsdecode(path), letters[0], letters[1], None if old_path is None else os.fsdecode(old_path))


class StateOperations(Located):
    """Reading the state of the worktree."""

    @tagged
    def status(self, *, timeout: float | None = None) -> Status:
        """Return the branch and every path that differs, untracked files one by one.

        A read takes no lock, so git cannot write down what it learns about files that were only touched: it looks at
        their content again at each call, until something else refreshes the index.

        Fails with `CommandFailed` (`not-a-repository`, `dubious-ownership`, `bad-cwd`, `timeout`, and what keeps a
        program from starting) and `UnsupportedFeature` (git before 2.36).

        >>> from orca import git
        >>> git().status().unwrap().clean
        True
        """
        return parse_status(self._call(timeout).run(*STATUS, at_top=False).stdout)
