"""pyright and basedpyright: one JSON document on stdout."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from orca.errors import Diagnostic, Severity
from orca.process import Ended
from orca.tools.typecheckers.checker import Checker, Reading, Request, count, located, spellings
from orca.tools.typecheckers.settings import Source

_DOCUMENT: Final = re.compile(r"^\{", re.MULTILINE)
_SEVERITIES: Final[Mapping[str, Severity]] = {"error": "error", "warning": "warning", "information": "information"}
_FILE: Final = Source("pyrightconfig.json", None)
_SECTION: Final = Source("pyproject.toml", "tool.pyright")
_BASED_SECTION: Final = Source("pyproject.toml", "tool.basedpyright")


def _runs(request: Request) -> list[list[str]]:
    configured_here = request.settings is not None and request.settings.directory == request.root
    paths = request.paths or (() if configured_here else (".",))
    return [["--outputjson", *paths]]


def _based_runs(request: Request) -> list[list[str]]:
    # By default it rewrites a baseline that has become smaller, and fails over it where a variable says CI.
    return [["--baselinemode=discard", *arguments] for arguments in _runs(request)]


def _read(_: Request, runs: list[Ended]) -> Reading:
    (ended,) = runs
    document = parse_document(ended.stdout)
    if document is None:
        return Reading("failed", (), ended)
    diagnostics = tuple(parse_pyright(document, spellings(ended.cwd)))
    files, version = document["summary"].get("filesAnalyzed"), document.get("version")
    reading = Reading(
        "failed",
        diagnostics,
        ended,
        files=files if isinstance(files, int) else None,
        version=version if isinstance(version, str) else None,
    )
    if ended.exit_code not in (0, 1) or files == 0:  # it is content with having found nothing to check
        return reading
    if ended.exit_code == 1:
        # The project's settings may make a failure of warnings: their word counts, as it does on the command line.
        return replace(reading, verdict="errors") if diagnostics else reading
    return replace(reading, verdict="clean")


def _based_read(request: Request, runs: list[Ended]) -> Reading:
    # It exits with 3 over what is wrong in its configuration, except in JSON: there it only writes it to stderr.
    reading = _read(request, runs)
    return replace(reading, verdict="failed") if reading.ended.stderr.strip() else reading


def parse_document(stdout: bytes) -> dict[str, Any] | None:
    """Return the document that follows whatever else was printed, or None where there is none."""
    text = stdout.decode("utf-8", "replace")
    for start in _DOCUMENT.finditer(text):
        try:
            value: dict[str, Any] = json.JSONDecoder().raw_decode(text, start.start())[0]
        except (ValueError, RecursionError):
            continue
        if isinstance(value.get("generalDiagnostics"), list) and isinstance(value.get("summary"), dict):
            return value
    return None


def parse_pyright(document: Mapping[str, Any], roots: tuple[str, ...]) -> Iterator[Diagnostic]:
    """Yield the diagnostics of a document."""
    for value in document["generalDiagnostics"]:
        match value:
            case {"message": str(message), "severity": str(severity)}:
                file, code, start = value.get("file"), value.get("rule"), _start(value)
                yield Diagnostic(
                    path=located(file, roots) if isinstance(file, str) else "",
                    line=count(start.get("line"), 0),
                    column=count(start.get("character"), 0),
                    severity=_SEVERITIES.get(severity, "information"),
                    code=code if isinstance(code, str) else None,
                    message=message,
                )
            case _:
                continue


def _start(value: Mapping[str, Any]) -> Mapping[str, Any]:
    match value:
        case {"range": {"start": dict(start)}}:
            return start
        case _:
            return {}


PYRIGHT: Final = Checker("pyright", (_FILE, _SECTION), _runs, _read)
BASEDPYRIGHT: Final = Checker("basedpyright", (_BASED_SECTION,), _based_runs, _based_read, also_reads=(_FILE, _SECTION))
