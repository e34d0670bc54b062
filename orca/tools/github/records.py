"""Objects of GitHub's JSON, read field by field: what is not of its type is said, never guessed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from orca.tools.github.answers import Unreadable

Kind = TypeVar("Kind", str, int)
Word = TypeVar("Word", bound=str)


class Record:
    """One object; a field that is missing or of another type raises `Unreadable`, unless it may be missing."""

    def __init__(self, value: object) -> None:
        if not isinstance(value, dict):
            raise Unreadable("the answer holds no object where one should be")
        self._fields: dict[str, Any] = value

    def text(self, name: str) -> str:
        """Return a text that is always there."""
        return self._of(str, name)

    def text_or_none(self, name: str) -> str | None:
        """Return a text, None where it is null or missing."""
        return None if self._fields.get(name) is None else self._of(str, name)

    def number(self, name: str) -> int:
        """Return a whole number that is always there."""
        return self._of(int, name)

    def flag(self, name: str) -> bool:
        """Return whether the field is there and true."""
        return self._fields.get(name) is True

    def has(self, name: str) -> bool:
        """Return whether the field is there and not null."""
        return self._fields.get(name) is not None

    def record(self, name: str) -> Record:
        """Return an object that is always there."""
        return Record(self._fields.get(name))

    def record_or_none(self, name: str) -> Record | None:
        """Return an object, None where it is null or missing: of an account or a fork that was deleted, say."""
        return Record(self._fields[name]) if self.has(name) else None

    def records(self, name: str) -> list[Record]:
        """Return the objects of a list that is always there."""
        return records(self._fields.get(name))

    def word(self, name: str, words: Mapping[str, Word], unknown: Word) -> Word:
        """Return what the table has for a text, or `unknown` for one that only a newer GitHub knows."""
        return words.get(str(self._fields.get(name)).lower(), unknown)

    def _of(self, kind: type[Kind], name: str) -> Kind:
        value = self._fields.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise Unreadable(f"the answer's {name!r} is missing or of another type")
        return value


def records(value: object) -> list[Record]:
    """Return the objects of a list."""
    if not isinstance(value, list):
        raise Unreadable("the answer holds no list where one should be")
    return [Record(item) for item in value]


def login(account: Record | None) -> str | None:
    """Return an account's name; None for one that was deleted."""
    return None if account is None else account.text("login")
