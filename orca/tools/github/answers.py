"""What `gh api --include` printed, taken apart: a status, headers and a body."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_STATUS_LINE: Final = rb"HTTP/[\d.]+ (\d{3})[^\n]*\n"
_NEXT_PAGE: Final = r'<[^>]*>;\s*rel="next"'
_SEPARATOR: Final = b"\r\n\r\n"


class Unreadable(ValueError):
    """An answer that is not what GitHub says it would be."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of GitHub's; the names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        """The body's JSON; raises `Unreadable` where it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise Unreadable("the answer is not JSON") from None

    @property
    def has_next_page(self) -> bool:
        """Whether GitHub has more of the list."""
        return re.search(_NEXT_PAGE, self.headers.get("link", "")) is not None

    @property
    def words(self) -> str:
        """What GitHub says for people: its message and those of its errors, one a line; empty where there is none."""
        try:
            data = self.data
        except Unreadable:
            return ""
        if not isinstance(data, dict):
            return ""
        said = [data.get("message"), *map(_message, _list(data.get("errors")))]
        return "\n".join(text for text in said if isinstance(text, str) and text)


def parse_answer(output: bytes) -> Answer | None:
    """Return the answer that the output holds; None where it holds none.

    The status line ends with a line feed alone, each header with both characters, and an empty line follows them.
    """
    first = re.match(_STATUS_LINE, output)
    if first is None:
        return None
    rest = output[first.end() :]
    if rest.startswith(b"\r\n"):
        return Answer(int(first[1]), {}, rest[2:])
    head, separator, body = rest.partition(_SEPARATOR)
    if not separator:
        return None
    pairs = (line.decode("utf-8", "replace").partition(":") for line in head.split(b"\r\n"))
    return Answer(int(first[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}, body)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _message(error: object) -> object:
    """An error's own message, else which field of what is wrong and how."""
    if not isinstance(error, dict) or error.get("message"):
        return error.get("message") if isinstance(error, dict) else error
    return " ".join(str(error[name]) for name in ("resource", "field", "code") if error.get(name))
