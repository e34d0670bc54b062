"""Which projects a tsconfig.json stands for."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Final

_COMMENT: Final = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA: Final = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', re.DOTALL)


def projects(config: str) -> tuple[str, ...]:
    """Return the configurations that have files among `config` and, where it has none, those that it references.

    tsc is content with a project that only references others, and checks none of them. What cannot be read is left
    to tsc, which can say what is wrong.
    """
    value = _read(config)
    references = _references(config, value)
    if not references or value.get("files") != [] or "include" in value:
        return (config,)
    found = dict.fromkeys(references)
    queue = list(references)
    while queue:
        project = queue.pop()
        for each in _references(project, _read(project)):
            if each not in found:
                found[each] = None
                queue.append(each)
    with_files = (project for project in found if _has_files(_read(project)))
    return tuple(with_files) or (config,)


def parse_jsonc(text: str) -> Any:
    """Return the value of JSON with comments and commas after last elements; raises ValueError or RecursionError."""
    without_comments = _COMMENT.sub(lambda match: match[1] or " ", text)
    return json.loads(_LAST_COMMA.sub(lambda match: match[1] or "", without_comments))


def _read(config: str) -> dict[str, Any]:
    try:
        with open(config, encoding="utf-8-sig") as file:
            value = parse_jsonc(file.read())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _references(config: str, value: dict[str, Any]) -> tuple[str, ...]:
    entries = value.get("references")
    paths = [entry.get("path") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    above = os.path.dirname(config)
    return tuple(_config(os.path.normpath(os.path.join(above, path))) for path in paths if isinstance(path, str))


def _config(path: str) -> str:
    return os.path.join(path, "tsconfig.json") if os.path.isdir(path) else path


def _has_files(value: dict[str, Any]) -> bool:
    return value.get("files") != [] or "include" in value
