"""What makes gh's answer independent of the caller's machine: its environment, in one place."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from orca.tools.repository import neutral

_SET: Final = {
    "GH_PROMPT_DISABLED": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "GH_NO_EXTENSION_UPDATE_NOTIFIER": "1",
    "GH_SPINNER_DISABLED": "1",
    "GH_TELEMETRY": "false",  # what sends it outlives the gh that started it
    "GH_PAGER": "cat",
    "GH_EDITOR": ":",
    "GH_BROWSER": ":",
    "NO_COLOR": "1",
    "CLICOLOR": "0",
}

# GH_REPO names another repository than the one here; the others show colours, a terminal's width, or every request with
# its headers. Host, token and configuration (GH_HOST, GH_TOKEN, GH_CONFIG_DIR) say who asks whom: they stay.
_OUT: Final = frozenset({"GH_REPO", "GH_FORCE_TTY", "GH_DEBUG", "DEBUG", "CLICOLOR_FORCE", "FORCE_COLOR", "GH_MDWIDTH"})


def environment(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for a gh, and for the git that it asks about remotes."""
    given = os.environ if given is None else given
    env = neutral.environment("read", given, foreign_hook=neutral.inside_hook(given))
    return {name: value for name, value in env.items() if name not in _OUT} | _SET
