"""The GitHub tool: pull requests, reviews, issues and checks of one repository, each call returning a `Result`."""

from __future__ import annotations

from orca.process import StrPath
from orca.tools.arguments import seconds
from orca.tools.github.calls import Place
from orca.tools.github.checking import CheckOperations
from orca.tools.github.issues import IssueOperations
from orca.tools.github.merging import MergeOperations
from orca.tools.github.opening import PullRequestOperations
from orca.tools.github.reviews import ReviewOperations


class GitHubTool(PullRequestOperations, MergeOperations, ReviewOperations, IssueOperations, CheckOperations):
    """GitHub, by the `gh` program and whoever is logged in there.

    The repository is the one that gh finds by the remotes of `root`: `upstream` before `github` before `origin`, on
    a host that gh knows. `repo` names another, as `OWNER/NAME` or `HOST/OWNER/NAME`; the variable `GH_REPO` names
    none, so that a tool's answer depends on where it is rooted alone. `timeout` is seconds, bounds a whole call, and
    is taken by every method too. Nothing prompts, and no text or token is in an argv.

    What GitHub answers is data and is returned as it is: titles and texts are anybody's words.

    >>> from orca.tools import GitHubTool
    >>> tool = GitHubTool(".", repo="octo/shop")
    """

    def __init__(self, root: StrPath = ".", *, repo: str | None = None, timeout: float = 60.0) -> None:
        self._place = Place(root, repo)
        self._timeout = seconds(timeout)
