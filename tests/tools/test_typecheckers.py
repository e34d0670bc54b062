"""Type checks by the real mypy, pyright, basedpyright and ty; stand-ins where a checker must misbehave."""

import importlib.metadata
import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
import venv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import hostile_display
from worlds.repository import script, write
from worlds.typecheckers import found_errors, not_checked, project, put, report

from orca import flow
from orca.errors import CommandFailed, Diagnostic, UnsupportedFeature
from orca.process import cancel_all
from orca.results import Result
from orca.tools import TypecheckReport, TypecheckTool
from orca.tools.typecheckers.mypy import parse_mypy
from orca.tools.typecheckers.pyright import parse_document, parse_pyright
from orca.tools.typecheckers.settings import Found, Source, find
from orca.tools.typecheckers.ty import parse_document as parse_list
from orca.tools.typecheckers.ty import parse_ty

Name = Literal["mypy", "pyright", "basedpyright", "ty"]
NAMES: tuple[Name, ...] = ("mypy", "pyright", "basedpyright", "ty")
ANY: tuple[Name | Literal["tsc"], ...] = (*NAMES, "tsc")
GOOD = "total: int = 1\n"
BAD = 'total: int = ""\n'
SYNTAX = "def total(:\n"
ESC = "\x1b"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return project(tmp_path, monkeypatch)


@pytest.fixture
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """One cache for all runs of mypy, so that each need not learn the standard library anew."""
    monkeypatch.setenv("MYPY_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "mypy-cache"))


# What a run that took place says.


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("name", NAMES)
def test_code_without_errors_is_a_report(root: Path, name: Name) -> None:
    put(root, {"cart.py": GOOD})
    said = report(TypecheckTool(root).run("cart.py", checker=name))
    assert (said.checker, said.version, said.diagnostics) == (name, importlib.metadata.version(name), ())
    assert said.files == (None if name in ("mypy", "ty") else 1)


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("mypy", "assignment"),
        ("pyright", "reportAssignmentType"),
        ("basedpyright", "reportAssignmentType"),
        ("ty", "invalid-assignment"),
    ],
)
def test_an_error_is_data_with_its_place_counted_from_one(root: Path, name: Name, code: str) -> None:
    put(root, {"shop/cart.py": f"# ä\n{BAD}"})
    error = found_errors(TypecheckTool(root).run("shop", checker=name))
    assert (error.checker, error.exit_code, error.stderr) == (name, 1, "")
    (found,) = error.diagnostics
    assert (found.path, found.line, found.column, found.severity, found.code) == ("shop/cart.py", 2, 14, "error", code)
    assert found.message
    assert code in error.stdout


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(("name", "exit_code"), [("mypy", 2), ("pyright", 1), ("ty", 1)])
def test_a_syntax_error_is_an_error_in_the_code(root: Path, name: Name, exit_code: int) -> None:
    put(root, {"cart.py": SYNTAX, "good.py": GOOD})
    error = found_errors(TypecheckTool(root).run("cart.py", "good.py", checker=name))
    assert error.exit_code == exit_code
    assert {(found.path, found.severity) for found in error.diagnostics} == {("cart.py", "error")}
    assert error.diagnostics[0].line == 1


@pytest.mark.usefixtures("cache")
def test_what_ends_mypy_in_the_code_is_no_failure_to_check(root: Path) -> None:
    put(root, {"cart.py": BAD, "shop.py": "import cart\nyield 1\n", "mypy.ini": "[mypy]\nno_such_option = 1\n"})
    error = found_errors(TypecheckTool(root).run("shop.py", "cart.py"))
    assert error.exit_code == 2
    assert "no_such_option" in error.stderr
    assert {found.path for found in error.diagnostics} == {"cart.py", "shop.py"}


@pytest.mark.usefixtures("cache")
def test_notes_of_mypy_are_information_in_a_report(root: Path) -> None:
    put(root, {"cart.py": "reveal_type(1)\n"})
    (note,) = report(TypecheckTool(root).run("cart.py", checker="mypy")).diagnostics
    assert (note.path, note.line, note.severity) == ("cart.py", 1, "information")


@pytest.mark.usefixtures("cache")
def test_an_error_that_quotes_a_note_is_an_error(root: Path) -> None:
    put(root, {"cart.py": 'from typing import Literal\nx: Literal["a: note: b"] = 1\n'})
    error = found_errors(TypecheckTool(root).run("cart.py", checker="mypy"))
    assert error.diagnostics[0].line == 2


