"""Every public method of the tools against every fault: a `Result` in its time, with the tag and cause of the table."""

import inspect
import re
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from worlds.disk import Disk
from worlds.remote import Remote
from worlds.repository import GIT, PATH, commit, copy, git, run_git, script, sha, write

from orca.errors import CommandFailed, RuntimeError, UnsupportedFeature
from orca.results import Failure, Result, Success, or_raise, outcome
from orca.tools import Checkpoint, CommandTool, GitTool, Stash, TypecheckTool

LATE_S = 3.0  # how long after its deadline a call may return
SLEEPS_S = 0.5  # the timeout of a call whose git never answers
HANGS_S = 2.0  # of one whose git hangs once it has got so far
ENDS_S = 60.0


@dataclass(frozen=True)
class Place:
    """A clone in which every method has something to do, and a folder for what is made beside it."""

    root: Path
    beside: Path
    remote: str
    sha: str
    stash: Stash
    point: Checkpoint


@pytest.fixture
def place(tmp_path: Path, remote: Remote, request: pytest.FixtureRequest) -> Place:
    """On the small disk for the tests that have one; the remote is elsewhere."""
    beside: Path = request.getfixturevalue("tmpfs").path if "tmpfs" in request.fixturenames else tmp_path / "place"
    beside.mkdir(exist_ok=True)
    root = copy(remote.work, beside / "root")
    git(root, "branch", "old")
    git(root, "branch", "other")
    git(root, "config", "remote.origin.url", remote.bare)
    git(root, "symbolic-ref", "--delete", "refs/remotes/origin/HEAD")
    git(remote.colleague, "push", "--quiet", "origin", "main:refs/heads/doomed")
    remote.colleague_pushes()
    write(root / "new.txt", "new\n")
    write(root / "mypy.ini", "[mypy]\n")
    write(root / "cart.py", "total: int = 0\n")
    git(root, "add", "new.txt")
    # Another, in the middle of a merge.
    merging = copy(remote.work, beside / "merging")
    git(merging, "switch", "--quiet", "-c", "side")
    commit(merging, "a.txt", "side\n")
    git(merging, "switch", "--quiet", "main")
    commit(merging, "a.txt", "main\n")
    assert run_git(merging, "merge", "side").returncode == 1
    # And one with something to merge, to rebase, to stash and to bring back.
    diverged = copy(remote.work, beside / "diverged")
    git(diverged, "switch", "--quiet", "-c", "topic")
    commit(diverged, "topic.txt")
    git(diverged, "switch", "--quiet", "main")
    commit(diverged, "main.txt")
    write(diverged / "stashed.txt", "stashed\n")
    git(diverged, "stash", "push", "--quiet", "--include-untracked", "-m", "a stash")
    stash = Stash(sha(diverged, "refs/stash"), "a stash", "main")
    write(diverged / "untracked.txt", "untracked\n")
    git(root, "worktree", "add", "--quiet", "-b", "beside", str(beside / "tree"))
    point = or_raise(GitTool(root).checkpoint())
    return Place(root, beside, str(remote.bare), sha(root), stash, point)


