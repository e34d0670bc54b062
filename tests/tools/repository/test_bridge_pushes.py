"""The same push by the git tool and by GitPython through `with_repo`, on two worlds alike: the same tag and cause."""

import time
from collections.abc import Callable
from typing import Any

import git as gitpython
import pytest
from outcomes import error_of, rejected
from worlds.push_case import MAIN, PushCase
from worlds.push_case import Push as Wanted
from worlds.push_cases import CASES, name
from worlds.push_failed import DIES
from worlds.remote import Remote, Transport
from worlds.repository import commit, git, hook

from orca.errors import CommandFailed, PushRejected, RuntimeError
from orca.results import Failure, Result, Success, or_raise, outcome
from orca.tools import GitTool

LATE_S = 3.0
SHORT_S = (1.5, 6.0, 24.0)


def by_tool(push: Wanted, remote: Remote, timeout: float) -> Result[Any, RuntimeError]:
    tool = GitTool(remote.work)
    if push.delete:
        assert push.branch is not None
        assert push.lease is not None
        return tool.delete_remote_branch(push.branch, expected=push.lease, remote=push.remote, timeout=timeout)
    return tool.push(push.remote, push.branch, tags=push.tags, force_with_lease=push.lease, timeout=timeout)


def refspecs(push: Wanted, repo: gitpython.Repo) -> list[str]:
    ref = f"refs/heads/{push.branch if push.branch is not None else repo.active_branch.name}"
    return [f":{ref}" if push.delete else f"{ref}:{ref}", *(f"refs/tags/{tag}:refs/tags/{tag}" for tag in push.tags)]


def options(push: Wanted) -> dict[str, Any]:
    lease = {} if push.lease is None else {"force_with_lease": f"refs/heads/{push.branch}:{push.lease}"}
    return {**lease, **({"atomic": True} if push.tags else {})}


def by_method(push: Wanted, repo: gitpython.Repo) -> object:
    """As people push with GitPython: nobody looks at what comes back."""
    repo.remote(push.remote).push(refspecs(push, repo), **options(push))
    return "pushed"


def by_command(push: Wanted, repo: gitpython.Repo) -> object:
    if push.remote not in [remote.name for remote in repo.remotes]:
        repo.remote(push.remote).url  # noqa: B018 what asks for it
    return repo.git.push(push.remote, *refspecs(push, repo), **options(push))


Way = Callable[[Wanted, gitpython.Repo], object]


def made(push: Wanted, way: Way, remote: Remote, timeout: float) -> Result[Any, RuntimeError]:
    started = time.monotonic()
    try:
        return GitTool(remote.work).with_repo(lambda repo: way(push, repo), timeout=timeout)
    finally:
        assert time.monotonic() - started < timeout + LATE_S


def until_it_hangs(remote: Remote, push: Callable[[float], Result[Any, RuntimeError]]) -> Result[Any, RuntimeError]:
    for timeout in SHORT_S:
        result = push(timeout)
        if remote.hangs():
            return result
    raise AssertionError("it never got there")


def what(result: Result[Any, RuntimeError], *, short: bool) -> object:
    """A result as both ways must have it."""
    match outcome(result):
        case Success():
            return "Success"
        case Failure(PushRejected() as error):
            refs = sorted((ref.remote.rpartition("/")[2] if short else ref.remote, ref.cause) for ref in error.refs)
            assert error.stderr
            landed = tuple(ref.rpartition("/")[2] if short else ref for ref in error.landed)
            return error.tag, error.remote, error.cause, refs, landed, error.effect
        case Failure(CommandFailed() as error):
            return error.tag, error.cause
        case Failure(error):
            return error.tag


ONCE: list[Any] = [
    pytest.param(case, case.transports[0], marks=[pytest.mark.slow] if case.exit_code is None else [])
    for case in CASES
    if not case.plain_only
]


@pytest.mark.parametrize(("case", "transport"), ONCE, ids=name)
def test_a_push_by_gitpython_has_the_tag_and_the_cause_of_the_tool(
    case: PushCase, transport: Transport, remote_over: Callable[[Transport], Remote]
) -> None:
    remote = remote_over(transport)
    push = case.prepare(remote)
    if case.exit_code is None:
        expected = until_it_hangs(remote, lambda timeout: by_tool(push, remote, timeout))
    else:
        expected = by_tool(push, remote, 60.0)
    check_same(case, by_method, expected, remote_over(transport))
    if case.exit_code is not None:
        check_same(case, by_command, expected, remote_over(transport))


def check_same(case: PushCase, way: Way, expected: Result[Any, RuntimeError], remote: Remote) -> None:
    """Push by GitPython on a fresh world, and hold what comes of it against what came of the tool's push."""
    wanted = case.prepare(remote)
    before = remote.refs()
    if case.exit_code is None:
        found = until_it_hangs(remote, lambda timeout: made(wanted, way, remote, timeout))
    else:
        found = made(wanted, way, remote, 60.0)
    short = way is by_command  # which prints what people read
    assert what(found, short=short) == what(expected, short=short), (expected, found)
    assert (remote.refs() != before) == case.landed


