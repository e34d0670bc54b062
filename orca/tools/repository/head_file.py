"""HEAD as its files give it: where they do, a commit costs one git less."""

from __future__ import annotations

import os
import re
from typing import Final

_ON_A_BRANCH: Final = b"ref: refs/heads/"
_SHA: Final = rb"[0-9a-f]{40}(?:[0-9a-f]{24})?\n?"


def loose_head(git_dir: str, common_dir: str) -> tuple[str, str] | None:
    """Return the commit and the branch of HEAD, read as gitrepository-layout describes them.

    None where git must be asked: a detached HEAD, a branch without a commit or in packed refs, another ref storage.
    """
    try:
        head = _read(os.path.join(os.fsencode(git_dir), b"HEAD"))
        if not head.startswith(_ON_A_BRANCH):
            return None
        branch = head.removeprefix(_ON_A_BRANCH).removesuffix(b"\n")
        sha = _read(os.path.join(os.fsencode(common_dir), b"refs/heads", branch))
    except (OSError, ValueError):
        return None
    return (sha.decode("ascii").strip(), os.fsdecode(branch)) if re.fullmatch(_SHA, sha) else None


def _read(path: bytes) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a FIFO of that name must not block
    try:
        return os.read(fd, 4096)
    finally:
        os.close(fd)
