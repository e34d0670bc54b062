"""Pull requests: one for each branch, found again, updated."""

from worlds.github import GitHub

from orca.results import or_raise
from orca.tools import GitHubTool


def test_a_pull_request_is_opened_once(github: GitHub) -> None:
    sha = github.branch("fix/total")
    tool = GitHubTool(github.work)
    request = or_raise(tool.create_pull_request("Total", "Sums the cart.", labels=["bot"], reviewers=["ada"]))
    assert (request.number, request.state, request.base, request.head) == (1, "open", "main", "fix/total")
    assert (request.head_sha, request.created, request.draft) == (sha, True, False)
    assert or_raise(tool.create_pull_request("Other", "")).created is False
    assert or_raise(tool.pull_request("fix/total")) == or_raise(tool.pull_request(1))
