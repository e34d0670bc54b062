"""What a project's configuration files say about a type checker."""

from __future__ import annotations

import configparser
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Source:
    """One place where a checker looks: a file and the section of it.

    A section of "" is the whole file; one of None is not read, and the file is all that is known.
    """

    file: str
    section: str | None
    optional: bool = False
    """The file alone configures the checker, whether or not it has the section."""

    def __str__(self) -> str:
        return self.file if not self.section or self.optional else f"{self.file} [{self.section}]"


@dataclass(frozen=True, slots=True)
class Settings:
    """A checker's section, and the directory that its file is in."""

    directory: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that would have to be read to know: nobody can say what it configures."""

    path: str
    reason: str


Found: TypeAlias = Settings | Unreadable | None


def directories(root: str) -> tuple[str, ...]:
    """Return `root`, then what is above it up to the top of its worktree: where checkers look, the nearest first."""
    above = [root]
    while not os.path.lexists(os.path.join(above[-1], ".git")):
        parent = os.path.dirname(above[-1])
        if parent == above[-1]:
            return (root,)
        above.append(parent)
    return tuple(above)


def find(directory: str, sources: Iterable[Source]) -> Found:
    """Return what the first of the sources that says something says, or that it cannot be read."""
    return next(_answers(directory, sources), None)


def _answers(directory: str, sources: Iterable[Source]) -> Iterator[Settings | Unreadable]:
    for source in sources:
        path = os.path.join(directory, source.file)
        if not os.path.isfile(path):
            continue
        if source.section is None:
            yield Settings(directory, {})
            continue
        try:
            values = _section(path, source.section)
        except (OSError, ValueError, RecursionError, configparser.Error) as error:
            yield Unreadable(path, str(error))
            continue
        if values is not None or source.optional:
            yield Settings(directory, values or {})


def _section(path: str, section: str) -> Mapping[str, Any] | None:
    if path.endswith(".toml"):
        with open(path, "rb") as file:
            value: Any = tomllib.load(file)
        for name in filter(None, section.split(".")):
            value = value.get(name) if isinstance(value, dict) else None
        return value if isinstance(value, dict) else None
    parser = configparser.RawConfigParser()  # as mypy does: a `%` is no interpolation
    with open(path, encoding="utf-8") as text:
        parser.read_file(text)
    return dict(parser[section]) if parser.has_section(section) else None
