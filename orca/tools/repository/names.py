"""Names and paths that a caller gives to git: checked before git could take one for an option or a place outside."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Final

from orca.process import StrPath

_BAD_IN_REF: Final = r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)"
_TOP: Final = ":(top)"
_LITERAL: Final = ":(top,literal)"
_HELPER_URL: Final = r"^[A-Za-z0-9+.-]*::"


class Pathspec(str):
    """A pattern in git's own pathspec language, where a plain string would name one literal path.

    >>> from orca.tools import Pathspec
    >>> Pathspec("*.py")
    Pathspec('*.py')
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Pathspec({super().__repr__()})"


class Refused(Exception):
    """A value that must not reach git; the cause is `refused` unless it is a ref's name."""


def is_branch_name(name: str) -> bool:
    """Return whether git allows the name for a branch (the rules of git-check-ref-format)."""
    return (
        _can_be_passed(name)
        and name not in ("@", "HEAD")
        and not name.startswith(("-", "/", "."))
        and not name.endswith(("/", "."))
        and re.search(_BAD_IN_REF, name) is None
    )


def is_revision(rev: str) -> bool:
    """Return whether the text can be handed to git as a revision without being taken for an option or an exclusion."""
    return _can_be_passed(rev) and not rev.startswith(("-", "^")) and "\n" not in rev


def is_remote(remote: str) -> bool:
    """Return whether the text can name a remote or be an address that starts no helper program of its own."""
    return (
        bool(remote)
        and not remote.startswith("-")
        and not any(c in remote for c in "\x00\n")
        and not (re.match(_HELPER_URL, remote))
    )


def pathspecs(paths: Iterable[StrPath], top: str) -> list[str]:
    """Return git pathspecs for paths relative to `top` (or absolute and inside it); each literal unless a `Pathspec`.

    Raises `Refused` for a path outside the worktree, or inside a git folder.
    """
    return [_text(path) if isinstance(path, Pathspec) else _literal(relative(path, top)) for path in paths]


def literal_path(spec: str) -> str | None:
    """Return the path that a literal pathspec names, `""` for the top; None for a pattern."""
    if spec == _TOP:
        return ""
    return spec.removeprefix(_LITERAL) if spec.startswith(_LITERAL) and not isinstance(spec, Pathspec) else None


def _literal(path: str) -> str:
    return f"{_LITERAL}{path}" if path else _TOP


def relative(path: StrPath, top: str) -> str:
    """Return the path relative to `top`, without `.` and `..`; raises `Refused` where it leads out or into `.git`."""
    text = _text(os.fsdecode(path))
    if os.path.isabs(text):
        parent, name = os.path.split(text)
        text = os.path.relpath(os.path.join(os.path.realpath(parent), name), top)
    normal = os.path.normpath(text)
    if normal == ".." or normal.startswith("../"):
        raise Refused(f"{text!r} is outside the worktree")
    if ".git" in normal.lower().split("/"):  # git would stage nothing, and say nothing
        raise Refused(f"{text!r} is inside a git folder")
    return "" if normal == "." else normal


def _text(path: str) -> str:
    if not _can_be_passed(path):
        raise Refused(f"{path!r} is not a path")
    return path


def _can_be_passed(text: str) -> bool:
    """Whether the text can be handed to a program, and says something."""
    try:
        return bool(text) and b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        return False
