"""What a checkpoint holds, as values, and as the text that is kept with it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from orca.redaction import Redacted


@dataclass(frozen=True, slots=True, repr=False)
class Checkpoint(Redacted):
    """A recorded state: `head` is the commit (None: there was none yet), `branch` the one checked out (None: detached).

    `not_covered` names what is recorded by its commit only or not at all: submodules, nested repositories, and what is
    neither a file nor a link.
    """

    id: str
    label: str
    head: str | None
    branch: str | None
    created: datetime
    not_covered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Meta:
    """What no tree can hold: the refs, permissions that git does not know, empty directories.

    `refs` are the branches that a restore puts back, None for one that was not there; `files` says which other files of
    the git folder there were: the operation in progress.
    """

    checkpoint: Checkpoint
    has_index: bool
    refs: Mapping[str, str | None] = field(default_factory=dict)
    modes: Mapping[str, int] = field(default_factory=dict)
    links: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def dumps(meta: Meta) -> bytes:
    """Return the text that `loads` reads; names that are not UTF-8 keep their bytes."""
    checkpoint = meta.checkpoint
    told: dict[str, Any] = {
        "id": checkpoint.id,
        "label": checkpoint.label,
        "head": checkpoint.head,
        "branch": checkpoint.branch,
        "created": checkpoint.created.isoformat(),
        "not_covered": checkpoint.not_covered,
        "has_index": meta.has_index,
        "refs": dict(meta.refs),
        "modes": dict(meta.modes),
        "links": meta.links,
        "folders": meta.folders,
        "files": meta.files,
    }
    return json.dumps(told).encode("ascii")


def loads(text: bytes) -> Meta:
    """Return what was kept; raises `ValueError` or `KeyError` for what is no such text."""
    told = json.loads(text)
    return Meta(
        checkpoint=Checkpoint(
            id=told["id"],
            label=told["label"],
            head=told["head"],
            branch=told["branch"],
            created=datetime.fromisoformat(told["created"]),
            not_covered=tuple(told["not_covered"]),
        ),
        has_index=told["has_index"],
        refs=told["refs"],
        modes=told["modes"],
        links=tuple(told["links"]),
        folders=tuple(told["folders"]),
        files=tuple(told["files"]),
    )


def worktree_id(git_dir: str, common_dir: str) -> str:
    """Return the part of a ref's name that tells the worktrees of a repository apart."""
    return "main" if os.path.realpath(git_dir) == os.path.realpath(common_dir) else f"tree-{os.path.basename(git_dir)}"
