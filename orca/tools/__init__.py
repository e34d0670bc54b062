"""The tools of a flow, each loaded when it is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orca.tools.commands import CommandResult, CommandTool
    from orca.tools.repository import GitTool
    from orca.tools.typecheckers import TypecheckReport, TypecheckTool

_HOMES = {
    "CommandResult": "commands",
    "CommandTool": "commands",
    "GitTool": "repository",
    "TypecheckReport": "typecheckers",
    "TypecheckTool": "typecheckers",
}

__all__ = ["CommandResult", "CommandTool", "GitTool", "TypecheckReport", "TypecheckTool"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"orca.tools.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
