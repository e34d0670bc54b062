"""The context that hands the tools out."""

from __future__ import annotations

from orca.flows.context import Flow, command, flow, fs, gh, git, typecheck

__all__ = ["Flow", "command", "flow", "fs", "gh", "git", "typecheck"]
