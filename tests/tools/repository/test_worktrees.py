"""Worktrees: a place for each branch, taken away again when nothing is lost by it."""

import logging
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds.repository import commit, git, script, sha, write

from orca.errors import BranchAlreadyExists, CommandFailed
from orca.flows import flow
from orca.results import Failure, or_raise
from orca.tools import GitTool, Worktree
from orca.tools.repository.worktree_list import parse_worktrees


def failed(result: object) -> CommandFailed:
    assert isinstance(result, Failure)
    error = result.failure()
    assert isinstance(error, CommandFailed)
    return error


def paths(tool: GitTool) -> list[str]:
    return [tree.path for tree in or_raise(tool.worktrees())]


def test_a_worktree_is_beside_the_repository_and_untracked_nowhere(repo: Path) -> None:
    tool = GitTool(repo)
    made = or_raise(tool.add_worktree("agent/one"))
    assert made == Worktree(path=f"{repo}.worktrees/agent-one", head=sha(repo), branch="agent/one")
    assert or_raise(tool.status()).clean
    assert or_raise(GitTool(made.path).current_branch()) == "agent/one"
    assert [tree.is_main for tree in or_raise(tool.worktrees())] == [True, False]


def test_a_block_that_commits_leaves_its_branch_and_no_folder(repo: Path) -> None:
    place = GitTool(repo).worktree("agent")
    with place as made:
        tool = or_raise(made)
        write(tool.root / "new.txt", "new\n")
        made_sha = or_raise(tool.commit("new", add="all")).sha
        write(tool.root / ".gitignore", "build\n")
        or_raise(tool.commit("ignore", add="all"))
        write(tool.root / "build", "what is ignored goes with it")
    assert place.end is not None
    assert (place.end.removed, place.end.why, place.end.branch) == (True, None, "agent")
    assert not os.path.lexists(place.end.path)
    assert not os.path.lexists(f"{repo}.worktrees")
    assert sha(repo, "agent~1") == made_sha
    assert paths(GitTool(repo)) == [str(repo)]