def late(remote: Remote) -> GitTool:
    """The tool of a clone whose `main` the remote will refuse."""
    remote.colleague_pushes()
    commit(remote.work)
    return GitTool(remote.work)


def test_flags_that_nobody_looked_at_are_a_failure_with_every_ref(remote: Remote) -> None:
    tool = late(remote)
    error = rejected(tool.with_repo(lambda repo: [info.summary for info in repo.remote().push(["main", "HEAD:new"])]))
    assert [(ref.local, ref.remote, ref.cause) for ref in error.refs] == [("refs/heads/main", MAIN, "fetch-first")]
    assert (error.landed, error.effect, error.remote) == (("refs/heads/new",), "landed", "origin")


def test_what_is_raised_for_flags_is_the_same_failure(remote: Remote) -> None:
    tool = late(remote)
    error = rejected(tool.with_repo(lambda repo: repo.remote().push().raise_if_error()))
    assert (error.cause, error.refs[0].remote) == ("fetch-first", MAIN)


@pytest.mark.parametrize("quiet", [False, True])
def test_a_push_that_was_made_good_is_none_that_failed(remote: Remote, quiet: bool) -> None:
    def pushed(repo: gitpython.Repo) -> list[gitpython.PushInfo]:
        refused = repo.remote().push("main")
        repo.remote().pull("main", rebase=True)
        return [*refused, *repo.remote().push("main", quiet=quiet)]

    infos = or_raise(late(remote).with_repo(pushed))
    assert [info.flags & info.ERROR != 0 for info in infos] == [True, False][: len(infos)]
    assert remote.head() == git(remote.work, "rev-parse", "main").decode().strip()


@pytest.mark.parametrize("quiet", [False, True])
def test_a_push_of_something_else_makes_nothing_good(remote: Remote, quiet: bool) -> None:
    def pushed(repo: gitpython.Repo) -> None:
        repo.remote().push("main")
        repo.remote().push("HEAD:refs/heads/other", quiet=quiet)

    assert rejected(late(remote).with_repo(pushed)).refs[0].remote == MAIN


def test_what_was_raised_and_caught_is_the_callers_own_affair(remote: Remote) -> None:
    def pushed(repo: gitpython.Repo, how: str) -> str:
        try:
            if how == "asked":
                repo.remote().push("main").raise_if_error()
            else:
                repo.git.push("origin", "main")
        except gitpython.GitCommandError:
            return "later, then"
        return "pushed"

    tool = late(remote)
    for how in ("asked", "told"):
        assert or_raise(tool.with_repo(lambda repo, how=how: pushed(repo, how))) == "later, then"  # type: ignore[misc]


def test_flags_of_a_repo_that_the_caller_opened_are_seen_where_they_are_returned(remote: Remote) -> None:
    def pushed(repo: gitpython.Repo) -> Any:
        with gitpython.Repo(repo.working_dir) as other:
            return other.remote().push("main")

    error = rejected(late(remote).with_repo(pushed))
    assert (error.cause, error.remote, [ref.message for ref in error.refs]) == (
        "fetch-first",
        "origin",
        ["fetch first"],
    )
    assert "failed to push" in error.stderr


def test_words_of_a_hook_that_are_not_utf_8_arrive(remote: Remote) -> None:
    """GitPython by itself stops reading there, and says nothing of the rejection."""
    hook(remote.bare, "pre-receive", "printf 'geschlossen f\\374r heute\\n'; exit 1")
    commit(remote.work)
    error = rejected(GitTool(remote.work).with_repo(lambda repo: repo.remote().push()))
    assert error.cause == "hook-declined"
    assert "geschlossen f" in error.stderr


def test_a_push_that_lost_its_connection_behind_a_ref_that_landed_is_a_failure(remote: Remote) -> None:
    hook(remote.bare, "post-receive", DIES)
    commit(remote.work)
    error = error_of(GitTool(remote.work).with_repo(lambda repo: len(repo.remote().push())))
    assert isinstance(error, CommandFailed)
    assert (error.cause, error.effect) == ("network", "landed")


def test_a_token_in_the_address_is_nowhere(
    http_remote: Remote, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    token = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
    http_remote.http.fault, http_remote.http.fault_at = 403, "every"
    git(http_remote.work, "config", "remote.origin.url", http_remote.http.url_of(http_remote.bare.name, f"x:{token}"))
    commit(http_remote.work)
    error = error_of(GitTool(http_remote.work).with_repo(lambda repo: repo.remote().push()))
    assert isinstance(error, CommandFailed)
    assert error.cause == "auth"
    assert token not in repr(error) + error.command + error.stderr + caplog.text + "".join(capfd.readouterr())


def test_credentials_of_the_address_still_count(http_remote: Remote) -> None:
    http_remote.http.auth = ("user", "right")
    git(http_remote.work, "config", "remote.origin.url", http_remote.http.url_of(http_remote.bare.name, "user:right"))
    made = commit(http_remote.work)
    assert or_raise(GitTool(http_remote.work).with_repo(lambda repo: repo.remote().push("main")[0].remote_ref_string))
    assert http_remote.head() == made
