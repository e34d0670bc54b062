"""Checks of a commit, and the wait for them."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from asking import failed
from worlds.github import GitHub, check_run, checks, status, suite
from worlds.repository import sha

from orca.process import cancel_all
from orca.results import or_raise
from orca.tools import Check, GitHubTool

STATES = {
    "success": "success",
    "failure": "failure",
    "startup_failure": "failure",
    "neutral": "neutral",
    "skipped": "skipped",
    "cancelled": "cancelled",
    "timed_out": "timed-out",
    "action_required": "action-required",
    "stale": "stale",
    "by_magic": "unknown",
}


def test_check_runs_and_statuses_are_one_list(github: GitHub) -> None:
    github.set(checks=[checks(check_run("build"), statuses=[status("ci/old", "error")])])
    found = or_raise(GitHubTool(github.work).checks("main"))
    assert found.sha == sha(github.work)
    assert found.checks == (
        Check("build", "success", "check-run", "github-actions", "https://ci.example/build", ""),
        Check("ci/old", "failure", "status", None, None, "ci/old error"),
    )
    assert (found.complete, found.passed, [check.name for check in found.failed]) == (True, False, ["ci/old"])
    assert or_raise(GitHubTool(github.work).checks(found.sha)) == found


def test_every_conclusion_has_its_state_and_what_is_unknown_did_not_pass(github: GitHub) -> None:
    github.set(checks=[checks(*(check_run(name, name) for name in STATES))])
    found = or_raise(GitHubTool(github.work).checks("main"))
    assert {check.name: check.state for check in found.checks} == STATES
    passing = {"success", "neutral", "skipped"}
    assert {check.name for check in found.failed} == set(STATES) - passing


@pytest.mark.parametrize("at_work", ["queued", "in_progress", "waiting", "requested", "by_magic"])
def test_what_is_not_completed_is_pending(github: GitHub, at_work: str) -> None:
    github.set(checks=[checks(check_run("build", None, at_work), check_run("lint"))])
    found = or_raise(GitHubTool(github.work).checks("main"))
    assert ([check.name for check in found.pending], found.complete, found.passed) == (["build"], False, False)


def test_all_pages_are_read(github: GitHub) -> None:
    rows = [check_run(f"job-{n}") for n in range(5)]
    github.set(checks=[checks(*rows, statuses=[status(f"s-{n}") for n in range(3)])], largest_page=2)
    assert len(or_raise(GitHubTool(github.work).checks("main")).checks) == 8


def test_no_checks_are_complete_and_have_not_passed(github: GitHub) -> None:
    found = or_raise(GitHubTool(github.work).checks("main"))
    assert (found.checks, found.complete, found.passed) == ((), True, False)


@pytest.mark.parametrize(
    ("ref", "cause"),
    [("nowhere", "unknown-ref"), ("0" * 40, "unknown-ref"), ("HEAD", "bad-ref-name"), ("-x", "bad-ref-name")],
)
def test_a_ref_that_github_has_not(github: GitHub, ref: str, cause: str) -> None:
    for error in (
        failed(GitHubTool(github.work).checks(ref)),
        failed(GitHubTool(github.work).wait_for_checks(ref, 30)),
    ):
        assert (error.cause, error.effect) == (cause, "none")


def wait_until_polled(github: GitHub, times: int) -> None:
    """Returns once the checks have been asked for so many times."""
    until = time.monotonic() + 60
    while github.state["polls"] < times:
        assert time.monotonic() < until
        time.sleep(0.02)


def test_the_wait_ends_with_the_last_check_whatever_it_came_to(github: GitHub) -> None:
    github.set(
        checks=[
            checks(check_run("build", None)),
            checks(check_run("build"), statuses=[status("ci", "pending")]),
            checks(check_run("build", "failure"), statuses=[status("ci")]),
        ]
    )
    found = or_raise(GitHubTool(github.work).wait_for_checks("main", 60, interval=0.05))
    assert ([check.state for check in found.checks], found.passed) == (["failure", "success"], False)
    assert github.state["polls"] == 3


def test_jobs_that_follow_are_waited_for(github: GitHub) -> None:
    """Between two jobs of a workflow every check is complete, and its suite is not."""
    github.set(
        checks=[
            checks(check_run("build"), suites=[suite("in_progress")]),
            checks(check_run("build"), check_run("deploy"), suites=[suite(), suite("queued", runs=0)]),
        ]
    )
    found = or_raise(GitHubTool(github.work).wait_for_checks("main", 60, interval=0.05))
    assert [check.name for check in found.checks] == ["build", "deploy"]


def test_checks_that_appear_late_are_waited_for(github: GitHub) -> None:
    github.set(checks=[checks(), checks(), checks(check_run("build"))])
    found = or_raise(GitHubTool(github.work).wait_for_checks("main", 60, interval=0.05, appear=50))
    assert found.passed


def test_where_none_appears_there_are_none(github: GitHub) -> None:
    found = or_raise(GitHubTool(github.work).wait_for_checks("main", 60, interval=0.05, appear=0.01))
    assert (found.checks, found.passed) == ((), False)


def test_the_commit_stays_though_the_branch_moves(github: GitHub) -> None:
    before = sha(github.work)
    github.set(checks=[checks(check_run("build", None))])
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(GitHubTool(github.work).wait_for_checks, "main", 60, interval=0.05)
        wait_until_polled(github, 1)
        github.remote.colleague_pushes()
        wait_until_polled(github, github.state["polls"] + 2)
        github.set(checks=[checks(check_run("build"))])
        found = or_raise(waiting.result(60))
    assert found.sha == before != github.remote.head("main")


@pytest.mark.slow
def test_a_wait_that_runs_out_of_time_names_what_it_waited_for(github: GitHub) -> None:
    github.set(checks=[checks(check_run("build", None), check_run("lint"))])
    error = failed(GitHubTool(github.work).wait_for_checks("main", 8, interval=0.1))
    assert (error.cause, error.effect) == ("timeout", "none")
    assert "1 of 2 are pending: build" in str(error)


def test_a_network_that_comes_back_does_not_end_the_wait(github: GitHub) -> None:
    github.set(checks=[checks(check_run("build", None)), checks(check_run("build"))])
    github.fault("no-network", "check-runs", times=2)
    github.fault("http:502", "check-suites", times=1)
    assert or_raise(GitHubTool(github.work).wait_for_checks("main", 60, interval=0.05)).passed


@pytest.mark.parametrize(
    ("fault", "cause", "requests"),
    [("no-network", "network", 5), ("rate-limit", "rate-limit", 1), ("bad-login", "auth", 1)],
)
def test_what_will_not_pass_ends_it(github: GitHub, fault: str, cause: str, requests: int) -> None:
    github.fault(fault)
    error = failed(GitHubTool(github.work).wait_for_checks("main", 60, interval=0.05))
    assert (error.cause, error.effect, len(github.calls)) == (cause, "none", requests)


def test_setting_cancel_ends_the_wait(github: GitHub) -> None:
    github.set(checks=[checks(check_run("build", None))])
    cancel = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(GitHubTool(github.work).wait_for_checks, "main", 600, interval=100, cancel=cancel)
        wait_until_polled(github, 1)
        cancel.set()
        assert failed(waiting.result(60)).cause == "cancelled"


def test_cancel_all_ends_the_wait_of_a_worker(github: GitHub) -> None:
    github.set(checks=[checks(check_run("build", None))])
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(GitHubTool(github.work).wait_for_checks, "main", 600, interval=100)
        wait_until_polled(github, 1)
        cancel_all("enough")
        assert failed(waiting.result(60)).cause == "cancelled"
