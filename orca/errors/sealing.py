"""What a field of an error may hold: every value made to fit its type, every string redacted, no set left open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from decimal import Decimal
from functools import cache, partial
from typing import Any, Final, TypeAlias

from orca.errors.causes import is_closed, known
from orca.events import Usage
from orca.redaction import redact_deep, redact_text

Fit: TypeAlias = Callable[[Any], Any]

_LARGEST: Final = 1 << 63  # what a reader in another language can hold, and what prints


def wire_name(name: str) -> str:
    """Return a field's name on the wire: `exit_code` is `exitCode`, `tag` is `_tag`, `input_tokens` is `input`."""
    if name == "tag":
        return "_tag"
    first, *rest = name.removesuffix("_tokens").split("_")
    return first + "".join(word.capitalize() for word in rest)


class Sealed:
    """A dataclass whose fields fit their types however it was built, so that it can be shown and sent.

    Equality, hash and repr are a dataclass's own, once for all of them: made anew for each, as `dataclass` would, they
    are a third of what importing the ten tags costs every script.
    """

    __slots__ = ()
    __pydantic_config__: Final[dict[str, Any]] = {
        "alias_generator": wire_name,
        "populate_by_name": True,
        "serialize_by_alias": True,
        "extra": "ignore",
    }

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            if field.name != "tag":
                fitted = _fit(str(field.type))(getattr(self, field.name))
                object.__setattr__(self, field.name, fitted)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return _values(self) == _values(other)

    def __hash__(self) -> int:
        return hash(_values(self, hashed=True))

    def __repr__(self) -> str:
        shown = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__qualname__}({', '.join(shown)})"


def _values(sealed: Any, *, hashed: bool = False) -> tuple[object, ...]:
    return tuple(getattr(sealed, field.name) for field in fields(sealed) if not hashed or field.hash is not False)


@cache
def _fit(annotation: str) -> Fit:
    return partial(known, annotation) if is_closed(annotation) else _BY_ANNOTATION[annotation]


def _text(value: object) -> str:
    return "" if value is None else redact_text(value)


def _text_or_none(value: object) -> str | None:
    return None if value is None else redact_text(value)


def _number(kind: type[Any], value: Any) -> Any:
    # By type(): isinstance asks the value for its class, and a proxy whose object is gone raises.
    if not issubclass(type(value), (kind, int)):
        return None
    if issubclass(type(value), Decimal) and not value.is_finite():
        return None  # not even comparable
    return value if abs(value) < _LARGEST else None  # nor what is not finite: JSON has no word for it


def _count(value: object) -> int:
    return _number(int, value) or 0


def _items(value: Any) -> tuple[Any, ...]:
    return tuple(value) if issubclass(type(value), (tuple, list)) else ()


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(_text, _items(value)))


def _only(kind: str, value: object) -> Any:
    return value if type(value).__name__ == kind else None


def _rows(kind: str, value: object) -> tuple[Any, ...]:
    return tuple(row for row in _items(value) if _only(kind, row) is not None)


_BY_ANNOTATION: Final[dict[str, Fit]] = {
    "str": _text,
    "BackendTag": _text,
    "Seam": _text,
    "str | None": _text_or_none,
    "BackendTag | None": _text_or_none,
    "bool": lambda value: value is True,
    "int": _count,
    "int | None": partial(_number, int),
    "float | None": partial(_number, float),
    "Decimal | None": partial(_number, Decimal),
    "tuple[str, ...]": _texts,
    "tuple[RefRejection, ...]": partial(_rows, "RefRejection"),
    "tuple[Diagnostic, ...]": partial(_rows, "Diagnostic"),
    "Usage | None": partial(_only, Usage.__name__),
    "Any": redact_deep,
}
