"""The closed union of failures: ten tags, a constructor for each, their wire form and what to do about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orca.errors.advice import is_retryable, recovery
from orca.errors.causes import BackendCause, BackendTag, CommandCause, Effect, FileCause, PushCause, Seam, Severity
from orca.errors.constructors import (
    backend_failed,
    branch_already_exists,
    command_failed,
    file_system_error,
    io_failed,
    nothing_to_commit,
    push_rejected,
    structured_output_validation_failed,
    typecheck_failed,
    unsupported_feature,
)
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
    RuntimeError,
    StructuredOutputValidationFailed,
    TypecheckFailed,
    UnsupportedFeature,
)

if TYPE_CHECKING:
    from orca.errors.wire import ERROR_ADAPTER, parse_error, to_wire

__all__ = [
    "ERROR_ADAPTER",
    "BackendCause",
    "BackendFailed",
    "BackendTag",
    "BranchAlreadyExists",
    "CommandCause",
    "CommandFailed",
    "Diagnostic",
    "Effect",
    "FileCause",
    "FileSystemError",
    "IoFailed",
    "NothingToCommit",
    "PushCause",
    "PushRejected",
    "RefRejection",
    "RuntimeError",
    "Seam",
    "Severity",
    "StructuredOutputValidationFailed",
    "TypecheckFailed",
    "UnsupportedFeature",
    "backend_failed",
    "branch_already_exists",
    "command_failed",
    "file_system_error",
    "io_failed",
    "is_retryable",
    "nothing_to_commit",
    "parse_error",
    "push_rejected",
    "recovery",
    "structured_output_validation_failed",
    "to_wire",
    "typecheck_failed",
    "unsupported_feature",
]


def __getattr__(name: str) -> Any:
    """Load the wire form, and pydantic with it, when it is first asked for."""
    if name in ("ERROR_ADAPTER", "parse_error", "to_wire"):
        from orca.errors import wire

        return getattr(wire, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
