"""An edit replaces exactly what was named; every other byte, the line ends and the byte order mark stay."""

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from canaries import World, failed, guarded, within
from error_strategies import property_test
from hypothesis import given
from hypothesis import strategies as st

from orca.errors import FileCause
from orca.tools import WrittenFile
from orca.tools.files import publishing
from orca.tools.files.edits import edited
from orca.tools.files.failures import Refused

world = pytest.fixture(guarded)


def test_an_edit_keeps_order_mark_and_line_ends(world: World) -> None:
    (world.root / "file").write_bytes(b"\xef\xbb\xbfa\r\nb\n")
    assert world.tool.edit_text("file", "b", "B").unwrap() == WrittenFile("file", size=8, created=False)
    assert (world.root / "file").read_bytes() == b"\xef\xbb\xbfa\r\nB\n"


@pytest.mark.parametrize(
    ("text", "old", "new", "count", "wanted"),
    [
        ("a b a", "b", "B", 1, "a B a"),
        ("a b a", "a", "A", 2, "A b A"),
        ("a", "a", "", 1, ""),
        ("aXbXc", "X", "\n", 2, "a\nb\nc"),
        ("a$1\\1", "$1\\1", "\\g<0>", 1, "a\\g<0>"),
        ("\ufeffa", "a", "b", 1, "\ufeffb"),
        ("\ufeffa", "\ufeffa", "b", 1, "b"),
        ("é", "e\u0301", "e", 1, "no-match"),
        ("A", "a", "b", 1, "no-match"),
        ("", "a", "b", 1, "no-match"),
        ("a b", "a", "b", 2, "no-match"),
        ("a b a", "a", "b", 1, "ambiguous"),
        ("a b a b a", "a", "b", 2, "ambiguous"),
        # Which of two that overlap is meant?
        ("aaa", "aa", "b", 1, "ambiguous"),
        ("aaa", "aa", "b", 2, "ambiguous"),
        ("aaaa", "aa", "b", 2, "ambiguous"),
        ("ababa", "aba", "b", 1, "ambiguous"),
        # Line ends of the file are those of the edit.
        ("a\r\nb\r\n", "a\nb", "A\nB", 1, "A\r\nB\r\n"),
        ("a\r\nb\r\n", "a", "A\nnew", 1, "A\r\nnew\r\nb\r\n"),
        ("a\r\nb\r\n", "a\n", "", 1, "b\r\n"),
        ("a\r\nb\r\n", "\n", "", 2, "ab"),
        ("a\r\nb", "b", "b\nc\n", 1, "a\r\nb\r\nc\r\n"),
        ("a\nb\n", "a\nb", "A\nB", 1, "A\nB\n"),
        ("a\nb\n", "a", "A\r\nnew", 1, "A\r\nnew\nb\n"),
        ("a\r\nb\r\n", "a", "A\r\nnew", 1, "A\r\nnew\r\nb\r\n"),
        # A file of both kinds keeps each.
        ("a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "A\nB\nC\nD", 1, "A\r\nB\nC\r\nD\n"),
        ("a\r\nb\nc\n", "b\n", "B\nnew\n", 1, "a\r\nB\nnew\nc\n"),
        ("a\r\nb\nc\n", "b", "B\nnew", 1, "a\r\nB\nnew\nc\n"),
        ("a\nb\r\nc", "c", "C\nnew", 1, "a\nb\r\nC\r\nnew"),
        ("x\r\nx\nx", "x", "y\nz", 3, "y\r\nz\r\ny\nz\ny\nz"),
        # With a carriage return both are taken as they are.
        ("a\r\nb\r\n", "a\r\nb", "a\nb", 1, "a\nb\r\n"),
        ("a\r\nb\r\n", "\r\n", "\n", 2, "a\nb\n"),
        ("a\nb\n", "a\r\nb", "x", 1, "no-match"),
        ("a\r\nb\nc", "a\r\nb\nc", "x\ny", 1, "x\ny"),
        # A carriage return alone is no line end.
        ("a\rb\r\n", "b\n", "B\n", 1, "a\rB\r\n"),
        ("a\r\r\nb\r\n", "a", "A", 1, "A\r\r\nb\r\n"),
        ("a\rb", "a\nb", "x", 1, "no-match"),
    ],
)
def test_what_an_edit_makes_of_a_text(text: str, old: str, new: str, count: int, wanted: str, world: World) -> None:
    path = world.root / "file"
    path.write_bytes(text.encode())
    result = world.tool.edit_text("file", old, new, count)
    if wanted in {"no-match", "ambiguous"}:
        error = failed(result)
        assert (error.cause, error.effect, error.path) == (wanted, "none", "file")
        assert path.read_bytes() == text.encode()
    else:
        assert result.unwrap().size == len(wanted.encode())
        assert path.read_bytes() == wanted.encode()


def test_what_replaces_nothing_is_misuse(world: World) -> None:
    (world.root / "file").write_text("a")
    tool: Any = world.tool
    for old, count in (("", 1), ("a", 0), ("a", -1)):
        with pytest.raises(ValueError, match="must be"):
            tool.edit_text("file", old, "b", count)
    with pytest.raises(TypeError):
        tool.edit_text("file", b"a", "b")
    with pytest.raises(TypeError):
        tool.edit_text("file", "a", b"b")
    assert (world.root / "file").read_text() == "a"


def test_what_is_no_text_is_not_edited(world: World) -> None:
    path = world.root / "file"
    for content in (b"a\xff", "a".encode("utf-16"), b"\xed\xa0\x80a"):
        path.write_bytes(content)
        error = failed(world.tool.edit_text("file", "a", "b"))
        assert (error.cause, error.effect) == ("not-text", "none")
        assert path.read_bytes() == content
    path.write_bytes(b"a")
    assert failed(world.tool.edit_text("file", "a", "\ud800")).cause == "not-text"
    assert failed(world.tool.edit_text("file", "\ud800", "a")).cause == "no-match"
    assert os.listdir(world.root) == ["file"]


def test_edits_of_one_file_from_many_threads_all_land(world: World) -> None:
    words = [f"<{number}>" for number in range(8)]
    (world.root / "file").write_text("".join(words))

    def shout(word: str) -> None:
        for more in ("!", "!!", "!!!"):
            world.tool.edit_text("file", word, f"{word[:-1]}{more}>").unwrap()
            word = f"{word[:-1]}{more}>"

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(shout, words))
    assert (world.root / "file").read_text() == "".join(f"<{number}!!!!!!>" for number in range(8))


