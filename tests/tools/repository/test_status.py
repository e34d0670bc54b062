"""`status` and where a tool works: every kind of entry, every kind of root, and what is not a repository at all."""

import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from outcomes import error_of, failed, state
from worlds.remote import Remote
from worlds.repository import commit, git, run_git, seed, sha, write

from orca.errors import RuntimeError, UnsupportedFeature
from orca.results import Result, or_raise
from orca.tools import GitTool, Status, StatusEntry


def status(root: Path) -> Status:
    return or_raise(GitTool(root).status())


def entries(root: Path) -> set[tuple[str, str, str | None]]:
    """Path, letters, and old path of each entry."""
    return {(entry.path, entry.index + entry.worktree, entry.old_path) for entry in status(root).entries}


def paths(found: tuple[StatusEntry, ...]) -> list[str]:
    return [entry.path for entry in found]


def test_status_tells_every_kind_of_change_apart(repo: Path) -> None:
    for name in ("changed", "deleted", "staged", "removed", "moved", "link", "both"):
        commit(repo, name, f"a file that is called {name}\n" * 9)
    write(repo / "changed", "other\n")
    (repo / "deleted").unlink()
    write(repo / "staged", "other\n")
    git(repo, "add", "staged")
    git(repo, "rm", "--quiet", "removed")
    git(repo, "mv", "moved", "moved here")
    (repo / "link").unlink()
    (repo / "link").symlink_to("a.txt")
    write(repo / "both", "staged\n")
    git(repo, "add", "both")
    write(repo / "both", "and changed\n")
    write(repo / "new", "new\n")
    git(repo, "add", "new")
    write(repo / "unknown/one", "new\n")
    write(repo / "unknown/two", "new\n")
    write(repo / "intended", "new\n")
    git(repo, "add", "--intent-to-add", "intended")
    (repo / "a.txt").chmod(0o755)
    assert entries(repo) == {
        ("a.txt", ".M", None),
        ("both", "MM", None),
        ("changed", ".M", None),
        ("deleted", ".D", None),
        ("intended", ".A", None),
        ("link", ".T", None),
        ("moved here", "R.", "moved"),
        ("new", "A.", None),
        ("removed", "D.", None),
        ("staged", "M.", None),
        ("unknown/one", "??", None),
        ("unknown/two", "??", None),
    }
    found = status(repo)
    assert not found.clean
    assert paths(found.staged) == ["both", "moved here", "new", "removed", "staged"]
    assert paths(found.unstaged) == ["a.txt", "both", "changed", "deleted", "intended", "link"]
    assert paths(found.untracked) == ["unknown/one", "unknown/two"]
    assert found.conflicted == ()


def test_status_of_a_clean_worktree(repo: Path) -> None:
    assert status(repo) == Status("main", sha(repo), None, None, None, ())
    assert status(repo).clean


def test_status_tells_every_kind_of_conflict_and_counts_none_as_staged(repo: Path) -> None:
    stages = {"DD": "1", "AU": "2", "UA": "3", "UD": "12", "DU": "13", "AA": "23", "UU": "123"}
    blob = sha(repo, "HEAD:a.txt")
    lines = [f"100644 {blob} {stage}\t{name}" for name, found in stages.items() for stage in found]
    git(repo, "update-index", "--index-info", stdin="".join(f"{line}\n" for line in lines).encode())
    found = status(repo)
    assert {entry.path: entry.index + entry.worktree for entry in found.conflicted} == {name: name for name in stages}
    assert found.staged == found.unstaged == found.untracked == ()
    assert not found.clean
    assert or_raise(GitTool(repo).conflicts()) == tuple(sorted(stages))


def test_status_counts_commits_ahead_of_and_behind_the_upstream(
    remote: Remote, hostile_display: Mapping[str, str]
) -> None:
    remote.colleague_pushes()
    git(remote.work, "fetch", "--quiet")
    commit(remote.work)
    commit(remote.work, "d.txt")
    found = status(remote.work)
    assert (found.branch, found.upstream, found.ahead, found.behind) == ("main", "origin/main", 2, 1)


