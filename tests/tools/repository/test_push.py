"""Push against real remotes: every way in which one ends, by its tag, its cause and what really happened there."""

import shutil
import sys
import time
from collections.abc import Callable, Mapping

import psutil
import pytest
from outcomes import error_of, failed, rejected
from worlds.push_case import FEATURE, MAIN, V1, PushCase
from worlds.push_case import Push as Wanted
from worlds.push_cases import CASES, combinations, name
from worlds.push_refused import HOSTING_SERVICE
from worlds.remote import ENDLESS_HOOK, Remote, Transport
from worlds.repository import commit, git, hook, sha

from orca.errors import CommandFailed, PushRejected, RefRejection, RuntimeError
from orca.results import Result, Success, or_raise, outcome
from orca.tools import GitTool, Push, RefUpdate

LATE_S = 3.0  # how long after its deadline a call may return

# For a push that does not end by itself: the first that is time enough to get to where it hangs.
SHORT_S = (1.5, 6.0, 24.0)

# Failures after which the remote surely has nothing of the push: it was not reached, or let nobody in.
BEFORE = {"hook-failed", "unknown-ref", "bad-ref-name", "unborn", "detached", "unknown-remote", "auth"}

OLD = "0" * 40


def make(push: Wanted, remote: Remote, timeout: float) -> Result[object, RuntimeError]:
    """The call that makes this push, which must end in time."""
    tool = GitTool(remote.work)
    started = time.monotonic()
    try:
        if push.delete:
            assert push.branch is not None
            assert push.lease is not None
            return tool.delete_remote_branch(push.branch, expected=push.lease, remote=push.remote, timeout=timeout)
        return tool.push(push.remote, push.branch, tags=push.tags, force_with_lease=push.lease, timeout=timeout)
    finally:
        assert time.monotonic() - started < timeout + LATE_S


def make_endless(push: Wanted, remote: Remote, hangs: Callable[[], bool] | None = None) -> Result[object, RuntimeError]:
    """The push that gets to where it hangs, and then runs out of time."""
    for timeout in SHORT_S:
        result = make(push, remote, timeout)
        if (hangs or remote.hangs)():
            return result
    raise AssertionError("it never got there")


def transports_left() -> list[str]:
    """The programs by which git talks to a remote that still run below this process."""
    running = [child.name() for child in psutil.Process().children(recursive=True)]
    return [program for program in running if program in ("ssh", "git-remote-http")]


def check(case: PushCase, remote: Remote) -> None:
    """Make the push of a case, and hold what comes back against the table and against the remote."""
    push = case.prepare(remote)
    before = remote.refs()
    result = make(push, remote, 60.0) if case.exit_code is not None else make_endless(push, remote)
    assert (remote.refs() != before) == case.landed
    if case.tag is None:
        assert isinstance(outcome(result), Success), result
        return
    error = error_of(result)
    assert error.tag == case.tag, error
    assert isinstance(error, (PushRejected, CommandFailed))
    assert error.cause == case.cause, error
    if isinstance(error, PushRejected):
        refused = sorted((ref, reason) for flag, ref, reason in case.lines if flag == "!")
        assert sorted((ref.remote, ref.message) for ref in error.refs) == refused
        assert error.landed == tuple(ref for flag, ref, _ in case.lines if flag != "!")
        assert (error.remote, error.effect) == (push.remote, "landed" if case.landed else "none")
        assert error.stderr
    else:
        assert error.effect == ("landed" if case.landed else "none" if error.cause in BEFORE else "unknown")
        if case.exit_code is None:
            assert error.exit_code is None
            assert not transports_left()


def parameters(cases: list[tuple[PushCase, Transport]]) -> list[object]:
    """The cases as parameters; those that last until a deadline are slow."""
    return [
        pytest.param(case, transport, marks=[pytest.mark.slow] if case.exit_code is None else [])
        for case, transport in cases
    ]


@pytest.mark.parametrize(("case", "transport"), parameters(combinations(plain=False)), ids=name)
def test_each_push_ends_as_the_table_says(
    case: PushCase, transport: Transport, remote_over: Callable[[Transport], Remote]
) -> None:
    check(case, remote_over(transport))


LOCAL: list[tuple[PushCase, Transport]] = [
    (case, "file") for case in CASES if "file" in case.transports and not case.plain_only
]


@pytest.mark.parametrize(("case", "transport"), parameters(LOCAL), ids=name)
def test_each_push_ends_so_in_german_and_with_a_hostile_display_too(
    case: PushCase,
    transport: Transport,
    remote_over: Callable[[Transport], Remote],
    german: Mapping[str, str],
    hostile_display: Mapping[str, str],
) -> None:
    check(case, remote_over(transport))


