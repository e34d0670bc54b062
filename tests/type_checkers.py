"""mypy and pyright as users run them on code that uses orca: the lines that they refuse."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

# The settings that the README names, in the form that it prints them.
SETTINGS = Path(__file__).parent / "typing" / "pyproject.toml"

Strictness: TypeAlias = Literal["default", "settings"]
Refused: TypeAlias = dict[tuple[Path, int], str]


def mypy(paths: Sequence[Path], strictness: Strictness, scratch: Path) -> Refused:
    """What `mypy --strict` says by line, alone or with the settings that the README names."""
    config = SETTINGS if strictness == "settings" else ""
    arguments = [
        "--strict",
        "--output=json",
        "--no-error-summary",
        f"--config-file={config}",
        f"--cache-dir={scratch}/mypy",
    ]
    findings = map(json.loads, _run(["mypy", *arguments], paths, scratch).splitlines())
    return {
        ((scratch / found["file"]).resolve(), found["line"]): found["message"]
        for found in findings
        if found["severity"] == "error"
    }


def pyright(paths: Sequence[Path], strictness: Strictness, scratch: Path) -> Refused:
    """What pyright says by line, as it comes or with the settings that the README names."""
    project = scratch / strictness
    project.mkdir(exist_ok=True)
    if strictness == "settings":
        (project / SETTINGS.name).write_bytes(SETTINGS.read_bytes())
    report = json.loads(_run(["pyright", "--outputjson", "--pythonpath", sys.executable], paths, project))
    return {
        (Path(found["file"]).resolve(), found["range"]["start"]["line"] + 1): found["message"]
        for found in report["generalDiagnostics"]
        if found["severity"] == "error"
    }


CHECKERS: dict[str, Callable[[Sequence[Path], Strictness, Path], Refused]] = {"mypy": mypy, "pyright": pyright}


def _run(checker: list[str], paths: Sequence[Path], cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *checker, *paths], cwd=cwd, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode not in (0, 1):  # 1: it ran and found errors
        raise AssertionError(f"{checker} exited {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout
