"""Any value made text or JSON without its secrets, cuts without half of one, and results that show none."""

from __future__ import annotations

import dataclasses
import json
import shlex
import subprocess
import sys
import weakref
from enum import IntEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from error_strategies import property_test
from hypothesis import assume, given
from hypothesis import strategies as st
from redaction_texts import ANY_TEXT, MESS, SECRET, STARRED, TOKEN, VALUES, forget

from orca import redaction
from orca.redaction import MASK, Redacted, redact, redact_deep, redact_text, trim_cut


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    forget(monkeypatch)


# Any value


@dataclasses.dataclass
class Point:
    name: str
    inner: object = None


class Colour(IntEnum):
    RED = 3


class Liar(str):
    __slots__ = ()

    def __str__(self) -> str:
        return TOKEN

    __repr__ = __str__


class Silent:
    def __repr__(self) -> str:
        raise ValueError(TOKEN)


class Deep(list[Any]):
    def __init__(self, levels: int) -> None:
        super().__init__()
        inner: list[Any] = self
        for _ in range(levels):
            inner.append([])
            inner = inner[0]


class Target:
    pass


def dead_proxy() -> Any:
    return weakref.proxy(Target())


def cycle() -> list[Any]:
    found: list[Any] = [1]
    found.append({"again": found})
    return found


def doubled(levels: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels):
        found = [found, found]
    return found


URL, SHOWN = f"https://{TOKEN}@example.com", "https://***@example.com"


@pytest.mark.parametrize(
    ("value", "copy"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (1.5, 1.5),
        (-0.0, -0.0),
        (Colour.RED, 3),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (URL, SHOWN),
        (URL.encode(), SHOWN),
        (bytearray(b"\xff"), "\\xff"),
        ("\ud800", "\\ud800"),
        (Liar("plain"), "plain"),
        ((URL, [URL]), [SHOWN, [SHOWN]]),
        ({URL: URL, 1: 2, None: 3}, {SHOWN: SHOWN, "1": 2, "None": 3}),
        (MappingProxyType({"a": URL}), {"a": SHOWN}),
        ({URL}, [SHOWN]),
        (frozenset({"b", "a"}), ["a", "b"]),
        (Point(URL, Point("x", {URL})), {"name": SHOWN, "inner": {"name": "x", "inner": [SHOWN]}}),
        ({"Authorization": "abc", "Accept": "y"}, {"Authorization": MASK, "Accept": "y"}),
        ({"Set-Cookie": ["x", b"y", None]}, {"Set-Cookie": [MASK, MASK, None]}),
        ({"api_key": "abcd1234", "token": "string"}, {"api_key": MASK, "token": "string"}),
        ({"max_tokens": "abcd1234"}, {"max_tokens": "abcd1234"}),
        ([URL, ValueError(URL)], [SHOWN, f"ValueError('{SHOWN}')"]),
        (Silent(), "<Silent>"),
        (cycle(), [1, {"again": "<list within itself>"}]),
    ],
)  # fmt: skip
def test_a_deep_copy_holds_what_json_can(value: object, copy: object) -> None:
    assert redact_deep(value) == copy
    assert type(redact_deep(value)) is type(copy)


@pytest.mark.parametrize("value", [[10**5000], [-(10**5000)], Deep(100_000), Point, object(), range(3)])
def test_what_json_cannot_hold_is_text_in_it(value: object) -> None:
    copy = redact_deep({"x": [value]})
    json.dumps(copy, allow_nan=False).encode("ascii")
    while not isinstance(copy, str):
        (copy,) = copy.values() if isinstance(copy, dict) else copy


def test_an_object_that_is_gone_is_shown_by_its_type() -> None:
    assert redact_text(dead_proxy()) == "<ProxyType>"
    assert redact_deep({"x": dead_proxy()}) == {"x": "<ProxyType>"}


def test_what_is_shared_is_copied_once() -> None:
    copy = redact_deep(doubled(60))  # 2**60 lists, if each were copied where it stands
    assert copy[0] is copy[1]


def test_a_copy_is_a_copy() -> None:
    value = {"a": [1, {"b": "x"}]}
    copy = redact_deep(value)
    assert copy == value
    copy["a"][1]["b"] = "changed"
    assert value == {"a": [1, {"b": "x"}]}


JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT | MESS | st.binary(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(
            st.one_of(ANY_TEXT, st.integers(), st.none(), st.sampled_from(["token", "Cookie"])), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@property_test
@given(JSON_LIKE)
def test_a_deep_copy_can_always_be_written(value: object) -> None:
    copy = redact_deep(value, STARRED)
    assert json.loads(json.dumps(copy, ensure_ascii=False, allow_nan=False).encode("utf-8")) == copy
    assert redact_deep(copy, STARRED) == copy


@property_test
@given(
    st.recursive(
        VALUES,
        lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(VALUES, inner, min_size=1, max_size=3),
    )
)
def test_no_depth_hides_a_secret(value: object) -> None:
    assert TOKEN not in json.dumps(redact_deep({"x": (value, {TOKEN: [f"<{TOKEN}>"]})}, {"A_TOKEN": TOKEN}))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (URL, SHOWN),
        (URL.encode(), SHOWN),
        (b"caf\xe9", "caf\\xe9"),
        ("caf\udce9", "caf\\udce9"),
        (Path("/srv/app"), "/srv/app"),
        (OSError(2, "No such file"), "[Errno 2] No such file"),
        (None, "None"),
        (3, "3"),
        (Liar("plain"), "plain"),
        (Silent(), "<Silent>"),
    ],
)
def test_any_value_is_text(value: object, text: str) -> None:
    assert redact_text(value) == text


@property_test
@given(ANY_TEXT)
def test_error_text_holds_no_lone_surrogate(text: str) -> None:
    redact_text(text, {"A_TOKEN": text}).encode("utf-8")
    redact(text, {"A_TOKEN": text, "B_TOKEN": f"{text}\n{text}"})


# Cuts


@pytest.mark.parametrize(
    ("head", "tail", "kept"),
    [
        (b"", b"", (b"", b"")),
        (b"one\n", b"two\n", (b"one\n", b"")),
        (b"one\ntw", b"o\nthree\nfour", (b"one\n", b"three\nfour")),
        (b"no break", b"no break", (b"", b"")),
        (b"a\n" + b"x" * 5000, b"y" * 5000 + b"\nb", (b"a\n" + b"x" * 904, b"y" * 904 + b"\nb")),
        (b"a\n" + b"x" * 4095, b"y" * 4095 + b"\nb", (b"a\n", b"b")),
        (b"a\n" + b"x" * 4096, b"y" * 4096 + b"\nb", (b"a\n", b"\nb")),
    ],
)
def test_a_cut_is_trimmed_to_whole_lines(head: bytes, tail: bytes, kept: tuple[bytes, bytes]) -> None:
    assert trim_cut(head, tail) == kept


@property_test
@given(st.integers(0, 24), st.binary(max_size=5000), st.binary(max_size=5000))
def test_no_part_of_a_secret_survives_a_cut_through_it(at: int, before: bytes, after: bytes) -> None:
    secret = TOKEN.encode()
    assume(not any(secret[i : i + 2] in before + b" " + after for i in range(len(secret) - 1)))
    head, tail = trim_cut(before + secret[:at], secret[at:] + after)
    kept = redact((head + b"\n" + tail).decode("utf-8", "replace"), {"A_TOKEN": TOKEN})
    assert not any(TOKEN[i : i + 2] in kept for i in range(len(TOKEN) - 1))
    assert (before + secret[:at]).startswith(head)
    assert (secret[at:] + after).endswith(tail)


# Results


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Remote(Redacted):
    """A result as the tools declare theirs."""

    name: str
    url: str
    raw: bytes = dataclasses.field(default=b"", repr=False)
    inner: object = None


def test_a_result_shows_its_fields_redacted_and_keeps_them() -> None:
    inner = Remote("up'stream", URL)
    remote = Remote("origin", URL, URL.encode(), (inner, 1))
    assert remote.url == URL
    assert remote.raw == URL.encode()
    assert repr(remote) == (
        f"Remote(name='origin', url='{SHOWN}', inner=(Remote(name=\"up'stream\", url='{SHOWN}', inner=None), 1))"
    )
    assert str([remote]) == f"[{remote!r}]"
    assert not hasattr(remote, "__dict__")


def test_a_value_is_found_in_the_repr_of_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (SECRET, 'it\'s a "quoted" one', "back\\slash-1", "two\nlines of it", "tab\t\x1b[1m-coloured"):
        monkeypatch.setenv("A_SECRET", value)
        assert repr(Remote(f"x {value}", "")) in {
            "Remote(name='x ***', url='', inner=None)",
            "Remote(name=\"x ***\", url='', inner=None)",
        }


def test_an_argv_is_redacted_as_a_command_line_is() -> None:
    argv = ["git", "-c", "http.extraHeader=Authorization: Basic dTpw", "push", URL, SECRET]
    for shown in (shlex.join(argv), repr(argv), json.dumps(argv)):
        text = redact(shown, {"A_SECRET": SECRET})
        assert not any(secret in text for secret in ("dTpw", TOKEN, "p@ss", "rd?1"))
        assert all(word in text for word in ("git", "extraHeader=Authorization: ***", "push", SHOWN))


def test_loading_it_loads_no_heavy_module() -> None:
    script = (
        "import __future__, sys, re, dataclasses, functools, typing, decimal; before = set(sys.modules);"
        "import orca.redaction, orca.events; print(*sorted(set(sys.modules) - before))"
    )
    loaded = subprocess.run(
        [sys.executable, "-S", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(Path(redaction.__file__).parents[2])},
    )
    assert all(name.startswith("orca") for name in loaded.stdout.split())
