"""The public surface: every name where it should be, documented with an example, and nothing loaded before its time."""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest

import orca
import orca.errors
import orca.flows
import orca.tools
from orca.errors import RuntimeError

PACKAGES = [orca, orca.errors, orca.flows, orca.tools]
MODULES = [module.name for module in pkgutil.walk_packages(orca.__path__, "orca.")]


def loaded_by(code: str, cwd: Path) -> set[str]:
    """The modules that a fresh interpreter has after `code` and would not have without it."""
    script = f"import sys\nbefore = set(sys.modules)\n{code}\nprint(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=cwd, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_public_names_are_sorted_once_each_and_can_be_imported(package: ModuleType) -> None:
    names = package.__all__
    assert len(names) == len(set(names))
    assert names == sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    for name in names:
        assert getattr(package, name) is not None
    assert set(names) <= set(dir(package))


def test_what_people_and_checkers_are_told_is_what_is_loaded() -> None:
    tree = ast.parse(Path(orca.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    told = {
        node.module: {alias.name for alias in node.names} for node in block.body if isinstance(node, ast.ImportFrom)
    }
    assert told == {f"orca.{home}": set(names) for home, names in orca._HOMES.items()}
    assert sorted(name for names in told.values() for name in names) == sorted(orca.__all__)


@pytest.mark.parametrize("name", orca.__all__)
def test_a_public_name_is_the_object_of_its_home(name: str) -> None:
    home = importlib.import_module(f"orca.{orca._HOME[name]}")
    assert getattr(orca, name) is getattr(home, name)
    assert name in home.__all__


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    for package in PACKAGES:
        with pytest.raises(AttributeError):
            package.no_such_name  # noqa: B018


def test_the_builtin_name_is_not_exported_at_the_top() -> None:
    assert "RuntimeError" not in orca.__all__
    assert "RuntimeError" in orca.errors.__all__


def test_no_module_has_the_name_of_a_public_function() -> None:
    """Importing such a module would put it in the place of the function."""
    functions = {name for name in orca.__all__ if inspect.isfunction(getattr(orca, name))}
    assert {"git", "flow", "command", "typecheck"} <= functions
    for module in MODULES:
        package, _, name = module.rpartition(".")
        beside = getattr(importlib.import_module(package), "__all__", ())
        assert name not in functions, module
        assert name not in beside, module


def test_every_module_says_what_it_is_for() -> None:
    for name in MODULES:
        text = importlib.import_module(name).__doc__
        assert text, name


def test_errors_are_built_by_their_constructors_only() -> None:
    tags = {tag.__name__ for tag in get_args(RuntimeError)}
    for path in Path(orca.__file__).parent.rglob("*.py"):
        built = {
            node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call)
        }
        assert built & tags == (tags if path.name == "constructors.py" else set()), path


def test_importing_orca_loads_nothing_else(tmp_path: Path) -> None:
    assert loaded_by("import orca", tmp_path) == {"orca"}


HEAVY = {"pydantic", "git", "psutil", "asyncio", "importlib.metadata", "logging", "mypy"}


@pytest.mark.parametrize(
    "code",
    [
        "from orca.errors import NothingToCommit, nothing_to_commit, recovery; str(nothing_to_commit())",
        "from orca import Failure, NothingToCommit, Success, git, outcome; git()",
        "from orca import command, flow, typecheck; flow().__enter__(); command(); typecheck()",
    ],
)
def test_working_without_a_failure_on_the_wire_loads_nothing_heavy(code: str, repo: Path) -> None:
    assert loaded_by(code, repo) & HEAVY == set()


def test_the_wire_form_is_loaded_when_it_is_asked_for(tmp_path: Path) -> None:
    assert "pydantic" in loaded_by("from orca import to_wire", tmp_path)


def is_ours(value: object) -> bool:
    return str(getattr(value, "__module__", "")).startswith("orca")


def documented() -> Iterator[tuple[str, Any]]:
    """Every public function and class, and every method and property of such a class that is orca's own."""
    for package in PACKAGES:
        for name in package.__all__:
            value = getattr(package, name)
            if is_ours(value):
                yield name, value
                for method in dir(value) if inspect.isclass(value) else ():
                    member = inspect.getattr_static(value, method)
                    function = (
                        getattr(member, "fget", None)
                        or getattr(member, "func", None)
                        or getattr(member, "__func__", member)
                    )
                    if not method.startswith("_") and is_ours(function):
                        yield f"{name}.{method}", member


DOCUMENTED = dict(documented())


@pytest.mark.parametrize("name", DOCUMENTED)
def test_public_names_are_documented(name: str) -> None:
    assert inspect.getdoc(DOCUMENTED[name])


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, value in DOCUMENTED.items()
        if not inspect.isclass(value) and not isinstance(value, (property, cached_property))
    ],
)
def test_public_functions_and_methods_have_an_example(name: str) -> None:
    assert ">>> " in (inspect.getdoc(DOCUMENTED[name]) or "")


def test_results_and_errors_are_documented_frozen_dataclasses() -> None:
    for package in PACKAGES:
        for name in package.__all__:
            value = getattr(package, name)
            if inspect.isclass(value) and is_dataclass(value):
                assert value.__dataclass_params__.frozen, name  # type: ignore[attr-defined]
                assert "__slots__" in vars(value), name
                assert not (value.__doc__ or "").startswith(f"{name}("), f"{name} has only the generated text"
