"""Arguments that every tool takes: paths, timeouts, environments."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping

from orca.process import StrPath


def absolute(path: StrPath) -> str:
    """Return the path from the root of the file system; as it is where the current directory is gone."""
    try:
        return os.path.abspath(path)
    except OSError:
        return os.fspath(path)


def seconds(timeout: float) -> float:
    """Return a timeout that bounds something: positive and finite; anything else is misuse (`ValueError`)."""
    if not (timeout > 0 and math.isfinite(timeout)):
        raise ValueError(f"timeout must be a positive, finite number of seconds, not {timeout!r}")
    return timeout


def environment(*changes: Mapping[str, str | None]) -> dict[str, str]:
    """Return this process's environment with changes laid over it, one after the other; None takes a variable out."""
    env = dict(os.environ)
    for change in changes:
        for name, value in change.items():
            if value is None:
                env.pop(name, None)
            else:
                env[name] = value
    return env