Outcome = Result[object, RuntimeError]
CALLS: dict[str, Callable[[Place, float], Outcome]] = {
    "GitTool.init": lambda place, timeout: GitTool.init(place.beside / "init", timeout=timeout),
    "GitTool.clone": lambda place, timeout: GitTool.clone(place.remote, place.beside / "clone", timeout=timeout),
    "GitTool.root": lambda place, timeout: Success(GitTool(place.root, timeout=timeout).root),
    "GitTool.git_dir": lambda place, timeout: GitTool(place.root).git_dir(timeout=timeout),
    "GitTool.status": lambda place, timeout: GitTool(place.root).status(timeout=timeout),
    "GitTool.add": lambda place, timeout: GitTool(place.root).add("cart.py", timeout=timeout),
    "GitTool.unstage": lambda place, timeout: GitTool(place.root).unstage("new.txt", timeout=timeout),
    "GitTool.commit": lambda place, timeout: GitTool(place.root).commit("new", timeout=timeout),
    "GitTool.current_branch": lambda place, timeout: GitTool(place.root).current_branch(timeout=timeout),
    "GitTool.head": lambda place, timeout: GitTool(place.root).head(timeout=timeout),
    "GitTool.resolve": lambda place, timeout: GitTool(place.root).resolve("HEAD", timeout=timeout),
    "GitTool.log": lambda place, timeout: GitTool(place.root).log(timeout=timeout),
    "GitTool.branches": lambda place, timeout: GitTool(place.root).branches(timeout=timeout),
    "GitTool.create_branch": lambda place, timeout: GitTool(place.root).create_branch("new", timeout=timeout),
    "GitTool.switch": lambda place, timeout: GitTool(place.root).switch("other", timeout=timeout),
    "GitTool.delete_branch": lambda place, timeout: GitTool(place.root).delete_branch("old", timeout=timeout),
    "GitTool.conflicts": lambda place, timeout: GitTool(place.beside / "merging").conflicts(timeout=timeout),
    "GitTool.abort": lambda place, timeout: GitTool(place.beside / "merging").abort(timeout=timeout),
    "GitTool.remotes": lambda place, timeout: GitTool(place.root).remotes(timeout=timeout),
    "GitTool.remote_url": lambda place, timeout: GitTool(place.root).remote_url(timeout=timeout),
    "GitTool.add_remote": lambda place, timeout: GitTool(place.root).add_remote("new", "/x", timeout=timeout),
    "GitTool.default_branch": lambda place, timeout: GitTool(place.root).default_branch(timeout=timeout),
    "GitTool.remote_head": lambda place, timeout: GitTool(place.root).remote_head("main", timeout=timeout),
    "GitTool.fetch": lambda place, timeout: GitTool(place.root).fetch(timeout=timeout),
    "GitTool.pull": lambda place, timeout: GitTool(place.root).pull(timeout=timeout),
    "GitTool.push": lambda place, timeout: GitTool(place.root).push(branch="other", timeout=timeout),
    "GitTool.delete_remote_branch": lambda place, timeout: GitTool(place.root).delete_remote_branch(
        "doomed", expected=place.sha, timeout=timeout
    ),
    "CommandTool.run": lambda place, timeout: CommandTool(place.root).run("git", "version", timeout=timeout),
    "CommandTool.shell": lambda place, timeout: CommandTool(place.root).shell("git version", timeout=timeout),
    "TypecheckTool.run": lambda place, timeout: TypecheckTool(place.root).run(timeout=timeout),
    "GitTool.with_repo": lambda place, timeout: GitTool(place.root).with_repo(
        lambda repo: repo.git.commit("-m", "new"), timeout=timeout
    ),
    "GitTool.merge": lambda place, timeout: GitTool(place.beside / "diverged").merge("topic", timeout=timeout),
    "GitTool.rebase": lambda place, timeout: GitTool(place.beside / "diverged").rebase("topic", timeout=timeout),
    "GitTool.stash": lambda place, timeout: GitTool(place.beside / "diverged").stash("half done", timeout=timeout),
    "GitTool.pop_stash": lambda place, timeout: GitTool(place.beside / "diverged").pop_stash(
        place.stash, timeout=timeout
    ),
    "GitTool.add_worktree": lambda place, timeout: GitTool(place.root).add_worktree("tree", timeout=timeout),
    "GitTool.worktree": lambda place, timeout: GitTool(place.root).worktree("tree", timeout=timeout).__enter__(),
    "GitTool.worktrees": lambda place, timeout: GitTool(place.root).worktrees(timeout=timeout),
    "GitTool.remove_worktree": lambda place, timeout: GitTool(place.root).remove_worktree(
        place.beside / "tree", timeout=timeout
    ),
    "GitTool.diff": lambda place, timeout: GitTool(place.root).diff(timeout=timeout),
    "GitTool.is_ancestor": lambda place, timeout: GitTool(place.root).is_ancestor("HEAD", "main", timeout=timeout),
    "GitTool.merge_base": lambda place, timeout: GitTool(place.root).merge_base("HEAD", "main", timeout=timeout),
    "GitTool.would_conflict": lambda place, timeout: GitTool(place.root).would_conflict(
        "HEAD", "main", timeout=timeout
    ),
    "GitTool.show": lambda place, timeout: GitTool(place.root).show("HEAD", "a.txt", timeout=timeout),
    "GitTool.files": lambda place, timeout: GitTool(place.root).files(timeout=timeout),
    "GitTool.tag": lambda place, timeout: GitTool(place.root).tag("v1", timeout=timeout),
    "GitTool.tags": lambda place, timeout: GitTool(place.root).tags(timeout=timeout),
    "GitTool.checkpoint": lambda place, timeout: GitTool(place.root).checkpoint("one", timeout=timeout),
    "GitTool.checkpoints": lambda place, timeout: GitTool(place.root).checkpoints(timeout=timeout),
    "GitTool.changed_since": lambda place, timeout: GitTool(place.root).changed_since(place.point, timeout=timeout),
    "GitTool.restore": lambda place, timeout: GitTool(place.root).restore(place.point, timeout=timeout),
    "GitTool.restore_paths": lambda place, timeout: GitTool(place.root).restore_paths("a.txt", timeout=timeout),
    "GitTool.drop_checkpoint": lambda place, timeout: GitTool(place.root).drop_checkpoint(place.point, timeout=timeout),
}