def test_warnings_of_pyright_are_in_a_report(root: Path) -> None:
    put(root, {"cart.py": "import nothing_of_that_name\n", "pyrightconfig.json": '{"reportMissingImports": "warning"}'})
    said = report(TypecheckTool(root).run())
    (warning,) = said.diagnostics
    assert (said.checker, warning.path, warning.line, warning.severity) == ("pyright", "cart.py", 1, "warning")


def test_warnings_that_the_project_makes_a_failure_of_fail(root: Path) -> None:
    settings = '[tool.basedpyright]\nreportMissingImports = "warning"\nfailOnWarnings = true\n'
    put(root, {"cart.py": "import nothing_of_that_name\n", "pyproject.toml": settings})
    error = found_errors(TypecheckTool(root).run())
    assert {found.severity for found in error.diagnostics} == {"warning"}
    assert (error.checker, error.exit_code) == ("basedpyright", 1)


WARNED = "reveal_type(1)\n"


@pytest.mark.parametrize("exit_zero", [False, True])
def test_warnings_of_ty_fail_unless_the_project_says_otherwise(root: Path, exit_zero: bool) -> None:
    put(root, {"cart.py": WARNED, "ty.toml": f"[terminal]\nerror-on-warning = {str(not exit_zero).lower()}\n"})
    result = TypecheckTool(root).run()
    diagnostics = report(result).diagnostics if exit_zero else found_errors(result).diagnostics
    assert [(found.severity, found.code) for found in diagnostics] == [
        ("warning", "undefined-reveal"),
        ("information", "revealed-type"),
    ]
    assert [(found.line, found.column) for found in diagnostics] == [(1, 1), (1, 13)]
    assert diagnostics[0].message == "`reveal_type` used without importing it"


def test_what_ty_says_of_its_configuration_only_is_no_error_in_the_code(root: Path) -> None:
    put(root, {"cart.py": GOOD, "ty.toml": '[rules]\nno-such-rule = "warn"\n'})
    error = not_checked(TypecheckTool(root).run())
    assert (error.cause, error.exit_code) == ("checker-failed", 1)
    assert "no-such-rule" in error.stdout
    put(root, {"bad.py": BAD})
    assert {found.path for found in found_errors(TypecheckTool(root).run()).diagnostics} == {"bad.py", "ty.toml"}


def test_ty_has_nothing_installed_for_scripts(root: Path) -> None:
    put(root, {"cart.py": f'# /// script\n# dependencies = ["pricing"]\n# ///\n{GOOD}'})
    put(root, {"ty.toml": '[project-manager]\nscript = "uv"\n'})
    script(root / ".venv/bin/uv", f"touch {root}/started; exit 1")
    report(TypecheckTool(root).run())
    assert not (root / "started").exists()


# What could not be checked.

CRASHING_PLUGIN = """\
from mypy.plugin import Plugin

class Crashing(Plugin):
    def get_function_hook(self, fullname):
        return self.crash if fullname.endswith("crash_here") else None

    def crash(self, context):
        raise ValueError("the plugin's own words")

def plugin(version):
    return Crashing
"""


