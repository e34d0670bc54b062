"""What every test of a type checker needs: a project with files in it, and the answer as what it has to be."""

import itertools
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orca.errors import CommandFailed, TypecheckFailed
from orca.results import Result
from orca.tools import TypecheckReport

from .repository import write

# Every file has a time of its own, all of them past: mypy's cache is shared by the tests, and knows whole seconds.
_times = itertools.count(int(time.time()) - 100_000)


def project(above: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The top of a worktree with nothing in it, and no virtual environment active."""
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    (above / "project" / ".git").mkdir(parents=True)
    return above / "project"


def put(root: Path, files: Mapping[str, str]) -> Path:
    """`root`, now with these files in it, written some time ago."""
    for name, content in files.items():
        path = write(root / name, content)
        moment = next(_times)
        os.utime(path, (moment, moment))
    return root


def report(result: Result[TypecheckReport, Any]) -> TypecheckReport:
    return result.unwrap()


def found_errors(result: Result[TypecheckReport, Any]) -> TypecheckFailed:
    error = result.failure()
    assert isinstance(error, TypecheckFailed), error
    return error


def not_checked(result: Result[TypecheckReport, Any]) -> CommandFailed:
    error = result.failure()
    assert isinstance(error, CommandFailed), error
    return error
