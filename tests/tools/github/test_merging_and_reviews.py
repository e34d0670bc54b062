"""Merges of what was checked and nothing else, and reviews."""

import pytest
from asking import failed
from worlds.github import GitHub
from worlds.repository import commit, git

from orca.results import or_raise
from orca.tools import GitHubTool, ReviewComment


@pytest.fixture
def opened(github: GitHub) -> tuple[GitHubTool, str]:
    """The tool, and the head of pull request 1."""
    github.branch()
    tool = GitHubTool(github.work)
    return tool, or_raise(tool.create_pull_request("Fix", "")).head_sha


@pytest.mark.parametrize(("method", "parents"), [("merge", 2), ("squash", 1), ("rebase", 1)])
def test_a_merge(github: GitHub, opened: tuple[GitHubTool, str], method: str, parents: int) -> None:
    tool, sha = opened
    merged = or_raise(tool.merge_pull_request(1, method=method, expected_sha=sha))  # type: ignore[arg-type]
    assert (merged.number, merged.sha, merged.already) == (1, github.remote.head("main"), False)
    assert len(git(github.remote.bare, "rev-parse", f"{merged.sha}^@").split()) == parents
    assert or_raise(tool.pull_request(1)).state == or_raise(tool.pull_request("fix")).state == "merged"
    again = or_raise(tool.merge_pull_request(1, method="merge", expected_sha=sha))
    assert (again.sha, again.already) == (merged.sha, True)


def test_another_head_is_not_merged(github: GitHub, opened: tuple[GitHubTool, str]) -> None:
    tool, sha = opened
    commit(github.work, "more.txt", "more\n")
    git(github.work, "push", "--quiet", "origin", "fix")
    error = failed(tool.merge_pull_request(1, method="merge", expected_sha=sha))
    assert (error.cause, error.effect) == ("ref-conflict", "none")
    assert not [call for call in github.calls if call.startswith("PUT")]


@pytest.mark.parametrize(
    ("fault", "cause", "effect"),
    [("http:409", "ref-conflict", "none"), ("http:405", "refused", "none"), ("http:502", "network", "unknown")],
)
def test_what_github_says_at_the_merge_itself(
    github: GitHub, opened: tuple[GitHubTool, str], fault: str, cause: str, effect: str
) -> None:
    github.fault(fault, "^PUT")
    error = failed(opened[0].merge_pull_request(1, method="merge", expected_sha=opened[1]))
    assert (error.cause, error.effect) == (cause, effect)


def test_conflicts_are_found_before(github: GitHub, opened: tuple[GitHubTool, str]) -> None:
    github.remote.colleague_pushes("fix.txt", "otherwise\n")
    error = failed(opened[0].merge_pull_request(1, method="merge", expected_sha=opened[1]))
    assert (error.cause, error.effect) == ("conflict", "none")


def test_a_rule_that_is_not_met(github: GitHub, opened: tuple[GitHubTool, str]) -> None:
    github.set(rule='Required status check "build" is expected.')
    error = failed(opened[0].merge_pull_request(1, method="merge", expected_sha=opened[1]))
    assert (error.cause, error.effect) == ("refused", "none")
    assert 'Required status check "build" is expected.' in str(error)


@pytest.mark.parametrize("change", [{"state": "closed"}, {"draft": True}])
def test_what_is_not_open_for_it(github: GitHub, opened: tuple[GitHubTool, str], change: dict[str, object]) -> None:
    github.set(pulls=[{**github.state["pulls"][0], **change}])
    error = failed(opened[0].merge_pull_request(1, method="merge", expected_sha=opened[1]))
    assert (error.cause, error.effect) == ("refused", "none")


def test_github_is_waited_for_until_it_knows_of_conflicts(github: GitHub, opened: tuple[GitHubTool, str]) -> None:
    github.set(looks_until_mergeable=3)
    assert or_raise(opened[0].merge_pull_request(1, method="merge", expected_sha=opened[1])).sha
    assert github.state["pulls"][0]["looks"] >= 3


def test_not_for_ever(github: GitHub, opened: tuple[GitHubTool, str]) -> None:
    github.set(looks_until_mergeable=1000)
    error = failed(opened[0].merge_pull_request(1, method="merge", expected_sha=opened[1], timeout=2))
    assert (error.cause, error.effect) == ("timeout", "none")


def test_a_merge_that_got_no_answer_is_looked_for(github: GitHub, opened: tuple[GitHubTool, str]) -> None:
    github.fault("lost", "^PUT")
    merged = or_raise(opened[0].merge_pull_request(1, method="merge", expected_sha=opened[1]))
    assert merged.sha == github.remote.head("main")


@pytest.mark.slow
def test_a_merge_that_ran_out_of_time_can_be_made_again(github: GitHub, opened: tuple[GitHubTool, str]) -> None:
    github.fault("hang-after", "^PUT")
    error = failed(opened[0].merge_pull_request(1, method="merge", expected_sha=opened[1], timeout=8))
    assert (error.cause, error.effect) == ("timeout", "landed")
    again = or_raise(opened[0].merge_pull_request(1, method="merge", expected_sha=opened[1]))
    assert (again.sha, again.already) == (github.remote.head("main"), True)


def test_misuse_raises(github: GitHub) -> None:
    tool = GitHubTool(github.work)
    with pytest.raises(ValueError, match="method must be"):
        tool.merge_pull_request(1, method="octopus", expected_sha="")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="event must be"):
        tool.review(1, "", event="LGTM")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="timeout"):
        GitHubTool(github.work, timeout=0)
    assert github.calls == []


def test_a_review_with_remarks(github: GitHub, opened: tuple[GitHubTool, str]) -> None:
    tool, sha = opened
    remarks = [ReviewComment("fix.txt", 1, "Why?"), ReviewComment("fix.txt", 3, "And here?", "LEFT", start_line=2)]
    review = or_raise(tool.review(1, "Two remarks.", remarks, "REQUEST_CHANGES"))
    assert (review.state, review.author, review.body, review.commit) == (
        "changes-requested",
        "robot",
        "Two remarks.",
        sha,
    )
    assert github.state["reviews"][0]["comments"] == [
        {"path": "fix.txt", "line": 1, "side": "RIGHT", "body": "Why?"},
        {"path": "fix.txt", "line": 3, "side": "LEFT", "body": "And here?", "start_line": 2, "start_side": "LEFT"},
    ]
    assert or_raise(tool.review(1, "Read.", commit="0" * 40)).commit == "0" * 40


def test_a_review_that_github_refuses(github: GitHub, opened: tuple[GitHubTool, str]) -> None:
    own = failed(opened[0].review(1, "Good.", event="APPROVE"))
    elsewhere = failed(opened[0].review(1, "", [ReviewComment("other.txt", 1, "?")]))
    assert {(error.cause, error.effect) for error in (own, elsewhere)} == {("refused", "none")}
    assert str(own).endswith("Can not approve your own pull request")
    assert failed(opened[0].review(9, "x")).cause == "unknown-ref"
    assert github.state["reviews"] == []


def test_a_review_that_got_no_answer_may_have_been_given(github: GitHub, opened: tuple[GitHubTool, str]) -> None:
    github.fault("lost", "^POST")
    error = failed(opened[0].review(1, "Read."))
    assert (error.cause, error.effect) == ("network", "unknown")
