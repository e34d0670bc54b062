"""The parsers of what git prints: any names of bytes go in and come out, and a second opinion from GitPython.

A parser sees only what a git that exited well has written, whole: what was cut short never reaches one. On other bytes
it may raise, but it ends.
"""

import os
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from git import Repo
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds.repository import git, run_git, write

from orca.results import or_raise
from orca.tools import Branch, Commit, FileChange, GitTool, LogEntry, Status, StatusEntry
from orca.tools.repository.changes import parse_changes, parse_commit
from orca.tools.repository.commits import index_info
from orca.tools.repository.history import parse_log
from orca.tools.repository.refs import parse_branches
from orca.tools.repository.staging import parse_paths
from orca.tools.repository.states import parse_status

EVERY_TIME_THE_SAME = settings(derandomize=True, deadline=None)
KINDS = {"A": "added", "D": "deleted", "M": "modified", "T": "type-changed", "R": "renamed", "C": "copied"}

# Names that could be taken for a part of git's own format are tried more often than chance would.
LIKE_FORMAT = st.sampled_from(
    [
        b":100644 100644 a b M",
        b"1\t2\tx",
        b"-\t-\t",
        b"? x",
        b"# branch.head x",
        b"u UU",
        b"\n",
        b" ",
        b"\t",
        b"refs/heads/",
    ]
)
NAME = st.one_of(LIKE_FORMAT, st.binary(min_size=1, max_size=12).map(lambda name: name.replace(b"\0", b"\xff")))
SHA = st.text("0123456789abcdef", min_size=40, max_size=40)
ASCII_SHA = SHA.map(str.encode)
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
COUNT = st.integers(0, 10**9)


@settings(EVERY_TIME_THE_SAME)
@given(st.lists(NAME, unique=True))
def test_paths_round_trip(names: list[bytes]) -> None:
    output = b"".join(name + b"\0" for name in names)
    assert parse_paths(output) == tuple(map(os.fsdecode, names))
    assert parse_paths(output * 3) == tuple(map(os.fsdecode, names))


LETTERS = st.tuples(st.sampled_from(".MTADRC"), st.sampled_from(".MTAD")).filter(lambda pair: pair != (".", "."))
CONFLICTS = st.sampled_from(["DD", "AU", "UD", "UA", "DU", "AA", "UU"])


@st.composite
def entries(draw: st.DrawFn) -> tuple[bytes, StatusEntry]:
    """A record of `status --porcelain=v2 -z`, and what it says."""
    name = draw(NAME)
    path = os.fsdecode(name)
    kind = draw(st.sampled_from("12u?"))
    modes = b"N... 100644 100644 100644"
    if kind == "?":
        return b"? " + name, StatusEntry(path, "?", "?")
    if kind == "u":
        letters = draw(CONFLICTS)
        record = b"u %s %s 100644 %s %s %s %s" % (letters.encode(), modes, *[draw(ASCII_SHA) for _ in range(3)], name)
        return record, StatusEntry(path, letters[0], letters[1])
    index, worktree = draw(LETTERS)
    shas = (draw(ASCII_SHA), draw(ASCII_SHA))
    record = b"%s %s %s %s %s " % (kind.encode(), (index + worktree).encode(), modes, *shas)
    if kind == "1":
        return record + name, StatusEntry(path, index, worktree)
    old = draw(NAME)
    return record + b"R%d %s\0%s" % (draw(st.integers(0, 100)), name, old), StatusEntry(
        path, index, worktree, os.fsdecode(old)
    )


@settings(EVERY_TIME_THE_SAME)
@given(
    st.lists(entries()),
    st.none() | NAME.filter(lambda name: name != b"(detached)"),
    st.none() | SHA,
    st.none() | st.tuples(NAME, st.none() | st.tuples(COUNT, COUNT)),
    st.booleans(),
)
def test_status_round_trips(
    records: list[tuple[bytes, StatusEntry]],
    branch: bytes | None,
    head: str | None,
    upstream: tuple[bytes, tuple[int, int] | None] | None,
    stash: bool,
) -> None:
    lines = [b"# branch.oid " + (b"(initial)" if head is None else head.encode())]
    lines += [b"# branch.head " + (b"(detached)" if branch is None else branch)]
    counts = None
    if upstream is not None:
        lines += [b"# branch.upstream " + upstream[0]]
        counts = upstream[1]
    if counts is not None:
        lines += [b"# branch.ab +%d -%d" % counts]
    lines += [b"# stash 3"] * stash  # a header that nobody asked for
    found = parse_status(b"".join(line + b"\0" for line in [*lines, *(record for record, _ in records)]))
    assert found == Status(
        branch=None if branch is None else os.fsdecode(branch),
        head=head,
        upstream=None if upstream is None else os.fsdecode(upstream[0]),
        ahead=None if counts is None else counts[0],
        behind=None if counts is None else counts[1],
        entries=tuple(entry for _, entry in records),
    )
    parts = [found.staged, found.unstaged, found.untracked, found.conflicted]
    assert {entry for part in parts for entry in part} == set(found.entries)
    assert not set(found.conflicted) & {*found.staged, *found.unstaged, *found.untracked}


