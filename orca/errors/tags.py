"""The ten tags: every way in which a call of orca can fail, as plain data.

RuntimeError
├── NothingToCommit                     commit: the index holds no change
├── BranchAlreadyExists                 create_branch: the name is taken
├── PushRejected                        push: the remote refused a ref
├── CommandFailed                       a program failed, did not start or did not end in time; git too
├── StructuredOutputValidationFailed    a reply does not fit its schema
├── UnsupportedFeature                  refused: not possible in this configuration
├── BackendFailed                       an agent CLI failed
├── TypecheckFailed                     a type checker ran and found errors
├── FileSystemError                     a file could not be read or written
└── IoFailed                            a source, a sink or a tool's connection failed
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias, get_args

from orca.events import Usage
from orca.redaction import redact_deep, redact_text

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


def wire_name(name: str) -> str:
    """Return a field's name on the wire: `exit_code` is `exitCode`, `tag` is `_tag`."""
    if name == "tag":
        return "_tag"
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


_WIRE: Final[dict[str, Any]] = {
    "alias_generator": wire_name,
    "populate_by_name": True,
    "serialize_by_alias": True,
    "extra": "ignore",
}


def _closed(**fields: tuple[Any, str]) -> dict[str, tuple[frozenset[str], str]]:
    """Closed sets by field: the words, and the one that stands for a word that is none of them."""
    return {name: (frozenset(get_args(literal)), instead) for name, (literal, instead) in fields.items()}


def known(word: object, closed: tuple[frozenset[str], str]) -> str:
    """Return the word if the closed set has it, else the word that stands for all others."""
    words, instead = closed
    return word if isinstance(word, str) and word in words else instead


class _Sealed:
    """Strings redacted whenever one is built, and closed sets kept closed: an unknown word becomes the set's open one."""

    __slots__ = ()
    __pydantic_config__ = _WIRE
    __closed__ = _closed()

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:  # type: ignore[attr-defined]
            value = getattr(self, name)
            closed = self.__closed__.get(name)
            if closed is not None:
                object.__setattr__(self, name, known(value, closed))
            elif name == "raw":
                object.__setattr__(self, name, redact_deep(value))
            elif isinstance(value, (tuple, list)):
                object.__setattr__(self, name, tuple(v if isinstance(v, _Sealed) else redact_text(v) for v in value))
            elif value is not None and name != "tag" and not isinstance(value, (int, float, Decimal, Usage)):
                object.__setattr__(self, name, redact_text(value))


class _Tagged(_Sealed):
    """One of the ten: `str` is one sentence for a person."""

    __slots__ = ()

    def __str__(self) -> str:
        from orca.errors.advice import sentence

        return sentence(self)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class RefRejection(_Sealed):
    """One ref that the remote refused: its local and remote name, why, and the remote's own words."""

    __closed__ = _closed(cause=(PushCause, "other"))

    local: str
    remote: str
    cause: PushCause = "other"
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic(_Sealed):
    """One finding of a type checker; `line` and `column` count from 1 and are 0 where the checker names none."""

    __closed__ = _closed(severity=(Severity, "information"))

    path: str
    line: int = 0
    column: int = 0
    severity: Severity = "error"
    code: str | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingToCommit(_Tagged):
    """The index holds no change. Skip the commit; `unstaged` and `untracked` count what was there but not staged."""

    tag: Literal["NothingToCommit"] = "NothingToCommit"
    unstaged: int | None = None
    untracked: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchAlreadyExists(_Tagged):
    """The branch to create exists. Switch to it, or take another name."""

    tag: Literal["BranchAlreadyExists"] = "BranchAlreadyExists"
    branch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PushRejected(_Tagged):
    """The remote refused a ref: `cause` says why, `landed` names the refs that it took all the same."""

    __closed__ = _closed(cause=(PushCause, "other"), effect=(Effect, "unknown"))

    tag: Literal["PushRejected"] = "PushRejected"
    remote: str | None = None
    stderr: str
    cause: PushCause = "other"
    refs: tuple[RefRejection, ...] = ()
    landed: tuple[str, ...] = ()
    effect: Effect = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandFailed(_Tagged):
    """A program did not do its work: it failed, never started, was ended, or was refused before it ran.

    `exit_code` is None when the program did not exit by itself, and when its status was lost. `duration_s` is seconds,
    `paths` are what the cause is about (conflicts, ignored paths), `*_dropped` the bytes left out of an output.
    """

    __closed__ = _closed(cause=(CommandCause, "other"), effect=(Effect, "unknown"))

    tag: Literal["CommandFailed"] = "CommandFailed"
    command: str
    exit_code: int | None
    stdout: str
    stderr: str
    cause: CommandCause = "other"
    signal: str | None = None
    cwd: str | None = None
    duration_s: float | None = None
    effect: Effect = "unknown"
    paths: tuple[str, ...] = ()
    stdout_dropped: int = 0
    stderr_dropped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredOutputValidationFailed(_Tagged):
    """A model's reply does not fit the schema: `issues` lists the violations with their paths, `raw` is the reply."""

    tag: Literal["StructuredOutputValidationFailed"] = "StructuredOutputValidationFailed"
    issues: tuple[str, ...]
    raw: Any
    backend: BackendTag | None = None
    session_id: str | None = None
    usage: Usage | None = None
    cost_usd: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsupportedFeature(_Tagged):
    """The request is not possible in this configuration: do not retry it as it is."""

    tag: Literal["UnsupportedFeature"] = "UnsupportedFeature"
    feature: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendFailed(_Tagged):
    """An agent CLI failed: `cause` says how, `retryable` whether the same request may succeed later.

    `retry_after_s` is seconds, `denied` the tool calls that were refused, `cost_usd` what it cost as far as it got.
    """

    __closed__ = _closed(cause=(BackendCause, "other"), effect=(Effect, "unknown"))

    tag: Literal["BackendFailed"] = "BackendFailed"
    backend: BackendTag
    message: str
    cause: BackendCause = "other"
    retryable: bool = False
    retry_after_s: float | None = None
    session_id: str | None = None
    exit_code: int | None = None
    stderr: str = ""
    usage: Usage | None = None
    cost_usd: Decimal | None = None
    denied: tuple[str, ...] = ()
    effect: Effect = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypecheckFailed(_Tagged):
    """A type checker ran and found errors: `diagnostics` are its findings as data."""

    tag: Literal["TypecheckFailed"] = "TypecheckFailed"
    stdout: str
    stderr: str
    exit_code: int | None
    checker: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystemError(_Tagged):
    """A file could not be read or written: `cause` says why, `errno` is the system's number for it."""

    __closed__ = _closed(cause=(FileCause, "other"), effect=(Effect, "unknown"))

    tag: Literal["FileSystemError"] = "FileSystemError"
    path: str
    message: str
    cause: FileCause = "other"
    errno: int | None = None
    effect: Effect = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class IoFailed(_Tagged):
    """A loop's source or sink, or a tool's connection failed: `seam` says where, `kind` names the adapter."""

    tag: Literal["IoFailed"] = "IoFailed"
    seam: Seam
    kind: str
    message: str
    retryable: bool = False


RuntimeError: TypeAlias = (  # the seed's name for the union
    NothingToCommit
    | BranchAlreadyExists
    | PushRejected
    | CommandFailed
    | StructuredOutputValidationFailed
    | UnsupportedFeature
    | BackendFailed
    | TypecheckFailed
    | FileSystemError
    | IoFailed
)
