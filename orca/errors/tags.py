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

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from orca.errors.causes import BackendCause, BackendTag, CommandCause, Effect, FileCause, PushCause, Seam, Severity
from orca.errors.sealing import Sealed
from orca.events import Usage


class _Tagged(Sealed):
    """One of the ten: `str` is one sentence for a person."""

    __slots__ = ()

    def __str__(self) -> str:
        from orca.errors.advice import sentence

        return sentence(self)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RefRejection(Sealed):
    """One ref that the remote refused: its local and remote name, why, and the remote's own words."""

    local: str
    remote: str
    cause: PushCause = "other"
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Diagnostic(Sealed):
    """One finding of a type checker; `line` and `column` count from 1 and are 0 where the checker names none."""

    path: str
    line: int = 0
    column: int = 0
    severity: Severity = "error"
    code: str | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NothingToCommit(_Tagged):
    """The index holds no change. Skip the commit; `unstaged` and `untracked` count what was there but not staged."""

    tag: Literal["NothingToCommit"] = "NothingToCommit"
    unstaged: int | None = None
    untracked: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class BranchAlreadyExists(_Tagged):
    """The branch to create exists. Switch to it, or take another name."""

    tag: Literal["BranchAlreadyExists"] = "BranchAlreadyExists"
    branch: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PushRejected(_Tagged):
    """The remote refused a ref: `cause` says why, `landed` names the refs that it took all the same."""

    tag: Literal["PushRejected"] = "PushRejected"
    remote: str | None = None
    stderr: str
    cause: PushCause = "other"
    refs: tuple[RefRejection, ...] = ()
    landed: tuple[str, ...] = ()
    effect: Effect = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CommandFailed(_Tagged):
    """A program did not do its work: it failed, never started, was ended, or was refused before it ran.

    `exit_code` is None when the program did not exit by itself, and when its status was lost. `duration_s` is seconds,
    `paths` are what the cause is about (conflicts, ignored paths), `*_dropped` the bytes left out of an output.
    """

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StructuredOutputValidationFailed(_Tagged):
    """A model's reply does not fit the schema: `issues` lists the violations with their paths, `raw` is the reply."""

    tag: Literal["StructuredOutputValidationFailed"] = "StructuredOutputValidationFailed"
    issues: tuple[str, ...]
    raw: Any = field(hash=False)
    backend: BackendTag | None = None
    session_id: str | None = None
    usage: Usage | None = None
    cost_usd: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class UnsupportedFeature(_Tagged):
    """The request is not possible in this configuration: do not retry it as it is."""

    tag: Literal["UnsupportedFeature"] = "UnsupportedFeature"
    feature: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class BackendFailed(_Tagged):
    """An agent CLI failed: `cause` says how, `retryable` whether the same request may succeed later.

    `retry_after_s` is seconds, `denied` the tool calls that were refused, `cost_usd` what it cost as far as it got.
    """

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TypecheckFailed(_Tagged):
    """A type checker ran and found errors: `diagnostics` are its findings as data."""

    tag: Literal["TypecheckFailed"] = "TypecheckFailed"
    stdout: str
    stderr: str
    exit_code: int | None
    checker: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FileSystemError(_Tagged):
    """A file could not be read or written: `cause` says why, `errno` is the system's number for it."""

    tag: Literal["FileSystemError"] = "FileSystemError"
    path: str
    message: str
    cause: FileCause = "other"
    errno: int | None = None
    effect: Effect = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
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
