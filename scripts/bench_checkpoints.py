"""What recording a worktree costs, and bringing it back."""

import statistics
import time
from pathlib import Path

from bench_pairs import PAIRS, bare_git, ratio, repository

from orca.results import or_raise
from orca.tools.repository.states import STATUS


def rows(top: Path) -> list[tuple[str, float, float]]:
    """A checkpoint of 5,000 files against `git status`, and a restore of 100 of them against a checkpoint."""
    path = top / "recorded"
    tool = repository(path, 5000)
    recorded = ratio(tool.checkpoint, lambda: bare_git(path, *STATUS))
    point = or_raise(tool.checkpoint())
    ratios = []
    for turn in range(PAIRS):
        for number in range(100):
            (path / f"package{number % 50}" / f"module{number}.py").write_text(f"changed = {turn}\n")
        start = time.perf_counter()
        or_raise(tool.restore(point))
        between = time.perf_counter()
        or_raise(tool.checkpoint())
        ratios.append((between - start) / (time.perf_counter() - between))
    return [
        ("`checkpoint()` of 5,000 files / `git status`", 25.0, recorded),
        ("`restore()` of 100 changed files / `checkpoint()`", 2.0, statistics.median(ratios)),
    ]
