"""Differences between states, whatever the user's display settings are, and what two histories have in common."""

import os
import subprocess
from pathlib import Path

import pytest
from worlds.repository import commit, git, run_git, script, sha, write

from orca.errors import CommandFailed
from orca.results import Failure, or_raise
from orca.tools import FileChange, GitTool


def failed(result: object) -> CommandFailed:
    assert isinstance(result, Failure)
    error = result.failure()
    assert isinstance(error, CommandFailed)
    return error


def change(path: str, kind: str = "modified", ins: int | None = 1, dels: int | None = 1) -> FileChange:
    return FileChange(path, None, kind, ins, dels, ins is None)  # type: ignore[arg-type]


def test_the_worktree_against_the_index_the_index_against_head_and_both(repo: Path) -> None:
    tool = GitTool(repo)
    write(repo / "a.txt", "staged\n")
    git(repo, "add", "a.txt")
    write(repo / "a.txt", "edited\n")
    write(repo / "untracked.txt", "no part of it\n")
    assert or_raise(tool.diff()).text.splitlines()[-2:] == ["-staged", "+edited"]
    assert or_raise(tool.diff(staged=True)).text.splitlines()[-2:] == ["-a", "+staged"]
    both = or_raise(tool.diff("HEAD"))
    assert both.text.splitlines()[-2:] == ["-a", "+edited"]
    assert (both.files, both.truncated) == ((change("a.txt"),), False)


def test_two_commits_and_what_came_since_they_parted(repo: Path) -> None:
    git(repo, "switch", "--quiet", "-c", "topic")
    commit(repo, "topic.txt", "topic\n")
    git(repo, "switch", "--quiet", "main")
    commit(repo, "main.txt", "main\n")
    tool = GitTool(repo)
    assert [file.path for file in or_raise(tool.diff("main", "topic")).files] == ["main.txt", "topic.txt"]
    assert [file.path for file in or_raise(tool.diff(target="topic")).files] == ["main.txt", "topic.txt"]
    since = or_raise(tool.diff("main", "topic", merge_base=True))
    assert since.files == (change("topic.txt", "added", 1, 0),)
    assert [file.path for file in or_raise(tool.diff("topic", merge_base=True)).files] == ["main.txt"]
    assert [file.path for file in or_raise(tool.diff("main", "topic", paths=["topic.txt"])).files] == ["topic.txt"]


def test_renames_modes_links_binary_files_and_names_of_every_kind(repo: Path) -> None:
    write(repo / "long.txt", "".join(f"{n}\n" for n in range(30)))
    commit(repo, "tool.sh", "echo\n")
    git(repo, "add", "-A")
    git(repo, "commit", "--quiet", "-m", "more")
    git(repo, "mv", "long.txt", "moved.txt")
    (repo / "tool.sh").chmod(0o755)
    (repo / "binary").write_bytes(b"\0\1\2")
    os.symlink("a.txt", repo / "link")
    odd = os.fsencode(repo) + b"/\xff new\nline"
    with open(odd, "wb") as file:
        file.write(b"odd\n")
    git(repo, "add", "-A")
    found = {file.path: file for file in or_raise(GitTool(repo).diff(staged=True)).files}
    assert found["moved.txt"] == FileChange("moved.txt", "long.txt", "renamed", 0, 0, False)
    assert found["tool.sh"] == change("tool.sh", "modified", 0, 0)
    assert found["binary"] == change("binary", "added", None, None)
    assert found["link"].kind == "added"
    assert os.fsencode(os.fsdecode(b"\xff new\nline")) in {os.fsencode(path) for path in found}


def test_before_the_first_commit_the_index_is_all_new(tmp_path: Path) -> None:
    tool = or_raise(GitTool.init(tmp_path / "new"))
    write(tool.root / "a.txt", "a\n")
    or_raise(tool.add("a.txt"))
    assert or_raise(tool.diff(staged=True)).files == (change("a.txt", "added", 1, 0),)
    assert failed(tool.diff("HEAD")).cause == "unknown-ref"
    assert failed(tool.diff(merge_base=True)).cause == "unborn"


def test_unmerged_paths_are_among_the_files(repo: Path) -> None:
    git(repo, "switch", "--quiet", "-c", "side")
    commit(repo, "a.txt", "side\n")
    git(repo, "switch", "--quiet", "main")
    commit(repo, "a.txt", "main\n")
    assert run_git(repo, "merge", "side").returncode == 1
    assert {file.path for file in or_raise(GitTool(repo).diff()).files} == {"a.txt"}