def test_a_push_returns_each_ref_with_its_sha_before_and_after(remote: Remote) -> None:
    before = remote.head()
    new = commit(remote.work)
    git(remote.work, "tag", "-a", "-m", "one", "v1")
    tag = sha(remote.work, "v1")
    pushed = or_raise(GitTool(remote.work).push(tags="v1"))
    main = RefUpdate(MAIN, MAIN, before, new, "updated")
    assert pushed == Push("origin", (main, RefUpdate(V1, V1, None, tag, "created")), rebased=False, head=new)
    again = or_raise(GitTool(remote.work).push(tags=["v1"]))
    assert [(ref.kind, ref.old, ref.new) for ref in again.refs] == [("unchanged", new, new), ("unchanged", tag, tag)]


def test_the_words_of_the_remote_are_kept(remote: Remote) -> None:
    hook(remote.bare, "pre-receive", "echo 'policy: main is closed'; exit 1")
    commit(remote.work)
    error = rejected(GitTool(remote.work).push())
    assert "remote: policy: main is closed" in error.stderr
    ref = RefRejection(local=MAIN, remote=MAIN, cause="hook-declined", message="pre-receive hook declined")
    assert error.refs == (ref,)


def test_a_reason_may_hold_brackets(remote: Remote) -> None:
    reason = "main (and all of release/*) is frozen (until monday)"
    git(remote.bare, "config", "receive.procReceiveRefs", "refs/heads")
    hook(remote.bare, "proc-receive", HOSTING_SERVICE.format(python=sys.executable, reason=reason))
    commit(remote.work)
    error = rejected(GitTool(remote.work).push())
    assert [(ref.cause, ref.message) for ref in error.refs] == [("other", reason)]


def test_what_a_hook_prints_is_not_taken_for_the_remotes_answer(remote: Remote) -> None:
    """git lets a pre-push hook write to its own output: as one does that pushes to a mirror."""
    lines = r"!\trefs/heads/x:refs/heads/x\t[rejected] (fetch first)\n*\trefs/heads/y:refs/heads/y\t[new branch]\n"
    hook(remote.work, "pre-push", f"printf '{lines}'; exit 1")
    new = commit(remote.work)
    error = failed(GitTool(remote.work).push())
    assert (error.cause, error.effect) == ("hook-failed", "none")
    hook(remote.work, "pre-push", f"printf '{lines}'")
    pushed = or_raise(GitTool(remote.work).push())
    assert [ref.remote for ref in pushed.refs] == [MAIN]
    assert remote.head() == new


def test_a_hook_that_passed_is_not_blamed_for_a_lost_connection(http_remote: Remote) -> None:
    http_remote.http.fault, http_remote.http.fault_at = 500, "after-push"
    hook(http_remote.work, "pre-push", "exit 0")
    commit(http_remote.work)
    error = failed(GitTool(http_remote.work).push())
    assert (error.cause, error.effect) == ("network", "landed")


def test_what_the_remote_says_before_it_dies_is_not_taken_for_gits_own_words(remote: Remote) -> None:
    # More than a pipe holds: once it is written, the beginning has been passed on.
    said = "fatal: Authentication failed, Host key verification failed"
    hook(remote.bare, "pre-receive", f"yes '{said}' | head -n 3000; kill -9 $PPID")
    commit(remote.work)
    error = failed(GitTool(remote.work).push())
    assert f"remote: {said}" in error.stderr
    assert (error.cause, error.effect) == ("network", "unknown")


@pytest.mark.slow
def test_a_push_that_landed_before_its_deadline_says_so_and_leaves_the_tracking_branch(remote: Remote) -> None:
    hook(remote.bare, "post-receive", ENDLESS_HOOK)
    tracked = sha(remote.work, "origin/main")
    new = commit(remote.work)
    error = error_of(make_endless(Wanted(), remote))
    assert isinstance(error, CommandFailed)
    assert (error.cause, error.exit_code, error.effect) == ("timeout", None, "landed")
    assert (remote.head(), sha(remote.work, "origin/main")) == (new, tracked)


