"""A caller whose display settings, in git's configuration and in the environment, change all that git prints."""

from collections.abc import Mapping
from pathlib import Path

CONFIG = Path(__file__).with_name("hostile.gitconfig")

ENVIRONMENT: Mapping[str, str] = {
    "FORCE_COLOR": "1",
    "CLICOLOR_FORCE": "1",
    "TERM": "xterm-256color",
    "COLUMNS": "20",
    "PAGER": "sleep 1000",
    "EDITOR": "sleep 1000; :",
    "VISUAL": "sleep 1000; :",
    "GIT_PAGER": "sleep 1000",
    "GIT_PAGER_IN_USE": "1",  # "automatic" colour is then on, into a pipe too
    "GIT_EDITOR": "sleep 1000; :",
    "GIT_SEQUENCE_EDITOR": "sleep 1000; :",
    "GIT_EXTERNAL_DIFF": "echo hostile",
    "GIT_DIFF_OPTS": "--unified=0",
    "GIT_MERGE_VERBOSITY": "5",
    "GIT_REFLOG_ACTION": "hostile",
    "GIT_TRACE": "1",
    "GIT_TRACE2": "1",
    "GIT_TRACE_SETUP": "1",
    "GIT_TRACE_PERFORMANCE": "1",
    "GIT_TRACE_PACKET": "1",
    "GIT_TRACE_CURL": "1",
    "GIT_CURL_VERBOSE": "1",
    # Together these two are fatal to any command that takes a path.
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ICASE_PATHSPECS": "1",
}


def configure(home: Path) -> None:
    """Adds the hostile settings to the configuration of the user whose home it is."""
    (home / ".order").write_text("z*\n")
    with (home / ".gitconfig").open("a") as config:
        config.write(f'[include]\n\tpath = "{CONFIG}"\n')