@pytest.mark.slow
@pytest.mark.parametrize("before", ["", BAD])
def test_a_crash_of_mypy_is_no_error_in_the_code(root: Path, before: str) -> None:
    put(root, {"plugin.py": CRASHING_PLUGIN, "mypy.ini": "[mypy]\nplugins = plugin.py\n"})
    put(root, {"crash.py": "def crash_here() -> int: return 1\n"})
    put(root, {"cart.py": f"from crash import crash_here\n{before}crash_here()\n"})
    error = not_checked(TypecheckTool(root).run("cart.py"))
    assert (error.cause, error.exit_code) == ("checker-failed", 2)
    assert ('"severity": "error"' in error.stdout) == bool(before)
    assert "cart.py" in error.stderr


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("name", "files", "paths", "exit_code"),
    [
        pytest.param("mypy", {}, ["missing.py"], 2, id="mypy: a missing file"),
        pytest.param("mypy", {"a.py": BAD}, ["a.py", "missing.py"], 2, id="mypy: a missing file beside an error"),
        pytest.param("mypy", {"a.py": BAD}, ["--bogus"], 2, id="mypy: a path like an option"),
        pytest.param("mypy", {"empty/readme": ""}, ["empty"], 2, id="mypy: an empty directory"),
        pytest.param("mypy", {"readme": ""}, [], 2, id="mypy: nothing to check"),
        pytest.param("mypy", {"a.py": BAD, "mypy.ini": "[mypy]\nplugins = no.py"}, ["a.py"], 2, id="mypy: no plugin"),
        pytest.param(
            "mypy", {"a.py": BAD, "mypy.ini": "[mypy]\npython_version = 2.7"}, ["a.py"], 2, id="mypy: no Python"
        ),
        pytest.param("pyright", {}, ["missing.py"], 4, id="pyright: a missing file"),
        pytest.param("pyright", {"a.py": BAD}, ["--bogus"], 4, id="pyright: a path like an option"),
        pytest.param("pyright", {"a.py": BAD, "pyrightconfig.json": "{ no"}, [], 3, id="pyright: settings"),
        pytest.param("pyright", {"readme": ""}, [], 0, id="pyright: nothing to check"),
        pytest.param("ty", {}, ["missing.py"], 2, id="ty: a missing file"),
        pytest.param("ty", {"a.py": BAD}, ["a.py", "missing.py"], 2, id="ty: a missing file beside an error"),
        pytest.param("ty", {"a.py": BAD}, ["--bogus"], 2, id="ty: a path like an option"),
        pytest.param("ty", {"a.py": BAD, "ty.toml": "bogus = 1"}, [], 2, id="ty: settings"),
        pytest.param("ty", {"a.py": BAD, "ty.toml": '[src]\ninclude = ["[z-a"]'}, [], 2, id="ty: a pattern"),
        pytest.param("ty", {"a.py": BAD, "ty.toml": '[environment]\npython = "/no"'}, [], 2, id="ty: no python"),
        pytest.param("ty", {"empty/readme": ""}, ["empty"], 0, id="ty: an empty directory"),
        pytest.param("ty", {"readme": ""}, [], 0, id="ty: nothing to check"),
        pytest.param("basedpyright", {"a.py": GOOD, "pyrightconfig.json": "{ no"}, [], 0, id="basedpyright: settings"),
    ],
)
def test_what_could_not_be_checked_is_no_error_in_the_code(
    root: Path, name: Name, files: Mapping[str, str], paths: list[str], exit_code: int
) -> None:
    put(root, files)
    error = not_checked(TypecheckTool(root).run(*paths, checker=name))
    assert (error.cause, error.exit_code, error.effect) == ("checker-failed", exit_code, "unknown")
    assert error.stdout + error.stderr
    assert "<?xml" not in error.stderr


@pytest.mark.usefixtures("cache")
def test_an_option_that_mypy_passes_over_is_kept_in_the_text(root: Path) -> None:
    put(root, {"cart.py": GOOD, "bad.py": BAD, "mypy.ini": "[mypy]\nbogus = True\n"})
    said = report(TypecheckTool(root).run("cart.py"))
    assert "bogus" in said.stderr
    assert "<?xml" not in said.stderr
    assert "bogus" in found_errors(TypecheckTool(root).run("bad.py")).stderr


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("mypy.ini", "[mypy\n"),
        ("setup.cfg", "[mypy]\nstrict = 1\nstrict = 0\n"),
        ("pyproject.toml", "[tool.mypy\n"),
        ("pyproject.toml", "a = " + "[" * 5000),
        ("ty.toml", "[rules\n"),
    ],
)
@pytest.mark.parametrize("checker", ["auto", "explicit"])
def test_a_configuration_that_cannot_be_read_is_not_passed_over(
    root: Path, file: str, content: str, checker: Literal["auto", "explicit"]
) -> None:
    put(root, {"cart.py": GOOD, file: content})
    name: Literal["mypy", "ty"] = "ty" if file == "ty.toml" else "mypy"
    error = not_checked(TypecheckTool(root).run(checker="auto" if checker == "auto" else name))
    assert (error.cause, error.exit_code, error.effect) == ("checker-failed", None, "none")
    assert file in error.stderr


def test_a_configuration_that_is_not_text_is_not_passed_over(root: Path) -> None:
    write(root / "mypy.ini", b"[mypy]\n# \xff\n")
    assert not_checked(TypecheckTool(root).run()).cause == "checker-failed"


def test_a_root_that_is_gone_is_said_before_anything_runs(root: Path) -> None:
    error = not_checked(TypecheckTool(root / "gone").run())
    assert (error.cause, error.effect, error.cwd) == ("bad-cwd", "none", str(root / "gone"))


@pytest.mark.parametrize("checker", ["auto", *ANY])
@pytest.mark.parametrize("configured", [True, False])
def test_a_root_that_goes_after_it_was_used(
    root: Path, checker: Name | Literal["auto", "tsc"], configured: bool
) -> None:
    put(root, {"ty.toml": "", "cart.py": GOOD} if configured else {"readme": ""})
    tool = TypecheckTool(root)
    tool.run(checker=checker)
    shutil.rmtree(root)
    error = not_checked(tool.run(checker=checker))
    assert (error.cause, error.effect) == ("bad-cwd", "none")


