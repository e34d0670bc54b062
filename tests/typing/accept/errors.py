"""Errors told apart outside a match, and made by hand."""

from typing import assert_type

from orca import CommandFailed, Diagnostic, PushRejected, RefRejection, parse_error
from orca.errors import (
    CommandCause,
    RuntimeError,
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

made: list[RuntimeError] = [
    nothing_to_commit(unstaged=1),
    branch_already_exists("main"),
    push_rejected("no", cause="fetch-first", refs=[RefRejection(local="a", remote="b", cause="protected")]),
    command_failed("make", None, "", "", cause="timeout", effect="unknown", paths=("a",)),
    structured_output_validation_failed(["a: missing"], {}),
    unsupported_feature("x", "y"),
    backend_failed("claude", "no", cause="rate-limit", retryable=True, retry_after_s=2.5),
    typecheck_failed("", "", 1, diagnostics=[Diagnostic(path="a.py", severity="warning")]),
    file_system_error("a", "no", cause="no-space", errno=28),
    io_failed("sink", "file", "no"),
]


def told_apart(value: object) -> None:
    if isinstance(value, RuntimeError):
        assert_type(value.tag == "PushRejected", bool)
        if isinstance(value, CommandFailed):
            assert_type(value.cause, CommandCause)
        elif value.tag == "PushRejected":
            assert_type(value, PushRejected)


assert_type(parse_error("{}"), RuntimeError)