# What comes of each: "Success", "UnsupportedFeature", or the cause and the effect of a `CommandFailed`.
GONE = """
method                        root gone     folder gone            no git          old git
GitTool.init                  Success       Success                not-found none  UnsupportedFeature
GitTool.clone                 Success       Success                not-found none  UnsupportedFeature
GitTool.root                  Success       Success                Success         Success
GitTool.git_dir               bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.status                bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.add                   bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.unstage               bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.commit                bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.current_branch        bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.head                  bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.resolve               bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.log                   bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.branches              bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.create_branch         bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.switch                bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.delete_branch         bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.conflicts             bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.abort                 bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.remotes               bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.remote_url            bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.add_remote            bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.default_branch        bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.remote_head           bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.fetch                 bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.pull                  bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.push                  bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.delete_remote_branch  bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
CommandTool.run               bad-cwd none  Success                not-found none  Success
CommandTool.shell             bad-cwd none  Success                not-found none  Success
TypecheckTool.run             bad-cwd none  Success                Success         Success
GitTool.with_repo             bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.merge                 bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.rebase                bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.stash                 bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.pop_stash             bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.add_worktree          bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.worktree              bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.worktrees             bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.remove_worktree       bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.diff                  bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.is_ancestor           bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.merge_base            bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.would_conflict        bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.show                  bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.files                 bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.tag                   bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.tags                  bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.checkpoint            bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.checkpoints           bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.changed_since         bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.restore               bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.restore_paths         bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
GitTool.drop_checkpoint       bad-cwd none  not-a-repository none  not-found none  UnsupportedFeature
"""
STUCK = """
method                        sleeping git     hanging git      disk full
GitTool.init                  timeout none     timeout unknown  exit unknown
GitTool.clone                 timeout none     timeout none     exit none
GitTool.root                  Success          Success          Success
GitTool.git_dir               timeout none     Success          Success
GitTool.status                timeout none     Success          Success
GitTool.add                   timeout none     timeout unknown  exit none
GitTool.unstage               timeout none     timeout unknown  exit none
GitTool.commit                timeout none     timeout none     exit none
GitTool.current_branch        timeout none     Success          Success
GitTool.head                  timeout none     Success          Success
GitTool.resolve               timeout none     Success          Success
GitTool.log                   timeout none     Success          Success
GitTool.branches              timeout none     Success          Success
GitTool.create_branch         timeout none     timeout unknown  exit none
GitTool.switch                timeout none     timeout unknown  exit unknown
GitTool.delete_branch         timeout none     timeout unknown  Success
GitTool.conflicts             timeout none     Success          Success
GitTool.abort                 timeout none     timeout unknown  exit unknown
GitTool.remotes               timeout none     timeout none     Success
GitTool.remote_url            timeout none     timeout none     Success
GitTool.add_remote            timeout none     timeout unknown  exit unknown
GitTool.default_branch        timeout none     timeout none     Success
GitTool.remote_head           timeout none     timeout none     Success
GitTool.fetch                 timeout none     timeout unknown  exit unknown
GitTool.pull                  timeout none     timeout none     exit none
GitTool.push                  timeout none     timeout unknown  Success
GitTool.delete_remote_branch  timeout none     timeout unknown  Success
CommandTool.run               timeout unknown  Success          Success
CommandTool.shell             timeout unknown  Success          Success
TypecheckTool.run             Success          Success          checker-failed unknown
GitTool.with_repo             timeout none     timeout unknown  exit unknown
GitTool.merge                 timeout none     timeout none     other none
GitTool.rebase                timeout none     timeout none     other none
GitTool.stash                 timeout none     timeout none     other none
GitTool.pop_stash             timeout none     timeout none     other none
GitTool.add_worktree          timeout none     timeout none     exit none
GitTool.worktree              timeout none     timeout none     exit none
GitTool.worktrees             timeout none     Success          Success
GitTool.remove_worktree       timeout none     Success          exit none
GitTool.diff                  timeout none     Success          Success
GitTool.is_ancestor           timeout none     Success          Success
GitTool.merge_base            timeout none     Success          Success
GitTool.would_conflict        timeout none     Success          Success
GitTool.show                  timeout none     Success          Success
GitTool.files                 timeout none     Success          Success
GitTool.tag                   timeout none     timeout unknown  exit none
GitTool.tags                  timeout none     Success          Success
GitTool.checkpoint            timeout none     timeout none     exit none
GitTool.checkpoints           timeout none     Success          Success
GitTool.changed_since         timeout none     timeout none     other none
GitTool.restore               timeout none     timeout none     exit none
GitTool.restore_paths         timeout none     timeout none     exit none
GitTool.drop_checkpoint       timeout none     timeout unknown  Success
"""
TABLE: dict[str, dict[str, str]] = {}
for header, *rows in ([re.split("  +", line) for line in table.strip().splitlines()] for table in (GONE, STUCK)):
    for column, fault in enumerate(header[1:], 1):
        TABLE[fault] = {row[0]: row[column] for row in rows}