def test_status_counts_nothing_against_an_upstream_that_is_gone(remote: Remote) -> None:
    git(remote.work, "update-ref", "-d", "refs/remotes/origin/main")
    found = status(remote.work)
    assert (found.upstream, found.ahead, found.behind) == ("origin/main", None, None)


def test_status_before_the_first_commit(repo: Path) -> None:
    git(repo, "switch", "--quiet", "--orphan", "fresh")
    write(repo / "new", "new\n")
    git(repo, "add", "new")
    found = status(repo)
    assert (found.branch, found.head, found.upstream) == ("fresh", None, None)
    assert paths(found.staged) == ["new"]


def test_status_of_a_detached_head_has_no_branch(repo: Path) -> None:
    git(repo, "switch", "--quiet", "--detach")
    assert (status(repo).branch, status(repo).head) == (None, sha(repo))


def test_status_lists_a_repository_inside_as_one_entry(repo: Path) -> None:
    (repo / "inner").mkdir()
    seed(repo / "inner" / "repository")
    assert entries(repo) == {("inner/repository/", "??", None)}


def test_status_is_the_same_on_a_hostile_display(repo: Path, hostile_display: Mapping[str, str]) -> None:
    git(repo, "mv", "a.txt", "b.txt")
    write(repo / "folder/new", "new\n")
    git(repo, "config", "branch.main.remote", ".")
    git(repo, "config", "branch.main.merge", "refs/heads/main")
    found = status(repo)
    assert found.entries == (StatusEntry("b.txt", "R", ".", "a.txt"), StatusEntry("folder/new", "?", "?"))
    assert (found.branch, found.upstream, found.ahead, found.behind) == ("main", "main", 0, 0)


def test_status_writes_nothing_even_where_git_would_refresh_the_index(repo: Path) -> None:
    os.utime(repo / "a.txt", (1, 1))
    index = repo / ".git/index"
    before = (index.read_bytes(), index.stat().st_mtime_ns, index.stat().st_ino)
    assert status(repo).clean
    assert (index.read_bytes(), index.stat().st_mtime_ns, index.stat().st_ino) == before


# The root


def test_a_root_below_the_top_widens_to_the_worktree(repo: Path) -> None:
    write(repo / "folder/deeper/new", "new\n")
    tool = GitTool(repo / "folder/deeper")
    assert tool.root == repo
    assert [entry.path for entry in or_raise(tool.status()).entries] == ["folder/deeper/new"]
    assert or_raise(tool.add("folder/deeper/new")) == ("folder/deeper/new",)
    assert failed(tool.add("new")).cause == "unknown-path"
    assert or_raise(tool.git_dir()) == repo / ".git"


def test_a_root_by_a_link_takes_paths_by_the_link_and_by_the_place_itself(repo: Path) -> None:
    link = repo.parent / "link"
    link.symlink_to(repo)
    tool = GitTool(link)
    for name in ("one", "two"):
        write(repo / name, "new\n")
    assert tool.root == repo
    assert or_raise(tool.add(link / "one", repo / "two")) == ("one", "two")


