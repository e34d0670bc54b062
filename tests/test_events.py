"""Events show no secret however they are built, and hold what the agent CLIs report."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import pickle
from decimal import Decimal
from typing import Any, get_args

import pytest
from error_strategies import JSON, TEXT, property_test
from hypothesis import given
from hypothesis import strategies as st
from redaction_texts import TOKEN, forget

from orca.events import Event, Notice, Problem, Text, Thinking, ToolCall, ToolResult, TurnEnd, Usage, UsageReport

KINDS: tuple[type[Any], ...] = get_args(Event)
WORDY = [kind for kind in KINDS if kind is not UsageReport]  # which has no string
URL, SHOWN = f"https://{TOKEN}@example.com", "https://***@example.com"

# Every event with its strings filled in by the same text.
MAKE: dict[type[Any], Any] = {
    Text: lambda text: Text(text=text),
    Thinking: lambda text: Thinking(text=text),
    ToolCall: lambda text: ToolCall(id=text, name=text, input={text: [{"deep": (text, {"er": text})}]}),
    ToolResult: lambda text: ToolResult(id=text, output=text, is_error=True),
    TurnEnd: lambda text: TurnEnd(index=2, stop_reason=text),
    UsageReport: lambda text: UsageReport(usage=Usage(input_tokens=len(text)), cost_usd=Decimal("0.25")),
    Notice: lambda text: Notice(message=text),
    Problem: lambda text: Problem(message=text, cause=text, retrying=True, retry_after_s=2.5),
}


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    forget(monkeypatch)


def strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [found for pair in value.items() for part in pair for found in strings(part)]
    return [found for part in value for found in strings(part)] if isinstance(value, list | tuple) else []


@pytest.mark.parametrize("kind", WORDY, ids=lambda kind: kind.__name__)
def test_every_string_of_an_event_is_redacted(kind: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "A_TOKEN", TOKEN)
    for secret in (TOKEN, URL, f"Authorization: Bearer {TOKEN}"):
        event = MAKE[kind](f"before {secret} after")
        assert TOKEN not in repr(event)
        for shown in strings(list(dataclasses.asdict(event).values())):
            assert shown in {"deep", "er"} or ("before" in shown and "***" in shown)


@pytest.mark.parametrize("kind", WORDY, ids=lambda kind: kind.__name__)
def test_a_changed_copy_of_an_event_is_redacted_too(kind: type[Any]) -> None:
    event = MAKE[kind]("plain")
    for field in dataclasses.fields(event):
        if isinstance(getattr(event, field.name), str):
            assert getattr(dataclasses.replace(event, **{field.name: URL}), field.name) == SHOWN


def test_the_input_of_a_tool_is_a_copy() -> None:
    given_input = {"path": "a.txt", "edits": [{"old": URL}]}
    call = ToolCall(name="edit", input=given_input)
    assert call.input == {"path": "a.txt", "edits": [{"old": SHOWN}]}
    assert given_input["edits"] == [{"old": URL}]


def test_a_field_that_names_a_secret_hides_it() -> None:
    call = ToolCall(name="http", input={"headers": {"Authorization": "opaque"}, "api_key": "abcd1234", "max_tokens": 5})
    assert call.input == {"headers": {"Authorization": "***"}, "api_key": "***", "max_tokens": 5}


@property_test
@given(st.sampled_from([kind for kind in KINDS if kind is not ToolCall]), TEXT)
def test_an_event_holds_nothing_that_utf_8_cannot(kind: type[Any], text: str) -> None:
    event = MAKE[kind](text)
    json.dumps(dataclasses.asdict(event), default=str, ensure_ascii=False).encode("utf-8")
    for same in (copy.deepcopy(event), pickle.loads(pickle.dumps(event)), dataclasses.replace(event)):
        assert same == event


@property_test
@given(st.dictionaries(TEXT, JSON, max_size=3))
def test_the_input_of_a_tool_can_be_written_as_json(tool_input: dict[str, object]) -> None:
    call = ToolCall(id="1", name="shell", input=tool_input)
    assert json.loads(json.dumps(call.input, ensure_ascii=False, allow_nan=False).encode("utf-8")) == call.input
    assert dataclasses.replace(call) == call


def test_what_is_not_known_is_none_and_numbers_stay_numbers() -> None:
    assert set(dataclasses.asdict(Usage()).values()) == {None}
    usage = Usage(input_tokens=0, output_tokens=7)
    report = UsageReport(usage=usage, cost_usd=Decimal("0.0012"))
    assert report.usage is usage
    assert report.cost_usd == Decimal("0.0012")
    assert UsageReport(usage=usage).cost_usd is None
    assert (TurnEnd(index=0).stop_reason, ToolCall(name="x", input={}).id, Problem(message="x").cause) == (None,) * 3


@pytest.mark.parametrize("kind", [*KINDS, Usage], ids=lambda kind: kind.__name__)
def test_events_are_frozen_slotted_keyword_only_data(kind: type[Any]) -> None:
    event = Usage() if kind is Usage else MAKE[kind]("x")
    for field in dataclasses.fields(event):
        assert field.kw_only
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(event, field.name, None)
    assert not hasattr(event, "__dict__")


def test_the_union_is_of_all_events() -> None:
    assert set(KINDS) == set(MAKE)
