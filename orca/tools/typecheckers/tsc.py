"""tsc: diagnostics as lines of text on stdout, then the list of the files that it took in."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, replace
from typing import Final

from orca.errors import Diagnostic, Severity
from orca.process import Ended
from orca.tools.typecheckers.checker import Checker, Reading, Request, Verdict, located, spellings
from orca.tools.typecheckers.settings import Source
from orca.tools.typecheckers.tsconfig import projects

# Nothing is written: no outputs, no build information (a composite project cannot do without a place for it), no trace.
# The list of files is proof that the run came to its end, and it tells what was checked.
_FLAGS: Final = (
    *("--noEmit", "--emitDeclarationOnly", "false"),
    *("--incremental", "--tsBuildInfoFile", "/dev/null", "--generateTrace", "null"),
    *("--pretty", "false", "--locale", "en", "--explainFiles", "false", "--listFiles"),
)
_DIAGNOSTIC: Final = re.compile(
    rb"(?:(?P<path>\S.*?)\((?P<line>\d{1,9}),(?P<column>\d{1,9})\): )?"
    rb"(?P<severity>error|warning|suggestion|message) (?P<code>TS\d{1,9}): (?P<message>.*)"
)
_WORST_FIRST: Final[tuple[Verdict, ...]] = ("failed", "errors", "clean")
# An import of a project that it references, and that has not been built: nothing is known of what is imported.
_NOT_BUILT: Final = "TS6305"


@dataclass(frozen=True, slots=True)
class Output:
    """What tsc printed: its diagnostics, the files of the program, and the text without their list."""

    diagnostics: tuple[Diagnostic, ...]
    files: tuple[str, ...]
    text: bytes


def _runs(request: Request) -> list[list[str]]:
    if request.settings is None and request.paths:
        return [[*_FLAGS, *(os.path.join(request.root, path) for path in request.paths)]]
    # Where there is no configuration, tsc says so. By its real path, for tsc prints paths as that leads it to them.
    directory = request.settings.directory if request.settings else request.root
    config = os.path.join(os.path.realpath(directory), "tsconfig.json")
    return [[*_FLAGS, "--project", project] for project in projects(config)]


def _read(request: Request, runs: list[Ended]) -> Reading:
    root = os.path.realpath(request.root)
    outputs = [parse_tsc(ended.stdout, spellings(root)) for ended in runs]
    files = {os.path.realpath(file) for output in outputs for file in output.files}
    own = {file for file in files if "/node_modules/" not in f"/{located(file, (root,))}"}
    verdicts: list[Verdict] = [
        _verdict(ended, output, root, files) for ended, output in zip(runs, outputs, strict=True)
    ]
    found = tuple(dict.fromkeys(found for output in outputs for found in output.diagnostics))
    ended = _joined(runs, outputs, verdicts)
    version = _installed_version(request.program)
    if "failed" in verdicts or not own:
        return Reading("failed", found, ended, version=version)
    asked = [os.path.realpath(os.path.join(root, path)) for path in _asked(request)]
    if strangers := [path for path in asked if not any(_within(file, [path]) for file in own)]:
        said = "".join(f"{path}: not a file of the project\n" for path in strangers)
        return Reading("failed", found, ended._replace(stderr=ended.stderr + os.fsencode(said)), version=version)
    if asked:
        own = {file for file in own if _within(file, asked)}
        found = tuple(each for each in found if _within(os.path.realpath(os.path.join(root, each.path)), asked))
    return Reading("errors" if _errors(found) else "clean", found, ended, files=len(own), version=version)


def _asked(request: Request) -> tuple[str, ...]:
    """The paths that the answer is about; none for all that the project has."""
    configured_here = request.settings is None or request.settings.directory == request.root
    return request.paths or (() if configured_here else (".",))


def _verdict(ended: Ended, output: Output, root: str, files: set[str]) -> Verdict:
    if not output.files or ended.exit_code not in (0, 1, 2):
        return "failed"
    for found in output.diagnostics:
        in_json = found.path.endswith(".json") and os.path.realpath(os.path.join(root, found.path)) not in files
        if not found.path or in_json or found.code == _NOT_BUILT:  # of the configuration, not of the code
            return "failed"
    errors = _errors(output.diagnostics)
    if ended.exit_code != 0 and not errors:
        return "failed"
    return "errors" if errors else "clean"


def _errors(diagnostics: tuple[Diagnostic, ...]) -> bool:
    return any(found.severity == "error" for found in diagnostics)


def _within(file: str, places: list[str]) -> bool:
    return any(file == place or file.startswith(place.rstrip("/") + "/") for place in places)


def _joined(runs: list[Ended], outputs: list[Output], verdicts: list[Verdict]) -> Ended:
    """All runs as one: the first of the worst, with the outputs of all."""
    worst = min(range(len(runs)), key=lambda run: _WORST_FIRST.index(verdicts[run]))
    text, stderr = b"".join(output.text for output in outputs), b"".join(run.stderr for run in runs)
    return runs[worst]._replace(stdout=text, stderr=stderr)


def parse_tsc(stdout: bytes, roots: tuple[str, ...]) -> Output:
    """Return what is in tsc's output; its columns count UTF-16 code units."""
    diagnostics: list[Diagnostic] = []
    files: list[str] = []
    text: list[bytes] = []
    goes_on = False
    for line in stdout.splitlines(keepends=True):
        content = line.rstrip(b"\r\n")
        match = _DIAGNOSTIC.fullmatch(content)
        if match is None and content.startswith(b"/"):
            files.append(os.fsdecode(content))
            goes_on = False
            continue
        text.append(line)
        if match is not None:
            diagnostics.append(_diagnostic(match, roots))
        elif goes_on and content.startswith(b"  "):
            said = f"{diagnostics[-1].message}\n{content.decode('utf-8', 'replace')}"
            diagnostics[-1] = replace(diagnostics[-1], message=said)
            continue
        goes_on = match is not None
    return Output(tuple(diagnostics), tuple(files), b"".join(text))


def _diagnostic(match: re.Match[bytes], roots: tuple[str, ...]) -> Diagnostic:
    severities: dict[bytes, Severity] = {b"error": "error", b"warning": "warning"}
    return Diagnostic(
        path=located(os.fsdecode(match["path"] or b""), roots),
        line=int(match["line"] or 0),
        column=int(match["column"] or 0),
        severity=severities.get(match["severity"], "information"),
        code=match["code"].decode(),
        message=match["message"].decode("utf-8", "replace"),
    )


def _installed_version(program: str) -> str | None:
    """The version of the package that the program is from, or that is beside it where a script of its own starts it."""
    own = os.path.dirname(os.path.dirname(os.path.realpath(program)))
    beside = os.path.join(os.path.dirname(os.path.dirname(program)), "typescript")
    for directory in (own, beside):
        try:
            with open(os.path.join(directory, "package.json"), encoding="utf-8") as file:
                match json.load(file):
                    case {"name": "typescript", "version": str(version)}:
                        return version
                    case _:
                        pass
        except (OSError, ValueError, RecursionError):
            continue
    return None


TSC: Final = Checker(name="tsc", configured_by=(Source("tsconfig.json", None),), runs=_runs, read=_read)