def test_nothing_of_ours_is_put_in_place_while_an_edit_is(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between an edit's last look and its renaming: a write that landed there would be lost."""
    held: list[bool] = []

    def looked_at(name: str) -> None:
        real = getattr(os, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            held.append(publishing._publishing.locked())
            return real(*args, **kwargs)

        monkeypatch.setattr(os, name, call)

    looked_at("rename")
    looked_at("link")
    world.tool.write_text("file", "a").unwrap()
    world.tool.edit_text("file", "a", "b").unwrap()
    world.tool.copy("file", "copy").unwrap()
    world.tool.move("copy", "file", overwrite=True).unwrap()
    assert held == [True] * 4
    assert not publishing._publishing.locked()


def test_an_edit_does_not_undo_what_others_wrote_meanwhile(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    path = world.root / "file"
    path.write_text("one two")
    real = os.fsync
    others = [lambda: replace(path, "ONE two"), lambda: replace(path, "ONE two three")]

    def fsync(fd: int) -> None:
        real(fd)
        if others:
            others.pop(0)()

    monkeypatch.setattr(os, "fsync", fsync)
    world.tool.edit_text("file", "two", "TWO").unwrap()
    assert path.read_text() == "ONE TWO three"
    others = [lambda: replace(path, "no more")]
    assert failed(world.tool.edit_text("file", "TWO", "two")).cause == "no-match"
    others = [path.unlink]
    assert failed(world.tool.edit_text("file", "no more", "more")).cause == "not-found"
    assert os.listdir(world.root) == []


def replace(path: Path, text: str) -> None:
    path.with_name("other").write_text(text)
    path.with_name("other").rename(path)


# ------------------------------------------------------------------ against a slow and simple reader of the rules


def tokens(text: str) -> list[str]:
    r"""Characters, but `\r\n` is one."""
    found = list(text)
    for place in reversed(range(len(found) - 1)):
        if found[place : place + 2] == ["\r", "\n"]:
            found[place : place + 2] = ["\r\n"]
    return found


def slowly(text: str, old: str, new: str, count: int) -> str:
    """What the documentation says, one character after the other; or the cause."""
    literal = "\r" in old
    there = list(text) if literal else tokens(text)
    wanted = list(old)
    found = [
        place
        for place in range(len(there) - len(wanted) + 1)
        if all(
            have == want or (not literal and want == "\n" and have == "\r\n")
            for have, want in zip(there[place:], wanted, strict=False)
        )
    ]
    if len(found) < count and all(b - a >= len(wanted) for a, b in pairwise(found)):
        return "no-match"
    if len(found) != count or any(b - a < len(wanted) for a, b in pairwise(found)):
        return "ambiguous"
    result = there[: found[0]]
    for place, following in zip(found, [*found[1:], len(there)], strict=True):
        ends = [token for token in there[place : place + len(wanted)] if token in ("\n", "\r\n")]
        after = [token for token in there[place + len(wanted) :] if token in ("\n", "\r\n")]
        before = [token for token in there[:place] if token in ("\n", "\r\n")]
        nearest = (ends[-1:] or after[:1] or before[-1:] or ["\n"])[0]
        for token in list(new) if literal or "\r\n" not in there else tokens(new):
            if token == "\n" and not literal and "\r\n" in there:
                result.append(ends.pop(0) if ends else nearest)
            else:
                result.append(token)
        result += there[place + len(wanted) : following]
    return "".join(result)


SMALL = st.text(st.sampled_from("aab\r\n\n"), max_size=14).map(lambda text: text.replace("n", "\r\n"))
LINES = st.lists(st.sampled_from(["a", "b", "", "ab"]), max_size=6).flatmap(
    lambda lines: st.lists(st.sampled_from(["\n", "\r\n"]), min_size=len(lines), max_size=len(lines)).map(
        lambda ends: "".join(line + end for line, end in zip(lines, ends, strict=True))
    )
)


@property_test
@given(
    text=st.one_of(SMALL, LINES),
    old=st.text(st.sampled_from("ab\n\n\r"), min_size=1, max_size=4),
    new=st.one_of(SMALL, st.sampled_from(["", "A", "A\nB", "\n", "A\nB\nC\n"])),
    count=st.integers(1, 3),
)
def test_the_rules_of_an_edit(text: str, old: str, new: str, count: int) -> None:
    wanted = slowly(text, old, new, count)
    try:
        assert edited(text, old, new, count) == wanted
    except Refused as refused:
        cause: FileCause = refused.reason.cause
        assert cause == wanted


@property_test
@given(
    before=LINES, old=st.sampled_from(["X", "X\nY", "X\n\nY\n"]), after=LINES, new=st.sampled_from(["Z", "Z\nZ", ""])
)
def test_an_edit_touches_nothing_but_what_it_replaces(before: str, old: str, after: str, new: str) -> None:
    for ends in ("\n", "\r\n"):
        text = before + old.replace("\n", ends) + after
        result = edited(text, old, new, 1)
        assert result.startswith(before)
        assert result.endswith(after)
        middle = result[len(before) : len(result) - len(after)]
        assert middle.replace("\r\n", "\n") == new


def test_an_edit_of_a_large_file_takes_no_longer_for_a_hostile_pattern() -> None:
    text = "a" * (1 << 20) + "\r\n"
    many = "x\r\n" * 200_000
    with within(30):
        for old in ("a" * 5000 + "b", "a" * 5000):
            with pytest.raises(Refused):
                edited(text, old, "", 1)
        assert edited(many, "x\n", "y\n", 200_000) == "y\r\n" * 200_000
