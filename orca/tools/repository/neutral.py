"""What makes git's answer independent of the caller's machine: one set of flags and one environment, in one place."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from orca.tools.arguments import absolute

Kind: TypeAlias = Literal["read", "write", "network"]

OLDEST_GIT: Final = (2, 36)

# Display settings of the user that reach what we parse, programs that a repository can name for reads, and background
# work. What decides what a commit holds or who may push (identity, signing, hooks, filters, credentials) is not here.
FLAGS: Final = tuple(
    word
    for setting in (
        "core.fsmonitor=false",
        "core.abbrev=auto",
        "color.ui=false",
        "color.advice=false",
        "color.push=false",
        "color.remote=false",
        "color.transport=false",
        "log.showSignature=false",
        "log.showRoot=true",
        "log.follow=false",
        "diff.orderFile=/dev/null",
        "diff.relative=false",
        "diff.renames=true",
        "diff.ignoreSubmodules=none",
        "status.showUntrackedFiles=all",  # for the status of submodules, too
        "i18n.logOutputEncoding=UTF-8",
        "add.ignoreErrors=false",
        "branch.autoSetupMerge=true",
        "branch.autoSetupRebase=never",
        "gc.auto=0",
        "maintenance.auto=false",
    )
    for word in ("-c", setting)
)

_SET: Final = {
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_MERGE_AUTOEDIT": "no",
    "GIT_PAGER": "cat",
    "GIT_ASKPASS": "",  # empty, and not away: core.askPass would take its place
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
}

# A read takes no lock that it can do without. What a partial clone left out it does not fetch, unless it is a step of a
# call that changes something: to fetch is to start a program which the repository names.
_SET_FOR_READS: Final = {"GIT_OPTIONAL_LOCKS": "0"}
_SET_AGAINST_FETCHES: Final = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}

_OUT: Final = frozenset(
    {
        # where a repository and its parts are
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_INDEX_VERSION",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_QUARANTINE_PATH",
        "GIT_COMMON_DIR",
        "GIT_NAMESPACE",
        "GIT_PREFIX",
        "GIT_CEILING_DIRECTORIES",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_GRAFT_FILE",
        "GIT_SHALLOW_FILE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_REPLACE_REF_BASE",
        "GIT_ATTR_SOURCE",
        "GIT_CONFIG",
        # how paths are read and differences shown
        "GIT_LITERAL_PATHSPECS",
        "GIT_GLOB_PATHSPECS",
        "GIT_NOGLOB_PATHSPECS",
        "GIT_ICASE_PATHSPECS",
        "GIT_EXTERNAL_DIFF",
        "GIT_DIFF_OPTS",
        "GIT_REFLOG_ACTION",
        # output that is not ours
        "GIT_CURL_VERBOSE",
        "GIT_REDIRECT_STDIN",
        "GIT_REDIRECT_STDOUT",
        "GIT_REDIRECT_STDERR",
        # places where a prompt could appear
        "SSH_ASKPASS",
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "GPG_TTY",
    }
)
_OUT_PREFIXES: Final = ("GIT_TRACE", "GIT_TR2_")

# What a running git hands to its hooks about itself: none of it is meant for another repository.
_OUT_OF_A_HOOK: Final = frozenset({"GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"})
_OUT_OF_A_HOOK_PREFIXES: Final = ("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "GIT_AUTHOR_", "GIT_COMMITTER_")


def environment(
    kind: Kind, given: Mapping[str, str], *, foreign_hook: bool = False, may_fetch: bool = False
) -> dict[str, str]:
    """Return the environment for a git that reads, writes or talks to a remote.

    `foreign_hook` says that we run inside a hook of another repository, whose identity and configuration must not
    reach this one; `may_fetch` that a read may fetch what a partial clone left out.
    """
    env = {
        name: value
        for name, value in given.items()
        if not (name in _OUT or name.startswith(_OUT_PREFIXES))
        and not (foreign_hook and (name in _OUT_OF_A_HOOK or name.startswith(_OUT_OF_A_HOOK_PREFIXES)))
    }
    env.update(_SET)
    if kind == "read":
        env.update(_SET_FOR_READS if may_fetch else _SET_FOR_READS | _SET_AGAINST_FETCHES)
    return env


def inside_hook(given: Mapping[str, str]) -> bool:
    """Return whether a running git started us: its hook's environment names a repository."""
    return bool(given.get("GIT_DIR") or given.get("GIT_INDEX_FILE"))


def hook_git_dir(given: Mapping[str, str]) -> str:
    """Return the git folder that a hook's environment names; its index lies there even while it is locked."""
    path = hook_path(given.get("GIT_DIR") or os.path.dirname(given["GIT_INDEX_FILE"]))
    return os.path.realpath(path) if os.path.isabs(path) else path


def hook_path(named: str) -> str:
    """Return a path of a hook's environment, absolute: it counts from where the git that runs the hook is.

    `git commit` hands its hooks `GIT_INDEX_FILE=.git/index`, and a hook may have gone to another repository since.
    Relative still only where there is no such git and the current directory is gone.
    """
    return named if os.path.isabs(named) else os.path.join(_hook_cwd(), named)


def _hook_cwd() -> str:
    import psutil

    try:
        for process in psutil.Process().parents():
            if process.name() == "git" or process.name().startswith("git-"):
                return process.cwd()
    except psutil.Error:  # it is gone, or may not be looked at
        pass
    return absolute(".")
