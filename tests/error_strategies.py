"""Any error there can be, for property tests: each of the ten tags with any value that its fields' types allow."""

from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from orca.errors import RuntimeError

# A busy machine is no finding.
property_test = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

TAGS: tuple[type[Any], ...] = get_args(RuntimeError)

# Lone surrogates too, control characters, and what redaction looks for.
TEXT = st.one_of(
    st.text(st.characters(exclude_categories=())),
    st.text(st.sampled_from("\x00\x1b\r\n\t :#[]`{}%\ud800\udcff\u2028\u202e\u200b"), max_size=12),
    st.sampled_from(
        [
            "::error::no",
            "##[error]no",
            "https://user:hunter2hunter2@example.invalid/x.git?access_token=abcdefgh12345678",
            "Authorization: Basic dXNlcjpodW50ZXIyaHVudGVyMg==",
            "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB",
        ]
    ),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
_BY_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(-(2**63) + 1, 2**63 - 1),
    bool: st.booleans(),
    float: st.floats(-1e18, 1e18),
    Decimal: st.decimals(-(10**18), 10**18),
    type(None): st.none(),
    Any: JSON,
}


def errors(*tags: type[Any]) -> st.SearchStrategy[Any]:
    """Errors of these tags; of all ten when none is named."""
    return st.one_of([_of(tag) for tag in tags or TAGS])


def _of(kind: Any) -> st.SearchStrategy[Any]:
    if kind in _BY_TYPE:
        return _BY_TYPE[kind]
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        return st.builds(kind, **{field.name: _of(hints[field.name]) for field in fields(kind)})
    if get_origin(kind) is Literal:
        return st.sampled_from(get_args(kind))
    if get_origin(kind) is tuple:
        return st.lists(_of(get_args(kind)[0]), max_size=3).map(tuple)
    return st.one_of([_of(one) for one in get_args(kind)])
