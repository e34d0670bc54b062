"""git: its own commands in machine formats, one method for each operation."""

from __future__ import annotations

from orca.tools.repository.branches import Branch
from orca.tools.repository.changes import FileChange
from orca.tools.repository.commits import Commit
from orca.tools.repository.history import LogEntry
from orca.tools.repository.integration import Pull
from orca.tools.repository.names import Pathspec
from orca.tools.repository.pushing import Push
from orca.tools.repository.remotes import RefUpdate, Remote
from orca.tools.repository.states import Status, StatusEntry
from orca.tools.repository.tool import GitTool

__all__ = [
    "Branch",
    "Commit",
    "FileChange",
    "GitTool",
    "LogEntry",
    "Pathspec",
    "Pull",
    "Push",
    "RefUpdate",
    "Remote",
    "Status",
    "StatusEntry",
]
