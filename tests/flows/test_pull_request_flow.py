"""The flow of a pull request from its branch to its merge, run as a user would write it."""

import subprocess
import sys
from pathlib import Path

import pytest
from readme import README, blocks
from worlds.github import GitHub, check_run, checks

from orca import GitHubTool, flow, gh
from orca.flows import Flow

SCRIPT = '''\
"""Open the pull request of a change, see it checked, review it, and merge exactly what was checked."""

from orca import flow, gh, git, or_exit

with flow() as run:
    or_exit(git().create_branch("fix/total"))
    or_exit(run.fs.write_text("cart.py", "total: int = 0\\n"))  # an agent's turn
    or_exit(git().commit("fix: the total of a cart is a number", add="all"))
    or_exit(git().push())

    request = or_exit(gh().create_pull_request("Fix the total", "It was a text.", labels=["bot"]))
    again = or_exit(gh().create_pull_request("Fix the total", "A second run finds the first one's."))
    assert (again.number, again.created) == (request.number, False)
    or_exit(gh().update_pull_request(request.number, body="It was a text; now it is a number."))

    checks = or_exit(gh().wait_for_checks(request.head_sha, timeout=1800))
    report = ", ".join(f"{check.name}: {check.state}" for check in checks.checks)
    or_exit(gh().upsert_comment(request.number, "checks report", report or "no checks"))
    if not checks.passed:
        raise SystemExit(f"not merged: {report}")

    or_exit(gh().review(request.number, "The checks pass; the diff is one line."))
    merged = or_exit(gh().merge_pull_request(request.number, method="squash", expected_sha=request.head_sha))
    print(f"merged {request.url} as {merged.sha[:9]}")
'''


def test_a_pull_request_is_opened_found_updated_checked_reviewed_and_merged(github: GitHub, tmp_path: Path) -> None:
    github.set(checks=[checks(check_run("build"))])
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, path], cwd=github.work, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = github.state["pulls"]
    merge = github.remote.head("main")
    assert merge is not None
    assert done.stdout == f"merged https://github.com/octo/shop/pull/1 as {merge[:9]}\n"
    assert (row["body"], row["labels"], row["merge_sha"]) == ("It was a text; now it is a number.", ["bot"], merge)
    assert [row["body"] for row in github.state["comments"]] == ["<!-- checks report -->\nbuild: success"]
    assert [review["state"] for review in github.state["reviews"]] == ["COMMENTED"]


def test_a_check_that_failed_stops_it(github: GitHub, tmp_path: Path) -> None:
    github.set(checks=[checks(check_run("build", "failure"))])
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, path], cwd=github.work, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (1, "not merged: build: failure\n")
    assert github.state["pulls"][0]["state"] == "open"


def test_the_tool_of_a_flow(repo: Path, tmp_path: Path) -> None:
    (repo / "sub").mkdir()
    with flow(repo / "sub") as run:
        assert gh() is run.gh is gh()
        assert isinstance(run, Flow)
        assert run.gh._place.root == str(repo)
    given = GitHubTool(tmp_path)
    with flow(repo, gh=given):
        assert gh() is given
    with flow(repo), flow(tmp_path) as inner:
        assert gh() is inner.gh
    assert gh() is not given


def test_with_no_gh_on_the_machine_it_is_a_value(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with flow(repo):
        assert gh().issue(1).failure().tag == "CommandFailed"


def test_the_readme_shows_this_flow() -> None:
    assert SCRIPT in {block.text for block in blocks(README.read_text(encoding="utf-8"))}
