"""git: its own commands in machine formats, one method for each operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orca.tools.repository.names import Pathspec
from orca.tools.repository.states import Status, StatusEntry
from orca.tools.repository.tool import GitTool

if TYPE_CHECKING:
    from orca.tools.repository.changes import Commit, FileChange
    from orca.tools.repository.checkpoints.saved import Checkpoint
    from orca.tools.repository.comparing import Diff
    from orca.tools.repository.history import LogEntry
    from orca.tools.repository.push_report import Push
    from orca.tools.repository.refs import Branch, Merge, Pull, Rebase, RefUpdate, Remote
    from orca.tools.repository.stash_log import Stash
    from orca.tools.repository.tags import Tag
    from orca.tools.repository.worktree_list import RemovedWorktree, Worktree, WorktreeEnd

_HOMES = {
    "changes": ("Commit", "FileChange"),
    "history": ("LogEntry",),
    "push_report": ("Push",),
    "refs": ("Branch", "Merge", "Pull", "Rebase", "RefUpdate", "Remote"),
    "checkpoints.saved": ("Checkpoint",),
    "comparing": ("Diff",),
    "stash_log": ("Stash",),
    "tags": ("Tag",),
    "worktree_list": ("RemovedWorktree", "Worktree", "WorktreeEnd"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Branch",
    "Checkpoint",
    "Commit",
    "Diff",
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
    "RemovedWorktree",
    "Stash",
    "Status",
    "StatusEntry",
    "Tag",
    "Worktree",
    "WorktreeEnd",
]


def __getattr__(name: str) -> Any:
    """Load a result's class when it is first asked for: a script that never pushes need not pay for `Push`."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