@pytest.mark.parametrize("checker", ["auto", "ty"])
def test_a_current_directory_that_is_gone_is_no_root(
    root: Path, checker: Literal["auto", "ty"], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    before = TypecheckTool()
    shutil.rmtree(root)
    for tool in (before, TypecheckTool(), flow(".").typecheck):
        error = not_checked(tool.run(checker=checker))
        assert (error.cause, error.effect) == ("bad-cwd", "none")


def test_a_root_that_goes_while_its_settings_are_looked_for(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_for = find

    def last(directory: str, sources: Iterable[Source]) -> Found:
        shutil.rmtree(root, ignore_errors=True)
        return looked_for(directory, sources)

    monkeypatch.setattr("orca.tools.typecheckers.tool.find", last)
    error = not_checked(TypecheckTool(root).run())
    assert (error.cause, error.effect) == ("bad-cwd", "none")


def test_more_paths_than_an_argument_list_holds(root: Path) -> None:
    paths = [f"{'a' * 90}{number:06}.py" for number in range(60_000)]
    error = not_checked(TypecheckTool(root).run(*paths, checker="mypy"))
    assert (error.cause, error.effect) == ("too-long", "none")


def test_misuse_raises(root: Path) -> None:
    with pytest.raises(ValueError, match="timeout"):
        TypecheckTool(root).run(timeout=0)
    with pytest.raises(ValueError, match="checker"):
        TypecheckTool(root).run(checker="flake8")  # type: ignore[arg-type]


# Which checker, and from where.


def test_nothing_configured_is_unsupported(root: Path) -> None:
    put(root, {"cart.py": BAD, "pyproject.toml": "[tool.ruff]\n", "setup.cfg": "[metadata]\nname = cart\n"})
    assert isinstance(TypecheckTool(root).run().failure(), UnsupportedFeature)


MYPY, PYRIGHT, BASED, TY = "[tool.mypy]\n", "[tool.pyright]\n", "[tool.basedpyright]\n", "[tool.ty]\n"


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"mypy.ini": ""}, "mypy"),
        ({".mypy.ini": "[mypy]\nstrict = True\n"}, "mypy"),
        ({"setup.cfg": "[mypy]\n"}, "mypy"),
        ({"pyproject.toml": MYPY}, "mypy"),
        ({"pyproject.toml": PYRIGHT}, "pyright"),
        ({"pyproject.toml": BASED}, "basedpyright"),
        ({"pyrightconfig.json": "{}"}, "pyright"),
        ({"pyproject.toml": PYRIGHT + BASED + MYPY}, "mypy"),
        ({"pyproject.toml": PYRIGHT + BASED}, "basedpyright"),
        ({"pyrightconfig.json": "{}", "pyproject.toml": BASED}, "basedpyright"),
        ({"pyrightconfig.json": "{}", "setup.cfg": "[mypy]\n"}, "mypy"),
        ({"mypy.ini": "", "pyproject.toml": "[broken"}, "mypy"),
        ({"ty.toml": ""}, "ty"),
        ({"pyproject.toml": TY}, "ty"),
        ({"pyproject.toml": TY + PYRIGHT}, "pyright"),
        ({"ty.toml": "", "setup.cfg": "[mypy]\n"}, "mypy"),
        ({"tsconfig.json": "{}"}, "tsc"),
        ({"tsconfig.json": "{}", "ty.toml": ""}, "ty"),
        ({"tsconfig.json": "{}", "pyproject.toml": MYPY}, "mypy"),
        ({"tsconfig.json": "{}", "package.json": "{}", "pyproject.toml": "[project]\nname = 'shop'\n"}, "tsc"),
        ({"package.json": "{}"}, None),
        ({"pyproject.toml": "tool = 1"}, None),
        ({"../mypy.ini": ""}, None),
    ],
)
def test_auto_takes_the_checker_that_is_configured(root: Path, files: Mapping[str, str], name: str | None) -> None:
    put(root, files)
    for each in ANY:
        script(root / ".venv/bin" / each, "exit 9")
    error = TypecheckTool(root).run().failure()
    if name is None:
        assert isinstance(error, UnsupportedFeature)
    else:
        assert isinstance(error, CommandFailed)
        assert shlex.split(error.command)[0] == str(root / ".venv/bin" / name)


