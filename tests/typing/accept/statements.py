"""A match in statement position that forgets nothing."""

from orca import (
    BackendFailed,
    BranchAlreadyExists,
    CommandFailed,
    Failure,
    FileSystemError,
    IoFailed,
    NothingToCommit,
    PushRejected,
    Result,
    StructuredOutputValidationFailed,
    Success,
    TypecheckFailed,
    UnsupportedFeature,
    is_retryable,
    outcome,
    recovery,
    to_wire,
)
from orca.errors import RuntimeError


def report(result: Result[str, RuntimeError]) -> None:
    match outcome(result):
        case Success(value):
            print(value.upper())
        case Failure(error):
            print(recovery(error), is_retryable(error), to_wire(error))


def exit_code(error: RuntimeError) -> int:
    match error:
        case NothingToCommit() | BranchAlreadyExists() | UnsupportedFeature():
            return 0
        case CommandFailed() | TypecheckFailed():
            return error.exit_code or 1
        case PushRejected() | StructuredOutputValidationFailed() | BackendFailed() | FileSystemError() | IoFailed():
            return 1


def early_return(result: Result[str, RuntimeError]) -> Result[int, RuntimeError]:
    match outcome(result):
        case Failure() as failed:
            return failed
        case Success(value):
            return Success(len(value))


def only_one_tag_matters(result: Result[str, RuntimeError]) -> str | None:
    match outcome(result):
        case Success(value):
            return value
        case Failure(NothingToCommit()):
            return None
        case Failure(error):
            raise SystemExit(str(error))
