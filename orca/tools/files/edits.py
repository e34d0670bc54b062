"""Text in place of other text, with line ends as they were."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, pairwise, repeat
from typing import Final

from orca.tools.files.failures import Refused

_LINE_END: Final = re.compile(r"\r?\n")
_BARE_LINE_END: Final = re.compile(r"(?<!\r)\n")


def edited(text: str, old: str, new: str, count: int) -> str:
    r"""Return the text with `new` for each of exactly `count` occurrences of `old`, none of which overlap.

    Unless `old` holds a carriage return, a `\n` in it stands for a line end of either kind, and one in `new` becomes
    the line end that it takes the place of; one too many becomes as the last of those, or as the next in the text.

    >>> edited("a\r\nb\r\n", "a\nb", "A\nB\nC", 1)
    'A\r\nB\r\nC\r\n'
    """
    if "\r" in old or "\r\n" not in text:
        return new.join(_between(text, _occurrences(text, old, count), old))
    lines = text.replace("\r\n", "\n")
    ends = _LINE_END.findall(text)
    first, *others = _between(lines, _occurrences(lines, old, count), old)
    done = first.count("\n")
    pieces = [_with_ends(first, iter(ends))]
    for between in others:
        replaced = ends[done : done + old.count("\n")]
        done += len(replaced)
        nearest = replaced[-1] if replaced else ends[min(done, len(ends) - 1)]
        pieces.append(_with_ends(new, chain(replaced, repeat(nearest)), _BARE_LINE_END))
        kept = ends[done : done + between.count("\n")]
        pieces.append(_with_ends(between, iter(kept)))
        done += len(kept)
    return "".join(pieces)


def _occurrences(text: str, old: str, count: int) -> list[int]:
    starts: list[int] = []
    start = text.find(old)
    while start >= 0:
        if len(starts) == count or (starts and start < starts[-1] + len(old)):
            raise Refused(
                "ambiguous", f"the text to replace is there more often than the {count} times that were named"
            )
        starts.append(start)
        start = text.find(old, start + 1)
    if len(starts) < count:
        raise Refused("no-match", f"the text to replace is there {len(starts)} times, not {count}")
    return starts


def _between(text: str, starts: list[int], old: str) -> list[str]:
    """What is before, between and after the occurrences."""
    bounds = [(0, 0), *((start, start + len(old)) for start in starts), (len(text), len(text))]
    return [text[end:start] for (_, end), (start, _) in pairwise(bounds)]


def _with_ends(text: str, ends: Iterator[str], bare: re.Pattern[str] = re.compile("\n")) -> str:
    return bare.sub(lambda _: next(ends), text)
