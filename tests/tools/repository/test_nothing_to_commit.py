"""`NothingToCommit`: every way of having nothing to commit, whatever language and display the caller has."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import worlds.german
import worlds.hostile_display
from outcomes import changed, nothing, state
from worlds.repository import commit, git, run_git, seed, sha, write

from orca.results import or_raise
from orca.tools import GitTool

CALLERS: Mapping[str, Mapping[str, str]] = {
    "C.UTF-8 with LANGUAGE=de": {"LC_ALL": "C.UTF-8", "LANGUAGE": "de"},
    "LANG=de": {"LC_ALL": "", "LANG": "de_DE.UTF-8"},
    "LC_ALL=de": {"LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de:en"},
    "LC_MESSAGES=de": {"LC_MESSAGES": "de_DE.UTF-8", "LANG": "C"},
    "hostile display": {},
}


@pytest.fixture(params=CALLERS)
def caller(request: pytest.FixtureRequest, home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A caller whose machine would make git say the same thing in other words."""
    name: str = request.param
    if "de" in name and (reason := worlds.german.missing()):
        pytest.skip(reason)
    env = CALLERS[name]
    if name == "hostile display":
        worlds.hostile_display.configure(home)
        env = worlds.hostile_display.ENVIRONMENT
    for variable, value in env.items():
        monkeypatch.setenv(variable, value)
    return name


def clean(repo: Path) -> None:
    pass


def touched(repo: Path) -> None:
    os.utime(repo / "a.txt", (1, 1))


def unstaged(repo: Path) -> None:
    write(repo / "a.txt", "changed\n")


def untracked(repo: Path) -> None:
    write(repo / "new", "new\n")
    write(repo / "folder/other", "new\n")


def both(repo: Path) -> None:
    unstaged(repo)
    untracked(repo)


def ignored(repo: Path) -> None:
    write(repo / ".git/info/exclude", "new\n")
    write(repo / "new", "new\n")


def unborn(repo: Path) -> None:
    git(repo, "switch", "--quiet", "--orphan", "other")


def unborn_with_a_file(repo: Path) -> None:
    unborn(repo)
    write(repo / "new", "new\n")


def intended(repo: Path) -> None:
    write(repo / "new", "new\n")
    git(repo, "add", "--intent-to-add", "new")


def staged_and_taken_back(repo: Path) -> None:
    write(repo / "a.txt", "changed\n")
    git(repo, "add", "a.txt")
    write(repo / "a.txt", "a\n")
    git(repo, "add", "a.txt")


def mode_that_does_not_count(repo: Path) -> None:
    git(repo, "config", "core.fileMode", "false")
    (repo / "a.txt").chmod(0o755)


def with_submodule(repo: Path) -> Path:
    seed(repo.parent / "sub")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../sub", "sub")
    git(repo, "commit", "--quiet", "-m", "submodule")
    return repo / "sub"


def dirt_in_a_submodule(repo: Path) -> None:
    write(with_submodule(repo) / "a.txt", "changed\n")


def untracked_in_a_submodule(repo: Path) -> None:
    write(with_submodule(repo) / "new", "new\n")


def staged_in_a_submodule(repo: Path) -> None:
    sub = with_submodule(repo)
    write(sub / "a.txt", "changed\n")
    git(sub, "add", "a.txt")


def detached(repo: Path) -> None:
    git(repo, "switch", "--quiet", "--detach")


Face = Callable[[Path], None]

# What is there but not staged: files that differ, files that git does not know.
FACES: Mapping[Face, tuple[int, int]] = {
    clean: (0, 0),
    touched: (0, 0),
    unstaged: (1, 0),
    untracked: (0, 2),
    both: (1, 2),
    ignored: (0, 0),
    unborn: (0, 0),
    unborn_with_a_file: (0, 1),
    intended: (1, 0),
    staged_and_taken_back: (0, 0),
    mode_that_does_not_count: (0, 0),
    dirt_in_a_submodule: (1, 0),
    untracked_in_a_submodule: (1, 0),
    staged_in_a_submodule: (1, 0),
    detached: (0, 0),
}

