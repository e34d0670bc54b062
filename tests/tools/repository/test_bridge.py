"""The same by the git tool and by GitPython through `with_repo`, on worlds alike: the same tag, cause and paths."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import git as gitpython
import pytest
from outcomes import failed, state
from test_commit_obstacles import OBSTACLES, Obstacle
from worlds.remote import Remote, Transport
from worlds.repository import commit, git, hook, run_git, write

from orca.errors import BranchAlreadyExists, CommandFailed, NothingToCommit, RuntimeError
from orca.results import Failure, Result, Success, outcome
from orca.tools import GitTool

Outcome = Result[Any, RuntimeError]
Code = Callable[[gitpython.Repo], object]


@dataclass(frozen=True)
class Case:
    """One failure: the state that it needs, the call of the tool that meets it, and GitPython code that does."""

    name: str
    prepare: Callable[[Path], object]
    tool: Callable[[GitTool], Outcome]
    code: tuple[Code, ...]
    expected: str


def nothing_changed(repo: Path) -> None:
    pass


def only_worktree_changes(repo: Path) -> None:
    write(repo / "a.txt", "changed\n")
    write(repo / "new", "new\n")


def pre_commit_fails(repo: Path) -> None:
    write(repo / "a.txt", "changed\n")
    git(repo, "add", "a.txt")
    hook(repo, "pre-commit", "echo no; exit 1")


def commit_msg_fails(repo: Path) -> None:
    write(repo / "a.txt", "changed\n")
    git(repo, "add", "a.txt")
    hook(repo, "commit-msg", "echo no; exit 1")


def branches(repo: Path) -> None:
    """`side` changes what `main` changes; both changed the same line."""
    git(repo, "switch", "--quiet", "--create", "side")
    commit(repo, "a.txt", "side\n")
    git(repo, "switch", "--quiet", "main")
    commit(repo, "a.txt", "main\n")


def merging(repo: Path) -> None:
    branches(repo)
    assert run_git(repo, "merge", "side").returncode == 1


def dirty(repo: Path) -> None:
    branches(repo)
    write(repo / "a.txt", "dirty\n")


def detached(repo: Path) -> None:
    git(repo, "remote", "add", "origin", "/nowhere")
    git(repo, "switch", "--quiet", "--detach")


def unborn(repo: Path) -> None:
    git(repo, "switch", "--quiet", "--orphan", "fresh")


def ignoring(repo: Path) -> None:
    write(repo / ".gitignore", "ignored\n")
    write(repo / "ignored", "x\n")


def branch_folder(repo: Path) -> None:
    git(repo, "branch", "taken")


def index_locked(repo: Path) -> None:
    write(repo / "new", "new\n")
    write(repo / ".git/index.lock", "")


def ref_locked(repo: Path) -> None:
    write(repo / ".git/refs/heads/new.lock", "")


def config_locked(repo: Path) -> None:
    write(repo / ".git/config.lock", "")


CASES = (
    Case(
        "nothing to commit",
        nothing_changed,
        lambda tool: tool.commit("x"),
        (lambda repo: repo.git.commit("-m", "x"), lambda repo: repo.git.commit(message="x", a=True)),
        "NothingToCommit 0 0",
    ),
    Case(
        "nothing staged",
        only_worktree_changes,
        lambda tool: tool.commit("x"),
        (lambda repo: repo.git.commit("-m", "x"), lambda repo: repo.git.commit(m="x")),
        "NothingToCommit 1 1",
    ),
    Case(
        "pre-commit hook",
        pre_commit_fails,
        lambda tool: tool.commit("x"),
        (
            lambda repo: repo.git.commit("-m", "x"),
            lambda repo: repo.git.commit("-am", "x"),
            lambda repo: repo.index.commit("x"),
        ),
        "hook-failed",
    ),
    Case(
        "commit-msg hook",
        commit_msg_fails,
        lambda tool: tool.commit("x"),
        (lambda repo: repo.git.commit("-m", "x"), lambda repo: repo.index.commit("x")),
        "hook-failed",
    ),
    Case(
        "a commit of conflicts",
        merging,
        lambda tool: tool.commit("x"),
        (lambda repo: repo.git.commit("-m", "x"), lambda repo: repo.index.write_tree()),
        "conflict a.txt",
    ),
    Case(
        "a switch in the middle of a merge",
        merging,
        lambda tool: tool.switch("side"),
        (lambda repo: repo.git.switch("side"), lambda repo: repo.git.checkout("side")),
        "conflict a.txt",
    ),
    Case(
        "a branch that exists",
        branches,
        lambda tool: tool.create_branch("side"),
        (
            lambda repo: repo.git.branch("side"),
            lambda repo: repo.git.switch("-c", "side"),
            lambda repo: repo.git.checkout("HEAD", b="side"),
            lambda repo: repo.create_head("side"),
        ),
        "BranchAlreadyExists side",
    ),
    Case(
        "a branch below a branch",
        branch_folder,
        lambda tool: tool.create_branch("taken/below"),
        (lambda repo: repo.git.branch("taken/below"), lambda repo: repo.create_head("taken/below")),
        "ref-conflict",
    ),
    Case(
        "a branch that is locked",
        ref_locked,
        lambda tool: tool.create_branch("new", switch=False),
        (lambda repo: repo.git.branch("new"), lambda repo: repo.create_head("new")),
        "locked",
    ),
    Case(
        "a name that is none",
        nothing_changed,
        lambda tool: tool.create_branch("bad..name"),
        (lambda repo: repo.git.branch("bad..name"), lambda repo: repo.create_head("bad..name")),
        "bad-ref-name",
    ),
    Case(
        "a branch that is not there",
        nothing_changed,
        lambda tool: tool.switch("absent"),
        (
            lambda repo: repo.git.switch("absent"),
            lambda repo: repo.git.checkout("absent"),
            lambda repo: repo.heads["absent"].checkout(),
            lambda repo: repo.heads.absent,
            lambda repo: repo.git.switch("-c", "new", "absent"),
        ),
        "unknown-ref",
    ),
    Case(
        "a revision that is not there",
        nothing_changed,
        lambda tool: tool.resolve("absent"),
        (
            lambda repo: repo.commit("absent"),
            lambda repo: repo.commit("0" * 39 + "1").message,
            lambda repo: repo.rev_parse("HEAD~7"),
            lambda repo: repo.git.rev_parse("--verify", "absent"),
            lambda repo: list(repo.iter_commits("absent")),
            lambda repo: repo.tree("absent"),
            lambda repo: repo.index.diff("absent"),
            lambda repo: repo.git.merge("absent"),
            lambda repo: repo.git.rebase("absent"),
        ),
        "unknown-ref",
    ),
    Case(
        "HEAD of no commit",
        unborn,
        lambda tool: tool.resolve("HEAD"),
        (
            lambda repo: repo.head.commit,
            lambda repo: repo.commit("HEAD"),
            lambda repo: repo.git.rev_parse("--verify", "HEAD"),
        ),
        "unknown-ref",
    ),
    Case(
        "changes in the way of a switch",
        dirty,
        lambda tool: tool.switch("side"),
        (
            lambda repo: repo.git.switch("side"),
            lambda repo: repo.heads.side.checkout(),
        ),
        "dirty",
    ),
    Case(
        "no branch",
        detached,
        lambda tool: tool.push(),
        (lambda repo: repo.active_branch.name, lambda repo: repo.git.push()),
        "detached",
    ),
    Case(
        "a remote that is not there",
        nothing_changed,
        lambda tool: tool.fetch("nowhere"),
        (
            lambda repo: repo.remote("nowhere").fetch(),
            lambda repo: repo.remote("nowhere").url,
            lambda repo: repo.git.fetch("nowhere"),
        ),
        "unknown-remote",
    ),
    Case(
        "a path that is not there",
        nothing_changed,
        lambda tool: tool.add("absent"),
        (lambda repo: repo.git.add("absent"), lambda repo: repo.index.add(["absent"])),
        "unknown-path absent",
    ),
    Case(
        "a path that is ignored",
        ignoring,
        lambda tool: tool.add("ignored"),
        (lambda repo: repo.git.add("ignored"),),  # `index.add` stages it
        "ignored-path ignored",
    ),
    Case(
        "an index that is locked",
        index_locked,
        lambda tool: tool.add("new"),
        (lambda repo: repo.git.add("new"), lambda repo: repo.index.add(["new"])),
        "locked",
    ),
    Case(
        "a configuration that is locked",
        config_locked,
        lambda tool: tool.add_remote("new", "/x"),
        (lambda repo: repo.create_remote("new", "/x"), lambda repo: repo.config_writer().set_value("a", "b", "c")),
        "locked",
    ),
    Case(
        "an address that starts a program",
        nothing_changed,
        lambda tool: tool.add_remote("new", "ext::sh -c true"),
        (lambda repo: repo.create_remote("new", "ext::sh -c true"), lambda repo: repo.clone_from("ext::x", "clone")),
        "refused",
    ),
)


def what(result: Outcome) -> str:
    match outcome(result):
        case Failure(NothingToCommit() as error):
            return f"{error.tag} {error.unstaged} {error.untracked}"
        case Failure(BranchAlreadyExists() as error):
            return f"{error.tag} {error.branch}"
        case Failure(CommandFailed() as error):
            return " ".join([error.cause, *error.paths])
        case Failure(error):
            return error.tag
        case Success(value):
            return f"Success {value!r}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_gitpython_fails_as_the_tool_does(case: Case, repo: Path, tmp_path: Path) -> None:
    case.prepare(repo)
    worlds = [shutil.copytree(repo, tmp_path / f"copy-{number}", symlinks=True) for number in range(len(case.code))]
    for world in worlds:
        run_git(world, "update-index", "-q", "--refresh")
    assert what(case.tool(GitTool(repo))) == case.expected
    found = [what(GitTool(world).with_repo(code)) for world, code in zip(worlds, case.code, strict=True)]
    assert found == [case.expected] * len(worlds)


@pytest.mark.parametrize("obstacle", OBSTACLES, ids=lambda obstacle: obstacle.__name__)
def test_obstacles_of_a_commit_are_the_same(
    obstacle: Obstacle, repo: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    write(repo / "a.txt", "a\nb\n")
    git(repo, "add", "a.txt")
    obstacle(repo, monkeypatch, home)
    before = state(repo)
    tool = GitTool(repo)
    assert failed(tool.commit("x")).cause == OBSTACLES[obstacle]
    error = failed(tool.with_repo(lambda repo: repo.git.commit("-m", "x")))
    assert (error.cause, error.effect) == (OBSTACLES[obstacle], "unknown"), error.stderr
    if OBSTACLES[obstacle] == "identity-missing":  # GitPython by itself invents one
        assert failed(tool.with_repo(lambda repo: repo.index.commit("x"))).cause == "identity-missing"
    assert state(repo) == before


def diverged(remote: Remote) -> None:
    remote.colleague_pushes("a.txt", "theirs\n")
    commit(remote.work, "a.txt", "ours\n")


def in_the_way(remote: Remote) -> None:
    remote.colleague_pushes("a.txt", "theirs\n")
    write(remote.work / "a.txt", "not committed\n")


def merge_hook(remote: Remote) -> None:
    remote.colleague_pushes()
    commit(remote.work)
    hook(remote.work, "pre-merge-commit", "exit 1")


def no_upstream(remote: Remote) -> None:
    git(remote.work, "switch", "--quiet", "--no-track", "-c", "alone")


def let_in(remote: Remote) -> None:
    remote.http.auth = ("user", "right")


def forced_there(remote: Remote) -> None:
    """A branch that the remote has rewritten, and that is fetched without force."""
    git(remote.work, "config", "remote.origin.fetch", "refs/heads/*:refs/remotes/origin/*")
    git(remote.colleague, "commit", "--quiet", "--amend", "-m", "rewritten")
    git(remote.colleague, "push", "--quiet", "--force", "origin", "main")


@dataclass(frozen=True)
class RemoteCase:
    """The same, with a remote."""

    name: str
    prepare: Callable[[Remote], object]
    tool: Callable[[GitTool], Outcome]
    code: tuple[Code, ...]
    expected: str
    over: Transport = "file"


REMOTE_CASES = (
    RemoteCase(
        "conflicts of a merge",
        diverged,
        lambda tool: tool.pull(rebase=False),
        (
            lambda repo: repo.remote().pull("main", no_rebase=True),
            lambda repo: [repo.remote().fetch(), repo.git.merge("origin/main")],
        ),
        "conflict a.txt",
    ),
    RemoteCase(
        "conflicts of a rebase",
        diverged,
        lambda tool: tool.pull(),
        (
            lambda repo: repo.remote().pull("main", rebase=True),
            lambda repo: [repo.remote().fetch(), repo.git.rebase("origin/main")],
        ),
        "conflict a.txt",
    ),
    RemoteCase(
        "changes in the way of a pull",
        in_the_way,
        lambda tool: tool.pull(),
        (
            lambda repo: repo.remote().pull("main", rebase=True),
            lambda repo: repo.remote().pull("main", ff_only=True),
        ),
        "dirty",
    ),
    RemoteCase(
        "a hook that refuses the merge",
        merge_hook,
        lambda tool: tool.pull(rebase=False),
        (lambda repo: repo.remote().pull("main", no_rebase=True), lambda repo: repo.git.pull("--no-rebase")),
        "hook-failed",
    ),
    RemoteCase(
        "no upstream to pull from",
        no_upstream,
        lambda tool: tool.pull(),
        (lambda repo: repo.git.pull(),),
        "no-upstream",
    ),
    RemoteCase(
        "a branch that the remote has not",
        lambda remote: None,
        lambda tool: tool.pull(branch="absent"),
        (lambda repo: repo.remote().fetch("absent"), lambda repo: repo.remote().pull("absent")),
        "unknown-ref",
    ),
    RemoteCase(
        "a ref that is not forced",
        forced_there,
        lambda tool: tool.fetch(),
        (lambda repo: repo.remote().fetch(), lambda repo: repo.git.fetch("origin")),
        "exit",
    ),
    RemoteCase(
        "nobody is let in",
        let_in,
        lambda tool: tool.fetch(),
        (lambda repo: repo.remote().fetch(), lambda repo: repo.git.ls_remote("origin")),
        "auth",
        "http",
    ),
)


@pytest.mark.parametrize("case", REMOTE_CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_gitpython_fails_as_the_tool_does_with_a_remote(
    case: RemoteCase, remote_over: Callable[[Transport], Remote]
) -> None:
    remote = remote_over(case.over)
    case.prepare(remote)
    assert what(case.tool(GitTool(remote.work))) == case.expected
    for code in case.code:
        remote = remote_over(case.over)
        case.prepare(remote)
        assert what(GitTool(remote.work).with_repo(code)) == case.expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_gitpython_fails_so_in_german_and_with_a_hostile_display_too(
    case: Case, repo: Path, german: Mapping[str, str], hostile_display: Mapping[str, str]
) -> None:
    case.prepare(repo)
    assert what(GitTool(repo).with_repo(case.code[0])) == case.expected
