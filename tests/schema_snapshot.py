"""The committed JSON Schema of errors, and the rule for changing it: it may only grow."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orca.errors import ERROR_ADAPTER

SNAPSHOT = Path(__file__).parent.parent / "fixtures" / "schemas" / "runtime-error.json"

_NAMED = ("properties", "$defs", "mapping")  # name -> what it stands for: a new name takes nothing away
_CHOICES = ("anyOf", "oneOf")


def current() -> dict[str, Any]:
    """The schema as the code has it now, without the texts for people: they may change."""
    schema: dict[str, Any] = _without_texts(ERROR_ADAPTER.json_schema())
    return schema


def taken_away(old: dict[str, Any], new: dict[str, Any], at: str = "") -> Iterator[str]:
    """What a reader or writer of `old` would miss in `new`, place by place; nothing when it only grew.

    Tags, optional fields and words of a closed set may be added. All else is taken away: also a field that becomes
    required, one that is no longer always there, and a type that allows less or something else.
    """
    old, new = _with_words(old), _with_words(new)
    yield from (f"{at}/{keyword}: was free" for keyword in new.keys() - old.keys())
    for keyword, was in old.items():
        here = f"{at}/{keyword}"
        now: Any = new.get(keyword)
        if type(now) is not type(was):
            yield f"{here}: is gone or of another kind"
        elif keyword in _NAMED:
            yield from (f"{here}/{name}: is gone" for name in was.keys() - now.keys())
            for name in was.keys() & now.keys():
                yield from _changed(was[name], now[name], f"{here}/{name}")
        elif keyword == "enum":
            yield from (f"{here}: {word!r} is gone" for word in was if word not in now)
        elif keyword == "required":
            yield from (f"{here}: {name} is newly required" for name in now if name not in was)
            yield from (f"{here}: {name} is no longer always there" for name in was if name not in now)
        elif keyword in _CHOICES:
            yield from (f"{here}: no longer {one}" for one in was if all(any(taken_away(one, other)) for other in now))
        else:
            yield from _changed(was, now, here)


def _changed(was: Any, now: Any, at: str) -> Iterator[str]:
    if isinstance(was, dict) and isinstance(now, dict):
        yield from taken_away(was, now, at)
    elif was != now:
        yield f"{at}: was {was!r}, is {now!r}"


def _with_words(schema: dict[str, Any]) -> dict[str, Any]:
    """A set of one word as the set that it is: `const` becomes `enum`, and the two can be compared."""
    if "const" not in schema:
        return schema
    return {name: value for name, value in schema.items() if name != "const"} | {"enum": [schema["const"]]}


def _without_texts(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_texts(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _without_texts(value)
        for name, value in schema.items()
        if not (name in ("title", "description") and isinstance(value, str))
    }


def main() -> int:
    """Write the snapshot, unless that would take something away from it."""
    schema = current()
    if SNAPSHOT.exists():
        lost = sorted(taken_away(json.loads(SNAPSHOT.read_text(encoding="utf-8")), schema))
        if lost:
            print("not written, the schema may only grow:", *lost, sep="\n  ", file=sys.stderr)
            return 1
    SNAPSHOT.parent.mkdir(parents=True, exist_ok=True)
    SNAPSHOT.write_text(json.dumps(schema, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
