"""Errors as JSON: the seed system's names, nothing lost on the way, and a schema that only grows."""

import copy
import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import schema_snapshot
from error_strategies import TAGS, errors, property_test
from hypothesis import given

from orca import (
    BackendFailed,
    CommandFailed,
    FileSystemError,
    PushRejected,
    StructuredOutputValidationFailed,
    TypecheckFailed,
    parse_error,
    to_wire,
)
from orca.errors import (
    RuntimeError,
    backend_failed,
    command_failed,
    structured_output_validation_failed,
)
from orca.events import Usage

SEED = Path(__file__).parent.parent / "fixtures" / "seed"  # written by hand from the seed system's types
SAMPLES = sorted(SEED.glob("*.json"))

# The fields of the seed system, written out: required ones, then optional ones.
SEED_FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "NothingToCommit": (set(), set()),
    "BranchAlreadyExists": ({"branch"}, set()),
    "PushRejected": ({"stderr"}, {"remote"}),
    "CommandFailed": ({"command", "exitCode", "stdout", "stderr"}, set()),
    "StructuredOutputValidationFailed": ({"issues", "raw"}, set()),
    "UnsupportedFeature": ({"feature", "reason"}, set()),
    "BackendFailed": ({"backend", "message"}, set()),
    "TypecheckFailed": ({"stdout", "stderr", "exitCode"}, set()),
    "FileSystemError": ({"path", "message"}, set()),
    "IoFailed": ({"seam", "kind", "message"}, set()),
}


def sample(name: str) -> dict[str, Any]:
    wire: dict[str, Any] = json.loads((SEED / f"{name}.json").read_text(encoding="utf-8"))
    return wire