def test_the_nearest_configuration_in_the_worktree_counts(root: Path) -> None:
    put(root, {"mypy.ini": "", "near/pyrightconfig.json": "{}", "far/readme": ""})
    for each in ("near", "far"):
        for name in ANY:
            script(root / each / ".venv/bin" / name, "exit 9")
    for each, name in (("near", "pyright"), ("far", "mypy")):
        error = not_checked(TypecheckTool(root / each).run())
        assert shlex.split(error.command)[0] == str(root / each / ".venv/bin" / name)


def test_the_projects_environment_beats_orcas_and_path(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "own/bin/python"))
    places = [root / ".venv/bin", root / "venv/bin", tmp_path / "active/bin", root / "node_modules/.bin"]
    places += [tmp_path / "own/bin", tmp_path / "path"]
    tool = TypecheckTool(root, env={"VIRTUAL_ENV": str(tmp_path / "active"), "PATH": str(tmp_path / "path")})
    for place in places:
        script(place / "pyright", "exit 9")
    for place in places:
        error = not_checked(tool.run(checker="pyright"))
        assert shlex.split(error.command)[0] == str(place / "pyright")
        (place / "pyright").chmod(0o644)
    error = not_checked(tool.run(checker="pyright"))
    assert (error.cause, error.exit_code, error.effect) == ("checker-failed", None, "none")
    assert all(str(place) in error.stderr for place in places)


def test_a_configured_checker_that_is_not_installed(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "own/bin/python"))
    put(root, {"mypy.ini": "", "cart.py": GOOD})
    error = not_checked(TypecheckTool(root, env={"PATH": str(tmp_path)}).run())
    assert (error.command, error.cause, error.effect) == ("mypy", "checker-failed", "none")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_packages_of_the_projects_environment_are_seen(root: Path, name: Name) -> None:
    put(root, {"cart.py": "import pricing\n\ntotal: int = pricing.NAME\n", "mypy.ini": "", "pyrightconfig.json": "{}"})
    venv.create(root / ".venv", symlinks=True)
    packages = Path(f".venv/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages")
    put(root, {f"{packages}/pricing/__init__.py": 'NAME: str = "x"\n', f"{packages}/pricing/py.typed": ""})
    error = found_errors(TypecheckTool(root).run("cart.py", checker=name))
    assert [(found.line, found.column) for found in error.diagnostics if found.severity == "error"] == [(3, 14)]


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("name", NAMES)
def test_an_active_environment_that_is_gone_is_none(root: Path, name: Name, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root, {"cart.py": GOOD})
    monkeypatch.setenv("VIRTUAL_ENV", "/nowhere")
    report(TypecheckTool(root).run("cart.py", checker=name))
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/bin/python").symlink_to(sys.executable)  # and nothing else that makes it one
    report(TypecheckTool(root).run("cart.py", checker=name))


# What is checked.


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    "files",
    [
        {"mypy.ini": "[mypy]\nfiles = bad.py\n"},
        {"pyproject.toml": '[tool.mypy]\nmodules = ["bad"]\n'},
        {"pyproject.toml": '[tool.pyright]\ninclude = ["bad.py"]\n'},
        {"ty.toml": '[src]\ninclude = ["bad.py"]\n'},
    ],
)
def test_without_paths_the_configuration_says_what(root: Path, files: Mapping[str, str]) -> None:
    put(root, {"bad.py": BAD, "worse.py": BAD, **files})
    error = found_errors(TypecheckTool(root).run())
    assert {found.path for found in error.diagnostics} == {"bad.py"}


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("file", ["mypy.ini", "pyrightconfig.json", "ty.toml"])
def test_under_a_configuration_further_up_only_the_root_is_checked(root: Path, file: str) -> None:
    put(root, {"bad.py": BAD, "part/worse.py": BAD, file: "{}" if file == "pyrightconfig.json" else ""})
    error = found_errors(TypecheckTool(root / "part").run())
    assert {found.path for found in error.diagnostics} == {"worse.py"}


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("name", ["mypy", "pyright", "ty"])
def test_paths_are_never_options(root: Path, name: Name) -> None:
    odd = ["-x.py", "@y.py", "a b.py", "ö.py"]
    put(root, dict.fromkeys(odd, BAD))
    error = found_errors(TypecheckTool(root).run(*odd, checker=name))
    assert {found.path for found in error.diagnostics} == set(odd)


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("name", ["mypy", "pyright", "ty"])
def test_paths_are_relative_to_the_root_also_through_a_link(root: Path, tmp_path: Path, name: Name) -> None:
    put(root, {"cart.py": BAD})
    put(tmp_path, {"outside.py": BAD})
    link = tmp_path / "link"
    link.symlink_to(root)
    error = found_errors(TypecheckTool(link).run(root / "cart.py", tmp_path / "outside.py", checker=name))
    (outside,) = {found.path for found in error.diagnostics} - {"cart.py"}
    assert len(error.diagnostics) == 2
    assert (root / outside).resolve() == tmp_path / "outside.py"


