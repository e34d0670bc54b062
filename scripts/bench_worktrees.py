"""What a worktree for each agent costs: made, one commit in it, removed."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench_pairs import bare_git, repository

from orca.results import or_raise

AGENTS = 16
THREADS = 8


def rows(top: Path) -> list[tuple[str, float, float]]:
    """Sixteen worktrees by eight threads, against the same commands by hand, made one after the other."""
    tool = repository(top / "worktrees", 200)

    def ours(number: int) -> None:
        place = tool.worktree(f"ours/{number}")
        with place as made:
            mine = or_raise(made)
            (mine.root / "new.txt").write_text("new\n")
            or_raise(mine.commit("new", add="all"))
        assert place.end is not None
        assert place.end.removed, place.end.why

    def by_hand(number: int) -> None:
        path = top / "by-hand" / str(number)
        bare_git(tool.root, "worktree", "add", "-q", "-b", f"hand/{number}", str(path))
        (path / "new.txt").write_text("new\n")
        bare_git(path, "add", "-A")
        bare_git(path, "commit", "-q", "-m", "new")
        bare_git(tool.root, "worktree", "remove", str(path))

    def seconds(work: object) -> float:
        start = time.perf_counter()
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(work, range(AGENTS)))  # type: ignore[arg-type]
        return time.perf_counter() - start

    return [("16 worktrees, a commit in each, by 8 threads / by hand", float("inf"), seconds(ours) / seconds(by_hand))]
