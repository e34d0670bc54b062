"""The tools of a flow and what they return, each loaded when it is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orca.tools.commands import CommandResult, CommandTool
    from orca.tools.files import FileInfo, FsTool, MovedFile, RemovedFile, WrittenFile
    from orca.tools.github import (
        Check,
        Checks,
        Comment,
        GitHubTool,
        Issue,
        MergedPullRequest,
        PullRequest,
        Review,
        ReviewComment,
    )
    from orca.tools.repository import (
        Branch,
        Checkpoint,
        Commit,
        Diff,
        FileChange,
        GitTool,
        LogEntry,
        Merge,
        Pathspec,
        Pull,
        Push,
        Rebase,
        RefUpdate,
        Remote,
        RemovedWorktree,
        Stash,
        Status,
        StatusEntry,
        Tag,
        Worktree,
        WorktreeEnd,
    )
    from orca.tools.typecheckers import TypecheckReport, TypecheckTool

_HOMES = {
    "commands": ("CommandResult", "CommandTool"),
    "files": ("FileInfo", "FsTool", "MovedFile", "RemovedFile", "WrittenFile"),
    "github": (
        "Check",
        "Checks",
        "Comment",
        "GitHubTool",
        "Issue",
        "MergedPullRequest",
        "PullRequest",
        "Review",
        "ReviewComment",
    ),
    "repository": (
        "Branch",
        "Commit",
        "FileChange",
        "GitTool",
        "LogEntry",
        "Merge",
        "Pathspec",
        "Pull",
        "Push",
        "Rebase",
        "RefUpdate",
        "Remote",
        "Checkpoint",
        "Diff",
        "Stash",
        "Tag",
        "RemovedWorktree",
        "Worktree",
        "WorktreeEnd",
        "Status",
        "StatusEntry",
    ),
    "typecheckers": ("TypecheckReport", "TypecheckTool"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Branch",
    "Check",
    "Checkpoint",
    "Checks",
    "CommandResult",
    "CommandTool",
    "Comment",
    "Commit",
    "Diff",
    "FileChange",
    "FileInfo",
    "FsTool",
    "GitHubTool",
    "GitTool",
    "Issue",
    "LogEntry",
    "Merge",
    "MergedPullRequest",
    "MovedFile",
    "Pathspec",
    "Pull",
    "PullRequest",
    "Push",
    "Rebase",
    "RefUpdate",
    "Remote",
    "RemovedFile",
    "RemovedWorktree",
    "Review",
    "ReviewComment",
    "Stash",
    "Status",
    "StatusEntry",
    "Tag",
    "TypecheckReport",
    "TypecheckTool",
    "Worktree",
    "WorktreeEnd",
    "WrittenFile",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
