"""What git says of the worktrees of a repository, as values."""

from __future__ import annotations

import os
from dataclasses import dataclass

from orca.redaction import Redacted


@dataclass(frozen=True, slots=True, repr=False)
class Worktree(Redacted):
    """A worktree: its absolute path, the commit it is at, and its branch (None: detached, or bare).

    `is_main` is the one that came with the repository. `locked` and `prunable` are git's reasons, an empty text where
    it gives none: a locked one is not removed, a prunable one has lost its folder. `replaced` is the sha that the
    branch had before it was reset for this worktree: `create_branch(name, sha)` brings it back.
    """

    path: str
    head: str | None
    branch: str | None
    is_main: bool = False
    locked: str | None = None
    prunable: str | None = None
    replaced: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class RemovedWorktree(Redacted):
    """A worktree that was removed, the branch that it had (it stays) and the commit that it was at.

    `checkpoint` is the commit that holds what a forced removal took away, under `worktree/`: `git restore
    --source=<checkpoint>:worktree .` in another worktree brings the files back. None where nothing was lost.
    """

    path: str
    branch: str | None
    head: str | None
    checkpoint: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class WorktreeEnd(Redacted):
    """What became of a worktree at the end of its `with` block; `why` says in one sentence why it was kept."""

    path: str
    branch: str
    removed: bool
    why: str | None = None


def parse_worktrees(output: bytes) -> tuple[Worktree, ...]:
    """Return what `worktree list --porcelain -z` printed: the main one first."""
    found: list[Worktree] = []
    for record in os.fsdecode(output).split("\0\0"):
        lines = [line.partition(" ") for line in record.split("\0") if line]
        told = {name: value for name, _, value in lines}
        if "worktree" in told:
            has_commit = told.get("HEAD", "").strip("0") != ""
            found.append(
                Worktree(
                    path=told["worktree"],
                    head=told["HEAD"] if has_commit else None,
                    branch=told["branch"].removeprefix("refs/heads/") if "branch" in told else None,
                    is_main=not found,
                    locked=told.get("locked"),
                    prunable=told.get("prunable"),
                )
            )
    return tuple(found)