def test_every_tag_has_a_sample_of_the_seed_system() -> None:
    assert {json.loads(path.read_text(encoding="utf-8"))["_tag"] for path in SAMPLES} == set(SEED_FIELDS)
    assert {tag.__name__ for tag in TAGS} == set(SEED_FIELDS)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_what_the_seed_system_wrote_is_read_and_written_back_as_it_was(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    wire = json.loads(text)
    for given_as in (text, text.encode(), wire):
        error = parse_error(given_as)
        assert error.tag == wire["_tag"] == type(error).__name__
        assert to_wire(error, seed_only=True) == wire


def test_what_the_seed_system_does_not_know_is_filled_in() -> None:
    for name, tag in (
        ("push-rejected", PushRejected),
        ("command-failed", CommandFailed),
        ("backend-failed", BackendFailed),
        ("file-system-error", FileSystemError),
    ):
        error = parse_error(sample(name))
        assert isinstance(error, tag)
        assert (error.cause, error.effect) == ("other", "unknown")


def test_a_reply_that_was_undefined_is_read_as_none() -> None:
    error = parse_error({"_tag": "StructuredOutputValidationFailed", "issues": ["Required"]})
    assert isinstance(error, StructuredOutputValidationFailed)
    assert error.raw is None


@property_test
@given(errors())
def test_seed_only_writes_the_fields_of_the_seed_and_no_other(error: RuntimeError) -> None:
    required, optional = SEED_FIELDS[error.tag]
    written = set(to_wire(error, seed_only=True))
    assert {"_tag"} | required <= written <= {"_tag"} | required | optional


@property_test
@given(errors())
def test_every_error_comes_back_from_json_as_it_was(error: RuntimeError) -> None:
    text = json.dumps(to_wire(error), ensure_ascii=False, allow_nan=False)
    assert parse_error(text.encode("utf-8")) == error


@property_test
@given(errors())
def test_a_required_field_is_always_written_and_an_absent_one_never(error: RuntimeError) -> None:
    wire = to_wire(error)
    assert SEED_FIELDS[error.tag][0] <= wire.keys()
    assert {name for name, value in wire.items() if value is None} <= {"exitCode", "raw"}


def test_names_on_the_wire_are_those_of_the_seed_system() -> None:
    error = backend_failed(
        "codex",
        "overloaded",
        retry_after_s=1.5,
        session_id="s1",
        exit_code=3,
        usage=Usage(input_tokens=1, output_tokens=2, reasoning_tokens=3, cache_read_tokens=4, cache_write_tokens=5),
        cost_usd=Decimal("0.10"),
    )
    wire = to_wire(error)
    assert wire["usage"] == {"input": 1, "output": 2, "reasoning": 3, "cacheRead": 4, "cacheWrite": 5}
    assert wire.keys() >= {"retryAfterS", "sessionId", "exitCode", "costUsd"}
    assert parse_error(wire) == error


def test_tokens_that_are_unknown_are_not_written() -> None:
    wire = to_wire(backend_failed("claude", "no", usage=Usage(output_tokens=0)))
    assert wire["usage"] == {"output": 0}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_unknown_fields_are_ignored(path: Path) -> None:
    wire = json.loads(path.read_text(encoding="utf-8"))
    assert parse_error(wire | {"addedLater": {"deep": [1]}}) == parse_error(wire)


def test_unknown_fields_of_rows_are_ignored() -> None:
    ref = {"local": "main", "remote": "main", "cause": "fetch-first", "addedLater": 1}
    diagnostic = {"path": "a.py", "severity": "error", "addedLater": 1}
    pushed = parse_error({"_tag": "PushRejected", "stderr": "", "refs": [ref]})
    checked = parse_error(
        {"_tag": "TypecheckFailed", "stdout": "", "stderr": "", "exitCode": 1, "diagnostics": [diagnostic]}
    )
    assert isinstance(pushed, PushRejected)
    assert isinstance(checked, TypecheckFailed)
    assert (pushed.refs[0].cause, checked.diagnostics[0].path) == ("fetch-first", "a.py")


def test_words_of_a_newer_writer_become_the_open_ones() -> None:
    for name in ("push-rejected", "command-failed", "backend-failed", "file-system-error"):
        error = parse_error(sample(name) | {"cause": "gremlins", "effect": "half"})
        assert isinstance(error, (PushRejected, CommandFailed, BackendFailed, FileSystemError))
        assert (error.cause, error.effect) == ("other", "unknown")
    pushed = parse_error(
        sample("push-rejected") | {"refs": [{"local": "a", "remote": "b", "cause": "gremlins", "message": ""}]}
    )
    assert isinstance(pushed, PushRejected)
    assert pushed.refs[0].cause == "other"
    checked = parse_error(sample("typecheck-failed") | {"diagnostics": [{"path": "a.ts", "severity": "hint"}]})
    assert isinstance(checked, TypecheckFailed)
    assert checked.diagnostics[0].severity == "information"


SECRET = "hunter2-hunter2"


@pytest.mark.parametrize(
    "wire",
    [
        f'{{"_tag": "{SECRET}"}}',
        f'{{"_tag": "CommandFailed", "command": "{SECRET}"',
        f'"{SECRET}"',
        f"\xff{SECRET}".encode("latin-1"),
        "[" * 100_000 + SECRET,
        SECRET,
        "",
        "null",
        "[]",
        {},
        {"_tag": None},
        {"_tag": [SECRET]},
        {SECRET: SECRET},
        {"_tag": "BranchAlreadyExists"},
        {"_tag": "BranchAlreadyExists", "branch": {"name": SECRET}},
        {"_tag": "BranchAlreadyExists", "branch": None},
        {"_tag": "CommandFailed", "command": "x", "exitCode": SECRET, "stdout": "", "stderr": ""},
        {"_tag": "CommandFailed", "command": "x", "stdout": "", "stderr": ""},
        {"_tag": "PushRejected", "stderr": "", "refs": [SECRET]},
        {"_tag": "PushRejected", "stderr": "", "refs": {SECRET: 1}},
        {"_tag": "PushRejected", "stderr": "", "landed": [{SECRET: 1}]},
        {"_tag": "BackendFailed", "backend": SECRET, "message": ""},
        {"_tag": "BackendFailed", "backend": "pi", "message": "", "usage": {"input": SECRET}},
        {"_tag": "IoFailed", "seam": SECRET, "kind": "", "message": ""},
    ],
    ids=repr,
)
def test_what_is_no_error_is_refused_without_being_shown(wire: str | bytes | Mapping[str, Any]) -> None:
    with pytest.raises(ValueError) as refused:
        parse_error(wire)
    assert SECRET not in str(refused.value)
    assert refused.value.__suppress_context__  # a traceback would show the input too


def test_what_is_written_is_json_even_where_the_number_is_none() -> None:
    for number in (float("nan"), float("inf"), float("-inf")):
        error = command_failed("x", None, "", "", duration_s=number)
        assert "durationS" not in to_wire(error)
    for cost in ("NaN", "sNaN", "Infinity"):
        error_of_backend = backend_failed("pi", "", cost_usd=Decimal(cost), retry_after_s=float("inf"))
        wire = to_wire(error_of_backend)
        assert wire.keys().isdisjoint({"costUsd", "retryAfterS"})
        assert parse_error(wire) == error_of_backend


def test_a_cost_keeps_every_digit() -> None:
    error = backend_failed("pi", "", cost_usd=Decimal("0.100000000000000000000000001"))
    assert parse_error(json.dumps(to_wire(error))) == error


def test_a_reply_of_any_shape_is_written_as_json() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    for raw in (cycle, {1: {2}}, b"\xff\x00", object(), float("nan"), {"a": ("b", Decimal(1))}, "\ud800"):
        wire = to_wire(structured_output_validation_failed([], raw))
        text = json.dumps(wire, allow_nan=False)
        assert parse_error(text) == structured_output_validation_failed([], raw)


def test_the_schema_is_the_one_that_was_committed() -> None:
    committed = json.loads(schema_snapshot.SNAPSHOT.read_text(encoding="utf-8"))
    assert schema_snapshot.current() == committed, "run scripts/update-schema"


def test_the_schema_describes_what_is_written() -> None:
    definitions = schema_snapshot.current()["$defs"]
    for path in SAMPLES:
        error = parse_error(path.read_text(encoding="utf-8"))
        described = definitions[error.tag]
        assert set(described.get("required", ())) <= to_wire(error).keys() <= described["properties"].keys()


def small_schema() -> dict[str, Any]:
    return {
        "$defs": {
            "A": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "_tag": {"const": "A", "type": "string"},
                    "name": {"type": "string"},
                    "cause": {"enum": ["x", "other"], "type": "string"},
                    "count": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                    "rows": {"type": "array", "items": {"$ref": "#/$defs/Row"}},
                },
            },
            "Row": {"type": "object", "properties": {"path": {"type": "string"}}},
        },
        "discriminator": {"mapping": {"A": "#/$defs/A"}, "propertyName": "_tag"},
        "oneOf": [{"$ref": "#/$defs/A"}],
    }