@pytest.mark.parametrize("name", ["mypy", "pyright", "ty"])
def test_a_name_that_is_not_text_is_a_failure_and_no_exception(root: Path, name: Name) -> None:
    with open(os.path.join(os.fsencode(root), b"n\xff.py"), "w") as file:
        file.write(BAD)
    # None can open it: mypy crashes, pyright looks for another name, ty refuses it.
    assert not_checked(TypecheckTool(root).run(os.fsdecode(b"n\xff.py"), checker=name)).cause == "checker-failed"


# The caller's machine.

FOREIGN = {
    **hostile_display.ENVIRONMENT,
    "MYPY_FORCE_COLOR": "1",
    "MYPY_FORCE_TERMINAL_WIDTH": "20",
    "LC_ALL": "de",
    "LANG": "de",
    "LANGUAGE": "de",
    "VSCODE_NLS_CONFIG": '{"locale": "de"}',
    "CI": "1",
    "CI_PROJECT_DIR": "/",
    "TY_LOG": "debug",
    "TY_CONFIG_FILE": "/nowhere/ty.toml",
    "TY_OUTPUT_FORMAT": "concise",
    "TY_MEMORY_REPORT": "full",
}


@pytest.mark.slow
@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("name", NAMES)
def test_colour_and_language_of_the_caller_change_nothing(
    root: Path, name: Name, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root, {"cart.py": BAD})
    neutral = found_errors(TypecheckTool(root).run("cart.py", checker=name))
    for variable, value in FOREIGN.items():
        monkeypatch.setenv(variable, value)
    program = Path(sys.executable).with_name(name)
    arguments = ["check", "cart.py"] if name == "ty" else ["cart.py"]
    plain = subprocess.run([program, *arguments], cwd=root, capture_output=True, text=True, check=False)
    shown = {"mypy": ESC, "ty": "/nowhere/ty.toml"}.get(name, "Der Typ")
    assert shown in plain.stdout + plain.stderr
    foreign = found_errors(TypecheckTool(root).run("cart.py", checker=name))
    assert foreign.diagnostics == neutral.diagnostics
    assert ESC not in foreign.stdout + foreign.stderr


@pytest.mark.usefixtures("cache")
def test_display_settings_of_the_project_change_nothing(root: Path) -> None:
    put(root, {"cart.py": BAD})
    neutral = found_errors(TypecheckTool(root).run("cart.py", checker="mypy"))
    shown = "pretty, color_output, error_summary, show_absolute_path, show_error_end, install_types, non_interactive"
    options = "".join(f"{option} = True\n" for option in shown.split(", "))
    put(root, {"mypy.ini": f"[mypy]\n{options}junit_xml = report.xml\n"})
    error = found_errors(TypecheckTool(root).run("cart.py"))
    assert error.diagnostics == neutral.diagnostics
    assert not (root / "report.xml").exists()


@pytest.mark.slow
def test_nothing_is_written_but_the_cache_of_mypy(root: Path) -> None:
    put(root, {"cart.py": GOOD, "pyproject.toml": MYPY + BASED})
    place = {"startColumn": 13, "endColumn": 15, "lineCount": 1}
    baseline = json.dumps({"files": {"./cart.py": [{"code": "reportAssignmentType", "range": place}]}})
    put(root, {".basedpyright/baseline.json": baseline})
    before = {path.relative_to(root) for path in root.rglob("*")}
    report(TypecheckTool(root).run(checker="basedpyright"))
    assert {path.relative_to(root) for path in root.rglob("*")} == before
    assert (root / ".basedpyright/baseline.json").read_text() == baseline
    report(TypecheckTool(root).run(checker="mypy"))
    new = {path.relative_to(root) for path in root.rglob("*")} - before
    assert {path.parts[0] for path in new} == {".mypy_cache"}


def test_a_change_of_the_same_size_in_the_same_second_is_seen(root: Path) -> None:
    clock = root / "clock"
    script(root / ".venv/bin/mypy", f"date +%s >>{clock}")
    tool = TypecheckTool(root)
    changed = write(root / "shop/cart.py", GOOD)
    report(tool.run(checker="mypy"))
    assert int(clock.read_text()) > int(changed.stat().st_mtime)


