"""ty: the JSON list that it writes for GitLab, the only machine format of its with columns and severities."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from orca.errors import Diagnostic, Severity
from orca.process import Ended
from orca.tools.typecheckers.checker import Checker, Reading, Request, Verdict, count, located, spellings
from orca.tools.typecheckers.places import installed_version
from orca.tools.typecheckers.settings import Source

_FLAGS: Final = ("check", "--output-format=gitlab", "--color=never", "--no-progress")
# Where a project lets it, ty has uv make an environment for each script: that installs packages.
_NO_UV: Final = '--config=project-manager.script="none"'
_SEVERITIES: Final[Mapping[str, Severity]] = {"minor": "warning", "info": "information"}
# The end of a run that had nothing to check; its exit code is 0.
_NOTHING: Final = b"No python files found"


def _runs(request: Request) -> list[list[str]]:
    settings = request.settings
    configured_here = settings is not None and settings.directory == request.root
    no_uv = [_NO_UV] if settings is not None and "project-manager" in settings.values else []
    return [[*_FLAGS, *no_uv, "--", *(request.paths or (() if configured_here else (".",)))]]


def _read(request: Request, runs: list[Ended]) -> Reading:
    (ended,) = runs
    document = parse_document(ended.stdout)
    diagnostics = tuple(parse_ty(document or [], spellings(ended.cwd)))
    verdict: Verdict = "failed"
    if document is not None and ended.exit_code in (0, 1) and _NOTHING not in ended.stderr:
        # By default warnings fail too: the exit code says it. What is said of its configuration is not of the code.
        in_code = [found for found in diagnostics if not found.path.endswith(".toml")]
        if any(found.severity == "error" for found in in_code) or (ended.exit_code == 1 and in_code):
            verdict = "errors"
        elif ended.exit_code == 0:
            verdict = "clean"
    return Reading(verdict, diagnostics, ended, version=installed_version(request.program, "ty"))


def parse_document(stdout: bytes) -> list[Any] | None:
    """Return the list that the output is, or None where it is none."""
    try:
        value = json.loads(stdout)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list) else None


def parse_ty(document: list[Any], roots: tuple[str, ...]) -> Iterator[Diagnostic]:
    """Yield the diagnostics of a document."""
    for value in document:
        match value:
            case {"check_name": str(code), "description": str(message), "location": {"path": str(path)}}:
                begin = _begin(value["location"]) if path else {}
                yield Diagnostic(
                    path=located(path, roots),
                    line=count(begin.get("line"), 1),
                    column=count(begin.get("column"), 1),
                    severity=_SEVERITIES.get(str(value.get("severity")), "error"),
                    code=code,
                    message=message.removeprefix(f"{code}: "),
                )
            case _:
                continue


def _begin(location: Mapping[str, Any]) -> Mapping[str, Any]:
    match location:
        case {"positions": {"begin": dict(begin)}}:
            return begin
        case _:
            return {}


TY: Final = Checker(
    name="ty",
    configured_by=(Source("ty.toml", ""), Source("pyproject.toml", "tool.ty")),
    runs=_runs,
    read=_read,
)
