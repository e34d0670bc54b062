"""mypy: JSON lines on stdout, and at its end a report that tells errors in the code from a failure to check it."""

from __future__ import annotations

import json
import os
import re
import time
from typing import Any, Final

from orca.errors import Diagnostic
from orca.process import Ended
from orca.tools.typecheckers.checker import Checker, Reading, Request, Verdict, count, located, spellings
from orca.tools.typecheckers.places import installed_version
from orca.tools.typecheckers.settings import Source

# What was checked and what a crash or a plugin left on stdout look the same, and so do their exit codes. The JUnit
# report tells: it is the last that mypy writes, and it counts as errors what is not in the code. It goes to stderr
# because a file would need a place that mypy and orca both can reach.
_FLAGS: Final = (
    "--output=json",
    "--no-pretty",
    "--no-color-output",
    "--no-error-summary",
    "--show-column-numbers",
    "--no-install-types",
    "--interactive",
    "--junit-xml=/dev/stderr",
)
_REPORT: Final = re.compile(rb'<\?xml[^>]*\?>\s*<testsuite errors="(\d+)".*</testsuite>\n?', re.DOTALL)
# How mypy before 2.1 wrote the errors that end it, of syntax and the like, whatever the output asked for.
_TEXT: Final = re.compile(
    rb"(?P<file>.+?):(?P<line>\d{1,9}):(?:(?P<column>\d{1,9}):)? (?P<severity>error|note): (?P<message>.*?)"
    rb"(?:  \[(?P<code>[a-z0-9-]+)\])?\r?"
)
_TARGETS: Final = ("files", "modules", "packages")
_NO_SOURCES: Final = {"node_modules", "site-packages", "__pycache__"}


def _runs(request: Request) -> list[list[str]]:
    settings = request.settings
    values = settings.values if settings is not None else {}
    paths = list(request.paths)
    if not paths and not (settings and settings.directory == request.root and any(map(values.get, _TARGETS))):
        paths = ["."]
    environment = []
    if (
        request.interpreter is not None
        and "python_executable" not in values
        and os.path.dirname(request.interpreter) != os.path.dirname(request.program)
    ):
        environment = [f"--python-executable={request.interpreter}"]
    return [[*_FLAGS, *environment, "--", *paths]]


def _read(request: Request, runs: list[Ended]) -> Reading:
    (ended,) = runs
    report = _REPORT.search(ended.stderr)
    stderr = _REPORT.sub(b"", ended.stderr)
    diagnostics, rest = parse_mypy(ended.stdout, spellings(ended.cwd))
    # A wrapper may keep stderr from us: then only an answer with nothing else in it counts.
    arrived = report[1] == b"0" if report else not (rest or stderr.strip())
    version = installed_version(request.program, "mypy")
    # In JSON it takes notes for errors, and an error that quotes a note for a note: the severities decide.
    errors = any(found.severity == "error" for found in diagnostics)
    verdict: Verdict = "failed"
    if arrived and errors and ended.exit_code in (0, 1, 2):
        verdict = "errors"
    elif arrived and (ended.exit_code == 0 or (ended.exit_code == 1 and diagnostics)):
        verdict = "clean"
    return Reading(verdict, diagnostics, ended._replace(stderr=stderr), version=version)


def parse_mypy(stdout: bytes, roots: tuple[str, ...]) -> tuple[tuple[Diagnostic, ...], int]:
    """Return the diagnostics in mypy's output, and the number of lines that are none."""
    lines = [line for line in stdout.split(b"\n") if line.strip()]
    found = [_json_diagnostic(line, roots) or _text_diagnostic(line, roots) for line in lines]
    diagnostics = tuple(filter(None, found))
    return diagnostics, len(lines) - len(diagnostics)


def _json_diagnostic(line: bytes, roots: tuple[str, ...]) -> Diagnostic | None:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    match value:
        case {"file": str(file), "message": str(message), "severity": str(severity)}:
            hint, code, row = value.get("hint"), value.get("code"), count(value.get("line"), 1)
            return Diagnostic(
                path=located(file, roots),
                line=row,
                column=count(value.get("column"), 0) if row else 0,
                severity="error" if severity == "error" else "information",
                code=code if isinstance(code, str) else None,
                message=f"{message}\n{hint}" if isinstance(hint, str) else message,
            )
        case _:
            return None


def _text_diagnostic(line: bytes, roots: tuple[str, ...]) -> Diagnostic | None:
    found = _TEXT.fullmatch(line)
    if found is None:
        return None
    words = {name: os.fsdecode(value) for name, value in found.groupdict(default=b"").items()}
    return Diagnostic(
        path=located(words["file"], roots),
        line=int(words["line"]),
        column=int(words["column"] or 0),
        severity="error" if words["severity"] == "error" else "information",
        code=words["code"] or None,
        message=words["message"],
    )


def _outlast_the_second(root: str, deadline: float) -> None:
    """Wait for the end of this second if a source was changed in it.

    mypy's cache knows times in whole seconds: a source that is changed again in the second in which it was cached, and
    keeps its size, would be taken for unchanged, and the old answer given. The search for such a source ends with the
    second too.
    """
    second = int(time.time())
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _NO_SOURCES]
        for file in files:
            if int(time.time()) != second:
                return
            if file.endswith((".py", ".pyi")) and _changed_in(os.path.join(folder, file), second):
                time.sleep(max(0.0, min(second + 1.01 - time.time(), deadline - time.monotonic())))
                return


def _changed_in(path: str, second: int) -> bool:
    try:
        return int(os.stat(path).st_mtime) == second
    except OSError:  # gone, or a link to nowhere
        return False


MYPY: Final = Checker(
    name="mypy",
    configured_by=(
        Source("mypy.ini", "mypy", optional=True),
        Source(".mypy.ini", "mypy", optional=True),
        Source("pyproject.toml", "tool.mypy"),
        Source("setup.cfg", "mypy"),
    ),
    runs=_runs,
    read=_read,
    settle=_outlast_the_second,
)
