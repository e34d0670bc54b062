"""What `git push --porcelain` prints, read: every kind of line, and names of arbitrary bytes."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orca.errors import PushCause, RefRejection
from orca.tools import RefUpdate
from orca.tools.repository.push_report import PushReport, parse_push, rejection_cause

OLD, NEW = "1" * 40, "a" * 40
MAIN = "refs/heads/main"


@pytest.mark.parametrize(
    ("line", "update"),
    [
        (f" \t{MAIN}:{MAIN}\t{OLD}..{NEW}", RefUpdate(MAIN, MAIN, OLD, NEW, "updated")),
        (f"+\t{MAIN}:{MAIN}\t{OLD}...{NEW} (forced update)", RefUpdate(MAIN, MAIN, OLD, NEW, "forced")),
        (f"*\t{MAIN}:{MAIN}\t[new branch]", RefUpdate(MAIN, MAIN, None, None, "created")),
        ("*\trefs/tags/v1:refs/tags/v1\t[new tag]", RefUpdate("refs/tags/v1", "refs/tags/v1", None, None, "created")),
        (f"=\t{MAIN}:{MAIN}\t[up to date]", RefUpdate(MAIN, MAIN, None, None, "unchanged")),
        (f"-\t:{MAIN}\t[deleted]", RefUpdate("", MAIN, None, None, "deleted")),
    ],
)
def test_a_ref_that_the_remote_took(line: str, update: RefUpdate) -> None:
    output = f"To /srv/shop.git\n{line}\nbranch 'main' set up to track 'origin/main'.\nDone\n"
    assert parse_push(output.encode()) == PushReport((update,), ())


REASONS: list[tuple[str, PushCause]] = [
    ("fetch first", "fetch-first"),
    ("non-fast-forward", "non-fast-forward"),
    ("stale info", "stale-lease"),
    ("remote ref updated since checkout", "stale-lease"),
    ("already exists", "already-exists"),
    ("hook declined", "hook-declined"),
    ("pre-receive hook declined", "hook-declined"),
    ("protected branch hook declined", "protected"),
    ("push declined due to repository rule violations", "protected"),
    ("atomic push failed", "atomic"),
    ("atomic push failure", "atomic"),
    ("atomic transaction failed", "atomic"),
    ("branch is currently checked out", "checked-out"),
    ("deletion prohibited", "deletion-denied"),
    ("deletion of the current branch prohibited", "deletion-denied"),
    ("shallow update not allowed", "shallow"),
    ("unpacker error", "other"),
    ("failed to update ref", "other"),
    ("deny updating a hidden ref", "other"),
    ("n/a (unpacker error)", "other"),
    ("", "other"),
]


@pytest.mark.parametrize("who", ["rejected", "remote rejected"])
@pytest.mark.parametrize(("reason", "cause"), REASONS)
def test_a_ref_that_was_refused(who: str, reason: str, cause: PushCause) -> None:
    summary = f"[{who}] ({reason})" if reason else f"[{who}]"
    refused = RefRejection(local=MAIN, remote=MAIN, cause=cause, message=reason)
    assert parse_push(f"!\t{MAIN}:{MAIN}\t{summary}\n".encode()) == PushReport((), (refused,))


@pytest.mark.parametrize(
    "line",
    [
        f"!\t{MAIN}:{MAIN}\t[remote failure] (remote failed to report status)",
        f"!\t{MAIN}:{MAIN}\t[no match]",
        f"?\t{MAIN}:{MAIN}\t[rejected] (fetch first)",
        f"!\t{MAIN}\t[rejected] (fetch first)",
        "Everything up-to-date",
        "",
    ],
)
def test_a_line_that_tells_the_fate_of_no_ref(line: str) -> None:
    assert parse_push(line.encode()) == PushReport((), ())


REFS = st.binary(min_size=1).filter(lambda name: not set(name) & set(b"\t\n:"))
SHAS = st.text("0123456789abcdef", min_size=40, max_size=40)


@given(st.lists(st.tuples(REFS, REFS, SHAS, SHAS)))
def test_names_of_any_bytes_come_back(refs: list[tuple[bytes, bytes, str, str]]) -> None:
    lines = [b" \t%s:%s\t%s..%s\n" % (local, remote, old.encode(), new.encode()) for local, remote, old, new in refs]
    found = parse_push(b"To x\n" + b"".join(lines) + b"Done\n").updates
    assert [(os.fsencode(ref.local), os.fsencode(ref.remote), ref.old, ref.new) for ref in found] == refs


@given(REFS, st.text().filter(lambda text: "\n" not in text))
def test_whatever_reason_the_remote_gives_is_read_whole(ref: bytes, reason: str) -> None:
    line = b"!\t%s:%s\t[remote rejected] (%s)" % (ref, ref, reason.encode("utf-8", "replace"))
    (rejection,) = parse_push(line).rejections
    assert rejection.cause == rejection_cause(reason)


@given(st.binary())
def test_no_output_is_too_odd_to_read(output: bytes) -> None:
    report = parse_push(output)
    assert len(report.updates) + len(report.rejections) <= output.count(b"\n") + 1
