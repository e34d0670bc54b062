"""What orca costs beside the bare alternative: medians of interleaved pairs, as one table."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import bench_checkpoints
import bench_files
import bench_worktrees
from bench_pairs import PAIRS, bare_git, ratio, repository

from orca.results import or_raise
from orca.tools import CommandTool, GitTool
from orca.tools.repository.states import STATUS

FLOOD = "head -c 400000000 /dev/zero"
FRESH_ORCA = "from orca import git, outcome, NothingToCommit; outcome(git().status())"
FRESH_BARE = f"import subprocess; subprocess.run(['git', *{STATUS!r}], capture_output=True)"


def statuses(top: Path) -> list[tuple[str, float, float]]:
    """`status` of a large repository, clean and with changes, against the same command."""
    path = top / "large"
    tool = repository(path, 5000)
    rows = [("`status()`, 5,000 files, clean", 1.25, ratio(tool.status, lambda: bare_git(path, *STATUS)))]
    for number in range(100):
        (path / f"package{number % 50}" / f"module{number}.py").write_text("changed = True\n")
    rows.append(("`status()`, 100 of 5,000 changed", 1.25, ratio(tool.status, lambda: bare_git(path, *STATUS))))
    return rows


def commits(top: Path) -> list[tuple[str, float, float]]:
    """`commit` of one staged file, against the three commands by hand."""
    path = top / "commits"
    tool = repository(path, 100)
    counter = iter(range(1, 1_000_000))

    def staged() -> None:
        (path / "package0" / "module0.py").write_text(f"value = {next(counter)}\n")
        subprocess.run(["git", "add", "-A"], cwd=path, check=True)

    def by_hand() -> None:
        bare_git(path, "diff", "--cached", "--quiet")
        bare_git(path, "commit", "-q", "-F", "-", input=b"message")
        bare_git(path, "log", "-1", "--numstat", "-z", "--format=%H%x00%h%x00%s%x00")

    ratios = []
    for _ in range(2 * PAIRS):
        staged()
        start = time.perf_counter()
        or_raise(tool.commit("message"))
        ours = time.perf_counter() - start
        staged()
        start = time.perf_counter()
        by_hand()
        ratios.append(ours / (time.perf_counter() - start))
    return [("`commit()` of one staged file / `diff`, `commit`, `log` by hand", 1.25, statistics.median(ratios))]


def commands() -> list[tuple[str, float, float]]:
    """A short command, and one that floods its output."""
    tool = CommandTool()

    def many(run: Callable[[], object]) -> Callable[[], object]:
        return lambda: [run() for _ in range(20)]

    bare = many(lambda: subprocess.run(["true"], capture_output=True, check=False))
    short = ratio(many(lambda: tool.run("true")), bare)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    flood = ratio(
        lambda: or_raise(tool.run("sh", "-c", FLOOD)),
        lambda: subprocess.run(f"{FLOOD} | cat >/dev/null", shell=True, check=True),
    )
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return [
        ('`run("true")` / `subprocess.run`', 1.5, short),
        ("400 MB through `run` / the same pipe into `cat`", 2.0, flood),
        ("more resident memory for it (MiB)", 32.0, grown),
    ]


def starts(top: Path) -> list[tuple[str, float, float]]:
    """A fresh interpreter: what an import and a first call cost."""

    def python(code: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", code], cwd=top / "commits", check=True)

    return [
        ("`import orca` / a bare interpreter", 1.3, ratio(python("import orca"), python("pass"), 15)),
        (
            "a script with `git().status()` / one with `subprocess`",
            3.0,
            ratio(python(FRESH_ORCA), python(FRESH_BARE), 15),
        ),
    ]


def many_paths(top: Path) -> list[tuple[str, float, float]]:
    """40,000 explicit paths, added and committed in one call each."""
    path = top / "many"
    tool = or_raise(GitTool.init(path))
    (path / "directory").mkdir()
    names = [f"directory/{'n' * 50}{number:06}" for number in range(40_000)]
    for name in names:
        (path / name).write_text(name)
    start = time.perf_counter()
    added = or_raise(tool.add(*names))
    commit = or_raise(tool.commit("all of them"))
    seconds = time.perf_counter() - start
    assert len(added) == len(commit.files) == len(names)
    return [("40,000 explicit paths added and committed (s; the deadline of `add`)", 120.0, seconds)]


def main() -> int:
    """Print the table; 1 where a line is outside its bound."""
    with tempfile.TemporaryDirectory(prefix="orca-bench-") as folder:
        top = Path(folder)
        os.environ["HOME"] = folder
        (top / ".gitconfig").write_text("[user]\nname = Bench\nemail = bench@example.invalid\n")
        rows = [
            *commands(),
            *statuses(top),
            *commits(top),
            *starts(top),
            *many_paths(top),
            *bench_files.rows(top),
            *bench_checkpoints.rows(top),
            *bench_worktrees.rows(top),
        ]
    print("| what | bound | measured |\n|---|---|---|")
    for what, bound, measured in rows:
        print(f"| {what} | {bound:g} | {measured:.2f} |")
    outside = [what for what, bound, measured in rows if measured > bound]
    for what in outside:
        print(f"outside its bound: {what}", file=sys.stderr)
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