def test_sources_of_old_are_not_waited_for(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root, {"cart.py": GOOD})
    write(root / "notes.txt", "not a source")
    script(root / ".venv/bin/mypy", "exit 0")
    sleep, slept = time.sleep, [0.0]
    while time.time() % 1 > 0.5:  # a wait would be for the rest of the second
        sleep(0.01)

    def recorded(seconds: float) -> None:
        slept.append(seconds)
        sleep(seconds)

    monkeypatch.setattr(time, "sleep", recorded)
    report(TypecheckTool(root).run(checker="mypy"))
    assert max(slept) < 0.1


# Checkers that misbehave.


@pytest.mark.parametrize("name", ANY)
@pytest.mark.parametrize(
    "body",
    [
        pytest.param("echo rubbish; exit 1", id="rubbish"),
        pytest.param("echo rubbish", id="rubbish and success"),
        pytest.param('echo "{}"; exit 1', id="a document of another kind"),
        pytest.param("exit 1", id="silence"),
        pytest.param("exit 77", id="another exit code"),
        pytest.param("kill -SEGV $$", id="a signal"),
        pytest.param("#!/nowhere/python\n", id="an interpreter that is gone"),
        pytest.param("#!\x00\x01", id="not a program"),
    ],
)
def test_a_checker_that_does_not_answer_has_failed(root: Path, name: Name | Literal["tsc"], body: str) -> None:
    put(root, {"cart.py": GOOD})
    script(root / ".venv/bin" / name, body)
    assert not_checked(TypecheckTool(root).run(checker=name)).cause == "checker-failed"


def test_the_text_and_the_signal_of_a_checker_that_failed_are_kept(root: Path) -> None:
    script(root / ".venv/bin/mypy", "echo out; echo err >&2; kill -KILL $$")
    error = not_checked(TypecheckTool(root).run(checker="mypy"))
    assert (error.stdout, error.stderr, error.signal, error.exit_code) == ("out\n", "err\n", "SIGKILL", None)


def test_a_traceback_after_an_error_is_a_failure(root: Path) -> None:
    line = json.dumps({"file": "a.py", "line": 1, "column": 0, "message": "no", "code": None, "severity": "error"})
    script(root / ".venv/bin/mypy", f"echo '{line}'; echo Traceback >&2; exit 1")
    assert not_checked(TypecheckTool(root).run(checker="mypy")).cause == "checker-failed"


@pytest.mark.usefixtures("cache")
def test_a_wrapper_that_keeps_stderr_does_not_hide_errors(root: Path) -> None:
    put(root, {"cart.py": BAD})
    real = Path(sys.executable).with_name("mypy")
    script(root / ".venv/bin/mypy", f'exec {real} "$@" 2>/dev/null')
    error = found_errors(TypecheckTool(root).run("cart.py", checker="mypy"))
    assert [found.line for found in error.diagnostics] == [1]


def test_a_checker_that_does_not_end_is_ended(root: Path) -> None:
    script(root / ".venv/bin/pyright", "sleep 1000 & sleep 1000")
    started = time.monotonic()
    error = not_checked(TypecheckTool(root).run(checker="pyright", timeout=0.3))
    assert time.monotonic() - started < 15
    assert (error.cause, error.exit_code) == ("timeout", None)


def test_the_wait_for_the_second_is_inside_the_deadline(root: Path) -> None:
    script(root / ".venv/bin/mypy", "sleep 1000")
    write(root / "cart.py", GOOD)
    started = time.monotonic()
    assert not_checked(TypecheckTool(root).run(checker="mypy", timeout=0.05)).cause == "timeout"
    assert time.monotonic() - started < 15


def test_a_cancelled_check_says_so(root: Path) -> None:
    os.mkfifo(root / "started")
    script(root / ".venv/bin/pyright", "echo >started; sleep 1000")
    results: list[Result[TypecheckReport, Any]] = []
    thread = threading.Thread(target=lambda: results.append(TypecheckTool(root).run(checker="pyright")))
    thread.start()
    (root / "started").read_bytes()
    cancel_all("enough")
    thread.join(10)
    assert not_checked(results[0]).cause == "cancelled"


def test_a_secret_of_the_environment_is_in_no_failure(root: Path) -> None:
    line = '{"file": "a.py", "line": 1, "column": 0, "message": "$SHOP_TOKEN", "code": null, "severity": "error"}'
    secret = "Zx81-planted-4711"
    for body in (f"cat <<X\n{line}\nX\nexit 1", "echo $SHOP_TOKEN; exit 1"):
        script(root / ".venv/bin/mypy", body)
        error = TypecheckTool(root, env={"SHOP_TOKEN": secret}).run(checker="mypy").failure()
        assert secret not in repr(error) + str(error)