@pytest.mark.slow
def test_the_address_that_was_pushed_to_is_asked_and_no_other(remote: Remote) -> None:
    mirror = Remote(remote.root / "elsewhere", None)
    shutil.copytree(remote.bare, mirror.bare)
    git(remote.work, "remote", "set-url", "--push", "origin", mirror.bare)
    hook(mirror.bare, "post-receive", ENDLESS_HOOK)
    before, new = remote.head(), commit(remote.work)
    try:
        error = error_of(make_endless(Wanted(), remote, mirror.hangs))
    finally:
        (mirror.bare / "endless").unlink(missing_ok=True)
    assert isinstance(error, CommandFailed)
    assert (error.cause, error.effect) == ("timeout", "landed")
    assert (mirror.head(), remote.head()) == (new, before)


def test_a_remote_whose_history_was_rewritten_is_not_overwritten(remote: Remote) -> None:
    git(remote.colleague, "commit", "--quiet", "--amend", "-m", "rewritten")
    git(remote.colleague, "push", "--quiet", "--force", "origin", "main")
    commit(remote.work)
    before = remote.refs()
    assert rejected(GitTool(remote.work).push()).cause == "fetch-first"
    git(remote.work, "fetch", "--quiet")
    assert rejected(GitTool(remote.work).push()).cause == "non-fast-forward"
    assert remote.refs() == before


def test_a_lease_forces_only_over_the_sha_that_it_names(remote: Remote) -> None:
    expected = remote.colleague_pushes()
    new = commit(remote.work)
    tool = GitTool(remote.work)
    assert rejected(tool.push(force_with_lease=new)).cause == "stale-lease"
    assert rejected(tool.push(force_with_lease="")).cause == "stale-lease"
    assert remote.head() == expected
    (update,) = or_raise(tool.push(force_with_lease=expected)).refs
    assert update == RefUpdate(MAIN, MAIN, expected, new, "forced")
    assert remote.head() == new


def test_an_empty_lease_makes_a_branch_only_where_there_is_none(remote: Remote) -> None:
    git(remote.work, "branch", "feature")
    assert or_raise(GitTool(remote.work).push(branch="feature", force_with_lease="")).refs[0].kind == "created"
    commit(remote.work)
    assert rejected(GitTool(remote.work).push(branch="main", force_with_lease="")).cause == "stale-lease"


@pytest.mark.parametrize("lease", ["main", "HEAD", "origin/main", "--force", "abc123", OLD[1:], OLD + "0"])
def test_a_lease_is_a_whole_sha(lease: str, remote: Remote) -> None:
    remote.colleague_pushes()
    commit(remote.work)
    before = remote.refs()
    error = failed(GitTool(remote.work).push(force_with_lease=lease))
    assert (error.cause, error.effect) == ("bad-ref-name", "none")
    assert failed(GitTool(remote.work).delete_remote_branch("main", expected=lease)).cause == "bad-ref-name"
    assert remote.refs() == before


def test_a_deleted_branch_comes_back_with_its_sha(remote: Remote) -> None:
    git(remote.colleague, "push", "--quiet", "origin", f"main:{FEATURE}")
    expected = remote.head("feature")
    assert expected is not None
    deleted = or_raise(GitTool(remote.work).delete_remote_branch("feature", expected=expected))
    assert deleted == RefUpdate("", FEATURE, expected, None, "deleted")
    assert remote.head("feature") is None
    with pytest.raises(ValueError, match="sha"):
        GitTool(remote.work).delete_remote_branch("feature", expected="")


HOSTILE = {
    "push.default": "matching",
    "push.followTags": "true",
    "push.autoSetupRemote": "true",
    "push.recurseSubmodules": "only",
    "push.useForceIfIncludes": "true",
    "remote.origin.push": "+refs/*:refs/*",
    "remote.pushDefault": "elsewhere",
    "branch.main.pushRemote": "elsewhere",
}


@pytest.mark.parametrize("mirror", ["true", "false"])
def test_no_configuration_changes_what_is_pushed(mirror: str, remote: Remote) -> None:
    for key, value in {**HOSTILE, "remote.origin.mirror": mirror}.items():
        git(remote.work, "config", key, value)
    git(remote.colleague, "push", "--quiet", "origin", "main:refs/heads/theirs")
    git(remote.work, "branch", "mine")
    new = commit(remote.work)
    git(remote.work, "tag", "-a", "-m", "one", "v1")
    git(remote.work, "update-ref", "refs/orca/checkpoints/1", new)
    git(remote.work, "update-ref", "refs/notes/commits", new)
    before = remote.refs()
    assert or_raise(GitTool(remote.work).push()).head == new
    assert remote.refs() == {**before, MAIN: new}


