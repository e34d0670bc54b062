"""Ours beside the bare alternative: in pairs, in the same run, in the same world."""

import os
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from orca.results import or_raise
from orca.tools import GitTool
from orca.tools.repository import neutral

PAIRS = 9


def ratio(ours: Callable[[], object], bare: Callable[[], object], pairs: int = PAIRS) -> float:
    """Return the median of ours / bare over interleaved pairs, after one of each to warm up."""
    ours()
    bare()
    ratios = []
    for _ in range(pairs):
        start = time.perf_counter()
        ours()
        between = time.perf_counter()
        bare()
        ratios.append((between - start) / (time.perf_counter() - between))
    return statistics.median(ratios)


def bare_git(cwd: Path, *args: str, input: bytes | None = None) -> None:
    """Run the argv and environment that orca gives git, with nothing around it."""
    env = neutral.environment("read", os.environ)
    subprocess.run(["git", *neutral.FLAGS, *args], cwd=cwd, env=env, input=input, capture_output=True, check=False)


def repository(path: Path, files: int) -> GitTool:
    """Make a repository with that many small files, all committed."""
    tool = or_raise(GitTool.init(path))
    for number in range(files):
        file = path / f"package{number % 50}" / f"module{number}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"value = {number}\n")
    or_raise(tool.commit("seed", add="all"))
    return tool
