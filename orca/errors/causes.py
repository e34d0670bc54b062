"""The closed sets of words in an error: causes, effects and the like, and what stands for a word that is in none."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

BackendTag: TypeAlias = Literal["claude", "codex", "opencode", "pi"]
Effect: TypeAlias = Literal["none", "unknown", "landed"]
Seam: TypeAlias = Literal["source", "sink", "tool"]
Severity: TypeAlias = Literal["error", "warning", "information"]

PushCause: TypeAlias = Literal[
    "fetch-first",
    "non-fast-forward",
    "stale-lease",
    "already-exists",
    "hook-declined",
    "protected",
    "atomic",
    "checked-out",
    "deletion-denied",
    "shallow",
    "other",
]
CommandCause: TypeAlias = Literal[
    # of the process
    "exit",
    "signal",
    "timeout",
    "cancelled",
    "not-found",
    "not-executable",
    "bad-format",
    "bad-interpreter",
    "bad-cwd",
    "bad-argument",
    "too-long",
    "refused",
    "checker-failed",
    # of git
    "not-a-repository",
    "dubious-ownership",
    "identity-missing",
    "signing-failed",
    "hook-failed",
    "locked",
    "conflict",
    "dirty",
    "ignored-path",
    "unknown-path",
    "unknown-ref",
    "bad-ref-name",
    "ref-conflict",
    "unknown-remote",
    "no-upstream",
    "detached",
    "unborn",
    "auth",
    "network",
    # of GitHub
    "rate-limit",
    "other",
]
BackendCause: TypeAlias = Literal[
    "not-installed",
    "auth",
    "rate-limit",
    "usage-limit",
    "overloaded",
    "network",
    "bad-model",
    "bad-request",
    "context-overflow",
    "max-turns",
    "budget",
    "permission",
    "session-not-found",
    "timeout",
    "stalled",
    "cancelled",
    "protocol",
    "crashed",
    "other",
]
FileCause: TypeAlias = Literal[
    "not-found",
    "already-exists",
    "permission",
    "is-a-directory",
    "not-a-directory",
    "not-a-file",
    "outside-root",
    "symlink",
    "no-space",
    "read-only",
    "not-text",
    "too-large",
    "no-match",
    "ambiguous",
    "other",
]

# By the name of the set: its words, and the one that stands for any other.
_OPEN_WORDS: Final = {
    "PushCause": (frozenset(get_args(PushCause)), "other"),
    "CommandCause": (frozenset(get_args(CommandCause)), "other"),
    "BackendCause": (frozenset(get_args(BackendCause)), "other"),
    "FileCause": (frozenset(get_args(FileCause)), "other"),
    "Effect": (frozenset(get_args(Effect)), "unknown"),
    "Severity": (frozenset(get_args(Severity)), "information"),
}


def is_closed(set_name: str) -> bool:
    """Return whether a field of this type holds words of a closed set in which one word stands for all others."""
    return set_name in _OPEN_WORDS


def known(set_name: str, word: object) -> str:
    """Return the word if the closed set has it, else the word that stands for all others."""
    words, instead = _OPEN_WORDS[set_name]
    return word if type(word) is str and word in words else instead