def test_a_relative_root_stays_where_it_was_when_the_program_goes_elsewhere(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = seed(repo.parent / "other")
    commit(other)
    monkeypatch.chdir(repo)
    tool = GitTool()
    monkeypatch.chdir(other)
    assert tool.root == repo
    assert or_raise(tool.head()) == sha(repo)


def test_a_root_whose_name_has_a_line_break(tmp_path: Path) -> None:
    repo = seed(tmp_path / "line\nbreak")
    write(repo / "new", "new\n")
    tool = GitTool(repo)
    assert tool.root == repo
    assert or_raise(tool.commit("x", add=["new"])).sha == sha(repo)
    git(tmp_path, "clone", "--quiet", "--bare", repo, "bare\n\nline")
    bare = GitTool(tmp_path / "bare\n\nline")
    assert or_raise(bare.git_dir()) == bare.root == tmp_path / "bare\n\nline"
    assert failed(bare.status()).cause == "not-a-repository"
    assert or_raise(bare.head()) == sha(repo)


def test_a_worktree_that_is_not_where_its_git_folder_is(repo: Path) -> None:
    folder = repo.parent / "folder.git"
    (repo / ".git").rename(folder)
    git(folder, "config", "core.worktree", str(repo))
    write(repo / "new", "new\n")
    tool = GitTool(folder)
    assert tool.root == repo
    assert or_raise(tool.add("new")) == ("new",)
    assert or_raise(tool.commit("x", only=["new"])).branch == "main"
    assert or_raise(tool.status()).clean


def test_a_root_below_the_top_may_go_away(repo: Path) -> None:
    (repo / "folder").mkdir()
    tool = GitTool(repo / "folder")
    assert or_raise(tool.head()) == sha(repo)
    (repo / "folder").rmdir()
    assert or_raise(tool.status()).clean
    assert or_raise(tool.commit("x", allow_empty=True)).sha == sha(repo)


Method = Callable[[GitTool], Result[object, RuntimeError]]
NEEDS_A_WORKTREE: Mapping[str, Method] = {
    "status": GitTool.status,
    "add": lambda tool: tool.add("a.txt"),
    "unstage": GitTool.unstage,
    "commit": lambda tool: tool.commit("x"),
    "commit of all": lambda tool: tool.commit("x", add="all"),
    "commit of paths": lambda tool: tool.commit("x", only=["a.txt"]),
    "switch": lambda tool: tool.switch("main"),
    "create_branch": lambda tool: tool.create_branch("new"),
}


@pytest.mark.parametrize("method", NEEDS_A_WORKTREE)
@pytest.mark.parametrize("root", ["bare", ".git"])
def test_what_needs_a_worktree_fails_where_there_is_none(method: str, root: str, remote: Remote) -> None:
    tool = GitTool(remote.bare if root == "bare" else remote.work / ".git")
    before = (remote.refs(), state(remote.work))
    error = failed(NEEDS_A_WORKTREE[method](tool))
    assert (error.cause, error.effect) == ("not-a-repository", "none")
    assert (remote.refs(), state(remote.work)) == before


def test_every_method_before_the_first_commit(repo: Path) -> None:
    git(repo, "switch", "--quiet", "--orphan", "fresh")
    git(repo, "branch", "--quiet", "-D", "main")
    tool = GitTool(repo)
    assert or_raise(tool.status()) == Status("fresh", None, None, None, None, ())
    assert (or_raise(tool.head()), or_raise(tool.current_branch())) == (None, "fresh")
    assert (or_raise(tool.log()), or_raise(tool.branches()), or_raise(tool.conflicts())) == ((), (), ())
    assert or_raise(tool.unstage()) is None
    assert failed(tool.resolve("HEAD")).cause == failed(tool.log(rev="fresh")).cause == "unknown-ref"
    assert failed(tool.switch("fresh")).cause == failed(tool.delete_branch("fresh")).cause == "unknown-ref"
    assert failed(tool.create_branch("new", switch=False)).cause == "unborn"
    assert failed(tool.create_branch("new", "HEAD")).cause == "unknown-ref"
    assert or_raise(tool.create_branch("other")).current
    assert failed(tool.commit("x", amend=True)).cause == "unborn"
    assert or_raise(tool.commit("x", allow_empty=True)).branch == "other"


def test_a_bare_repository_is_read_and_has_branches(remote: Remote) -> None:
    tool = GitTool(remote.bare)
    assert tool.root == remote.bare
    assert or_raise(tool.git_dir()) == remote.bare
    assert or_raise(tool.current_branch()) == "main"
    assert or_raise(tool.head()) == or_raise(tool.resolve("main")) == remote.head()
    assert [entry.subject for entry in or_raise(tool.log(paths=["a.txt"]))] == ["seed"]
    assert or_raise(tool.create_branch("new", switch=False)).sha == remote.head()
    assert [branch.name for branch in or_raise(tool.branches())] == ["main", "new"]
    assert or_raise(tool.delete_branch("new")) == remote.head()


# What is not there


def test_a_folder_that_is_in_no_repository(tmp_path: Path) -> None:
    tool = GitTool(tmp_path)
    assert failed(tool.status()).cause == "not-a-repository"
    assert failed(tool.commit("x")).cause == "not-a-repository"
    assert tool.root == tmp_path


def test_a_repository_that_belongs_to_somebody_else(repo: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a repository away")
    os.chown(repo, 12345, 12345)
    os.chown(repo / ".git", 12345, 12345)
    assert failed(GitTool(repo).status()).cause == "dubious-ownership"
    assert failed(GitTool(repo).head()).cause == "dubious-ownership"


def test_a_repository_that_is_deleted_between_two_calls(repo: Path) -> None:
    tool = GitTool(repo)
    or_raise(tool.head())
    shutil.rmtree(repo)
    for result in (tool.status(), tool.head(), tool.add("a.txt"), tool.commit("x"), tool.branches()):
        assert failed(result).cause in ("bad-cwd", "not-a-repository")
        assert failed(result).effect == "none"


def test_a_repository_that_is_gone_is_not_taken_for_the_one_around_it(repo: Path) -> None:
    (repo / "inner").mkdir()
    inner = seed(repo / "inner" / "repository")
    tool = GitTool(inner)
    or_raise(tool.head())
    shutil.rmtree(inner / ".git")
    write(inner / "new", "new\n")
    before = state(repo)
    for result in (
        tool.status(),
        tool.head(),
        tool.log(),
        tool.branches(),
        tool.add(all=True),
        tool.commit("x", add="all"),
    ):
        error = failed(result)
        assert (error.cause, error.effect) == ("not-a-repository", "none")
    assert state(repo) == before


def test_a_current_directory_that_is_gone(tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    relative, elsewhere = GitTool(), GitTool(repo)
    assert failed(relative.status()).cause == "bad-cwd"
    assert or_raise(elsewhere.status()).clean
    assert or_raise(elsewhere.commit("x", allow_empty=True)).sha == sha(repo)
    monkeypatch.chdir(repo)
    assert failed(relative.status()).cause == "bad-cwd"  # it never stood for this one


def test_no_git_at_all(repo: Path, no_git: None) -> None:
    for result in (GitTool(repo).status(), GitTool(repo).commit("x")):
        error = failed(result)
        assert (error.cause, error.effect, error.exit_code) == ("not-found", "none", None)


def test_a_git_that_is_too_old(repo: Path, old_git: None) -> None:
    error = error_of(GitTool(repo).commit("x", allow_empty=True))
    assert isinstance(error, UnsupportedFeature)
    assert "2.20.1" in error.feature
    assert sha(repo, "HEAD^{tree}") == sha(repo, "main^{tree}")
    assert run_git(repo, "rev-list", "--count", "HEAD").stdout == b"1\n"


WAITS: Mapping[str, Method] = {
    "status": lambda tool: tool.status(timeout=0.3),
    "commit": lambda tool: tool.commit("x", timeout=0.3),
    "add": lambda tool: tool.add("a.txt", timeout=0.3),
}


@pytest.mark.parametrize("method", WAITS)
def test_a_git_that_never_ends_is_ended_at_the_deadline(method: str, repo: Path, sleeping_git: None) -> None:
    began = time.monotonic()
    error = failed(WAITS[method](GitTool(repo)))
    assert (error.cause, error.exit_code, error.effect) == ("timeout", None, "none")
    assert time.monotonic() - began < 3.3


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_a_timeout_that_bounds_nothing_is_misuse(timeout: float, repo: Path) -> None:
    with pytest.raises(ValueError, match="timeout"):
        GitTool(repo, timeout=timeout)
    with pytest.raises(ValueError, match="timeout"):
        GitTool(repo).status(timeout=timeout)
    with pytest.raises(ValueError, match="timeout"):
        GitTool(repo).commit("x", timeout=timeout)
