"""What stands in the way of a commit: each obstacle has a cause, and leaves HEAD, index and files as they were."""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from outcomes import failed, state
from worlds.disk import Disk
from worlds.repository import commit, git, hook, run_git, seed, sha, write

from orca.errors import CommandCause
from orca.results import or_raise
from orca.tools import GitTool


@pytest.fixture
def changing(repo: Path) -> Path:
    """The repository with one change staged, of `a.txt`."""
    write(repo / "a.txt", "a\nb\n")
    git(repo, "add", "a.txt")
    return repo


def no_name(repo: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    write(home / ".gitconfig", "[user]\n\tuseConfigOnly = true\n")


def no_name_but_an_email(repo: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    write(home / ".gitconfig", "[user]\n\tname =\n\temail = t@example.invalid\n")


def empty_author(repo: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("GIT_AUTHOR_NAME", "")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "")


def name_of_crud(repo: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    git(repo, "config", "user.name", "<>")


def no_gpg_key(repo: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    (home / "gnupg").mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home / "gnupg"))
    git(repo, "config", "commit.gpgSign", "true")
    git(repo, "config", "user.signingKey", "DEADBEEFDEADBEEF")


def no_gpg(repo: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    git(repo, "config", "commit.gpgSign", "true")
    git(repo, "config", "gpg.program", "/nonexistent/gpg")


def no_ssh_key(repo: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    git(repo, "config", "commit.gpgSign", "true")
    git(repo, "config", "gpg.format", "ssh")
    git(repo, "config", "user.signingKey", str(home / "no_such_key"))


def no_ssh_key_named(repo: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    git(repo, "config", "commit.gpgSign", "true")
    git(repo, "config", "gpg.format", "ssh")


def index_lock(repo: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    write(repo / ".git/index.lock", "")


def ref_lock(repo: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    write(repo / ".git/refs/heads/main.lock", "")


def head_lock(repo: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    write(repo / ".git/HEAD.lock", "")


def no_permission_by_reference_transaction(repo: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    hook(repo, "reference-transaction", 'test "$1" != prepared')


def branch_below(repo: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    git(repo, "branch", "fresh/below")
    git(repo, "symbolic-ref", "HEAD", "refs/heads/fresh")


Obstacle = Callable[[Path, pytest.MonkeyPatch, Path], None]
OBSTACLES: Mapping[Obstacle, CommandCause] = {
    no_name: "identity-missing",
    no_name_but_an_email: "identity-missing",
    empty_author: "identity-missing",
    name_of_crud: "identity-missing",
    no_gpg_key: "signing-failed",
    no_gpg: "signing-failed",
    no_ssh_key: "signing-failed",
    no_ssh_key_named: "signing-failed",
    index_lock: "locked",
    ref_lock: "locked",
    head_lock: "locked",
    no_permission_by_reference_transaction: "hook-failed",
    branch_below: "ref-conflict",
}


@pytest.mark.parametrize("obstacle", OBSTACLES, ids=lambda obstacle: obstacle.__name__)
@pytest.mark.parametrize("only", [False, True], ids=["staged", "only"])
def test_a_commit_that_cannot_be_made_has_a_cause_and_leaves_everything(
    obstacle: Obstacle, only: bool, changing: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    obstacle(changing, monkeypatch, home)
    before = state(changing)
    index = (changing / ".git/index").read_bytes()
    locks = sorted((changing / ".git").rglob("*.lock"))
    configuration = (home / ".gitconfig").read_bytes()
    tool = GitTool(changing)
    error = failed(tool.commit("x", only=["a.txt"] if only else None))
    assert (error.cause, error.effect) == (OBSTACLES[obstacle], "none"), error.stderr
    assert state(changing) == before
    assert not only or (changing / ".git/index").read_bytes() == index  # git refreshes it for a commit of all
    assert {*locks, changing / ".git/orca-index.lock"} == set((changing / ".git").rglob("*.lock"))
    assert (home / ".gitconfig").read_bytes() == configuration
    assert [entry.path for entry in or_raise(tool.status()).staged] == ["a.txt"]


def test_a_caller_who_says_unsigned_gets_it_unsigned(
    changing: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    no_gpg_key(changing, monkeypatch, home)
    assert or_raise(GitTool(changing).commit("x", sign=False)).sha == sha(changing)
    assert b"gpgsig" not in git(changing, "cat-file", "commit", "HEAD")


def test_a_caller_who_says_signed_never_gets_it_unsigned(
    changing: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    no_gpg_key(changing, monkeypatch, home)
    git(changing, "config", "commit.gpgSign", "false")
    for sign in (True, "CAFECAFECAFECAFE"):
        assert failed(GitTool(changing).commit("x", sign=sign)).cause == "signing-failed"


def test_a_commit_is_signed_by_the_users_configuration(changing: Path, home: Path) -> None:
    key = home / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    git(changing, "config", "gpg.format", "ssh")
    git(changing, "config", "user.signingKey", str(key))
    git(changing, "config", "commit.gpgSign", "true")
    or_raise(GitTool(changing).commit("x"))
    assert b"gpgsig -----BEGIN SSH SIGNATURE-----" in git(changing, "cat-file", "commit", "HEAD")


def conflict(repo: Path) -> None:
    """A merge that stopped at `a.txt`."""
    git(repo, "switch", "--quiet", "--create", "other")
    commit(repo, "a.txt", "theirs\n")
    git(repo, "switch", "--quiet", "main")
    commit(repo, "a.txt", "ours\n")
    assert run_git(repo, "merge", "other").returncode == 1


def test_a_conflict_stops_every_commit_but_one_that_stages_its_solution(repo: Path) -> None:
    conflict(repo)
    write(repo / "new", "new\n")
    before = state(repo)
    tool = GitTool(repo)
    error = failed(tool.commit("x"))
    assert (error.cause, error.effect, error.paths) == ("conflict", "none", ("a.txt",))
    for result in (tool.commit("x", only=["new"]), tool.commit("x", only=["a.txt"]), tool.commit("x", amend=True)):
        assert (failed(result).cause, failed(result).effect) == ("conflict", "none")
    assert state(repo) == before
    write(repo / "a.txt", "both\n")
    made = or_raise(tool.commit("merged", add=["a.txt"]))
    assert len(git(repo, "rev-list", "--parents", "-1", made.sha).split()) == 3


def test_a_conflict_without_a_merge_is_not_committed_in_part(repo: Path) -> None:
    """After `stash pop`, say: the index is unmerged, and nothing says that an operation is in progress."""
    write(repo / "a.txt", "stashed\n")
    git(repo, "stash", "--quiet")
    commit(repo, "a.txt", "ours\n")
    assert run_git(repo, "stash", "pop").returncode == 1
    write(repo / "new", "new\n")
    before = state(repo)
    for paths in (["a.txt"], ["new"]):
        error = failed(GitTool(repo).commit("x", only=paths))
        assert (error.cause, error.effect, error.paths) == ("conflict", "none", ("a.txt",))
    assert state(repo) == before


@pytest.mark.parametrize("only", [False, True], ids=["staged", "only"])
def test_a_full_disk_leaves_head_and_index(only: bool, tmpfs: Disk) -> None:
    repo = seed(tmpfs.path / "repo")
    write(repo / "a.txt", "changed\n")
    git(repo, "add", "a.txt")
    or_raise(GitTool(repo).status())
    tmpfs.fill()
    index = (repo / ".git/index").read_bytes()
    error = failed(GitTool(repo).commit("x", only=["a.txt"] if only else None))
    assert error.cause in ("exit", "other")
    assert error.effect == "none"
    assert (repo / ".git/index").read_bytes() == index
    tmpfs.free()
    assert or_raise(GitTool(repo).commit("x")).files[0].path == "a.txt"
