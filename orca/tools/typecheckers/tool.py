"""Type checks as one call: which checker, where it is, what it found."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, get_args

from orca import process
from orca.errors import CommandFailed, Diagnostic, RuntimeError, command_failed, typecheck_failed, unsupported_feature
from orca.process import Ended, StrPath
from orca.redaction import Redacted, redact
from orca.results import Failure, Result, Success
from orca.tools.arguments import absolute, environment, seconds
from orca.tools.typecheckers.checker import Checker, Reading, Request, not_an_option
from orca.tools.typecheckers.mypy import MYPY
from orca.tools.typecheckers.places import activated, find_program, search_path, virtual_environments
from orca.tools.typecheckers.pyright import BASEDPYRIGHT, PYRIGHT
from orca.tools.typecheckers.settings import Settings, Unreadable, directories, find
from orca.tools.typecheckers.tsc import TSC
from orca.tools.typecheckers.ty import TY

CheckerName: TypeAlias = Literal["auto", "mypy", "pyright", "basedpyright", "ty", "tsc"]

# In the order in which "auto" prefers them.
_CHECKERS: Final[Mapping[str, Checker]] = {checker.name: checker for checker in (MYPY, BASEDPYRIGHT, PYRIGHT, TY, TSC)}

# What a caller's terminal, editor, language and CI would change in the answer, and what would print or write beside it.
_NEUTRAL: Final[Mapping[str, str | None]] = {
    "LC_ALL": "C.UTF-8",
    "LANGUAGE": "C",
    "VSCODE_NLS_CONFIG": None,
    "COLUMNS": None,
    "FORCE_COLOR": None,
    "CLICOLOR_FORCE": None,
    "PYTHON_COLORS": None,
    "MYPY_FORCE_COLOR": None,
    "MYPY_FORCE_TERMINAL_WIDTH": None,
    "NODE_NO_WARNINGS": "1",
    "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1",
    "CI_PROJECT_DIR": None,  # ty's paths would be relative to it
    "TY_CONFIG_FILE": None,
    "TY_LOG": None,
    "TY_LOG_PROFILE": None,
    "TY_MEMORY_REPORT": None,
}

# These say something about the call, all others that the checker could not do its work.
_CAUSES_OF_THE_CALL: Final = ("timeout", "cancelled", "too-long", "bad-argument", "bad-cwd")


@dataclass(frozen=True, slots=True, repr=False)
class TypecheckReport(Redacted):
    """What a checker that found no errors said: warnings and notes are in `diagnostics`.

    `files` is the number of files checked, None where the checker does not say (mypy, ty); `version` is the checker's,
    None where it is not known. The outputs are as the checker wrote them (UTF-8, replaced where it is not), without
    what orca alone asked for.
    """

    checker: str
    version: str | None
    files: int | None
    diagnostics: tuple[Diagnostic, ...]
    stdout: str
    stderr: str


class TypecheckTool:
    """Checks the types of the project in one directory, `root`.

    `env` changes the inherited environment: a value of None takes the variable out.

    >>> import pathlib, tempfile
    >>> from orca.tools import TypecheckTool
    >>> with tempfile.TemporaryDirectory() as root:
    ...     _ = pathlib.Path(root, "cart.py").write_text("total: int = 0")
    ...     TypecheckTool(root).run(checker="mypy").unwrap().diagnostics
    ()
    """

    def __init__(self, root: StrPath = ".", *, env: Mapping[str, str | None] | None = None) -> None:
        self._root = absolute(root)
        self._env = dict(env or {})

    def run(
        self, *paths: StrPath, checker: CheckerName = "auto", timeout: float = 600.0
    ) -> Result[TypecheckReport, RuntimeError]:
        """Return the report of a checker that found no errors in `paths`, which are relative to the root.

        Without paths, what the project's configuration names is checked, else all that is below the root. "auto" is the
        one checker that the nearest configuration names, in the root or above it up to the top of its worktree; where
        one directory configures several, the first of mypy, basedpyright, pyright, ty, tsc (a project in two languages
        needs a call for each). The program, and the python whose packages are seen, come from the root's `.venv` or
        `venv`, `$VIRTUAL_ENV`, `node_modules/.bin` of the root and of what is above it in its worktree, the directory
        of this interpreter and PATH, the first that has it. The answer does not depend on the caller's language,
        colours or terminal; nothing is installed, and nothing is written but the checker's cache.

        tsc always checks the whole project of its `tsconfig.json`, as it is set up there: `paths` choose from what it
        finds, and have to be in the project. A `tsconfig.json` with no files of its own stands for the projects that it
        references, one run each; what these import from each other has to be built (`tsc -b`) before. Without a
        `tsconfig.json` the named files are checked with tsc's defaults.

        Fails with `TypecheckFailed` when the checker found errors, in syntax too, or warnings that the project's
        settings make a failure of (ty does so by itself): `diagnostics` has them, with paths relative to the root when
        inside, and lines and columns from 1 (columns are the checker's: UTF-16 units for tsc and pyright). With
        `UnsupportedFeature` when "auto" finds nothing configured. With `CommandFailed`, its outputs kept:
        `checker-failed` (not installed, did not start, crashed, misconfigured, a path that is not there, nothing to
        check), `timeout` (after `timeout` seconds for all runs; its whole tree has been ended), `cancelled`, `too-long`
        (more paths than an argument list holds), `bad-argument`, `bad-cwd` (no such root).

        mypy's cache knows times in whole seconds: where a source below the root was changed in the current second, its
        run first waits for the end of that second.

        >>> import pathlib, tempfile
        >>> from orca import Failure, TypecheckFailed, TypecheckTool, outcome
        >>> with tempfile.TemporaryDirectory() as root:
        ...     _ = pathlib.Path(root, "cart.py").write_text("total: int = ''")
        ...     match outcome(TypecheckTool(root).run(checker="mypy")):
        ...         case Failure(TypecheckFailed(diagnostics=(first, *_))):
        ...             print(first.path, first.line, first.column, first.code)
        cart.py 1 14 assignment
        """
        deadline = time.monotonic() + seconds(timeout)
        if checker not in get_args(CheckerName):
            raise ValueError(f"checker must be one of {', '.join(get_args(CheckerName))}, not {checker!r}")
        if not self._root_is_there():
            return Failure(self._not_run(_command(checker), "no such directory", cause="bad-cwd"))
        chosen = self._choose(checker)
        if not isinstance(chosen, tuple):
            return Failure(chosen)
        row, settings = chosen
        env = environment(self._env, _NEUTRAL)
        folders = search_path(self._root, env)
        program = find_program(folders, row.name)
        if program is None:
            return Failure(self._not_run(row.name, f"not installed: looked in {', '.join(folders)}"))
        request = Request(
            root=self._root,
            paths=tuple(not_an_option(os.fspath(path)) for path in paths),
            settings=settings,
            program=program,
            interpreter=find_program(virtual_environments(self._root, env), "python", "python3"),
        )
        env = activated(env, folders, request.interpreter)
        if row.settle is not None:
            row.settle(self._root, deadline)
        runs: list[Ended] = []
        for arguments in row.runs(request):
            ended = process.run([program, *arguments], cwd=self._root, env=env, deadline=deadline)
            if ended.cause != "exit":
                cause = ended.cause if ended.cause in _CAUSES_OF_THE_CALL else "checker-failed"
                return Failure(process.failed(ended, cause=cause))
            runs.append(ended)
        return _result(row, row.read(request, runs))

    def _choose(self, name: CheckerName) -> tuple[Checker, Settings | None] | RuntimeError:
        """The checker and its settings: what the nearest directory says decides."""
        rows = tuple(_CHECKERS.values()) if name == "auto" else (_CHECKERS[name],)
        for directory in directories(self._root):
            for row in rows:
                sources = row.configured_by if name == "auto" else row.configured_by + row.also_reads
                found = find(directory, sources)
                if isinstance(found, Unreadable):
                    return self._not_run(_command(name), f"{found.path}: {found.reason}")
                if found is not None:
                    return row, found
        if name != "auto":
            return rows[0], None
        if not self._root_is_there():  # it went while its settings were looked for
            return self._not_run(_command(name), "no such directory", cause="bad-cwd")
        looked_for = ", ".join(str(source) for row in rows for source in row.configured_by)
        return unsupported_feature("type checking", f"no checker is configured in {self._root} ({looked_for})")

    def _root_is_there(self) -> bool:
        """A root that is relative still had no current directory to be in when the tool was made."""
        return os.path.isabs(self._root) and os.path.isdir(self._root)

    def _not_run(
        self, command: str, reason: str, *, cause: Literal["checker-failed", "bad-cwd"] = "checker-failed"
    ) -> CommandFailed:
        return command_failed(command, None, "", f"{command}: {reason}", cause=cause, cwd=self._root, effect="none")


def _command(name: CheckerName) -> str:
    return "typecheck" if name == "auto" else name


def _result(row: Checker, reading: Reading) -> Result[TypecheckReport, RuntimeError]:
    ended = reading.ended
    stdout, stderr = ended.stdout.decode("utf-8", "replace"), ended.stderr.decode("utf-8", "replace")
    match reading.verdict:
        case "clean":
            return Success(
                TypecheckReport(row.name, reading.version, reading.files, reading.diagnostics, stdout, stderr)
            )
        case "errors":
            return Failure(
                typecheck_failed(
                    redact(stdout, ended.env),
                    redact(stderr, ended.env),
                    ended.exit_code,
                    checker=row.name,
                    diagnostics=(replace(d, message=redact(d.message, ended.env)) for d in reading.diagnostics),
                )
            )
        case "failed":
            return Failure(process.failed(ended, cause="checker-failed"))
