"""Checkpoints: what they hold, what they leave alone, and what stops them."""

import os
import socket
import subprocess
from pathlib import Path

import pytest
from histories import files, git_state
from worlds.repository import commit, copy, git, run_git, script, sha, write

from orca.errors import CommandFailed
from orca.results import Failure, or_raise
from orca.tools import Checkpoint, GitTool


def failed(result: object) -> CommandFailed:
    assert isinstance(result, Failure)
    error = result.failure()
    assert isinstance(error, CommandFailed)
    return error


def test_an_agents_work_is_undone_and_the_undo_brings_it_back(repo: Path) -> None:
    tool = GitTool(repo)
    write(repo / "draft.txt", "mine\n")
    point = or_raise(tool.checkpoint("before the agent"))
    assert (point.label, point.head, point.branch, point.not_covered) == ("before the agent", sha(repo), "main", ())
    write(repo / "a.txt", "spoiled\n")
    (repo / "draft.txt").unlink()
    commit(repo, "b.txt", "agent\n")
    made = sha(repo)
    undo = or_raise(tool.restore(point))
    assert (repo / "a.txt").read_text() == "a\n"
    assert (repo / "draft.txt").read_text() == "mine\n"
    assert not (repo / "b.txt").exists()
    assert (sha(repo), undo.head) == (point.head, made)
    or_raise(tool.restore(undo))
    assert (repo / "a.txt").read_text() == "spoiled\n"
    assert (sha(repo), (repo / "b.txt").read_text()) == (made, "agent\n")


def test_it_survives_the_clean_up_of_git_and_is_listed_and_dropped(repo: Path) -> None:
    tool = GitTool(repo)
    write(repo / "new.txt", "new\n")
    one = or_raise(tool.checkpoint("one"))
    two = or_raise(tool.checkpoint("two"))
    assert or_raise(tool.checkpoints()) == (one, two)
    (repo / "new.txt").unlink()
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "--quiet", "--prune=now")
    or_raise(tool.restore(one))
    assert (repo / "new.txt").read_text() == "new\n"
    or_raise(tool.drop_checkpoint(one))
    assert one not in or_raise(tool.checkpoints())
    for result in (tool.restore(one), tool.drop_checkpoint(one), tool.changed_since(one)):
        assert (failed(result).cause, failed(result).effect) == ("unknown-ref", "none")


def test_files_are_recorded_as_they_are_whatever_git_would_make_of_them(repo: Path, tmp_path: Path) -> None:
    """No filter runs, no line end is changed, no identity is needed, and no hook is asked."""
    spy = script(tmp_path / "spy", f"touch {tmp_path}/ran; cat")
    for key, value in {
        "core.autocrlf": "true",
        "filter.spy.clean": str(spy),
        "filter.spy.smudge": str(spy),
        "filter.spy.required": "true",
        "user.useConfigOnly": "true",
        "user.name": "",
        "user.email": "",
        "commit.gpgSign": "true",
        "core.fsmonitor": str(spy),
    }.items():
        git(repo, "config", key, value)
    script(repo / ".git" / "hooks" / "reference-transaction", f"touch {tmp_path}/ran")
    write(repo / ".gitattributes", "*.bin filter=spy\n")
    (repo / "x.bin").write_bytes(b"one\r\ntwo\n")
    point = or_raise(GitTool(repo).checkpoint())
    (repo / "x.bin").write_bytes(b"three\n")
    or_raise(GitTool(repo).restore(point))
    assert (repo / "x.bin").read_bytes() == b"one\r\ntwo\n"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("what", ["merge", "rebase"])
def test_an_operation_in_progress_goes_on_after_a_restore(repo: Path, what: str) -> None:
    git(repo, "switch", "--quiet", "-c", "side")
    commit(repo, "a.txt", "side\n")
    side = sha(repo)
    git(repo, "switch", "--quiet", "main")
    commit(repo, "a.txt", "main\n")
    if what == "rebase":
        git(repo, "switch", "--quiet", "side")
    assert run_git(repo, what, "side" if what == "merge" else "main").returncode == 1
    before = files(repo), git_state(repo)
    tool = GitTool(repo)
    point = or_raise(tool.checkpoint())
    git(repo, what, "--abort")
    git(repo, "branch", "--force", "side" if what == "merge" else "main", "HEAD~1")
    write(repo / "a.txt", "elsewhere\n")
    or_raise(tool.restore(point))
    assert (files(repo), git_state(repo)) == before
    write(repo / "a.txt", "both\n")
    git(repo, "add", "a.txt")
    subprocess.run(["git", "-c", "core.editor=true", what, "--continue"], cwd=repo, check=True, capture_output=True)
    if what == "merge":
        assert git(repo, "rev-parse", "HEAD^2").decode().strip() == side
    else:
        assert git(repo, "symbolic-ref", "HEAD").decode().strip() == "refs/heads/side"


