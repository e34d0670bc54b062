"""Every public method of the GitHub tool against every fault: a `Result` in its time, with the cause of the table."""

import inspect
import os
import re
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from worlds.disk import Disk
from worlds.github import GitHub, check_run, checks
from worlds.remote import Remote
from worlds.repository import PATH, copy, git, script

from orca.errors import CommandFailed, RuntimeError, is_retryable
from orca.results import Failure, Result, Success, or_raise, outcome
from orca.tools import GitHubTool

LATE_S = 3.0  # how long after its deadline a call may return
SLEEPS_S = 0.5
ENDS_S = 60.0

Outcome = Result[object, RuntimeError]
# In an order in which each has something to do: the merge ends it.
CALLS: dict[str, Callable[[GitHubTool, str, float], Outcome]] = {
    "create_pull_request": lambda tool, sha, timeout: tool.create_pull_request("New", "", timeout=timeout),
    "pull_request": lambda tool, sha, timeout: tool.pull_request(1, timeout=timeout),
    "update_pull_request": lambda tool, sha, timeout: tool.update_pull_request(1, title="Better", timeout=timeout),
    "review": lambda tool, sha, timeout: tool.review(1, "Read.", timeout=timeout),
    "issue": lambda tool, sha, timeout: tool.issue(1, timeout=timeout),
    "comment": lambda tool, sha, timeout: tool.comment(1, "Seen.", timeout=timeout),
    "upsert_comment": lambda tool, sha, timeout: tool.upsert_comment(1, "report", "Fine.", timeout=timeout),
    "checks": lambda tool, sha, timeout: tool.checks(sha, timeout=timeout),
    "wait_for_checks": lambda tool, sha, timeout: tool.wait_for_checks(sha, timeout, interval=0.05),
    "merge_pull_request": lambda tool, sha, timeout: tool.merge_pull_request(
        1, method="merge", expected_sha=sha, timeout=timeout
    ),
}

# What comes of each: "Success", or the cause and the effect of a `CommandFailed`.
MACHINE = """
method               root gone     folder gone            no gh           no git          no remote            disk full
create_pull_request  bad-cwd none  not-a-repository none  not-found none  not-found none  unknown-remote none  Success
pull_request         bad-cwd none  not-a-repository none  not-found none  not-found none  unknown-remote none  Success
update_pull_request  bad-cwd none  not-a-repository none  not-found none  not-found none  unknown-remote none  Success
review               bad-cwd none  not-a-repository none  not-found none  not-found none  unknown-remote none  Success
issue                bad-cwd none  not-a-repository none  not-found none  not-found none  unknown-remote none  Success
comment              bad-cwd none  not-a-repository none  not-found none  not-found none  unknown-remote none  Success
upsert_comment       bad-cwd none  not-a-repository none  not-found none  not-found none  unknown-remote none  Success
checks               bad-cwd none  not-a-repository none  not-found none  not-found none  unknown-remote none  Success
wait_for_checks      bad-cwd none  not-a-repository none  not-found none  not-found none  unknown-remote none  Success
merge_pull_request   bad-cwd none  not-a-repository none  not-found none  not-found none  unknown-remote none  Success
"""
# `sleeping gh`: it never asks. The others are met by a request that changes something, or by each where there is none.
STUCK = """
method               sleeping gh      reset            http:502         crash         garbage        gh killed
create_pull_request  timeout none     network unknown  network unknown  exit unknown  other unknown  signal unknown
pull_request         timeout none     network none     network none     exit none     other none     signal none
update_pull_request  timeout unknown  network unknown  network unknown  exit unknown  other unknown  signal unknown
review               timeout unknown  network unknown  network unknown  exit unknown  other unknown  signal unknown
issue                timeout none     network none     network none     exit none     other none     signal none
comment              timeout unknown  network unknown  network unknown  exit unknown  other unknown  signal unknown
upsert_comment       timeout none     network unknown  network unknown  exit unknown  other unknown  signal unknown
checks               timeout none     network none     network none     exit none     other none     signal none
wait_for_checks      timeout none     network none     network none     exit none     other none     signal none
merge_pull_request   timeout none     network unknown  network unknown  exit unknown  other unknown  signal unknown
"""
# These are the same for every method, and nothing has happened.
REFUSED = {
    "no-login": "auth none",
    "bad-login": "auth none",
    "forbidden": "auth none",
    "rate-limit": "rate-limit none",
    "secondary": "rate-limit none",
    "too-many": "rate-limit none",
    "no-network": "network none",
    "moved": "unknown-remote",
}
CHANGES = "^(POST|PATCH|PUT) (?!graphql)"


