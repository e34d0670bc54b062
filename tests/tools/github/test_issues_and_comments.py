"""Issues as they are, and comments: new ones, and one's own that is kept up to date."""

import pytest
from asking import failed
from worlds.github import GitHub

from orca.results import or_raise
from orca.tools import GitHubTool, Issue

ISSUE = {
    "number": 7,
    "title": "Total",
    "state": "closed",
    "state_reason": "not_planned",
    "body": None,
    "labels": ["bug"],
}
ISSUE |= {"assignees": ["ada"], "author": "eve"}


@pytest.fixture
def tool(github: GitHub) -> GitHubTool:
    """The tool, with an issue 7."""
    github.set(issues=[ISSUE], last_number=100)
    return GitHubTool(github.work)


def bodies(github: GitHub) -> list[tuple[str, str]]:
    """Who wrote what."""
    return [(row["author"], row["body"]) for row in github.state["comments"]]


def test_an_issue(github: GitHub, tool: GitHubTool) -> None:
    assert or_raise(tool.issue(7)) == Issue(
        number=7,
        url="https://github.com/octo/shop/issues/7",
        title="Total",
        state="closed",
        reason="not-planned",
        body="",
        author="eve",
        labels=("bug",),
        assignees=("ada",),
        is_pull_request=False,
        created_at="2026-01-02T03:04:05Z",
    )
    github.set(issues=[ISSUE | {"state_reason": "by_magic", "state": "frozen", "author": None}])
    found = or_raise(tool.issue(7))
    assert (found.state, found.reason, found.author) == ("unknown", "unknown", None)
    github.branch()
    number = or_raise(tool.create_pull_request("Fix", "")).number
    assert or_raise(tool.issue(number)).is_pull_request


def test_one_that_is_not_there(tool: GitHubTool) -> None:
    for error in (failed(tool.issue(8)), failed(tool.comment(8, "x")), failed(tool.upsert_comment(8, "m", "x"))):
        assert (error.cause, error.effect) == ("unknown-ref", "none")


def test_a_comment_is_new_each_time(github: GitHub, tool: GitHubTool) -> None:
    text = "\x1b]0;x\x07 @ada \U0001f419\r\n"
    first, second = or_raise(tool.comment(7, text)), or_raise(tool.comment(7, text))
    assert (first.body, first.author, first.created) == (text, "robot", True)
    assert first.id != second.id
    assert bodies(github) == [("robot", text)] * 2
    assert (failed(tool.comment(7, " ")).cause, len(bodies(github))) == ("refused", 2)


def test_the_one_with_the_marker_is_made_and_then_changed(github: GitHub, tool: GitHubTool) -> None:
    first = or_raise(tool.upsert_comment(7, "nightly report", "3 failures"))
    second = or_raise(tool.upsert_comment(7, "nightly report", "none"))
    assert (first.created, second.created, second.id) == (True, False, first.id)
    assert bodies(github) == [("robot", "<!-- nightly report -->\nnone")]
    or_raise(tool.upsert_comment(7, "other report", "none"))
    assert len(bodies(github)) == 2


def test_one_that_says_it_already_is_left_alone(github: GitHub, tool: GitHubTool) -> None:
    or_raise(tool.upsert_comment(7, "m", "same\ntext"))
    or_raise(tool.upsert_comment(7, "m", "same\ntext"))
    assert not [call for call in github.calls if call.startswith("PATCH")]


def test_nobody_else_s_comment_is_changed(github: GitHub, tool: GitHubTool) -> None:
    """Anybody can write the marker; the comment of somebody whose account is gone has no name."""
    others = [
        {"id": 1, "number": 7, "author": "eve", "body": "<!-- m -->\nmine"},
        {"id": 2, "number": 7, "author": None, "body": "<!-- m -->\nnobody's"},
        {"id": 3, "number": 7, "author": "robot", "body": "> <!-- m -->\n> quoted"},
        {"id": 4, "number": 9, "author": "robot", "body": "<!-- m -->\nof another issue"},
    ]
    github.set(comments=others)
    made = or_raise(tool.upsert_comment(7, "m", "text"))
    assert made.created
    assert github.state["comments"][:4] == others
    assert or_raise(tool.upsert_comment(7, "m", "new")).id == made.id


def test_it_is_found_on_any_page_and_the_oldest_counts(github: GitHub, tool: GitHubTool) -> None:
    rows = [{"id": n, "number": 7, "author": "robot", "body": "chat"} for n in range(1, 8)]
    rows[4]["body"] = rows[6]["body"] = "<!-- m -->\r\nold"
    github.set(comments=rows, largest_page=2)
    assert or_raise(tool.upsert_comment(7, "m", "new")).id == 5
    github.set(comments=[*github.state["comments"][:4], *github.state["comments"][5:]])
    assert or_raise(tool.upsert_comment(7, "m", "old")).id == 7
    assert not [call for call in github.calls if "comments/7" in call]


@pytest.mark.parametrize("marker", ["", "-->", "a--b", "a\nb", " a", "a-", "a>b", "<b"])
def test_a_marker_that_could_end_the_comment_is_misuse(tool: GitHubTool, marker: str) -> None:
    with pytest.raises(ValueError, match="marker"):
        tool.upsert_comment(7, marker, "x")


def test_one_that_got_no_answer_can_be_made_again(github: GitHub, tool: GitHubTool) -> None:
    github.fault("lost", "^POST .*comments", times=1)
    error = failed(tool.upsert_comment(7, "m", "text"))
    assert (error.cause, error.effect) == ("network", "unknown")
    assert or_raise(tool.upsert_comment(7, "m", "text")).created is False
    assert len(bodies(github)) == 1
