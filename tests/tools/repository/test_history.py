"""`log` and the revisions: what a history holds, and what is no part of one."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from outcomes import failed
from worlds.repository import commit, git, sha

from orca.results import or_raise
from orca.tools import GitTool


def test_resolve_tells_the_sha_of_every_kind_of_revision(repo: Path) -> None:
    commit(repo)
    git(repo, "tag", "-a", "v1", "-m", "annotated", "HEAD~1")
    tool = GitTool(repo)
    head, first = sha(repo), sha(repo, "HEAD~1")
    for rev in ("HEAD", "main", "refs/heads/main", head, head[:9], "@", "HEAD@{0}", ":/change"):
        assert or_raise(tool.resolve(rev)) == head
    for rev in ("HEAD~1", "main^", "v1", "v1^{commit}", "HEAD^{/seed}"):
        assert or_raise(tool.resolve(rev)) == first
    for rev in ("HEAD:a.txt", "v1:a.txt", ":a.txt", "HEAD^{tree}", "HEAD:"):
        assert or_raise(tool.resolve(rev)) == sha(repo, rev)


def test_what_is_no_revision_is_unknown_or_no_name_at_all(repo: Path) -> None:
    tool = GitTool(repo)
    for rev in ("nope", "HEAD~99", "main..main", "HEAD^@", "HEAD:nope", "0" * 40, "@{upstream}", "a b"):
        assert (failed(tool.resolve(rev)).cause, failed(tool.resolve(rev)).effect) == ("unknown-ref", "none")
    for rev in ("", "-1", "--all", "^HEAD", "HEAD\n", "HEAD\0"):
        assert failed(tool.resolve(rev)).cause == failed(tool.log(rev=rev)).cause == "bad-ref-name"
    assert failed(tool.log(rev="nope")).cause == "unknown-ref"


def test_log_is_newest_first_and_bounded_and_by_path(repo: Path) -> None:
    for number in range(5):
        commit(repo, f"file {number % 2}", f"{number}\n", f"commit {number}")
    tool = GitTool(repo)
    subjects = [f"commit {number}" for number in range(4, -1, -1)]
    assert [entry.subject for entry in or_raise(tool.log())] == [*subjects, "seed"]
    assert [entry.subject for entry in or_raise(tool.log(2))] == subjects[:2]
    assert or_raise(tool.log(0)) == ()
    assert [entry.subject for entry in or_raise(tool.log(paths=["file 1"]))] == ["commit 3", "commit 1"]
    assert [entry.subject for entry in or_raise(tool.log(rev="main~3..main~1"))] == ["commit 3", "commit 2"]
    assert or_raise(tool.log(paths=["unknown"])) == ()


def test_log_of_an_unborn_branch_is_empty_and_of_others_is_not(repo: Path) -> None:
    git(repo, "switch", "--quiet", "--orphan", "fresh")
    tool = GitTool(repo)
    assert or_raise(tool.log()) == ()
    assert len(or_raise(tool.log(rev="main"))) == 1
    assert (or_raise(tool.head()), or_raise(tool.current_branch())) == (None, "fresh")
    assert failed(tool.resolve("HEAD")).cause == "unknown-ref"


def test_log_keeps_names_dates_and_bodies(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_AUTHOR_DATE", "1700000000 +0530")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "1800000000 -0330")
    author = "Ä\u2028 B <a@example.invalid>"
    or_raise(GitTool(repo).commit("subject \u2028 one\n\nbody\n\n\n  indented\n", author=author, allow_empty=True))
    entry = or_raise(GitTool(repo).log())[0]
    assert entry.author == "Ä\u2028 B"
    assert (entry.subject, entry.body) == ("subject \u2028 one", "body\n\n  indented")
    assert entry.author_date == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert entry.author_date.utcoffset() == timedelta(hours=5, minutes=30)
    assert entry.committer_date.tzinfo == timezone(-timedelta(hours=3, minutes=30))
    assert entry.parents == (sha(repo, "HEAD~1"),)


@pytest.mark.parametrize(
    ("ident", "date"),
    [
        ("A <a> 1700000000 +051800", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        ("A <a> 1700000000 -2500", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        ("A <a> 300000000000 +0000", datetime(1970, 1, 1, tzinfo=UTC)),
        ("A <a> 99999999999999999999999 +0000", datetime(1970, 1, 1, tzinfo=UTC)),
        ("A <a> soon", datetime(1970, 1, 1, tzinfo=UTC)),
        ("A <a>", datetime(1970, 1, 1, tzinfo=UTC)),
        ("A", datetime(1970, 1, 1, tzinfo=UTC)),
    ],
)
def test_log_reads_commits_that_no_git_would_make(ident: str, date: datetime, repo: Path) -> None:
    raw = f"tree {sha(repo, 'HEAD^{tree}')}\nauthor {ident}\ncommitter {ident}\n\nodd\n".encode()
    odd = git(repo, "hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=raw).decode().strip()
    entry = or_raise(GitTool(repo).log(rev=odd))[0]
    assert (entry.author_date, entry.committer_date, entry.subject) == (date, date, "odd")