@pytest.mark.parametrize("size", [10_000, 2_000_000])
def test_a_text_beyond_the_limit_is_cut_at_a_line_and_the_files_are_whole(repo: Path, size: int) -> None:
    lines = "".join(f"ünicode line {n}\n" for n in range(size // 16))
    write(repo / "a.txt", lines)
    write(repo / "b.txt", "the last one\n")
    git(repo, "add", "-A")
    whole = subprocess.run(["git", "diff", "--cached"], cwd=repo, capture_output=True, check=True).stdout
    for limit in (0, 1, 200, 5000):
        diff = or_raise(GitTool(repo).diff(staged=True, limit=limit))
        text = diff.text.encode()
        assert diff.truncated
        assert len(text) <= limit
        assert whole.startswith(text)
        assert not text or text.endswith(b"\n")
        assert whole[len(text) :].split(b"\n")[0] == b"" or len(text) + len(whole[len(text) :].split(b"\n")[0]) >= limit
        assert [file.path for file in diff.files] == ["a.txt", "b.txt"]
    diff = or_raise(GitTool(repo).diff(staged=True, limit=len(whole)))
    assert (diff.truncated, diff.text) == (False, whole.decode())


def test_the_users_display_settings_change_nothing_and_no_program_runs(repo: Path, tmp_path: Path) -> None:
    write(repo / "a.txt", "one\n\ntwo  \nthree\n")
    write(repo / "ö.txt", "new\n")
    git(repo, "add", "-N", "ö.txt")
    before = or_raise(GitTool(repo).diff())
    spy = script(tmp_path / "spy", f"touch {tmp_path}/ran; cat")
    write(repo / ".git" / "info" / "attributes", "*.txt diff=spy\n")
    for key, value in {
        "diff.noprefix": "true",
        "diff.mnemonicPrefix": "true",
        "diff.context": "0",
        "diff.interHunkContext": "9",
        "diff.algorithm": "patience",
        "diff.colorMoved": "zebra",
        "color.ui": "always",
        "color.diff": "always",
        "diff.wsErrorHighlight": "all",
        "diff.suppressBlankEmpty": "true",
        "diff.renames": "false",
        "diff.submodule": "log",
        "diff.orderFile": str(tmp_path / "order"),
        "diff.relative": "true",
        "core.quotePath": "false",
        "core.pager": str(spy),
        "diff.external": str(spy),
        "diff.spy.command": str(spy),
        "diff.spy.textconv": str(spy),
        "core.fsmonitor": str(spy),
    }.items():
        git(repo, "config", key, value)
    write(tmp_path / "order", "ö.txt\na.txt\n")
    assert or_raise(GitTool(repo).diff()) == before
    assert or_raise(GitTool(repo).show("HEAD", "a.txt")) == b"a\n"
    assert not (tmp_path / "ran").exists()


NOT_REVISIONS = ["--output=pwned", "-O", "--ext-diff", "^HEAD", "", "a\nb"]


@pytest.mark.parametrize("rev", NOT_REVISIONS)
def test_what_is_no_revision_is_refused_before_git_runs(repo: Path, rev: str) -> None:
    tool = GitTool(repo)
    for result in (
        tool.diff(rev),
        tool.diff("HEAD", rev),
        tool.is_ancestor(rev, "HEAD"),
        tool.is_ancestor("HEAD", rev),
        tool.merge_base(rev, "HEAD"),
        tool.would_conflict("HEAD", rev),
        tool.show(rev, "a.txt"),
        tool.files(rev),
        tool.tag("v1", None, rev),
    ):
        assert (failed(result).cause, failed(result).effect) == ("bad-ref-name", "none")
    assert not (repo / "pwned").exists()


def test_a_ref_on_disk_that_is_named_like_an_option_is_no_option(repo: Path) -> None:
    write(repo / ".git" / "refs" / "heads" / "--output=pwned", sha(repo) + "\n")
    assert failed(GitTool(repo).diff("--output=pwned")).cause == "bad-ref-name"
    assert not (repo / "pwned").exists()


def test_unknown_revisions_and_paths_outside_by_their_cause(repo: Path) -> None:
    tool = GitTool(repo)
    assert failed(tool.diff("nowhere")).cause == "unknown-ref"
    assert failed(tool.diff(paths=["../a"])).cause == "refused"
    with pytest.raises(ValueError, match="not with both"):
        tool.diff(target="HEAD", staged=True)


def test_ancestors_and_common_ones(repo: Path) -> None:
    base = sha(repo)
    git(repo, "switch", "--quiet", "-c", "topic")
    commit(repo, "topic.txt")
    git(repo, "switch", "--quiet", "main")
    commit(repo, "main.txt")
    tool = GitTool(repo)
    assert or_raise(tool.merge_base("main", "topic")) == base
    assert [or_raise(tool.is_ancestor(a, b)) for a, b in [(base, "main"), ("main", base), ("topic", "main")]] == [
        True,
        False,
        False,
    ]
    git(repo, "switch", "--quiet", "--orphan", "alone")
    commit(repo, "alone.txt")
    error = failed(tool.merge_base("main", "alone"))
    assert (error.cause, error.exit_code, error.effect) == ("exit", 1, "none")


def test_what_would_conflict_is_named_and_nothing_is_touched(repo: Path) -> None:
    git(repo, "switch", "--quiet", "-c", "side")
    commit(repo, "a.txt", "side\n")
    commit(repo, "free.txt", "free\n")
    git(repo, "switch", "--quiet", "main")
    commit(repo, "a.txt", "main\n")
    write(repo / "a.txt", "edited\n")
    index = (repo / ".git" / "index").read_bytes()
    refs = git(repo, "for-each-ref")
    tool = GitTool(repo)
    assert or_raise(tool.would_conflict("main", "side")) == ("a.txt",)
    assert or_raise(tool.would_conflict("main", "side~2")) == ()
    assert (repo / "a.txt").read_text() == "edited\n"
    assert (repo / ".git" / "index").read_bytes() == index
    assert git(repo, "for-each-ref") == refs
    assert not (repo / ".git" / "MERGE_HEAD").exists()
