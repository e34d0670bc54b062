"""What the files tool returns: plain values about files."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import Literal, TypeAlias

from orca.redaction import Redacted

Kind: TypeAlias = Literal["file", "directory", "symlink", "other"]

_KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}


@dataclass(frozen=True, slots=True, repr=False)
class FileInfo(Redacted):
    """A file, directory or link: `size` in bytes, `mode` the permission bits, `modified_ns` nanoseconds since 1970.

    `path` is relative to the root of the tool; one that is not UTF-8 keeps its bytes (`surrogateescape`).
    """

    path: str
    kind: Kind
    size: int
    mode: int
    modified_ns: int


@dataclass(frozen=True, slots=True, repr=False)
class WrittenFile(Redacted):
    """A file, or a copied directory, that is on the disk now: `size` in bytes; `created`: nothing was there before."""

    path: str
    size: int
    created: bool


@dataclass(frozen=True, slots=True, repr=False)
class MovedFile(Redacted):
    """A file or directory that has moved from `old_path` to `path`; `created`: nothing was there before."""

    path: str
    old_path: str
    created: bool


@dataclass(frozen=True, slots=True, repr=False)
class RemovedFile(Redacted):
    """A file or directory that is gone; `entries` counts what went, itself and all that it held."""

    path: str
    entries: int


def file_info(path: str, state: os.stat_result) -> FileInfo:
    """Return what the state of a file says."""
    kind = _KINDS.get(stat.S_IFMT(state.st_mode), "other")
    return FileInfo(path, kind, state.st_size, stat.S_IMODE(state.st_mode), state.st_mtime_ns)
