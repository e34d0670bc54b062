"""GitHub through the `gh` program: pull requests, reviews, issues and checks."""

from __future__ import annotations

from orca.tools.github.checks import Check, Checks
from orca.tools.github.issues import Comment, Issue
from orca.tools.github.pull_requests import MergedPullRequest, PullRequest
from orca.tools.github.reviews import Review, ReviewComment
from orca.tools.github.tool import GitHubTool

__all__ = [
    "Check",
    "Checks",
    "Comment",
    "GitHubTool",
    "Issue",
    "MergedPullRequest",
    "PullRequest",
    "Review",
    "ReviewComment",
]
