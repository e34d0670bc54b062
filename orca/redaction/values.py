"""Secrets known by their value: those of the environment, by a rule of names and values, and those that were added."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

MASK: Final = "***"

_LAST_WORDS: Final = "TOKEN SECRET PASSWORD PASSWD PASSPHRASE PASS PAT CREDENTIAL CREDENTIALS AUTH COOKIE".split()
_KEYS_OF: Final = "API ACCESS SECRET PRIVATE SIGNING ENCRYPTION ACCOUNT DEPLOY SSH MASTER SESSION".split()
SECRET_ENDS: Final = (*_LAST_WORDS, *(f"{word}_KEY" for word in _KEYS_OF))
_SECRET: Final = rf"(?:SECRET_.*|(?:.*_)?(?:{'|'.join(SECRET_ENDS)}))(?:_(?:\d+|B64|JSON|PEM))?"
_HARMLESS: Final = r"TOKENIZERS_.*|(?:.*_)?(?:FILE|SOCK|TOKENS|PUBLIC_KEY|CACHE_KEY)|.*ASKPASS"

# Base64 may begin with a slash as a path does, but no file is called by twenty mixed characters without a dot.
_PATH: Final = r"(?:\.{0,2}/|~|file:|[A-Za-z]:[\\/])(?!.*(?=[^/]*[a-z])(?=[^/]*[A-Z])(?=[^/]*\d)[A-Za-z0-9+=]{20})"
_PEM_FRAME: Final = r"-----|[A-Za-z][A-Za-z-]*: "

_LONGEST_NEEDLE: Final = 1024  # longer values are looked for in pieces, so that no pattern gets large
_LETTERS: Final = dict(zip("\n\r\t\b\f", "nrtbf", strict=True))  # that name them after a backslash

_added: dict[str, None] = {}  # a dict, because tuple(dict) is whole even while another thread adds


def add(value: str) -> None:
    """Make `value` a known secret of this process, for what no rule can know.

    Any length counts: a value of one letter masks that letter everywhere. An empty value, or one of nothing but `*`,
    is ignored. There is no way back. What is not a `str` raises `TypeError`.
    """
    if not isinstance(value, str):
        raise TypeError(f"a secret is a str, not {type(value).__name__}")
    _added[value] = None


def known_values(env: Mapping[str, str] | None) -> tuple[str, ...]:
    """Return what to look for, longest first: added values, and the secrets of this process and of `env`."""
    found = tuple(_secret_values(os.environ))
    return _needles(found if env is None else (*found, *_secret_values(env)), tuple(_added))


def by_value(text: str, needles: tuple[str, ...]) -> str:
    """Return `text` with each of `needles` masked: as it is, percent-encoded, escaped (JSON, `repr`, a shell)."""
    for needle in needles:
        anchor = _anchor(needle)
        if anchor in text:
            text = text.replace(needle, MASK) if anchor == needle else _spellings(needle).sub(MASK, text)
    return text


def _secret_values(env: Mapping[str, str]) -> Iterator[str]:
    for name in list(env):
        # What a caller hands over as an environment may hold None (a variable taken out).
        if isinstance(name, str) and is_secret_name(name) and isinstance(value := env.get(name), str):
            yield value


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Return whether the last word of `name` says secret: `GITHUB_TOKEN`, `apiKey`; not `PUBLIC_KEY`, `MAX_TOKENS`."""
    if len(name) > 256:
        return False
    words = re.sub(r"\W+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).upper()
    return bool(re.fullmatch(_SECRET, words)) and not re.fullmatch(_HARMLESS, words)


@lru_cache(maxsize=32)
def _needles(from_environment: tuple[str, ...], added: tuple[str, ...]) -> tuple[str, ...]:
    found = {needle for value in from_environment for leaf in _leaves(value.strip()) for needle in _parts(leaf)}
    found.update(piece for value in added for piece in _pieces(value))
    return tuple(sorted(found, key=lambda needle: (-len(needle), needle)))


def _leaves(value: str) -> Iterator[str]:
    """The value itself or, of a JSON value, the strings whose key has a secret name."""
    if not value.startswith(("{", "[")):
        yield value
        return
    from json import loads

    try:
        members = [(value.startswith("["), loads(value))]
    except (ValueError, RecursionError):
        yield value
        return
    while members:
        secret, member = members.pop()
        if isinstance(member, dict):
            members.extend((secret or is_secret_name(name), inner) for name, inner in member.items())
        elif isinstance(member, list):
            members.extend((secret, inner) for inner in member)
        elif secret and isinstance(member, str):
            yield member.strip()


def _parts(value: str) -> Iterator[str]:
    """What of a value is looked for: all of it and, when it has several lines, each long one."""
    if _is_secret_value(value):
        yield from _pieces(value)
    lines = [line.strip() for line in value.splitlines()]
    for line in lines if len(lines) > 1 else ():
        if len(line) >= 16 and _is_secret_value(line) and not re.match(_PEM_FRAME, line):
            yield from _pieces(line)


def _is_secret_value(value: str) -> bool:
    word_or_number = (value.isalpha() and len(value) <= 15) or (value.isdecimal() and len(value) < 12)
    return len(value) >= 8 and not word_or_number and not re.match(_PATH, value, re.DOTALL)


def _pieces(value: str) -> Iterator[str]:
    # With a mask in it or a star at its edge, a needle would be found in what redaction itself has written.
    for part in re.split(r"\*{3,}", value):
        if bare := part.strip("*"):
            size = -(-len(bare) // -(-len(bare) // _LONGEST_NEEDLE))
            yield from (bare[at : at + size] for at in range(0, len(bare), size))


@lru_cache(maxsize=4096)
def _anchor(needle: str) -> str:
    """The longest part of `needle` that every spelling of it holds as it is."""
    return max(re.split(r"[^A-Za-z0-9_-]+", needle), key=len)


@lru_cache(maxsize=1024)
def _spellings(needle: str) -> re.Pattern[str]:
    def spelling(special: re.Match[str]) -> str:
        return _spelling(special[0], needle.endswith("\\", 0, special.start()))

    return re.compile(re.sub(r"\\+|[^A-Za-z0-9_-]", spelling, needle))


def _spelling(special: str, after_backslash: bool) -> str:
    """A pattern for one character, or a run of backslashes: as it is, percent-encoded, or escaped once or more.

    Possessive throughout: a run of backslashes that could be read in two ways would take exponential time. So a run
    in the needle takes all that there are, and leaves none to the escape that follows it.
    """
    percent = "".join(f"%(?:25)?{byte:02x}" for byte in special[0].encode("utf-8", "surrogatepass"))
    if special[0] == "\\":
        return rf"(?:\\{{{len(special)},{8 * len(special) + 8}}}+|(?i:{percent}){{{len(special)}}})"
    escape = r"\\{0,8}+" if after_backslash else r"\\{1,8}+"
    units = special.encode("utf-16-be", "surrogatepass")
    unicode = escape + r"\\{1,8}+".join(f"u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
    spelled = [rf"\\{{0,8}}+{re.escape(special)}", f"(?i:{percent}|{unicode})"]
    if ord(special) < 0x100:
        spelled.append(rf"{escape}x(?i:{ord(special):02x})")
    if ord(special) > 0xFFFF:
        spelled.append(rf"{escape}U(?i:{ord(special):08x})")
    if "\udc80" <= special <= "\udcff":  # a byte of the environment that is not text
        byte = ord(special) - 0xDC00
        spelled.append(rf"{escape}x{byte:02x}|(?i:%{byte:02x})|\ufffd")
    if special in _LETTERS:
        spelled.append(escape + _LETTERS[special])
    if special == " ":
        spelled.append(r"\+")
    return f"(?:{'|'.join(spelled)})"
