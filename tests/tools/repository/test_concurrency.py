"""Many callers at once: each gets just what it asked for, and nothing is lost between them."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from outcomes import changed, error_of
from worlds.repository import git, write

from orca.errors import BranchAlreadyExists, CommandFailed, RuntimeError
from orca.results import Result, Success, or_raise
from orca.tools import Branch, GitTool

PROCESSES, THREADS, COMMITS = 4, 8, 200

COMMITTER = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from orca.results import or_raise
from orca.tools import GitTool

root, threads, first, last = Path(sys.argv[1]), *map(int, sys.argv[2:])

def commit(number):
    name = f"file {number}"
    (root / name).write_text(name)
    return or_raise(GitTool(root).commit(name, add=[name])).files

with ThreadPoolExecutor(threads) as pool:
    for number, files in enumerate(pool.map(commit, range(first, last)), first):
        assert [file.path for file in files] == [f"file {number}"], files
"""


@pytest.mark.slow
def test_200_commits_from_32_threads_of_4_processes_are_200_commits_of_one_file_each(repo: Path) -> None:
    share = COMMITS // PROCESSES
    running = []
    for number in range(PROCESSES):
        numbers = map(str, (THREADS, number * share, (number + 1) * share))
        running.append(subprocess.Popen([sys.executable, "-c", COMMITTER, str(repo), *numbers], env=dict(os.environ)))
    assert [process.wait(120) for process in running] == [0] * PROCESSES
    log = or_raise(GitTool(repo).log(COMMITS + 9))
    assert {entry.subject for entry in log} == {*(f"file {number}" for number in range(COMMITS)), "seed"}
    assert len(log) == COMMITS + 1
    assert all(len(entry.parents) == 1 for entry in log[:-1])
    for entry in log[:-1]:
        assert changed(repo, entry.sha) == {entry.subject.encode()}
    assert or_raise(GitTool(repo).status()).clean


def test_partial_commits_and_whole_ones_from_many_threads_mix(repo: Path) -> None:
    def commit(number: int) -> set[str]:
        name = f"file {number}"
        write(repo / name, f"{name}\n")
        tool = GitTool(repo)
        made = tool.commit(name, only=[name]) if number % 2 else tool.commit(name, add=[name])
        return {file.path for file in or_raise(made).files}

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(commit, range(24))) == [{f"file {number}"} for number in range(24)]
    assert or_raise(GitTool(repo).status()).clean
    assert git(repo, "rev-list", "--count", "HEAD") == b"25\n"


def test_16_threads_stage_16_files(repo: Path) -> None:
    together = threading.Barrier(16)
    tool = GitTool(repo)

    def add(number: int) -> tuple[str, ...]:
        write(repo / f"file {number}", "new\n")
        together.wait(30)
        return or_raise(tool.add(f"file {number}"))

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(add, range(16))) == [(f"file {number}",) for number in range(16)]
    assert len(or_raise(tool.status()).staged) == 16


def test_reads_beside_writes_see_one_state_or_the_other(repo: Path) -> None:
    tool = GitTool(repo)
    done = threading.Event()

    def read() -> int:
        count = 0
        while not done.is_set():
            count += 1
            assert {entry.path for entry in or_raise(tool.status()).entries} <= {"new"}
            assert or_raise(tool.head()) is not None
            assert or_raise(tool.log(1))[0].subject in ("seed", "x")
        return count

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        for number in range(12):
            write(repo / "new", f"{number}\n")
            or_raise(tool.commit("x", add=["new"]))
        done.set()
        assert all(reader.result(30) > 0 for reader in readers)


def test_of_many_worktrees_that_make_one_branch_just_one_does(repo: Path) -> None:
    roots = [repo, *(repo.parent / f"linked {number}" for number in range(5))]
    for root in roots[1:]:
        git(repo, "worktree", "add", "--quiet", "--detach", root)
    together = threading.Barrier(len(roots))

    def create(root: Path) -> Result[Branch, RuntimeError]:
        together.wait(30)
        return GitTool(root).create_branch("wanted", switch=root != repo)

    with ThreadPoolExecutor(len(roots)) as pool:
        results = list(pool.map(create, roots))
    made = [result for result in results if isinstance(result, Success)]
    assert len(made) == 1
    for error in (error_of(result) for result in results if not isinstance(result, Success)):
        # Who comes while the other has not ended finds the ref locked, and may try again.
        in_time = isinstance(error, CommandFailed) and (error.cause, error.effect) == ("locked", "none")
        assert in_time or error == BranchAlreadyExists(branch="wanted"), error


def test_worktrees_commit_beside_each_other(repo: Path) -> None:
    roots = [repo.parent / f"linked {number}" for number in range(4)]
    for number, root in enumerate(roots):
        git(repo, "worktree", "add", "--quiet", "-b", f"branch-{number}", root)

    def commit(root: Path, number: int) -> str | None:
        write(root / "new", f"{number}\n")
        return or_raise(GitTool(root).commit("x", add="all")).branch

    def commits(root: Path) -> set[str | None]:
        return {commit(root, number) for number in range(5)}

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(commits, roots)) == [{f"branch-{number}"} for number in range(4)]
    for number in range(4):
        assert git(repo, "rev-list", "--count", f"branch-{number}") == b"6\n"
