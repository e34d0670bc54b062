"""Branches: made, switched to and deleted, without a file or a commit lost on the way."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from outcomes import error_of, failed, state
from worlds.disk import Disk
from worlds.remote import Remote
from worlds.repository import commit, git, hook, run_git, seed, sha, write

from orca.errors import BranchAlreadyExists
from orca.results import or_raise
from orca.tools import Branch, GitTool


def current(repo: Path) -> str:
    return git(repo, "symbolic-ref", "HEAD").decode().strip().removeprefix("refs/heads/")


def exists(repo: Path, name: str) -> bool:
    return run_git(repo, "show-ref", "--verify", "--quiet", f"refs/heads/{name}").returncode == 0


def test_a_branch_is_made_at_head_and_checked_out(repo: Path) -> None:
    write(repo / "a.txt", "changed\n")
    made = or_raise(GitTool(repo).create_branch("feature"))
    assert made == Branch("feature", sha(repo), None, current=True, worktree=str(repo))
    assert current(repo) == "feature"
    assert (repo / "a.txt").read_text() == "changed\n"


def test_a_branch_is_made_where_it_is_told_and_without_a_switch(repo: Path) -> None:
    commit(repo)
    tool = GitTool(repo)
    first = sha(repo, "HEAD~1")
    assert or_raise(tool.create_branch("old", "HEAD~1", switch=False)) == Branch("old", first)
    assert current(repo) == "main"
    assert or_raise(tool.create_branch("older", first)).sha == first == sha(repo)


def test_a_branch_that_exists_is_told_by_its_tag_and_nothing_moves(repo: Path) -> None:
    git(repo, "branch", "feature")
    git(repo, "branch", "team/feature")
    git(repo, "pack-refs", "--all")
    commit(repo)
    before = state(repo)
    tool = GitTool(repo)
    for name in ("feature", "team/feature", "main"):
        for result in (
            tool.create_branch(name),
            tool.create_branch(name, switch=False),
            tool.create_branch(name, "HEAD~1"),
            tool.create_branch(name, "nowhere"),
        ):
            assert error_of(result) == BranchAlreadyExists(branch=name)
    assert state(repo) == before


def test_a_branch_is_not_taken_for_another_ref_of_that_name(repo: Path) -> None:
    git(repo, "tag", "feature")
    git(repo, "update-ref", "refs/heads/refs/heads/inner", "HEAD")
    git(repo, "update-ref", "refs/remotes/inner", "HEAD")
    tool = GitTool(repo)
    assert or_raise(tool.create_branch("feature")).name == "feature"
    assert or_raise(tool.create_branch("inner", switch=False)).name == "inner"
    tip = commit(repo)
    assert or_raise(tool.create_branch("next")).sha == or_raise(tool.create_branch("last", switch=False)).sha == tip
    or_raise(tool.switch("main"))
    assert or_raise(tool.switch("feature")).sha == tip  # the branch, and not the tag
    or_raise(tool.switch("main"))
    assert or_raise(tool.delete_branch("feature", force=True)) == tip
    assert sha(repo, "refs/tags/feature") == sha(repo)


def test_a_branch_that_only_a_remote_has_is_made_here_at_head_or_start(remote: Remote) -> None:
    git(remote.colleague, "switch", "--quiet", "--create", "feature")
    theirs = commit(remote.colleague)
    git(remote.colleague, "push", "--quiet", "origin", "feature", "HEAD:refs/heads/second")
    git(remote.work, "fetch", "--quiet")
    tool = GitTool(remote.work)
    assert or_raise(tool.create_branch("feature")) == Branch(
        "feature", sha(remote.work, "main"), None, current=True, worktree=str(remote.work)
    )
    followed = or_raise(tool.create_branch("second", "origin/second", switch=False))
    assert (followed.sha, followed.upstream) == (theirs, "refs/remotes/origin/second")
    assert failed(tool.switch("third")).cause == "unknown-ref"
    git(remote.work, "update-ref", "refs/remotes/origin/third", theirs)
    assert failed(tool.switch("third")).cause == "unknown-ref"  # nothing is guessed
    assert not exists(remote.work, "third")


@pytest.mark.parametrize("there", ["feature", "feature/deeper/still"])
@pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
@pytest.mark.parametrize("switch", [False, True], ids=["made", "switched to"])
def test_a_branch_below_or_above_another_is_a_conflict_of_refs(
    there: str, packed: bool, switch: bool, repo: Path
) -> None:
    git(repo, "branch", there)
    commit(repo)
    if packed:
        git(repo, "pack-refs", "--all")
    before = state(repo)
    wanted = "feature/deeper" if there == "feature" else "feature"
    error = failed(GitTool(repo).create_branch(wanted, there, switch=switch))
    assert (error.cause, error.effect) == ("ref-conflict", "none")
    assert state(repo) == before


def test_where_there_is_no_commit_the_branch_to_be_can_be_renamed(repo: Path) -> None:
    git(repo, "switch", "--quiet", "--orphan", "fresh")
    write(repo / "new", "new\n")
    git(repo, "add", "new")
    tool = GitTool(repo)
    assert or_raise(tool.create_branch("fresh")) == Branch("fresh", None, current=True)
    assert or_raise(tool.create_branch("other")) == Branch("other", None, current=True)
    assert current(repo) == "other"
    error = failed(tool.create_branch("third", switch=False))
    assert (error.cause, error.effect) == ("unborn", "none")
    assert or_raise(tool.create_branch("third", "main", switch=False)).sha == sha(repo, "main")
    assert failed(tool.switch("other")).cause == "unknown-ref"
    assert failed(tool.delete_branch("other")).cause == "unknown-ref"
    assert [branch.name for branch in or_raise(tool.branches())] == ["main", "third"]
    assert or_raise(tool.commit("x")).branch == "other"


def test_branches_are_listed_with_what_they_follow_and_where_they_are(remote: Remote) -> None:
    git(remote.work, "branch", "second")
    git(remote.work, "worktree", "add", "--quiet", "../line\nbreak", "second")
    git(remote.work, "branch", "third", "--no-track", "main")
    git(remote.work, "symbolic-ref", "refs/heads/alias", "refs/heads/third")
    tip = sha(remote.work)
    assert or_raise(GitTool(remote.work).branches()) == (
        Branch("alias", tip),
        Branch("main", tip, "refs/remotes/origin/main", current=True, worktree=str(remote.work)),
        Branch("second", tip, worktree=str(remote.root / "line\nbreak")),
        Branch("third", tip),
    )


def test_a_detached_head_is_on_no_branch_and_can_make_one(repo: Path) -> None:
    git(repo, "switch", "--quiet", "--detach")
    tip = commit(repo)
    tool = GitTool(repo)
    assert or_raise(tool.current_branch()) is None
    assert not any(branch.current for branch in or_raise(tool.branches()))
    assert or_raise(tool.create_branch("rescue")).sha == tip
    assert or_raise(tool.switch("main")).current


# Switching


def test_a_switch_keeps_changes_that_are_in_nobodys_way(repo: Path) -> None:
    git(repo, "branch", "other")
    commit(repo)
    write(repo / "a.txt", "changed\n")
    write(repo / "untracked", "new\n")
    assert or_raise(GitTool(repo).switch("other")).name == "other"
    assert (repo / "a.txt").read_text() == "changed\n"
    assert not (repo / "b.txt").exists()
    assert (repo / "untracked").exists()


def changed_file(repo: Path) -> None:
    write(repo / "a.txt", "mine\n")


def staged_file(repo: Path) -> None:
    write(repo / "a.txt", "mine\n")
    git(repo, "add", "a.txt")


def untracked_file(repo: Path) -> None:
    write(repo / "b.txt", "mine\n")


def ignored_file(repo: Path) -> None:
    write(repo / ".git/info/exclude", "b.txt\n")
    write(repo / "b.txt", "mine\n")


def ignored_file_in_an_ignored_folder(repo: Path) -> None:
    write(repo / ".git/info/exclude", "folder/\n")
    write(repo / "folder/file", "mine\n")


def ignored_folder_where_a_file_comes(repo: Path) -> None:
    write(repo / ".git/info/exclude", "b.txt\n")
    write(repo / "b.txt/deep/file", "mine\n")


def ignored_file_where_a_folder_comes(repo: Path) -> None:
    write(repo / ".git/info/exclude", "folder\n")
    write(repo / "folder", "mine\n")


def ignored_link(repo: Path) -> None:
    write(repo / ".git/info/exclude", "folder\n")
    (repo / "folder").symlink_to(repo.parent)


InTheWay = Callable[[Path], None]
IN_THE_WAY: tuple[InTheWay, ...] = (
    *(changed_file, staged_file, untracked_file, ignored_file, ignored_file_in_an_ignored_folder),
    *(ignored_folder_where_a_file_comes, ignored_file_where_a_folder_comes, ignored_link),
)


@pytest.mark.parametrize("in_the_way", IN_THE_WAY, ids=lambda thing: thing.__name__)
def test_nothing_that_is_in_the_way_of_a_switch_is_overwritten(in_the_way: InTheWay, repo: Path) -> None:
    git(repo, "switch", "--quiet", "--create", "other")
    for name in ("a.txt", "b.txt", "folder/file"):
        commit(repo, name, "theirs\n")
    git(repo, "switch", "--quiet", "main")
    in_the_way(repo)
    before = state(repo)
    tool = GitTool(repo)
    for result in (tool.switch("other"), tool.create_branch("new", "other")):
        assert (failed(result).cause, failed(result).effect) == ("dirty", "none")
    assert state(repo) == before
    assert os.listdir(repo.parent) == ["repo"]


def test_a_switch_is_stopped_by_a_conflict_and_by_what_is_in_progress(repo: Path) -> None:
    git(repo, "switch", "--quiet", "--create", "other")
    commit(repo, "a.txt", "theirs\n")
    git(repo, "switch", "--quiet", "main")
    commit(repo, "a.txt", "ours\n")
    assert run_git(repo, "merge", "other").returncode == 1
    before = state(repo)
    tool = GitTool(repo)
    for result in (tool.switch("other"), tool.switch("main"), tool.create_branch("new")):
        error = failed(result)
        assert (error.cause, error.effect, error.paths) == ("conflict", "none", ("a.txt",))
    assert state(repo) == before
    git(repo, "add", "a.txt")
    assert failed(tool.switch("other")).cause == "conflict"
    assert (repo / ".git/MERGE_HEAD").exists()


def test_a_branch_that_another_worktree_has_checked_out_is_refused(repo: Path) -> None:
    git(repo, "worktree", "add", "--quiet", "-b", "other", "../linked")
    before = state(repo)
    for tool, name in ((GitTool(repo), "other"), (GitTool(repo.parent / "linked"), "main")):
        for result in (tool.switch(name), tool.delete_branch(name), tool.delete_branch(name, force=True)):
            assert (failed(result).cause, failed(result).effect) == ("refused", "none")
    assert state(repo) == before


def test_what_is_no_branch_cannot_be_switched_to(repo: Path) -> None:
    git(repo, "tag", "v1")
    tool = GitTool(repo)
    for name in ("nope", "v1", sha(repo), "refs/heads/main", "a.txt", "refs/tags/v1"):
        assert (failed(tool.switch(name)).cause, failed(tool.switch(name)).effect) == ("unknown-ref", "none")
    for name in ("nope", "HEAD~9", "a.txt", "HEAD:a.txt"):
        for switch in (True, False):
            error = failed(tool.create_branch("new", name, switch=switch))
            assert (error.cause, error.effect) == ("unknown-ref", "none"), error.stderr
    assert current(repo) == "main"


@pytest.mark.parametrize("lock", ["HEAD.lock", "refs/heads/new.lock"])
def test_a_branch_that_a_dead_gits_lock_stops(lock: str, repo: Path) -> None:
    commit(repo)
    write(repo / ".git" / lock, "")
    before = state(repo)
    error = failed(GitTool(repo).create_branch("new", "HEAD~1"))
    assert (error.cause, error.effect) == ("locked", "none")
    assert state(repo) == before
    assert (repo / ".git" / lock).exists()


@pytest.mark.parametrize("lock", ["index.lock", "HEAD.lock"])
def test_a_switch_that_a_dead_gits_lock_stops(lock: str, repo: Path) -> None:
    git(repo, "branch", "other")
    commit(repo)
    hook(repo, "post-checkout", "exit 1")  # it did not come to run
    write(repo / ".git" / lock, "")
    before = state(repo)
    tool = GitTool(repo)
    for name in ("other", "main"):  # also to where one is already
        assert (failed(tool.switch(name)).cause, failed(tool.switch(name)).effect) == ("locked", "none")
    assert state(repo) == before
    assert (repo / ".git" / lock).exists()
    assert or_raise(tool.status()).branch == "main"


def test_a_deletion_that_a_dead_gits_lock_stops(repo: Path) -> None:
    git(repo, "branch", "other")
    write(repo / ".git/refs/heads/other.lock", "")
    error = failed(GitTool(repo).delete_branch("other"))
    assert (error.cause, exists(repo, "other")) == ("locked", True)


def test_a_locked_configuration_leaves_a_branch_that_follows_nothing_and_says_so(remote: Remote) -> None:
    write(remote.work / ".git/config.lock", "")
    error = failed(GitTool(remote.work).create_branch("new", "origin/main", switch=False))
    assert (error.cause, error.effect, exists(remote.work, "new")) == ("locked", "landed", True)


def test_a_switch_that_a_full_disk_stops_does_not_claim_that_nothing_happened(tmpfs: Disk) -> None:
    repo = seed(tmpfs.path / "repo")
    git(repo, "switch", "--quiet", "--create", "other")
    write(repo / "a.txt", os.urandom(1 << 20).hex())
    git(repo, "commit", "--quiet", "--all", "-m", "large")
    git(repo, "switch", "--quiet", "main")
    tmpfs.fill()
    error = failed(GitTool(repo).switch("other"))
    assert (error.cause, error.effect) == ("exit", "unknown")
    assert current(repo) == "main"


# Deleting


def test_a_deleted_branch_comes_back_by_its_sha(repo: Path) -> None:
    git(repo, "switch", "--quiet", "--create", "feature/x")
    tip = commit(repo)
    git(repo, "switch", "--quiet", "main")
    git(repo, "config", "branch.feature/x.description", "about it")
    git(repo, "pack-refs", "--all")
    tool = GitTool(repo)
    error = failed(tool.delete_branch("feature/x"))
    assert (error.cause, error.effect) == ("refused", "none")
    assert or_raise(tool.delete_branch("feature/x", force=True)) == tip
    assert not exists(repo, "feature/x")
    assert run_git(repo, "config", "branch.feature/x.description").returncode == 1
    assert or_raise(tool.create_branch("feature/x", tip, switch=False)).sha == tip
    git(repo, "merge", "--quiet", "feature/x")
    assert or_raise(tool.delete_branch("feature/x")) == tip


def test_a_branch_is_merged_when_its_upstream_or_else_head_has_it(remote: Remote) -> None:
    tool = GitTool(remote.work)
    git(remote.work, "switch", "--quiet", "--create", "pushed")
    tip = commit(remote.work)
    git(remote.work, "push", "--quiet", "--set-upstream", "origin", "pushed")
    git(remote.work, "switch", "--quiet", "--create", "unpushed")
    commit(remote.work, "c.txt")
    git(remote.work, "branch", "--quiet", "--set-upstream-to", "origin/pushed")
    git(remote.work, "switch", "--quiet", "main")
    assert failed(tool.delete_branch("unpushed")).cause == "refused"
    assert or_raise(tool.delete_branch("pushed")) == tip
    git(remote.work, "update-ref", "-d", "refs/remotes/origin/pushed")
    assert failed(tool.delete_branch("unpushed")).cause == "refused"  # now HEAD counts, and has it not
    git(remote.work, "branch", "same")
    assert or_raise(tool.delete_branch("same")) == sha(remote.work)


def test_a_branch_in_use_is_not_deleted_even_by_force(repo: Path) -> None:
    tool = GitTool(repo)
    before = state(repo)
    for result in (tool.delete_branch("main"), tool.delete_branch("main", force=True)):
        assert (failed(result).cause, failed(result).effect) == ("refused", "none")
    assert failed(tool.delete_branch("nope", force=True)).cause == "unknown-ref"
    assert state(repo) == before


def test_a_branch_that_only_stands_for_another_is_deleted_alone(repo: Path) -> None:
    git(repo, "branch", "other")
    git(repo, "symbolic-ref", "refs/heads/alias", "refs/heads/other")
    assert or_raise(GitTool(repo).delete_branch("alias")) == sha(repo)
    assert (exists(repo, "alias"), exists(repo, "other")) == (False, True)


@pytest.mark.parametrize("where", ["here", "in a linked worktree"])
def test_a_branch_that_a_rebase_or_a_bisection_comes_back_to_is_not_deleted(where: str, repo: Path) -> None:
    repo = repo.rename(repo.parent / "re[po]")
    git(repo, "switch", "--quiet", "--create", "rebased")
    commit(repo, "a.txt", "theirs\n")
    git(repo, "switch", "--quiet", "--create", "bisected", "main")
    commit(repo, "c.txt", "ours\n")
    git(repo, "switch", "--quiet", "main")
    commit(repo, "a.txt", "ours\n")
    place = repo
    if where != "here":
        git(repo, "worktree", "add", "--quiet", "--detach", "../linked[1]")
        place = repo.parent / "linked[1]"
    tool = GitTool(repo)
    assert run_git(place, "rebase", "main", "rebased").returncode == 1
    assert failed(tool.delete_branch("rebased", force=True)).cause == "refused"
    git(place, "rebase", "--abort")
    git(place, "switch", "--quiet", "bisected")
    git(place, "bisect", "start", "HEAD", "HEAD~1")
    git(place, "checkout", "--quiet", "--detach")
    assert failed(tool.delete_branch("bisected", force=True)).cause == "refused"
    git(place, "bisect", "reset")
    git(place, "switch", "--quiet", "--detach", "main")
    assert or_raise(tool.delete_branch("bisected", force=True))
    assert or_raise(tool.delete_branch("rebased", force=True))


@pytest.mark.parametrize("setting", ["false", "always", "inherit", "simple"])
def test_a_branch_follows_the_remote_one_that_it_starts_at_and_no_local_one(setting: str, remote: Remote) -> None:
    git(remote.work, "config", "branch.autoSetupMerge", setting)
    git(remote.work, "config", "branch.autoSetupRebase", "always")
    tool = GitTool(remote.work)
    assert or_raise(tool.create_branch("one", "origin/main")).upstream == "refs/remotes/origin/main"
    assert or_raise(tool.create_branch("two")).upstream is None
    assert or_raise(tool.create_branch("three", "main", switch=False)).upstream is None
    assert run_git(remote.work, "config", "branch.one.rebase").returncode == 1


def test_branches_are_the_same_on_a_hostile_display(remote: Remote, hostile_display: Mapping[str, str]) -> None:
    tool = GitTool(remote.work)
    made = or_raise(tool.create_branch("feature", "origin/main"))
    assert (made.upstream, made.sha) == ("refs/remotes/origin/main", sha(remote.work))
    assert error_of(tool.create_branch("feature")) == BranchAlreadyExists(branch="feature")
    assert [branch.name for branch in or_raise(tool.branches())] == ["feature", "main"]
    assert or_raise(tool.switch("main")).name == "main"
    assert or_raise(tool.delete_branch("feature")) == made.sha
