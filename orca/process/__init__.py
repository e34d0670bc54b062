"""One program, run to its end: bounded in time and memory, and nothing of it left behind."""

from __future__ import annotations

from orca.process.failure import failed, line
from orca.process.live import cancel_all
from orca.process.runner import Ended, Stream, StrPath, run
from orca.process.waiting import pause

__all__ = ["Ended", "StrPath", "Stream", "cancel_all", "failed", "line", "pause", "run"]
