r"""Secrets out of whatever leaves: text that orca itself shows, stores or sends.

A net by known values and by known shapes, not a proof: a secret that has neither passes.

By value: variables of this process (and of the child, as `env`) whose name's last word says secret, unless the value
is short, a plain word, a number or a path; of a value with several lines also each long line; of a JSON value the
members with such names; and whatever `add` was given. Each as it is, percent-encoded and escaped.

By shape: userinfo and secret parameters of URLs, `Authorization`, `Cookie` and `extraHeader`, tokens with known
prefixes, JSON Web Tokens, PEM private keys (whole or cut), and values of eight characters or more, with a letter and
a digit, that stand where prose and code have none: `API_TOKEN=…` in capitals, `--token=…`, `"token": "…"`,
`X-Auth-Token: …`. `password = …` and `token: …` are left alone: that is how code and prose read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

from orca.redaction.shapes import by_shape, is_secret_member, names_secret
from orca.redaction.values import MASK, add, by_value, known_values

__all__ = ["MASK", "Redacted", "add", "redact", "redact_deep", "redact_text", "trim_cut"]

_CUT: Final = 4096
_DEEPEST: Final = 100  # what writes and reads JSON recurses
_LARGEST: Final = 1 << 4096  # Python refuses to print an integer of more than 4300 digits
_NOT_FINITE: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def redact(text: str, env: Mapping[str, str] | None = None) -> str:
    """Return `text` with every secret that a known value or a shape gives away replaced by `***`.

    `env` is the environment of the child that wrote the text; this process's own counts always. Redacting twice is
    redacting once, and the time grows with the length of the text alone. Never raises.

    >>> redact("fatal: unable to access 'https://user:pa55word@example.com/r.git/': 403")
    "fatal: unable to access 'https://***@example.com/r.git/': 403"
    >>> redact("hello s3cr3t-value", {"DB_PASSWORD": "s3cr3t-value"})
    'hello ***'
    """
    return by_shape(by_value(text, known_values(env)))


def redact_text(value: object, env: Mapping[str, str] | None = None) -> str:
    r"""Return any value as redacted text that UTF-8 can hold: a lone surrogate becomes its backslash escape.

    Bytes are decoded as UTF-8, what is not becomes a backslash escape; all else is shown by `str`. Never raises.

    >>> redact_text(b"caf\xe9")
    'caf\\xe9'
    """
    return _clean(_shown(value, str), known_values(env))


def redact_deep(value: object, env: Mapping[str, str] | None = None) -> Any:
    """Return a copy of `value` that JSON can hold, with every string in it redacted, keys too.

    Tuples and sets become lists, dataclasses dicts, bytes text, numbers that JSON lacks strings, and any other object
    its redacted `repr`; so does what lies deeper than a hundred levels. Of keys that become equal the last one stays.
    A string, or a list of them, that stands under a name that says secret (`token`, `Authorization`) is masked if it
    looks like one. Never raises.

    >>> redact_deep({"url": "https://user:pa55word@example.com", 1: (None, float("nan"))})
    {'url': 'https://***@example.com', '1': [None, 'NaN']}
    """
    return _Copy(known_values(env)).of(value)


def trim_cut(head: bytes, tail: bytes) -> tuple[bytes, bytes]:
    r"""Return both sides of a cut without what could be half a secret, which no rule would know.

    The head loses what follows its last line break, the tail what goes before the end of its first one; where there
    is none within 4 KiB of the cut, 4 KiB.

    >>> trim_cut(b"one\ntoken gh", b"p_12345\nlast")
    (b'one\n', b'last')
    """
    earliest = max(len(head) - _CUT, 0)
    head_end = head.rfind(b"\n", earliest) + 1 or earliest
    tail_start = tail.find(b"\n", 0, _CUT) + 1 or _CUT
    return head[:head_end], tail[tail_start:]


class Redacted:
    """Mix-in for results: `repr` shows the fields, redacted; the fields themselves are the caller's data.

    For classes declared with `@dataclass(frozen=True, slots=True, repr=False)`; `field(repr=False)` is honoured.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        shown = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr)  # type: ignore[arg-type]
        return redact(f"{type(self).__qualname__}({', '.join(shown)})")


def _shown(value: object, show: Callable[[object], str]) -> str:
    try:
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value).decode("utf-8", "backslashreplace")
        return str.__str__(show(value))
    except Exception:  # noqa: BLE001 - an object that cannot be shown must not hide the failure that mentions it
        return f"<{type(value).__name__}>"


def _clean(text: str, needles: tuple[str, ...]) -> str:
    text = by_shape(by_value(text, needles))
    try:
        text.encode()
    except UnicodeEncodeError:
        return by_shape(by_value(text.encode("utf-8", "backslashreplace").decode(), needles))
    return text


class _Copy:
    """One pass over a value. What is shared is copied once, and a cycle ends where it began."""

    def __init__(self, needles: tuple[str, ...]) -> None:
        self._needles = needles
        # The object too: while it lives, no other has its id.
        self._copies: dict[tuple[int, str], tuple[object, Any]] = {}

    def of(self, value: object, depth: int = 0, name: str = "") -> Any:
        """Return the copy of `value`; `name` is the key of the mapping that holds it, if that may name a secret."""
        try:
            copy = self._fitted(value, depth, name)
        except Exception:  # noqa: BLE001 - as in _shown: any object may come, and any of its methods may fail
            copy = f"<{type(value).__name__}>"
        return MASK if isinstance(copy, str) and is_secret_member(name, copy) else copy

    def _fitted(self, value: object, depth: int, name: str) -> Any:
        match value:
            case None | bool():
                return value
            case int():
                return int.__index__(value) if -_LARGEST < value < _LARGEST else hex(value)
            case float():
                return _NOT_FINITE.get(float.__repr__(value)) or float.__float__(value)
            case Mapping() | list() | tuple() | set() | frozenset() if depth < _DEEPEST:
                return self._once(value, depth + 1, name)
            case _ if is_dataclass(value) and not isinstance(value, type) and depth < _DEEPEST:
                return self._once(value, depth + 1, name)
            case _:
                return _clean(_shown(value, repr), self._needles)

    def _once(self, value: Any, depth: int, name: str) -> Any:
        place = id(value), name
        if place not in self._copies:
            self._copies[place] = value, f"<{type(value).__name__} within itself>"
            self._copies[place] = value, self._copy(value, depth, name)
        return self._copies[place][1]

    def _copy(self, value: Any, depth: int, name: str) -> Any:
        if is_dataclass(value):
            value = {field.name: getattr(value, field.name) for field in fields(value)}
        if isinstance(value, Mapping):
            named = ((_clean(_shown(key, str), self._needles), inner) for key, inner in value.items())
            return {key: self.of(inner, depth, key if names_secret(key) else "") for key, inner in named}
        copies = [self.of(inner, depth, name) for inner in value]
        return sorted(copies, key=repr) if isinstance(value, set | frozenset) else copies
