"""One constructor for each tag: they never raise, do no I/O, and redact what they are given."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TypeVar

from orca.errors.causes import BackendCause, BackendTag, CommandCause, Effect, FileCause, PushCause, Seam
from orca.errors.tags import (
    BackendFailed,
    BranchAlreadyExists,
    CommandFailed,
    Diagnostic,
    FileSystemError,
    IoFailed,
    NothingToCommit,
    PushRejected,
    RefRejection,
    StructuredOutputValidationFailed,
    TypecheckFailed,
    UnsupportedFeature,
)
from orca.events import Usage

T = TypeVar("T")


def _tuple(items: Iterable[T]) -> tuple[T, ...]:
    try:
        if isinstance(items, str):
            return (items,)  # type: ignore[return-value]  # one item, not its characters
        return tuple(items)
    except Exception:  # noqa: BLE001 a constructor never raises, whatever it is given
        return ()


def nothing_to_commit(*, unstaged: int | None = None, untracked: int | None = None) -> NothingToCommit:
    """Return the failure of a commit whose index holds no change; counts are files, None where nobody counted.

    >>> nothing_to_commit(unstaged=1, untracked=0).unstaged
    1
    """
    return NothingToCommit(unstaged=unstaged, untracked=untracked)


def branch_already_exists(branch: str) -> BranchAlreadyExists:
    """Return the failure to create a branch whose name is taken.

    >>> branch_already_exists("feature").branch
    'feature'
    """
    return BranchAlreadyExists(branch=branch)


def push_rejected(
    stderr: str,
    *,
    remote: str | None = None,
    cause: PushCause = "other",
    refs: Iterable[RefRejection] = (),
    landed: Iterable[str] = (),
    effect: Effect = "unknown",
) -> PushRejected:
    """Return the failure of a push that the remote refused, wholly or for some refs.

    >>> push_rejected("! [rejected] main -> main (fetch first)", remote="origin", cause="fetch-first").cause
    'fetch-first'
    """
    return PushRejected(
        remote=remote, stderr=stderr, cause=cause, refs=_tuple(refs), landed=_tuple(landed), effect=effect
    )


def command_failed(
    command: str,
    exit_code: int | None,
    stdout: str,
    stderr: str,
    *,
    cause: CommandCause = "other",
    signal: str | None = None,
    cwd: str | None = None,
    duration_s: float | None = None,
    effect: Effect = "unknown",
    paths: Iterable[str] = (),
    stdout_dropped: int = 0,
    stderr_dropped: int = 0,
) -> CommandFailed:
    """Return the failure of a program; `command` is its line as a shell would write it, `duration_s` is in seconds.

    >>> command_failed("make", 2, "", "no rule", cause="exit").exit_code
    2
    """
    return CommandFailed(
        command=command,
        exit_code=exit_code,
        stdout=stdout,
        stderr=stderr,
        cause=cause,
        signal=signal,
        cwd=cwd,
        duration_s=duration_s,
        effect=effect,
        paths=_tuple(paths),
        stdout_dropped=stdout_dropped,
        stderr_dropped=stderr_dropped,
    )


def structured_output_validation_failed(
    issues: Iterable[str],
    raw: object,
    *,
    backend: BackendTag | None = None,
    session_id: str | None = None,
    usage: Usage | None = None,
    cost_usd: Decimal | None = None,
) -> StructuredOutputValidationFailed:
    """Return the failure of a reply that does not fit its schema; `raw` is made JSON-able.

    >>> structured_output_validation_failed(["tasks.0.id: missing"], {"tasks": [{}]}).raw
    {'tasks': [{}]}
    """
    return StructuredOutputValidationFailed(
        issues=_tuple(issues), raw=raw, backend=backend, session_id=session_id, usage=usage, cost_usd=cost_usd
    )


def unsupported_feature(feature: str, reason: str) -> UnsupportedFeature:
    """Return the refusal of what this configuration cannot do.

    >>> unsupported_feature("git 2.20.1", "git 2.36 or later is needed").feature
    'git 2.20.1'
    """
    return UnsupportedFeature(feature=feature, reason=reason)


def backend_failed(
    backend: BackendTag,
    message: str,
    *,
    cause: BackendCause = "other",
    retryable: bool = False,
    retry_after_s: float | None = None,
    session_id: str | None = None,
    exit_code: int | None = None,
    stderr: str = "",
    usage: Usage | None = None,
    cost_usd: Decimal | None = None,
    denied: Iterable[str] = (),
    effect: Effect = "unknown",
) -> BackendFailed:
    """Return the failure of an agent CLI; `retry_after_s` is in seconds.

    >>> backend_failed("claude", "529 overloaded", cause="overloaded", retryable=True).retryable
    True
    """
    return BackendFailed(
        backend=backend,
        message=message,
        cause=cause,
        retryable=retryable,
        retry_after_s=retry_after_s,
        session_id=session_id,
        exit_code=exit_code,
        stderr=stderr,
        usage=usage,
        cost_usd=cost_usd,
        denied=_tuple(denied),
        effect=effect,
    )


def typecheck_failed(
    stdout: str,
    stderr: str,
    exit_code: int | None,
    *,
    checker: str | None = None,
    diagnostics: Iterable[Diagnostic] = (),
) -> TypecheckFailed:
    """Return the failure of code that a type checker complained about.

    >>> typecheck_failed("", "", 1, checker="mypy", diagnostics=[Diagnostic(path="a.py", line=3)]).diagnostics[0].line
    3
    """
    return TypecheckFailed(
        stdout=stdout, stderr=stderr, exit_code=exit_code, checker=checker, diagnostics=_tuple(diagnostics)
    )


def file_system_error(
    path: str, message: str, *, cause: FileCause = "other", errno: int | None = None, effect: Effect = "unknown"
) -> FileSystemError:
    """Return the failure to read or write a file; `errno` is the system's number for it.

    >>> file_system_error("a.txt", "no such file", cause="not-found", errno=2, effect="none").cause
    'not-found'
    """
    return FileSystemError(path=path, message=message, cause=cause, errno=errno, effect=effect)


def io_failed(seam: Seam, kind: str, message: str, *, retryable: bool = False) -> IoFailed:
    """Return the failure of a loop's source or sink, or of a tool's connection.

    >>> io_failed("sink", "slack", "timed out", retryable=True).seam
    'sink'
    """
    return IoFailed(seam=seam, kind=kind, message=message, retryable=retryable)