@pytest.mark.parametrize("kind", ["untracked", "changed", "staged", "detached", "merging"])
def test_what_a_removal_would_lose_is_kept_and_named(repo: Path, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    commit(repo, "a.txt", "main\n")
    place = GitTool(repo).worktree("agent", start="HEAD~1")
    with caplog.at_level(logging.WARNING, "orca.worktrees"), place as made:
        root = or_raise(made).root
        match kind:
            case "untracked":
                write(root / "new.txt", "new\n")
            case "changed" | "staged":
                write(root / "a.txt", "changed\n")
                if kind == "staged":
                    git(root, "add", "a.txt")
            case "detached":
                git(root, "switch", "--quiet", "--detach")
                commit(root, "b.txt", "held by nothing\n")
            case _:
                commit(root, "a.txt", "other\n")
                subprocess.run(["git", "merge", "main"], cwd=root, check=False, capture_output=True)
    assert place.end is not None
    assert not place.end.removed
    assert place.end.path in paths(GitTool(repo))
    assert os.path.isdir(place.end.path)
    assert place.end.path in caplog.text
    cause = {"detached": "refused", "merging": "conflict"}.get(kind, "dirty")
    error = failed(GitTool(repo).remove_worktree(place.end.path))
    assert (error.cause, error.effect) == (cause, "none")
    removed = or_raise(GitTool(repo).remove_worktree(place.end.path, force=True))
    assert not os.path.lexists(place.end.path)
    assert removed.checkpoint is not None
    held = git(repo, "ls-tree", "-r", "--name-only", f"{removed.checkpoint}:worktree").decode().split()
    assert {"untracked": "new.txt", "detached": "b.txt"}.get(kind, "a.txt") in held


def test_an_exception_of_the_block_passes_through_and_loses_nothing(repo: Path) -> None:
    place = GitTool(repo).worktree("agent")

    def work() -> None:
        with place as made:
            write(or_raise(made).root / "new.txt", "half done\n")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert place.end is not None
    assert (Path(place.end.path) / "new.txt").read_text() == "half done\n"


def test_always_keeps_and_never_keeps_nothing(repo: Path) -> None:
    kept, gone = GitTool(repo).worktree("kept", keep="always"), GitTool(repo).worktree("gone", keep="never")
    with kept, gone as made:
        write(or_raise(made).root / "new.txt", "new\n")
    assert kept.end is not None
    assert gone.end is not None
    assert (kept.end.removed, gone.end.removed) == (False, True)
    assert os.path.isdir(kept.end.path)
    assert not os.path.lexists(gone.end.path)


def test_a_worktree_that_cannot_be_made_is_a_failure_of_the_block(repo: Path) -> None:
    place = GitTool(repo).worktree("main")
    with place as made:
        assert isinstance(made.failure(), BranchAlreadyExists)
    assert place.end is None


def test_a_branch_that_exists_fails_is_used_or_is_reset(repo: Path) -> None:
    tool = GitTool(repo)
    git(repo, "branch", "old")
    old = sha(repo)
    commit(repo, "b.txt", "b\n")
    exists = tool.add_worktree("old").failure()
    assert isinstance(exists, BranchAlreadyExists)
    assert exists.branch == "old"
    used = or_raise(tool.add_worktree("old", existing="reuse"))
    assert (used.head, used.replaced) == (old, None)
    or_raise(tool.remove_worktree(used.path))
    reset = or_raise(tool.add_worktree("old", existing="reset"))
    assert (reset.head, reset.replaced) == (sha(repo), old)


@pytest.mark.parametrize("existing", ["reuse", "reset"])
def test_a_branch_that_is_checked_out_elsewhere_is_refused(repo: Path, existing: str) -> None:
    tool = GitTool(repo)
    first = or_raise(tool.add_worktree("agent"))
    error = failed(tool.add_worktree("agent", existing=existing))  # type: ignore[arg-type]
    assert (error.cause, error.effect, error.paths) == ("refused", "none", (first.path,))
    assert failed(tool.add_worktree("main", existing=existing)).paths == (str(repo),)  # type: ignore[arg-type]


def test_a_worktree_whose_folder_is_gone_gives_its_branch_back(repo: Path) -> None:
    tool = GitTool(repo)
    first = or_raise(tool.add_worktree("agent"))
    other = or_raise(tool.add_worktree("other"))
    for tree in (first, other):
        shutil.rmtree(tree.path)
    assert [tree.prunable is not None for tree in or_raise(tool.worktrees())] == [False, True, True]
    assert or_raise(tool.add_worktree("agent", existing="reuse")).branch == "agent"
    assert or_raise(tool.remove_worktree(other.path)).branch == "other"
    assert paths(tool) == [str(repo), first.path]


def test_the_main_one_its_own_a_locked_and_an_unknown_one_are_not_removed(repo: Path, tmp_path: Path) -> None:
    tool = GitTool(repo)
    made = or_raise(tool.add_worktree("agent"))
    inside = GitTool(made.path)
    assert failed(inside.remove_worktree(repo, force=True)).cause == "refused"
    assert failed(inside.remove_worktree(made.path, force=True)).cause == "refused"
    git(repo, "worktree", "lock", "--reason", "on a stick", made.path)
    assert or_raise(tool.worktrees())[1].locked == "on a stick"
    error = failed(tool.remove_worktree(made.path, force=True))
    assert (error.cause, error.effect) == ("refused", "none")
    assert "on a stick" in error.stderr
    assert failed(tool.remove_worktree(tmp_path)).cause == "unknown-path"
    assert failed(tool.remove_worktree("-f")).cause == "unknown-path"


def test_a_path_counts_from_the_top_and_inside_it_has_to_be_ignored(repo: Path) -> None:
    tool = GitTool(repo / ".")
    assert or_raise(tool.add_worktree("beside", path="../beside")).path == str(repo.parent / "beside")
    error = failed(tool.add_worktree("inside", path="trees/inside"))
    assert (error.cause, error.effect) == ("refused", "none")
    assert or_raise(tool.status()).clean
    commit(repo, ".gitignore", "trees/\n")
    assert or_raise(tool.add_worktree("inside", path="trees/inside")).branch == "inside"
    assert or_raise(tool.status()).clean


def test_a_folder_that_holds_something_is_left_alone(repo: Path, tmp_path: Path) -> None:
    write(tmp_path / "full" / "file", "mine\n")
    error = failed(GitTool(repo).add_worktree("agent", path=tmp_path / "full"))
    assert (error.cause, error.effect) == ("refused", "none")
    assert (tmp_path / "full" / "file").read_text() == "mine\n"
    assert or_raise(GitTool(repo).branches())[0].name == "main"


@pytest.mark.parametrize("name", ["-f", "a..b", "a b", "", "--detach", "a\nb"])
def test_what_is_no_branch_name_is_refused_before_git_runs(repo: Path, name: str) -> None:
    assert failed(GitTool(repo).add_worktree(name)).cause == "bad-ref-name"


def test_a_start_that_is_unknown_leaves_nothing(repo: Path) -> None:
    error = failed(GitTool(repo).add_worktree("agent", start="nowhere"))
    assert (error.cause, error.effect) == ("unknown-ref", "none")
    assert failed(GitTool(repo).add_worktree("agent", start="--detach")).cause == "bad-ref-name"
    assert not os.path.lexists(f"{repo}.worktrees")
    assert paths(GitTool(repo)) == [str(repo)]


def test_a_name_beside_a_folder_of_names_leaves_nothing(repo: Path) -> None:
    git(repo, "branch", "a/b")
    error = failed(GitTool(repo).add_worktree("a"))
    assert (error.cause, error.effect) == ("ref-conflict", "none")
    assert not os.path.lexists(f"{repo}.worktrees")


def test_before_the_first_commit_there_is_nothing_to_start_at(tmp_path: Path) -> None:
    tool = or_raise(GitTool.init(tmp_path / "new"))
    error = failed(tool.add_worktree("agent"))
    assert (error.cause, error.effect) == ("unborn", "none")
    assert or_raise(tool.worktrees())[0].head is None


def test_a_hook_that_fails_is_named_and_what_it_saw_is_there(repo: Path) -> None:
    script(repo / ".git" / "hooks" / "post-checkout", "echo no >&2; exit 3")
    error = failed(GitTool(repo).add_worktree("agent"))
    assert (error.cause, error.effect) == ("hook-failed", "landed")
    assert paths(GitTool(repo))[1:] == list(error.paths)


def test_a_worktree_that_runs_out_of_time_is_taken_away(repo: Path) -> None:
    script(repo / ".git" / "hooks" / "post-checkout", "exec sleep 1000")
    error = failed(GitTool(repo).add_worktree("agent", timeout=1.5))
    assert (error.cause, error.effect) == ("timeout", "none")
    assert paths(GitTool(repo)) == [str(repo)]
    assert [branch.name for branch in or_raise(GitTool(repo).branches())] == ["main"]
    assert not os.path.lexists(f"{repo}.worktrees")


def test_in_a_bare_repository_they_work_too(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(repo), "bare.git")
    tool = GitTool(tmp_path / "bare.git")
    made = or_raise(tool.add_worktree("agent"))
    assert made.path == str(tmp_path / "bare.worktrees" / "agent")
    assert or_raise(tool.remove_worktree(made.path)).branch == "agent"


def test_sixteen_agents_in_eight_threads(repo: Path) -> None:
    tool = GitTool(repo)

    def agent(number: int) -> str:
        place = tool.worktree(f"agent/{number}")
        with place as made:
            mine = or_raise(made)
            write(mine.root / f"{number}.txt", "done\n")
            made_sha = or_raise(mine.commit(f"by {number}", add="all")).sha
        assert place.end is not None
        assert place.end.removed, place.end.why
        return made_sha

    with flow(repo) as run:
        commits = run.map(agent, range(16), workers=8)
    assert [sha(repo, f"agent/{number}") for number in range(16)] == commits
    assert paths(tool) == [str(repo)]
    assert not os.path.lexists(f"{repo}.worktrees")


def test_processes_at_once_get_a_place_each(repo: Path) -> None:
    code = "import sys; from orca.tools import GitTool; print(GitTool('.').add_worktree(sys.argv[1]).unwrap().path)"

    def another(name: str) -> str:
        argv = [sys.executable, "-c", code, name]
        return subprocess.run(argv, cwd=repo, check=True, capture_output=True, text=True, timeout=60).stdout.strip()

    names = ["a/b", "a-b", "a_b", "a+b"]
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(another, names))
    assert len(set(made)) == 4
    assert sorted(paths(GitTool(repo))[1:]) == sorted(made)


