"""A match on the error that forgets a tag (here: IoFailed)."""

from typing import assert_never

from orca import (
    BackendFailed,
    BranchAlreadyExists,
    CommandFailed,
    FileSystemError,
    NothingToCommit,
    PushRejected,
    StructuredOutputValidationFailed,
    TypecheckFailed,
    UnsupportedFeature,
)
from orca.errors import RuntimeError


def with_assert_never(error: RuntimeError) -> None:
    match error:
        case NothingToCommit() | BranchAlreadyExists() | UnsupportedFeature() | CommandFailed() | TypecheckFailed():
            print("these")
        case PushRejected() | StructuredOutputValidationFailed() | BackendFailed() | FileSystemError():
            print("those")
        case _:
            assert_never(error)  # error


def with_a_value_to_return(error: RuntimeError) -> int:  # error
    match error:  # error: settings
        case NothingToCommit() | BranchAlreadyExists() | UnsupportedFeature() | CommandFailed() | TypecheckFailed():
            return 0
        case PushRejected() | StructuredOutputValidationFailed() | BackendFailed() | FileSystemError():
            return 1


def in_statement_position(error: RuntimeError) -> None:
    match error:  # error: settings
        case NothingToCommit() | BranchAlreadyExists() | UnsupportedFeature() | CommandFailed() | TypecheckFailed():
            print("these")
        case PushRejected() | StructuredOutputValidationFailed() | BackendFailed() | FileSystemError():
            print("those")


def one_cause_is_not_all_of_its_tag(error: NothingToCommit | CommandFailed) -> None:
    match error:
        case NothingToCommit() | CommandFailed(cause="hook-failed"):
            print("the hook said no")
        case _:
            assert_never(error)  # error
