"""Secrets known by their shape, whatever the environment holds: in URLs, headers, tokens, keys and assignments."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from orca.redaction.values import MASK, SECRET_ENDS, is_secret_name

# A header's value: to the end of the line or of the quotes around it; `name="…"`, as in Digest, belongs to it.
_QUOTE: Final = r"""\\{0,8}["']?"""
_SEPARATOR: Final = rf"""(?:{_QUOTE}[ \t]*[:=][ \t]*(?:b?\\{{0,8}}["'`])?|["'],[ \t]*b?["'])"""
_HEADER_VALUE: Final = r"""(?=[^\s"'`\\])[^\r\n"'`\\]*(?:(?<=\w=)\\{0,8}"(?![,\s\]})])[^"\r\n]*"[^\r\n"'`\\]*)*"""
_HEADER: Final = r"(?i:(?:proxy-|x-)?authorization|(?:set-)?cookie|(?:.*\.)?extraheader)"

_IN_URL: Final = r"""[^\s/"`<>\\]"""
_BEFORE_COLON: Final = r"""[^\s/"`<>\\:?#]"""
_HTTP: Final = r"(?i:(?<=https://)|(?<=http://)|(?<=https:\\/\\/)|(?<=http:\\/\\/))"
# Not where host and port are all there is: `'http://localhost:80','a@b'`. A name alone is a token only over HTTP.
_USERINFO: Final = (
    r"""(?=[^@\s/"`<>\\]*+@)(?![\w.*-]*(?::\d{1,5})?['),;\]}?#&])"""
    rf"(?:{_BEFORE_COLON}*:{_IN_URL}*|{_HTTP}{_BEFORE_COLON}+)(?=@)"
)


def _ends(names: Iterable[str], mark: str) -> str:
    """What was just read ends in one of `names` and `mark`; grouped by last letter, so that few are tried."""
    by_letter: dict[str, list[str]] = {}
    for name in names:
        by_letter.setdefault(name[-1], []).append(f"(?<={name}{mark})")
    groups = (f"(?<={letter}{mark})(?:{'|'.join(ends)})" for letter, ends in by_letter.items())
    return f"(?:{'|'.join(groups)})"


# Words so loud that what they name is a secret wherever no sentence can stand.
_WORDS: Final = "token secret password passwd passphrase".split() + [
    f"{word}{joint}key" for word in ("api", "access", "secret", "private") for joint in ("", "_", "-")
]
_WHOLE_NAMES: Final = "key sig auth authorization pass pwd".split()
_QUERY_WORDS: Final = [f"[?&#;6]{word}" for word in _WHOLE_NAMES] + [*_WORDS, "signature", "credential", "jwt"]
_QUERY_NAME: Final = rf"[\w.-]{{3,64}}+=(?i:{_ends(_QUERY_WORDS, '=')})(?!=)"
_QUERY_VALUE: Final = r"""[^&\s"'`<>()\[\]{}|#;\\]+"""

_FLAGS: Final = [f"-{word}" for word in _WORDS] + ["_authToken"]

_BARE: Final = r"""[^\s"'`\\&;,|<>()\[\]{}]"""
_QUOTED: Final = r"""[^\s"'`\\]"""
_CAPITALS: Final = _ends((f"(?<![A-Z0-9]){name}" for name in SECRET_ENDS), "=")


def _random(char: str) -> str:
    """A value that is no word, number, path, variable, glob or call."""
    return rf"(?![$%~./*])(?={char}{{0,63}}\d)(?={char}{{0,63}}[A-Za-z]){char}{{8,}}+(?![(\[{{])"


def _member(quote: str) -> str:
    key = f"{quote}:"
    seems = rf"(?=[ \t]{{0,4}}{quote}[^\s\"']{{8}})(?i:{_ends(_WORDS, key)})"
    return rf"({key}{seems}[ \t]*{quote}){_random(_QUOTED)}(?={quote})"


def _unjoined(prefix: str) -> str:
    """`prefix` where no word runs into it; the end of an escape, a colour code or a PEM block is no word."""
    colour = rf"(?<=\dm{prefix})(?:(?<=[\[;]\dm{prefix})|(?<=[\[;]\d\dm{prefix}))"
    pem = f"(?<=-----{prefix})(?:(?<= KEY-----{prefix})|(?<= BLOCK-----{prefix}))"
    return rf"{prefix}(?:(?<![\w-]{prefix})|(?<=\\[nrt]{prefix})|{colour}|{pem})"


# No slug of words: letters of both cases and a digit or, as in hexadecimal, a digit in the first long part.
_MIXED: Final = r"(?=[\w-]*?\d)(?=[\w-]*?[A-Z])(?=[\w-]*?[a-z])"
_LONG_PART: Final = r"(?=(?:[A-Za-z0-9]{0,15}+[_-])*+(?=[A-Za-z]*\d)[A-Za-z0-9]{16})"
_NO_SLUG: Final = f"(?:{_MIXED}|{_LONG_PART})"

# What a text must hold for the pattern to be tried, and the pattern: its one group is kept, the rest masked. In an
# order in which no row makes a match for one above it, so that redacting twice is redacting once. Repetitions are
# bounded, possessive, or end where a match may begin, so that the time stays linear.
_SHAPES: Final = (
    ("_v1_", r"()do[opr]_v1_[a-f0-9]{20,}"),
    ("shp", r"()shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{20,}"),
    ("AKIA", r"()AKIA(?<![A-Z0-9]AKIA)[A-Z0-9]{16,}"),
    ("ASIA", r"()ASIA(?<![A-Z0-9]ASIA)[A-Z0-9]{16,}"),
    ("gh", r"()gh[oprsu]_(?:\d+_eyJ[\w.-]+|[A-Za-z0-9]{16,})"),
    ("github_pat_", r"()github_pat_\w{20,}"),
    ("gl", r"()gl(?:pat|rt|dt|ptt|ft|soat|cbt|imt|agent|oas)-[\w-]{16,}(?:\.[\w-]+)*"),
    ("sk-", rf"(){_unjoined('sk-')}{_NO_SLUG}[\w-]{{20,}}"),
    ("pypi-", rf"(){_unjoined('pypi-')}{_NO_SLUG}[\w-]{{16,}}"),
    ("sk_", r"()sk_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("rk_", r"()rk_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("xox", r"()xox[abeoprs]-[\w-]{10,}"),
    ("npm_", r"()npm_[A-Za-z0-9]{20,}"),
    ("hf_", r"()hf_[A-Za-z0-9]{20,}"),
    ("gsk_", r"()gsk_[A-Za-z0-9]{20,}"),
    ("AIza", r"()AIza(?<![A-Z0-9+]AIza)[\w-]{30,}"),
    ("eyJ", rf"(){_unjoined('eyJ')}[\w-]{{8,}}+(?:\.[\w-]+){{1,4}}"),
    ("xtra", rf"(xtra[hH]eader(?:{_SEPARATOR}|[ \t]+(?=[\w-]+:))(?:[\w-]+:[ \t]*)?){_HEADER_VALUE}"),
    ("XTRAHEADER", rf"(XTRAHEADER{_SEPARATOR}(?:[\w-]+:[ \t]*)?){_HEADER_VALUE}"),
    *(
        (word, rf"({word}(?<![?&#;].{word}){_SEPARATOR})(?![\w*]+(?:[ \t]+[|=]|\[)){_HEADER_VALUE}")
        for word in ("uthorization", "UTHORIZATION")
    ),
    *((word, rf"""({word}{_SEPARATOR}(?=[\w.*-]{{1,64}}+=)){_HEADER_VALUE}""") for word in ("ookie", "OOKIE")),
    *((mark, rf"({re.escape(mark)}{_QUERY_NAME}){_QUERY_VALUE}") for mark in ("?", "&", "#", "&amp;", r"\u0026")),
    ("://", rf"(://){_USERINFO}"),
    (r":\/\/", rf"(:\\/\\/){_USERINFO}"),
    ("=", rf"""(=(?<=\w=)(?=["']?[^\s=]{{8}})(?:{_CAPITALS}|(?i:{_ends(_FLAGS, "=")}))["']?){_random(_BARE)}"""),
    (":", rf"(:(?<=\w:)(?=[ \t]{{0,4}}[^\s:]{{8}})(?i:{_ends(_FLAGS, ':')})[ \t]*){_random(_BARE)}"),
    ('":', _member('"')),
    ("':", _member("'")),
    (r"\":", _member(r'\\"')),
)

_PEM_END: Final = r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)+"
_PEM: Final = rf"-----BEGIN [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----(?s:.*?{_PEM_END}|.*)"
# Lines of base64, read backwards; the breaks between them may be escaped.
_PEM_BODY: Final = r"(?:(?:[ \t]*\n\r?[ \t]*|n\\+(?:r\\+)?)*[A-Za-z0-9+/=*]+(?=[ \t]*(?:\n|\Z)|n\\|[\"'|>]))+"


def by_shape(text: str) -> str:
    """Return `text` with everything masked that looks like a secret."""
    text = _without_pem(text)
    for mark, shape in _SHAPES:
        if mark in text:
            parts = _compiled(shape).split(text)
            if len(parts) > 1:
                parts[1::2] = [kept + MASK for kept in parts[1::2]]
                text = "".join(parts)
    return _without_pem(text)  # once more: a mask may now stand where a line of a cut key stood


def names_secret(name: str) -> bool:
    """Return whether what a field, a header or a variable called `name` holds may be a secret."""
    return is_secret_name(name) or re.fullmatch(_HEADER, name) is not None


def is_secret_member(name: str, value: str) -> bool:
    """Return whether `value` is a secret because of the name of the field, header or variable that holds it."""
    if re.fullmatch(_HEADER, name):
        return bool(value)
    return is_secret_name(name) and _compiled(_random(_QUOTED)).fullmatch(value) is not None


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source, re.ASCII)


def _without_pem(text: str) -> str:
    if "PRIVATE KEY" not in text:
        return text
    text = _compiled(_PEM).sub(MASK, text)
    kept: list[str] = []
    start = 0
    for end in _compiled(_PEM_END).finditer(text):  # its beginning was cut off
        before = (kept.pop() if kept and kept[-1] is MASK else "") + text[start : end.start()]
        body = _compiled(_PEM_BODY).match(before[::-1])
        kept += [before[: len(before) - body.end()], MASK] if body else [before, end[0]]
        start = end.end()
    return "".join((*kept, text[start:]))
