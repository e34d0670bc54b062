"""Where programs are looked for: the project's own environment first, orca's next, PATH last."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterable, Mapping

from orca.tools.typecheckers.settings import directories


def virtual_environments(root: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the `bin` directories of the environments that may be the project's, the likeliest first."""
    active = env.get("VIRTUAL_ENV")
    homes = [".venv", "venv"] if not active else [".venv", "venv", active]
    return tuple(os.path.join(root, home, "bin") for home in homes)


def search_path(root: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return every directory that is looked in for a program, in order."""
    own = [os.path.dirname(sys.executable)] if sys.executable else []  # None or "" in an embedding program
    inherited = [os.path.join(root, folder) for folder in os.get_exec_path(env)]
    node = (os.path.join(directory, "node_modules", ".bin") for directory in directories(root))
    return tuple(dict.fromkeys((*virtual_environments(root, env), *node, *own, *inherited)))


def activated(env: Mapping[str, str], folders: Iterable[str], interpreter: str | None) -> dict[str, str]:
    """Return `env` as it is where the environment of the interpreter is active: checkers ask it for packages."""
    active = {name: value for name, value in env.items() if name != "VIRTUAL_ENV"}
    home = os.path.dirname(os.path.dirname(interpreter)) if interpreter else "/"
    if os.path.isfile(os.path.join(home, "pyvenv.cfg")):  # ty refuses to run in one that is broken
        active["VIRTUAL_ENV"] = home
    return {**active, "PATH": os.pathsep.join(folders)}


def find_program(folders: Iterable[str], *names: str) -> str | None:
    """Return the first executable file of one of the names; an earlier directory beats an earlier name."""
    for folder in folders:
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return None


def installed_version(program: str, package: str) -> str | None:
    """Return the version of the Python package beside the program: to ask it would cost as much as a small check."""
    home = os.path.dirname(os.path.dirname(os.path.realpath(program)))
    found = glob.glob(os.path.join(glob.escape(home), "lib", "python*", "*-packages", f"{package}-*.dist-info"))
    return os.path.basename(found[0]).split("-")[1].removesuffix(".dist") if found else None
