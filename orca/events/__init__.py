"""What a conversation reports: its events, each loaded when it is first asked for, and the tokens that it used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orca.events.usage import Usage

if TYPE_CHECKING:
    from orca.events.conversation import (
        Event,
        Notice,
        Problem,
        Text,
        Thinking,
        ToolCall,
        ToolResult,
        TurnEnd,
        UsageReport,
    )

__all__ = [
    "Event",
    "Notice",
    "Problem",
    "Text",
    "Thinking",
    "ToolCall",
    "ToolResult",
    "TurnEnd",
    "Usage",
    "UsageReport",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from orca.events import conversation

    return getattr(conversation, name)
