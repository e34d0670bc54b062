"""Where programs are looked for: the project's own environment first, orca's next, PATH last."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping


def virtual_environments(root: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the `bin` directories of the environments that may be the project's, the likeliest first."""
    active = env.get("VIRTUAL_ENV")
    homes = [".venv", "venv"] if not active else [".venv", "venv", active]
    return tuple(os.path.join(root, home, "bin") for home in homes)


def search_path(root: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return every directory that is looked in for a program, in order."""
    own = [os.path.dirname(sys.executable)] if sys.executable else []  # None or "" in an embedding program
    inherited = [os.path.join(root, folder) for folder in os.get_exec_path(env)]
    node = os.path.join(root, "node_modules", ".bin")
    return tuple(dict.fromkeys((*virtual_environments(root, env), node, *own, *inherited)))


def find_program(folders: Iterable[str], *names: str) -> str | None:
    """Return the first executable file of one of the names; an earlier directory beats an earlier name."""
    for folder in folders:
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return None
