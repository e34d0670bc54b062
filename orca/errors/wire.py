"""The wire form of an error: the seed's camelCase names, `_tag` as discriminator, and its JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, Final, get_args

from pydantic import Field, TypeAdapter, ValidationError

from orca.errors.causes import is_closed, known
from orca.errors.tags import Diagnostic, NothingToCommit, RefRejection, RuntimeError

_SEED_FIELDS: Final[dict[str, frozenset[str]]] = {
    "NothingToCommit": frozenset(),
    "BranchAlreadyExists": frozenset({"branch"}),
    "PushRejected": frozenset({"remote", "stderr"}),
    "CommandFailed": frozenset({"command", "exitCode", "stdout", "stderr"}),
    "StructuredOutputValidationFailed": frozenset({"issues", "raw"}),
    "UnsupportedFeature": frozenset({"feature", "reason"}),
    "BackendFailed": frozenset({"backend", "message"}),
    "TypecheckFailed": frozenset({"stdout", "stderr", "exitCode"}),
    "FileSystemError": frozenset({"path", "message"}),
    "IoFailed": frozenset({"seam", "kind", "message"}),
}

ERROR_ADAPTER: Final[TypeAdapter[RuntimeError]] = TypeAdapter(Annotated[RuntimeError, Field(discriminator="tag")])


def to_wire(error: RuntimeError, *, seed_only: bool = False) -> dict[str, Any]:
    """Return the error as JSON-able data with the seed's names.

    A required field is always there (None allowed), an optional one only when it has a value. `seed_only=True` leaves
    out the fields that orca adds, for a reader of the seed system.

    >>> from orca.errors import branch_already_exists, to_wire
    >>> to_wire(branch_already_exists("main"))
    {'_tag': 'BranchAlreadyExists', 'branch': 'main'}
    """
    wire: dict[str, Any] = _without_absent(
        error, ERROR_ADAPTER.dump_python(error, mode="json", by_alias=True, warnings=False)
    )
    if not seed_only:
        return wire
    kept = _SEED_FIELDS[error.tag]
    return {name: value for name, value in wire.items() if name == "_tag" or name in kept}


def parse_error(wire: str | bytes | Mapping[str, Any]) -> RuntimeError:
    """Return the error that a JSON text or decoded JSON object holds; what is not one raises `ValueError`.

    Unknown fields are ignored, what the writer did not know becomes `cause="other"` and `effect="unknown"`, and so does
    a word that this version does not know: payloads may grow, tags may not.

    >>> from orca.errors import parse_error
    >>> parse_error('{"_tag": "CommandFailed", "command": "false", "exitCode": 1, "stdout": "", "stderr": ""}').cause
    'other'
    """
    try:
        payload = json.loads(wire) if isinstance(wire, (str, bytes)) else wire
        return ERROR_ADAPTER.validate_python(_known_words(payload))
    except RecursionError:
        raise ValueError("not an error of orca: nested too deeply") from None
    except ValueError as invalid:
        raise ValueError(f"not an error of orca: {_first_issue(invalid)}") from None


def _without_absent(value: object, wire: Any) -> Any:
    if isinstance(value, tuple):
        return [_without_absent(v, w) for v, w in zip(value, wire, strict=True)]
    if not is_dataclass(value):
        return wire
    names = dict(zip((f.name for f in fields(value)), wire, strict=True))
    return {
        names[f.name]: _without_absent(getattr(value, f.name), wire[names[f.name]])
        for f in fields(value)
        if getattr(value, f.name) is not None or (f.default is MISSING and f.default_factory is MISSING)
    }


def _known_words(payload: Any) -> Any:
    """Words of closed sets that only a newer writer knows, as the words that stand for all others."""
    if not isinstance(payload, Mapping):
        return payload
    types = {tagged.__name__: tagged for tagged in get_args(RuntimeError)}
    wire = _known_row(payload, types.get(str(payload.get("_tag")), NothingToCommit))
    if wire.get("_tag") == "StructuredOutputValidationFailed":
        wire.setdefault("raw", None)  # the seed system writes no field whose value is undefined
    for rows, row_type in (("refs", RefRejection), ("diagnostics", Diagnostic)):
        if isinstance(wire.get(rows), (list, tuple)):
            wire[rows] = [_known_row(row, row_type) if isinstance(row, Mapping) else row for row in wire[rows]]
    return wire


def _known_row(row: Mapping[str, Any], row_type: type[Any]) -> dict[str, Any]:
    words = {field.name: str(field.type) for field in fields(row_type) if is_closed(str(field.type))}
    return dict(row) | {name: known(words[name], row[name]) for name in words.keys() & row.keys()}


def _first_issue(invalid: ValueError) -> str:
    """The place and kind of the first problem, without the input: it may hold a secret."""
    if isinstance(invalid, ValidationError):
        issue = invalid.errors(include_input=False, include_url=False, include_context=False)[0]
        return f"{'.'.join(map(str, issue['loc'])) or 'value'}: {issue['type']}"
    return "bad JSON"