# The faces that stay what they are when everything is staged first.
FACES_OF_ALL = (
    *(clean, touched, ignored, unborn, staged_and_taken_back, mode_that_does_not_count, detached),
    *(dirt_in_a_submodule, untracked_in_a_submodule, staged_in_a_submodule),
)


def name_of(face: Face) -> str:
    return face.__name__


@pytest.mark.parametrize("face", FACES, ids=name_of)
def test_nothing_to_commit_counts_what_was_not_staged_and_moves_nothing(face: Face, repo: Path) -> None:
    face(repo)
    before = state(repo)
    assert nothing(GitTool(repo).commit("x")) == FACES[face]
    assert state(repo) == before


@pytest.mark.usefixtures("caller")
@pytest.mark.parametrize("face", [clean, both, unborn_with_a_file, untracked_in_a_submodule], ids=name_of)
def test_nothing_to_commit_whatever_the_callers_machine_says(face: Face, repo: Path) -> None:
    face(repo)
    before = state(repo)
    assert nothing(GitTool(repo).commit("x")) == FACES[face]
    assert state(repo) == before


@pytest.mark.parametrize("face", FACES_OF_ALL, ids=name_of)
def test_nothing_to_commit_after_staging_everything(face: Face, repo: Path) -> None:
    face(repo)
    before = state(repo)
    for _ in range(2):  # a loop of "dirty, so commit" must be able to end
        assert nothing(GitTool(repo).commit("x", add="all")) == FACES[face]
    assert state(repo) == before


@pytest.mark.parametrize("face", [unstaged, untracked, both, intended, unborn_with_a_file], ids=name_of)
def test_what_is_there_is_committed_when_it_is_staged_first(face: Face, repo: Path) -> None:
    face(repo)
    commit = or_raise(GitTool(repo).commit("x", add="all"))
    assert {os.fsencode(file.path) for file in commit.files} == changed(repo)
    assert git(repo, "status", "--porcelain") == b""


def test_nothing_to_commit_of_some_paths_counts_against_the_real_index(repo: Path) -> None:
    write(repo / "staged", "staged\n")
    git(repo, "add", "staged")
    write(repo / "new", "new\n")
    write(repo / "staged", "and changed since\n")
    before = state(repo)
    assert nothing(GitTool(repo).commit("x", only=["a.txt"])) == (1, 1)
    assert state(repo) == before


def test_a_merge_that_changes_nothing_is_still_committed(repo: Path) -> None:
    git(repo, "switch", "--quiet", "--create", "other")
    theirs = commit(repo)
    git(repo, "switch", "--quiet", "main")
    ours = commit(repo, "c.txt")
    git(repo, "merge", "--no-commit", "--strategy=ours", "other")
    merged = or_raise(GitTool(repo).commit("merged"))
    assert git(repo, "rev-list", "--parents", "-1", "HEAD").decode().split() == [merged.sha, ours, theirs]
    assert sha(repo, "HEAD^{tree}") == sha(repo, f"{ours}^{{tree}}")
    assert merged.files == ()
    assert nothing(GitTool(repo).commit("again")) == (0, 0)


def test_a_pick_that_became_empty_is_nothing_to_commit(repo: Path) -> None:
    git(repo, "switch", "--quiet", "--create", "other")
    write(repo / "a.txt", "b\n")
    git(repo, "commit", "--quiet", "-am", "theirs")
    git(repo, "switch", "--quiet", "main")
    write(repo / "a.txt", "c\n")
    git(repo, "commit", "--quiet", "-am", "ours")
    assert run_git(repo, "cherry-pick", "other").returncode == 1
    write(repo / "a.txt", "c\n")
    git(repo, "add", "a.txt")
    assert nothing(GitTool(repo).commit("picked")) == (0, 0)
