"""Glob patterns over relative paths, in the sense of `.gitignore` without its negation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase


def matcher(pattern: str) -> Callable[[Sequence[str]], bool]:
    """Return whether a path, given as its parts, matches.

    Without a `/` the pattern is for the name alone. With one it is for the whole path, and `**` as a part stands for
    any number of directories. `*`, `?` and `[…]` stay within a part; case counts; a leading dot is nothing special.

    >>> [matcher(pattern)(["src", "a.py"]) for pattern in ("*.py", "src/*", "**/a.py", "/*.py")]
    [True, True, True, False]
    """
    wanted = [part for part in pattern.split("/") if part and part != "."]
    if "/" not in pattern:
        wanted = ["**", *wanted]

    def matches(parts: Sequence[str]) -> bool:
        reached = _past_any_depth({0}, wanted)
        for part in parts:
            stay = {at for at in reached if at < len(wanted) and wanted[at] == "**"}
            on = {at + 1 for at in reached - stay if at < len(wanted) and fnmatchcase(part, wanted[at])}
            reached = _past_any_depth(stay | on, wanted)
        return len(wanted) in reached

    return matches


def _past_any_depth(reached: set[int], wanted: Sequence[str]) -> set[int]:
    """With the places that are reached by letting `**` stand for nothing."""
    for at, part in enumerate(wanted):
        if at in reached and part == "**":
            reached.add(at + 1)
    return reached