def column(table: str, fault: str) -> dict[str, str]:
    """What the table has for a fault, by method."""
    header, *rows = [re.split("  +", line) for line in table.strip().splitlines()]
    return {row[0]: row[header.index(fault)] for row in rows}


@pytest.fixture
def place(github: GitHub, remote: Remote) -> tuple[Path, str]:
    """A clone with a pushed branch that has no pull request, and the head of pull request 1, which has a check."""
    sha = github.branch("fix")
    or_raise(GitHubTool(github.work).create_pull_request("Fix", ""))
    github.branch("new", "new\n", file="new.txt")
    github.set(checks=[checks(check_run("build"))], calls=[])
    return github.work, sha


def what(result: Outcome) -> str:
    match outcome(result):
        case Success():
            return "Success"
        case Failure(CommandFailed() as error):
            assert error.stderr or error.cause in ("timeout", "signal")
            return f"{error.cause} {error.effect}"
        case Failure(error):
            return error.tag


def call(method: str, place: tuple[Path, str], timeout: float = ENDS_S) -> str:
    """What a call comes to, which must return in its time."""
    started = time.monotonic()
    found = what(CALLS[method](GitHubTool(place[0]), place[1], timeout))
    assert time.monotonic() - started < timeout + LATE_S, method
    return found


def calls(place: tuple[Path, str]) -> dict[str, str]:
    return {method: call(method, place) for method in CALLS}


def test_every_public_method_is_in_the_table() -> None:
    methods = {name for name, _ in inspect.getmembers(GitHubTool) if not name.startswith("_")}
    assert set(CALLS) == methods
    assert set(column(MACHINE, "no gh")) == set(column(STUCK, "crash")) == methods


def test_the_root_is_gone(place: tuple[Path, str]) -> None:
    shutil.rmtree(place[0])
    assert calls(place) == column(MACHINE, "root gone")


def test_the_git_folder_is_gone(place: tuple[Path, str]) -> None:
    shutil.rmtree(place[0] / ".git")
    assert calls(place) == column(MACHINE, "folder gone")