def test_a_branch_and_a_tag_of_the_same_name_are_told_apart(remote: Remote) -> None:
    git(remote.work, "tag", "main")
    tagged, new = sha(remote.work), commit(remote.work)
    or_raise(GitTool(remote.work).push(tags=["main"]))
    assert remote.refs() == {MAIN: new, "refs/tags/main": tagged}


def upstream(remote: Remote, branch: str = "main") -> tuple[bytes, bytes]:
    """What is configured as the upstream of a branch."""
    keys = (f"branch.{branch}.remote", f"branch.{branch}.merge")
    merge, name = (git(remote.work, "config", "--default", "", key).strip() for key in keys[::-1])
    return name, merge


def test_only_a_branch_without_an_upstream_gets_one(remote: Remote) -> None:
    tool = GitTool(remote.work)
    git(remote.work, "switch", "--quiet", "--no-track", "-c", "feature")
    or_raise(tool.push(set_upstream=False))
    assert upstream(remote, "feature") == (b"", b"")
    or_raise(tool.push())
    assert upstream(remote, "feature") == (b"origin", FEATURE.encode())
    git(remote.work, "switch", "--quiet", "-c", "topic", "--track", "origin/main")
    or_raise(tool.push())
    assert upstream(remote, "topic") == (b"origin", MAIN.encode())


def test_an_upstream_that_cannot_be_found_is_still_the_users(remote: Remote) -> None:
    git(remote.work, "config", "branch.main.remote", "gone")
    commit(remote.work)
    or_raise(GitTool(remote.work).push())
    assert upstream(remote) == (b"gone", MAIN.encode())


def test_a_rejected_push_sets_no_upstream(remote: Remote) -> None:
    hook(remote.bare, "pre-receive", "exit 1")
    git(remote.work, "switch", "--quiet", "-c", "feature")
    rejected(GitTool(remote.work).push())
    assert upstream(remote, "feature") == (b"", b"")


def test_tags_that_are_not_there_stop_the_push(remote: Remote) -> None:
    commit(remote.work)
    before = remote.refs()
    assert failed(GitTool(remote.work).push(tags=["v1"])).cause == "unknown-ref"
    assert failed(GitTool(remote.work).push(tags=["bad..name"])).cause == "bad-ref-name"
    assert remote.refs() == before


def test_a_push_from_a_bare_repository(remote: Remote) -> None:
    git(remote.root, "init", "--quiet", "--bare", "backup.git")
    git(remote.bare, "remote", "add", "backup", remote.root / "backup.git")
    assert or_raise(GitTool(remote.bare).push("backup")).head == remote.head()


def test_a_repository_of_longer_shas(remote: Remote) -> None:
    for folder, flags in (("new.git", ["--bare"]), ("new", [])):
        git(remote.root, "init", "--quiet", "--object-format=sha256", "--initial-branch=main", *flags, folder)
    git(remote.root / "new", "remote", "add", "origin", remote.root / "new.git")
    first = commit(remote.root / "new")
    tool = GitTool(remote.root / "new")
    assert or_raise(tool.push()).head == first
    assert len(first) == 64
    second = commit(remote.root / "new", "c.txt")
    update = RefUpdate(MAIN, MAIN, first, second, "updated")
    assert or_raise(tool.push(force_with_lease=first)).refs == (update,)


@pytest.mark.parametrize("text", ["--receive-pack=touch {};", "--upload-pack=touch {};", "--exec=touch {};", "-x"])
def test_no_name_is_taken_for_an_option(text: str, remote: Remote) -> None:
    planted = remote.root / "planted"
    option = text.format(planted)
    commit(remote.work)
    before, tool = remote.refs(), GitTool(remote.work)
    results: list[Result[object, RuntimeError]] = [
        tool.push(option),
        tool.push("origin", option),
        tool.push(tags=[option]),
        tool.push(force_with_lease=option),
        tool.delete_remote_branch(option, expected=OLD),
        tool.delete_remote_branch("main", expected=option),
        tool.delete_remote_branch("main", expected=OLD, remote=option),
    ]
    for result in results:
        error = failed(result)
        assert error.cause in ("refused", "bad-ref-name")
        assert (error.exit_code, error.effect) == (None, "none")
    assert not planted.exists()
    assert remote.refs() == before


def test_misuse_raises(remote: Remote) -> None:
    tool = GitTool(remote.work)
    with pytest.raises(ValueError, match="attempt"):
        tool.push(attempts=0)
    with pytest.raises(ValueError, match="on_rejected"):
        tool.push(on_rejected="force")  # type: ignore[arg-type]
