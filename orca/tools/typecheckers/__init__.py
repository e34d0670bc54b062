"""Type checkers, run the way the project is set up for them, with their findings as data."""

from __future__ import annotations

from orca.tools.typecheckers.tool import CheckerName, TypecheckReport, TypecheckTool

__all__ = ["CheckerName", "TypecheckReport", "TypecheckTool"]