def test_what_is_ignored_is_neither_recorded_nor_removed(repo: Path) -> None:
    commit(repo, ".gitignore", "*.log\nbuild/\n")
    write(repo / "run.log", "ignored\n")
    write(repo / "build" / "out", "ignored\n")
    tool = GitTool(repo)
    point = or_raise(tool.checkpoint())
    write(repo / "run.log", "later\n")
    write(repo / "a.txt", "changed\n")
    or_raise(tool.restore(point))
    assert (repo / "run.log").read_text() == "later\n"
    assert (repo / "build" / "out").read_text() == "ignored\n"
    tree = git(repo, "ls-tree", "-r", "--name-only", f"refs/orca/main/{point.id}")
    assert b"log" not in tree
    assert b"build" not in tree


def test_what_has_become_ignored_is_recorded_before_it_is_replaced(repo: Path) -> None:
    write(repo / "notes.txt", "first\n")
    tool = GitTool(repo)
    point = or_raise(tool.checkpoint())
    write(repo / "notes.txt", "second\n")
    write(repo / ".gitignore", "notes.txt\n")
    undo = or_raise(tool.restore(point))
    assert (repo / "notes.txt").read_text() == "first\n"
    or_raise(tool.restore(undo))
    assert (repo / "notes.txt").read_text() == "second\n"


def test_a_link_that_is_planted_leads_no_restore_outside(repo: Path, tmp_path: Path) -> None:
    """The folder has become a link to outside, and an ignored one, which no list shows."""
    write(repo / "folder" / "file.txt", "mine\n")
    tool = GitTool(repo)
    point = or_raise(tool.checkpoint())
    outside = tmp_path / "outside"
    write(outside / "file.txt", "not ours\n")
    (repo / "folder" / "file.txt").unlink()
    (repo / "folder").rmdir()
    (repo / "folder").symlink_to(outside)
    write(repo / ".gitignore", "folder\n")
    undo = or_raise(tool.restore(point))
    assert (outside / "file.txt").read_text() == "not ours\n"
    assert (repo / "folder" / "file.txt").read_text() == "mine\n"
    assert not (repo / "folder").is_symlink()
    or_raise(tool.restore(undo))
    assert os.readlink(repo / "folder") == str(outside)
    assert (outside / "file.txt").read_text() == "not ours\n"


def test_a_link_in_the_git_folder_leads_no_restore_outside(repo: Path, tmp_path: Path) -> None:
    tool = GitTool(repo)
    point = or_raise(tool.checkpoint())
    write(tmp_path / "outside" / "done", "not ours\n")
    (repo / ".git" / "rebase-merge").symlink_to(tmp_path / "outside")
    or_raise(tool.restore(point))
    assert (tmp_path / "outside" / "done").read_text() == "not ours\n"
    assert not (repo / ".git" / "rebase-merge").is_symlink()


def test_an_ignored_folder_in_the_way_of_a_file_stops_it_unless_it_is_empty(repo: Path) -> None:
    write(repo / "thing", "a file\n")
    tool = GitTool(repo)
    point = or_raise(tool.checkpoint())
    (repo / "thing").unlink()
    write(repo / ".gitignore", "thing\n")
    write(repo / "thing" / "kept", "ignored\n")
    error = failed(tool.restore(point))
    assert (error.cause, error.effect, error.paths) == ("dirty", "none", ("thing/kept",))
    assert (repo / "thing" / "kept").read_text() == "ignored\n"
    (repo / "thing" / "kept").unlink()
    (repo / "thing" / "deeper").mkdir()
    or_raise(tool.restore(point))
    assert (repo / "thing").read_text() == "a file\n"


def test_each_worktree_has_its_own_and_the_branch_of_another_is_not_moved(repo: Path) -> None:
    tool = GitTool(repo)
    other = GitTool(or_raise(tool.add_worktree("other")).path)
    point = or_raise(other.checkpoint("theirs"))
    assert or_raise(tool.checkpoints()) == ()
    assert failed(tool.restore(point)).cause == "unknown-ref"
    write(other.root / "new.txt", "new\n")
    commit(other.root, "b.txt")
    or_raise(other.restore(point))
    assert sorted(path.name for path in other.root.iterdir()) == [".git", "a.txt"]
    # And back on a branch that has since been taken into another worktree, and moved on there.
    git(other.root, "switch", "--quiet", "--detach")
    third = GitTool(or_raise(tool.add_worktree("other", existing="reuse")).path)
    commit(third.root, "c.txt")
    error = failed(other.restore(point))
    assert (error.cause, error.effect, error.paths) == ("refused", "none", (str(third.root),))