def test_there_is_no_gh(place: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    only_git = tmp_path / "only-git"
    only_git.mkdir()
    (only_git / "git").symlink_to(shutil.which("git", path=PATH) or "")
    monkeypatch.setenv("PATH", str(only_git))
    assert calls(place) == column(MACHINE, "no gh")


def test_there_is_no_git(place: tuple[Path, str], github: GitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(github.bin))
    assert calls(place) == column(MACHINE, "no git")


@pytest.mark.parametrize("arranged", [("remove", "origin"), ("set-url", "origin", "/srv/shop.git")])
def test_no_remote_is_on_github(place: tuple[Path, str], arranged: tuple[str, ...]) -> None:
    git(place[0], "remote", *arranged)
    assert calls(place) == column(MACHINE, "no remote")


def test_the_disk_is_full(place: tuple[Path, str], tmpfs: Disk) -> None:
    work = copy(place[0], tmpfs.path / "work")
    tmpfs.fill()
    assert calls((work, place[1])) == column(MACHINE, "disk full")


@pytest.mark.slow
def test_gh_sleeps(place: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = script(tmp_path / "sleeping" / "gh", "exec sleep 100000").parent
    monkeypatch.setenv("PATH", f"{folder}:{PATH}")
    with ThreadPoolExecutor(5) as pool:
        found = dict(zip(CALLS, pool.map(lambda method: call(method, place, SLEEPS_S), CALLS), strict=True))
    assert found == column(STUCK, "sleeping gh")


@pytest.mark.parametrize("fault", ["reset", "http:502", "crash", "garbage", "gh killed"])
def test_a_request_that_is_not_answered(place: tuple[Path, str], github: GitHub, fault: str) -> None:
    """A change that may have been made is said to be one; what only reads has no effect."""
    kind = {"gh killed": "kill"}.get(fault, fault)
    found = {}
    for method in CALLS:
        reads = "none" in column(STUCK, fault)[method]
        github.set(faults=[{"kind": kind, "match": "" if reads else CHANGES, "times": 1000}])
        found[method] = call(method, place)
    assert found == column(STUCK, fault)
    assert len(github.state["pulls"]) == 1


@pytest.mark.parametrize("fault", REFUSED)
def test_a_refusal_has_its_cause(place: tuple[Path, str], github: GitHub, fault: str) -> None:
    github.fault(fault)
    expected = REFUSED[fault]
    found = calls(place)
    if fault == "moved":
        assert {text.partition(" ")[0] for text in found.values()} == {expected}
    else:
        assert found == dict.fromkeys(CALLS, expected)


def test_the_limit_says_when_it_ends_and_that_a_retry_helps(place: tuple[Path, str], github: GitHub) -> None:
    for fault, words in (
        ("secondary", "takes requests again in 57 s"),
        ("rate-limit", r"takes requests again in 1\d\d s"),
    ):
        github.set(faults=[{"kind": fault, "match": "", "times": 1}])
        match outcome(GitHubTool(place[0]).issue(1)):
            case Failure(error):
                assert re.search(words, str(error))
                assert is_retryable(error)
            case Success(issue):
                raise AssertionError(issue)


def test_no_login_and_no_gh_say_what_to_do(place: tuple[Path, str], github: GitHub) -> None:
    github.fault("no-login")
    match outcome(GitHubTool(place[0]).issue(1)):
        case Failure(CommandFailed() as error):
            assert (error.exit_code, error.cause) == (4, "auth")
            assert "gh auth login" in error.stderr
        case other:
            raise AssertionError(other)


def test_a_token_in_an_answer_is_in_no_error(
    place: tuple[Path, str], github: GitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
    monkeypatch.setenv("GH_TOKEN", token)
    github.set(rule=f"token {token} \x1b[31mmay not merge\n::error::x")
    match outcome(GitHubTool(place[0]).merge_pull_request(1, method="merge", expected_sha=place[1])):
        case Failure(error):
            assert token not in repr(error)
            assert "may not merge" in repr(error)
            assert "\x1b" not in str(error)
            assert "\n" not in str(error)
        case Success(merged):
            raise AssertionError(merged)


def test_the_machine_of_the_caller_changes_nothing(
    place: tuple[Path, str], github: GitHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another repository by variable, colours, a pager, prompts; and inside a hook of another repository."""
    hostile = {
        "GH_REPO": "else/where",
        "GH_FORCE_TTY": "80",
        "GH_DEBUG": "api",
        "DEBUG": "api",
        "CLICOLOR_FORCE": "1",
        "GH_PAGER": "sleep 1000",
        "GIT_DIR": str(tmp_path / "other.git"),
        "GIT_TRACE": "1",
    }
    for name, value in hostile.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GH_HOST", "github.com")
    assert call("pull_request", place) == "Success"
    seen = set(github.state["calls"][-1]["env"])
    assert seen & {"GH_REPO", "GH_FORCE_TTY", "GH_DEBUG", "DEBUG", "CLICOLOR_FORCE", "GIT_DIR", "GIT_TRACE"} == set()
    assert {"GH_PROMPT_DISABLED", "GH_NO_UPDATE_NOTIFIER", "NO_COLOR", "GH_HOST"} <= seen
    assert os.environ["GH_REPO"] == "else/where"