@st.composite
def changes(draw: st.DrawFn) -> tuple[bytes, tuple[FileChange, ...]]:
    """What `--raw --numstat -z` prints, and what it says."""
    raw, numbers, wanted = b"", b"", []
    for name in draw(st.lists(NAME, unique=True, max_size=6)):
        letter = draw(st.sampled_from(sorted(KINDS)))
        binary = draw(st.booleans())
        inserted, deleted = (None, None) if binary else (draw(COUNT), draw(COUNT))
        old = draw(NAME) if letter in "RC" else None
        score = b"%03d" % draw(st.integers(0, 100)) if old is not None else b""
        raw += b":100644 100755 %s %s %s%s\0" % (draw(ASCII_SHA), draw(ASCII_SHA), letter.encode(), score)
        raw += name + b"\0" if old is None else old + b"\0" + name + b"\0"
        lines = b"-\t-" if binary else f"{inserted}\t{deleted}".encode()
        numbers += lines + b"\t" + (name if old is None else b"\0" + old + b"\0" + name) + b"\0"
        wanted.append(
            FileChange(
                path=os.fsdecode(name),
                old_path=None if old is None else os.fsdecode(old),
                kind=KINDS[letter],  # type: ignore[arg-type]
                insertions=inserted,
                deletions=deleted,
                binary=binary,
            )
        )
    return raw + numbers, tuple(wanted)


@settings(EVERY_TIME_THE_SAME)
@given(changes())
def test_changes_round_trip(printed: tuple[bytes, tuple[FileChange, ...]]) -> None:
    assert parse_changes(printed[0]) == printed[1]


@settings(EVERY_TIME_THE_SAME)
@given(SHA, TEXT, changes(), st.sampled_from([b"", b"\0", b"\n", b"\0\n"]))
def test_commit_round_trips(
    sha: str, subject: str, printed: tuple[bytes, tuple[FileChange, ...]], between: bytes
) -> None:
    output = b"%s\0%s\0%s\0" % (sha.encode(), sha[:7].encode(), subject.encode()) + between + printed[0]
    files = printed[1]
    assert parse_commit(output, "main") == Commit(
        sha=sha,
        short=sha[:7],
        branch="main",
        subject=subject,
        files=files,
        insertions=sum(file.insertions or 0 for file in files),
        deletions=sum(file.deletions or 0 for file in files),
    )


ZONE = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
DATE = st.builds(datetime.fromtimestamp, st.integers(0, 4102444800), ZONE)
BODY = TEXT.map(lambda text: text.strip("\n"))


@settings(EVERY_TIME_THE_SAME)
@given(
    st.lists(st.builds(LogEntry, SHA, SHA, st.lists(SHA).map(tuple), TEXT, TEXT, DATE, TEXT, TEXT, DATE, TEXT, BODY))
)
def test_log_round_trips(log: list[LogEntry]) -> None:
    output = b""
    for entry in log:
        authored, committed = (
            f"{date.timestamp():.0f} {date:%z}" for date in (entry.author_date, entry.committer_date)
        )
        words = [entry.sha, entry.short, " ".join(entry.parents), entry.author, entry.author_email, authored]
        words += [entry.committer, entry.committer_email, committed, entry.subject, f"{entry.body}\n", ""]
        output += "".join(f"{word}\0" for word in words).encode()
    found = parse_log(output)
    assert found == tuple(log)
    assert [entry.author_date.utcoffset() for entry in found] == [entry.author_date.utcoffset() for entry in log]


OPTIONAL = st.one_of(st.just(b""), NAME)


@settings(EVERY_TIME_THE_SAME)
@given(st.lists(st.tuples(NAME, SHA, OPTIONAL, st.booleans(), OPTIONAL)))
def test_branches_round_trip(branches: list[tuple[bytes, str, bytes, bool, bytes]]) -> None:
    output = b"".join(
        b"refs/heads/%s\0%s\0%s\0%s\0%s\0\n" % (name, sha.encode(), upstream, b"*" if current else b" ", worktree)
        for name, sha, upstream, current, worktree in branches
    )
    assert parse_branches(output) == tuple(
        Branch(
            name=os.fsdecode(name),
            sha=sha,
            upstream=os.fsdecode(upstream) or None,
            current=current,
            worktree=os.fsdecode(worktree) or None,
        )
        for name, sha, upstream, current, worktree in branches
    )