def test_submodules_nested_repositories_and_odd_files_are_named(repo: Path, tmp_path: Path) -> None:
    other = copy(repo, tmp_path / "other")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "module")
    copy(repo, repo / "nested")
    os.mkfifo(repo / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(repo)
        listener.bind("socket")
        os.chdir(here)
        point = or_raise(GitTool(repo).checkpoint())
    assert set(point.not_covered) >= {"module", "nested"}
    write(repo / "module" / "new.txt", "kept\n")
    or_raise(GitTool(repo).restore(point))
    assert (repo / "module" / "new.txt").read_text() == "kept\n"


def test_what_differs_since(repo: Path) -> None:
    tool = GitTool(repo)
    write(repo / "same.txt", "same\n")
    point = or_raise(tool.checkpoint())
    assert or_raise(tool.changed_since(point)) == ()
    write(repo / "a.txt", "changed\n")
    write(repo / "new.txt", "new\n")
    commit(repo, "committed.txt")
    found = {change.path: change.kind for change in or_raise(tool.changed_since(point))}
    assert found == {"a.txt": "modified", "new.txt": "added", "committed.txt": "added"}


def test_before_the_first_commit_and_with_no_file_at_all(tmp_path: Path) -> None:
    tool = or_raise(GitTool.init(tmp_path / "new"))
    point = or_raise(tool.checkpoint())
    assert (point.head, point.branch) == (None, "main")
    write(tool.root / "a.txt", "a\n")
    or_raise(tool.commit("first", add="all"))
    assert [change.path for change in or_raise(tool.changed_since(point))] == ["a.txt"]
    or_raise(tool.restore(point))
    assert or_raise(tool.head()) is None
    assert not (tool.root / "a.txt").exists()
    assert not (tool.root / ".git" / "index").exists()


def test_paths_go_back_to_head_and_the_undo_brings_them_back(repo: Path) -> None:
    tool = GitTool(repo)
    commit(repo, "b*.txt", "b\n")
    write(repo / "a.txt", "staged\n")
    git(repo, "add", "a.txt")
    write(repo / "a.txt", "edited\n")
    write(repo / "b*.txt", "edited\n")
    write(repo / "bb.txt", "untracked\n")
    before = files(repo), git_state(repo)
    undo = or_raise(tool.restore_paths("a.txt", "b*.txt"))
    assert or_raise(tool.status()).untracked == or_raise(tool.status()).entries
    assert (repo / "bb.txt").read_text() == "untracked\n"
    or_raise(tool.restore(undo))
    assert (files(repo), git_state(repo)) == before
    error = failed(tool.restore_paths("a.txt", "nowhere"))
    assert (error.cause, error.effect) == ("unknown-path", "none")
    assert (files(repo), git_state(repo)) == before
    assert failed(tool.restore_paths("../a.txt")).cause == "refused"


def test_no_push_publishes_them(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "bare.git")
    git(repo, "remote", "add", "origin", str(tmp_path / "bare.git"))
    tool = GitTool(repo)
    or_raise(tool.checkpoint())
    or_raise(tool.push())
    assert b"orca" not in git(tmp_path / "bare.git", "for-each-ref")


def test_an_index_that_git_has_locked_stops_a_restore_before_it_begins(repo: Path) -> None:
    tool = GitTool(repo)
    point = or_raise(tool.checkpoint())
    write(repo / "a.txt", "changed\n")
    write(repo / ".git" / "index.lock", "")
    error = failed(tool.restore(point))
    assert (error.cause, error.effect) == ("locked", "none")
    assert (repo / "a.txt").read_text() == "changed\n"


def test_what_stops_half_way_names_the_checkpoint_of_before(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from orca.tools.repository.checkpoints.places import Places

    tool = GitTool(repo)
    point = or_raise(tool.checkpoint())
    write(repo / "a.txt", "changed\n")

    def broken(*_: object) -> None:
        raise OSError(5, "the device failed")

    with monkeypatch.context() as patch:
        patch.setattr(Places, "write", broken)
        error = failed(tool.restore(point))
    assert error.effect == "unknown"
    undo = or_raise(tool.checkpoints())[-1]
    assert undo.id in error.stderr
    or_raise(tool.restore(undo))
    assert (repo / "a.txt").read_text() == "changed\n"


def test_a_made_up_checkpoint_is_unknown(repo: Path) -> None:
    point = or_raise(GitTool(repo).checkpoint())
    for name in ("nowhere", "../../heads/main", "", "a b"):
        made_up = Checkpoint(name, "", None, None, point.created)
        assert failed(GitTool(repo).restore(made_up)).cause in ("unknown-ref", "bad-ref-name"), name