def test_the_users_settings_change_nothing(repo: Path) -> None:
    git(repo, "remote", "add", "origin", str(repo))
    git(repo, "fetch", "--quiet")
    git(repo, "update-ref", "refs/remotes/origin/agent", "HEAD")
    for key, value in (("worktree.guessRemote", "true"), ("checkout.defaultRemote", "origin")):
        git(repo, "config", key, value)
    commit(repo, "b.txt", "b\n")
    made = or_raise(GitTool(repo).add_worktree("agent"))
    assert made.head == sha(repo)
    assert or_raise(GitTool(made.path).status()).upstream is None


NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
TREES = st.builds(
    Worktree,
    path=NAMES.map(lambda name: f"/{name}"),
    head=st.just("1" * 40) | st.none(),
    branch=NAMES | st.none(),
    locked=st.none() | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    prunable=st.none() | NAMES,
)


def printed(tree: Worktree) -> bytes:
    lines = [f"worktree {tree.path}", f"HEAD {tree.head or '0' * 40}"]
    lines.append("detached" if tree.branch is None else f"branch refs/heads/{tree.branch}")
    for word, reason in (("locked", tree.locked), ("prunable", tree.prunable)):
        if reason is not None:
            lines.append(f"{word} {reason}" if reason else word)
    return b"".join(os.fsencode(line) + b"\0" for line in lines) + b"\0"


@settings(derandomize=True)
@given(st.lists(TREES, max_size=5))
def test_the_list_is_read_as_git_prints_it(trees: list[Worktree]) -> None:
    found = parse_worktrees(b"".join(map(printed, trees)))
    assert [tree.is_main for tree in found] == [number == 0 for number in range(len(trees))]
    for mine, read in zip(trees, found, strict=True):
        assert (mine.path, mine.head, mine.branch) == (read.path, read.head, read.branch)
        assert (mine.locked, mine.prunable) == (read.locked, read.prunable)
