"""Script coding-agent flows: every failure is one of ten tagged values, and nothing hangs, leaks or is lost."""

TYPE_CHECKING = False  # both checkers know the name; importing typing would cost as much as the rest of this file
if TYPE_CHECKING:
    from orca.errors import (
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
        is_retryable,
        parse_error,
        recovery,
        to_wire,
    )
    from orca.flows import command, flow, fs, gh, git, typecheck
    from orca.process import cancel_all
    from orca.results import Failure, OrcaError, Result, Success, collect, or_exit, or_raise, outcome, partition
    from orca.tools import CommandTool, FsTool, GitHubTool, GitTool, TypecheckTool

_HOMES = {
    "errors": (
        "BackendFailed",
        "BranchAlreadyExists",
        "CommandFailed",
        "Diagnostic",
        "FileSystemError",
        "IoFailed",
        "NothingToCommit",
        "PushRejected",
        "RefRejection",
        "StructuredOutputValidationFailed",
        "TypecheckFailed",
        "UnsupportedFeature",
        "is_retryable",
        "parse_error",
        "recovery",
        "to_wire",
    ),
    "flows": ("command", "flow", "fs", "gh", "git", "typecheck"),
    "process": ("cancel_all",),
    "results": (
        "Failure",
        "OrcaError",
        "Result",
        "Success",
        "collect",
        "or_exit",
        "or_raise",
        "outcome",
        "partition",
    ),
    "tools": ("CommandTool", "FsTool", "GitHubTool", "GitTool", "TypecheckTool"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BackendFailed",
    "BranchAlreadyExists",
    "CommandFailed",
    "CommandTool",
    "Diagnostic",
    "Failure",
    "FileSystemError",
    "FsTool",
    "GitHubTool",
    "GitTool",
    "IoFailed",
    "NothingToCommit",
    "OrcaError",
    "PushRejected",
    "RefRejection",
    "Result",
    "StructuredOutputValidationFailed",
    "Success",
    "TypecheckFailed",
    "TypecheckTool",
    "UnsupportedFeature",
    "cancel_all",
    "collect",
    "command",
    "flow",
    "fs",
    "gh",
    "git",
    "is_retryable",
    "or_exit",
    "or_raise",
    "outcome",
    "parse_error",
    "partition",
    "recovery",
    "to_wire",
    "typecheck",
]


def __getattr__(name: str) -> object:
    """Load a public name from where it lives, when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