def what(result: Outcome) -> str:
    """A result as it stands in the table."""
    match outcome(result):
        case Success():
            return "Success"
        case Failure(CommandFailed() as error):
            assert error.stderr or error.cause == "timeout"
            return f"{error.cause} {error.effect}"
        case Failure(UnsupportedFeature() as error):
            assert "2.20.1" in error.feature
            return error.tag
        case Failure(error):
            return error.tag


def call(method: str, place: Place, timeout: float = ENDS_S) -> str:
    """What a call comes to, which must return in its time."""
    started = time.monotonic()
    found = what(CALLS[method](place, timeout))
    assert time.monotonic() - started < timeout + LATE_S, method
    return found


def calls(place: Place) -> dict[str, str]:
    """What every call comes to, one after the other."""
    return {method: call(method, place) for method in CALLS}


def hanging_calls(place_of: Callable[[str], Place], timeout: float) -> dict[str, str]:
    """What every call comes to whose git hangs; they wait side by side."""
    with ThreadPoolExecutor(8) as pool:
        timeouts = [ENDS_S if method.startswith("TypecheckTool") else timeout for method in CALLS]
        return dict(zip(CALLS, pool.map(call, CALLS, map(place_of, CALLS), timeouts), strict=True))


def test_every_public_method_is_in_the_table() -> None:
    methods = {
        f"{tool.__name__}.{name}"
        for tool in (GitTool, CommandTool, TypecheckTool)
        for name, _ in inspect.getmembers(tool)
        if not name.startswith("_")
    }
    assert set(CALLS) == methods
    assert {fault: set(column) for fault, column in TABLE.items()} == dict.fromkeys(TABLE, methods)


def test_the_root_is_gone(place: Place) -> None:
    for name in ("root", "merging", "diverged"):
        shutil.rmtree(place.beside / name)
    assert calls(place) == TABLE["root gone"]


def test_the_git_folder_is_gone(place: Place) -> None:
    for name in ("root", "merging", "diverged"):
        shutil.rmtree(place.beside / name / ".git")
    assert calls(place) == TABLE["folder gone"]


def test_a_tool_that_has_been_used_before_notices_too(place: Place) -> None:
    """It knows where its repository was."""
    tool = GitTool(place.root)
    or_raise(tool.head())
    shutil.rmtree(place.root / ".git")
    for result in (tool.status(), tool.commit("new"), tool.fetch(), tool.push()):
        assert what(result) == "not-a-repository none"
    shutil.rmtree(place.root)
    for result in (tool.status(), tool.fetch(), tool.push()):
        assert what(result) == "bad-cwd none"


def test_there_is_no_git(place: Place, no_git: None) -> None:
    assert calls(place) == TABLE["no git"]


def test_git_is_too_old(place: Place, old_git: None) -> None:
    assert calls(place) == TABLE["old git"]


@pytest.mark.slow
def test_git_sleeps(place: Place, sleeping_git: None) -> None:
    assert hanging_calls(lambda _: place, SLEEPS_S) == TABLE["sleeping git"]


# The commands that write or that talk to a remote.
HANGING = "add|clone|commit|fetch|init|ls-remote|merge|push|rebase|remote|reset|switch|update-index|update-ref"


@pytest.mark.slow
def test_git_hangs_once_it_gets_to_work(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call has its own copy: one that hangs holds its index."""
    body = f'for word; do case $word in {HANGING}) exec sleep 1000;; esac; done; exec {GIT} "$@"'
    monkeypatch.setenv("PATH", f"{script(tmp_path / 'bin' / 'git', body).parent}:{PATH}")

    def own_copy(method: str) -> Place:
        beside = shutil.copytree(place.beside, tmp_path / method)
        write(beside / "tree" / ".git", f"gitdir: {beside}/root/.git/worktrees/tree\n")
        write(beside / "root" / ".git" / "worktrees" / "tree" / "gitdir", f"{beside}/tree/.git\n")
        return replace(place, root=beside / "root", beside=beside)

    assert hanging_calls(own_copy, HANGS_S) == TABLE["hanging git"]


def test_the_disk_is_full(tmpfs: Disk, place: Place) -> None:
    found = {}
    for method in CALLS:
        tmpfs.fill()  # again: a call that deletes something makes room
        found[method] = call(method, place)
    assert found == TABLE["disk full"]
