"""What a conversation reports while it runs.

Events are what orca shows, so every string in them is redacted when they are built, at any depth. Where a field is
None, the backend did not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import TypeAlias

from orca.events.usage import Usage
from orca.redaction import redact_deep, redact_text


class _Shown:
    """An event whose texts are redacted, and hold nothing that UTF-8 cannot, however it was built."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, str):
                object.__setattr__(self, field.name, redact_text(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(_Shown):
    """A message of the agent, or the next part of one.

    >>> Text(text="pushed to https://user:pa55word@example.com/r.git")
    Text(text='pushed to https://***@example.com/r.git')
    """

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking(_Shown):
    """The agent's reasoning, or the next part of it, as far as the backend shows it."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall(_Shown):
    """The agent calls a tool. `input` is a copy that JSON can hold; `id` is what the `ToolResult` will name.

    >>> ToolCall(name="shell", input={"command": "curl -H 'Authorization: Bearer abc' https://example.com"}).input
    {'command': "curl -H 'Authorization: ***' https://example.com"}
    """

    name: str
    input: Mapping[str, object]
    id: str | None = None

    def __post_init__(self) -> None:
        # By name: with slots the class is made twice, and super() without arguments would look in the first.
        _Shown.__post_init__(self)
        object.__setattr__(self, "input", redact_deep(self.input))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult(_Shown):
    """What the call of a tool gave back, as text. `id` is that of the `ToolCall`; a denied call is an error too."""

    output: str
    is_error: bool = False
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd(_Shown):
    """A turn of the agent ended, the first one with `index` 0; `stop_reason` is the backend's own word."""

    index: int
    stop_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """What the conversation has used so far."""

    usage: Usage
    cost_usd: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(_Shown):
    """The backend says something that changes nothing."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(_Shown):
    """Something went wrong, which need not end the conversation.

    `cause` is a word of `BackendFailed.cause`; `retrying` says that the backend tries again by itself, after
    `retry_after_s` seconds.
    """

    message: str
    cause: str | None = None
    retrying: bool = False
    retry_after_s: float | None = None


Event: TypeAlias = Text | Thinking | ToolCall | ToolResult | TurnEnd | UsageReport | Notice | Problem