# Parsers.

ROOTS = ("/srv/shop", "/data/shop")
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
    lambda name: not name.startswith(("/", "./"))
)
places = st.integers(1, 10**6)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["file", "line", "range"]), inner),
    max_leaves=8,
)


@settings(deadline=None)
@given(names, places, places, st.text(), st.sampled_from(["", *(f"{root}/" for root in ROOTS)]))
def test_lines_of_mypy_give_back_what_was_written(path: str, line: int, column: int, message: str, above: str) -> None:
    value = {"file": above + path, "line": line, "column": column - 1, "message": message, "severity": "error"}
    (found,), rest = parse_mypy(json.dumps({**value, "code": "misc", "hint": None}).encode() + b"\n", ROOTS)
    assert found == Diagnostic(path=path, line=line, column=column, severity="error", code="misc", message=message)
    assert rest == 0


@settings(deadline=None)
@given(names, places, places, st.text(), st.sampled_from(["error", "warning", "information"]))
def test_documents_of_pyright_give_back_what_was_written(
    path: str, line: int, column: int, message: str, severity: Literal["error", "warning", "information"]
) -> None:
    start = {"line": line - 1, "character": column - 1}
    entry = {
        "file": f"/srv/shop/{path}",
        "severity": severity,
        "message": message,
        "rule": "r",
        "range": {"start": start},
    }
    text = json.dumps({"generalDiagnostics": [entry], "summary": {}}, indent=4, ensure_ascii=False)
    document = parse_document(b"Config said something\n" + text.encode("utf-8", "backslashreplace"))
    assert document is not None
    (found,) = parse_pyright(document, ROOTS)
    assert (found.path, found.line, found.column) == (Diagnostic(path=path).path, line, column)
    assert (found.severity, found.code) == (severity, "r")


@settings(deadline=None)
@given(names, places, places, st.text(), st.sampled_from(["major", "critical", "minor", "info"]))
def test_lists_of_ty_give_back_what_was_written(path: str, line: int, column: int, message: str, severity: str) -> None:
    begin = {"line": line, "column": column}
    entry = {
        "check_name": "rule",
        "description": f"rule: {message}",
        "severity": severity,
        "location": {"path": path, "positions": {"begin": begin, "end": begin}},
    }
    document = parse_list(json.dumps([entry], indent=2).encode())
    assert document is not None
    severities: Mapping[str, Literal["warning", "information"]] = {"minor": "warning", "info": "information"}
    (found,) = parse_ty(document, ROOTS)
    assert found == Diagnostic(
        path=path, line=line, column=column, severity=severities.get(severity, "error"), code="rule", message=message
    )


@settings(deadline=None)
@given(st.binary() | json_values.map(lambda value: json.dumps(value).encode()))
def test_parsers_take_whatever_is_printed(stdout: bytes) -> None:
    parse_mypy(stdout, ROOTS)
    document = parse_document(stdout)
    assert document is None or list(parse_pyright(document, ROOTS)) is not None
    listed = parse_list(stdout)
    assert listed is None or list(parse_ty(listed, ROOTS)) is not None


@settings(deadline=None)
@given(
    st.lists(json_values),
    st.dictionaries(st.sampled_from(["file", "severity", "message", "range", "rule"]), json_values),
)
def test_parsers_take_documents_of_any_content(entries: list[Any], entry: dict[str, Any]) -> None:
    mypy = {"file": "a.py", "message": "", "severity": "error", **entry}
    found, rest = parse_mypy(json.dumps(mypy).encode(), ROOTS)
    assert len(found) + rest == 1
    document = {"generalDiagnostics": [*entries, {"severity": "error", "message": "", **entry}], "summary": {}}
    parsed = parse_document(json.dumps(document).encode())
    assert parsed is not None
    list(parse_pyright(parsed, ROOTS))
    listed = parse_list(json.dumps([*entries, {"check_name": "", "description": "", "location": entry}]).encode())
    assert listed is not None
    list(parse_ty(listed, ROOTS))


def test_text_of_older_mypy_is_read_too() -> None:
    stdout = b"shop/a b.py:3:7: error: Invalid syntax  [syntax]\nb.py:1: note: See [this]\nmypy: error: no place\n"
    found, rest = parse_mypy(stdout, ROOTS)
    assert found == (
        Diagnostic(path="shop/a b.py", line=3, column=7, severity="error", code="syntax", message="Invalid syntax"),
        Diagnostic(path="b.py", line=1, severity="information", message="See [this]"),
    )
    assert rest == 1