def grow(schema: dict[str, Any]) -> None:
    schema["$defs"]["B"] = {"type": "object", "properties": {"_tag": {"const": "B"}}, "required": ["_tag"]}
    schema["discriminator"]["mapping"]["B"] = "#/$defs/B"
    schema["oneOf"].append({"$ref": "#/$defs/B"})
    properties = schema["$defs"]["A"]["properties"]
    properties["added"] = {"type": "string"}
    properties["cause"]["enum"].insert(0, "y")
    properties["count"]["anyOf"].append({"type": "string"})
    properties["_tag"] = {"enum": ["A", "A2"], "type": "string"}


def test_a_schema_that_only_grew_has_lost_nothing() -> None:
    old, new = small_schema(), small_schema()
    assert not list(schema_snapshot.taken_away(old, new))
    grow(new)
    assert not list(schema_snapshot.taken_away(old, new))


TAKEN_AWAY = {
    "a tag": lambda s: (s["$defs"].pop("Row"), s["oneOf"].clear()),
    "a tag of the union": lambda s: s["oneOf"].clear(),
    "a tag of the mapping": lambda s: s["discriminator"]["mapping"].clear(),
    "a field": lambda s: s["$defs"]["A"]["properties"].pop("cause"),
    "a field of a row": lambda s: s["$defs"]["Row"]["properties"].pop("path"),
    "a word": lambda s: s["$defs"]["A"]["properties"]["cause"]["enum"].remove("x"),
    "a word for another": lambda s: s["$defs"]["A"]["properties"]["_tag"].update(const="Z"),
    "an alternative": lambda s: s["$defs"]["A"]["properties"]["count"]["anyOf"].pop(0),
    "a type": lambda s: s["$defs"]["A"]["properties"]["name"].update(type="integer"),
    "freedom": lambda s: s["$defs"]["A"]["properties"]["name"].update(maxLength=3),
    "optionality": lambda s: s["$defs"]["A"]["required"].append("cause"),
    "optionality where nothing was required": lambda s: s["$defs"]["Row"].update(required=["path"]),
    "certainty": lambda s: s["$defs"]["A"]["required"].clear(),
    "a kind of row": lambda s: s["$defs"]["A"]["properties"]["rows"]["items"].update({"$ref": "#/$defs/A"}),
}


@pytest.mark.parametrize("change", TAKEN_AWAY.values(), ids=TAKEN_AWAY.keys())
def test_a_schema_that_lost_something_is_found_out(change: Any) -> None:
    new, grown_too = small_schema(), small_schema()
    grow(grown_too)
    change(new)
    change(grown_too)
    assert list(schema_snapshot.taken_away(small_schema(), new))
    assert list(schema_snapshot.taken_away(small_schema(), grown_too))


def test_update_schema_refuses_to_take_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = tmp_path / "schemas" / "errors.json"
    monkeypatch.setattr(schema_snapshot, "SNAPSHOT", snapshot)
    assert schema_snapshot.main() == 0
    assert json.loads(snapshot.read_text()) == schema_snapshot.current()

    larger = copy.deepcopy(schema_snapshot.current())
    larger["$defs"]["NothingToCommit"]["properties"]["ignored"] = {"type": "integer"}
    snapshot.write_text(json.dumps(larger))
    assert schema_snapshot.main() == 1
    assert json.loads(snapshot.read_text()) == larger

    smaller = copy.deepcopy(schema_snapshot.current())
    del smaller["$defs"]["NothingToCommit"]["properties"]["untracked"]
    snapshot.write_text(json.dumps(smaller))
    assert schema_snapshot.main() == 0
    assert json.loads(snapshot.read_text()) == schema_snapshot.current()
