"""What orca must know about one type checker: what configures it, how it is asked, how its answer is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from orca.errors import Diagnostic
from orca.process import Ended
from orca.tools.typecheckers.settings import Settings, Source

Verdict: TypeAlias = Literal["clean", "errors", "failed"]


@dataclass(frozen=True, slots=True)
class Request:
    """What to check, and with what: no `paths` is what the project's `settings` name.

    `interpreter` is the python of the project's environment, None where it has none.
    """

    root: str
    paths: tuple[str, ...]
    settings: Settings | None
    program: str
    interpreter: str | None


@dataclass(frozen=True, slots=True)
class Reading:
    """A checker's answer: `failed` when it did not check, whatever else it said.

    `ended` is its run with the outputs that are to be kept.
    """

    verdict: Verdict
    diagnostics: tuple[Diagnostic, ...]
    ended: Ended
    files: int | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Checker:
    """One row of the table of checkers.

    `configured_by` is what makes it the project's checker, `also_reads` what else it takes settings from. `runs` has
    the arguments of each run that the request takes, `read` what all of them said. `settle` waits, until a deadline at
    most, for what must be so in the root before it runs.
    """

    name: str
    configured_by: tuple[Source, ...]
    runs: Callable[[Request], list[list[str]]]
    read: Callable[[Request, list[Ended]], Reading]
    also_reads: tuple[Source, ...] = ()
    settle: Callable[[str, float], None] | None = None


def not_an_option(path: str) -> str:
    """Return the path such that no checker takes it for an option, standard input (`-`) or a list of paths (`@x`)."""
    return f"./{path}" if path.startswith(("-", "@")) else path


def spellings(root: str) -> tuple[str, ...]:
    """Return the root as it was given and as the system resolves it: checkers print either."""
    return tuple(dict.fromkeys((root, os.path.realpath(root))))


def located(path: str, roots: tuple[str, ...]) -> str:
    """Return a path as a checker printed it relative to the root when it is inside, else as it is."""
    for root in roots:
        top = root.rstrip("/") + "/"
        if path.startswith(top):
            return path[len(top) :]
    return path.removeprefix("./")


def count(value: object, base: int) -> int:
    """Return a line or column that the checker counts from `base` as counted from 1; 0 where it names none."""
    return value + 1 - base if isinstance(value, int) and value >= base else 0
