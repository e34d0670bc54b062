"""HEAD read from its files says what git says, and nothing where git must be asked."""

import os
from pathlib import Path

import pytest
from worlds.repository import git, sha, write

from orca.results import or_raise
from orca.tools import GitTool
from orca.tools.repository.head_file import loose_head


def read(repo: Path) -> tuple[str, str] | None:
    return loose_head(str(repo / ".git"), str(repo / ".git"))


@pytest.mark.parametrize("name", ["main", "fix/total", "caf\udce9", "a b".replace(" ", "\u00a0")])
def test_a_branch_with_a_loose_ref_is_read(repo: Path, name: str) -> None:
    git(repo, "switch", "--quiet", *(() if name == "main" else ("-c",)), name)
    assert read(repo) == (sha(repo), name)


def test_git_is_asked_where_the_files_do_not_say(repo: Path) -> None:
    git(repo, "pack-refs", "--all")
    assert read(repo) is None
    assert or_raise(GitTool(repo).head()) == sha(repo)
    git(repo, "switch", "--quiet", "--detach")
    assert read(repo) is None
    git(repo, "switch", "--quiet", "--orphan", "unborn")
    assert read(repo) is None
    git(repo, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
    git(repo, "symbolic-ref", "HEAD", "refs/heads/alias")
    assert read(repo) is None


def test_what_another_ref_storage_leaves_there_is_not_read(repo: Path) -> None:
    write(repo / ".git" / "HEAD", "ref: refs/heads/.invalid\n")
    assert read(repo) is None


def test_a_fifo_in_its_place_does_not_block(repo: Path) -> None:
    ref = repo / ".git" / "refs" / "heads" / "main"
    ref.unlink()
    os.mkfifo(ref)
    assert read(repo) is None