@settings(EVERY_TIME_THE_SAME)
@given(st.lists(st.tuples(st.sampled_from([b"000000", b"100644", b"100755", b"120000", b"160000"]), ASCII_SHA, NAME)))
def test_index_info_repeats_what_a_commit_changed(changed: list[tuple[bytes, bytes, bytes]]) -> None:
    raw = b"".join(b":100644 %s %s %s M\0%s\0" % (mode, b"0" * 40, sha, name) for mode, sha, name in changed)
    assert index_info(raw) == b"".join(b"%s %s 0\t%s\0" % entry for entry in changed)


PARSERS: Sequence[Callable[[bytes], object]] = (
    *(parse_paths, parse_status, parse_changes, parse_log, parse_branches, index_info),
    lambda output: parse_commit(output, None),
)
PIECES = st.sampled_from([b"\0", b"\t", b" ", b"\n", b":", b"1 M. ", b"2 R. ", b"u UU ", b"# branch.ab ", b"-\t-\t"])


@settings(EVERY_TIME_THE_SAME)
@given(st.one_of(st.binary(max_size=200), st.lists(PIECES | NAME, max_size=40).map(b"".join)))
def test_a_parser_ends_whatever_it_is_given(output: bytes) -> None:
    for parse in PARSERS:
        with suppress(ValueError, IndexError, StopIteration):
            parse(output)


# The second opinion


def scramble(repo: Path, numbers: random.Random) -> None:
    """A history and a worktree with something of everything, for which GitPython still works: names are UTF-8."""
    names = [
        f"{folder}{name}" for folder in ("", "folder/", "ä b/") for name in ("one", "two", "drei ü", "-x", "4 -> 5")
    ]
    for number in range(4):
        for name in numbers.sample(names, 6):
            write(repo / name, f"{name}\n" * numbers.randrange(1, 9))
        git(repo, "add", "--all")
        zone = numbers.choice(["+0530", "-0700", "+0000"])
        env = {"GIT_AUTHOR_DATE": f"{1_700_000_000 + number} {zone}", "GIT_AUTHOR_NAME": "Ä B"}
        git(
            repo, "commit", "--quiet", "--allow-empty", "-m", f"commit ü {number}\n\nbody\n\nmore", env=os.environ | env
        )
    for name in numbers.sample(names, 8):
        what = numbers.choice(["change", "stage", "both", "delete", "remove"])
        path = repo / name
        if what in ("change", "stage", "both") or not path.exists():
            write(path, os.urandom(9).hex())
        if what in ("stage", "both"):
            git(repo, "add", "--", name)
        if what == "both":
            write(path, os.urandom(9).hex())
        if what == "delete":
            path.unlink()
        if what == "remove":
            run_git(repo, "rm", "--quiet", "--cached", "--force", "--", name)


@pytest.mark.parametrize("seed", range(3))
def test_gitpython_finds_the_same(seed: int, repo: Path) -> None:
    scramble(repo, random.Random(seed))
    tool = GitTool(repo)
    status, log, branches = or_raise(tool.status()), or_raise(tool.log(99)), or_raise(tool.branches())
    with Repo(repo) as other:
        # Without renames on either side: GitPython's are of another similarity.
        staged = {
            name
            for diff in other.head.commit.diff(None, cached=True, no_renames=True)
            for name in (diff.a_path, diff.b_path)
        }
        assert {name for entry in status.staged for name in (entry.path, entry.old_path or entry.path)} == staged
        assert {entry.path for entry in status.unstaged} == {diff.a_path for diff in other.index.diff(None)}
        assert {entry.path for entry in status.untracked} == set(other.untracked_files)
        assert status.branch == other.active_branch.name
        assert status.head == other.head.commit.hexsha
        assert [(branch.name, branch.sha) for branch in branches] == [
            (ref.name, ref.commit.hexsha) for ref in other.branches
        ]
        theirs = list(other.iter_commits())
        assert [entry.sha for entry in log] == [commit.hexsha for commit in theirs]
        for entry, commit in zip(log, theirs, strict=True):
            assert (entry.author, entry.author_email) == (commit.author.name, commit.author.email)
            assert (entry.author_date, entry.committer_date) == (commit.authored_datetime, commit.committed_datetime)
            assert "\n\n".join(filter(None, (entry.subject, entry.body))) == str(commit.message).rstrip("\n")
            assert entry.parents == tuple(parent.hexsha for parent in commit.parents)
        made = or_raise(tool.commit("x", add="all"))
        stats = other.head.commit.stats
        assert (made.insertions, made.deletions) == (stats.total["insertions"], stats.total["deletions"])
    assert datetime.now(UTC) - or_raise(tool.log(1))[0].committer_date < timedelta(hours=1)
