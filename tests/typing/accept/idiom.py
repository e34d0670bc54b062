"""The two forms in which a script takes a result apart."""

from typing import assert_never, assert_type

from orca import (
    BackendFailed,
    BranchAlreadyExists,
    CommandFailed,
    Failure,
    FileSystemError,
    IoFailed,
    NothingToCommit,
    PushRejected,
    StructuredOutputValidationFailed,
    Success,
    TypecheckFailed,
    UnsupportedFeature,
    git,
    or_exit,
    outcome,
)

match outcome(git().commit("fix: cart total", add="all")):
    case Success(commit):
        assert_type(commit.sha, str)
    case Failure(error):
        match error:
            case NothingToCommit(untracked=untracked):
                assert_type(untracked, int | None)
            case CommandFailed(cause="hook-failed"):
                print(error.stderr)
            case CommandFailed(exit_code=exit_code):
                assert_type(exit_code, int | None)
            case PushRejected(refs=refs):
                print([ref.cause for ref in refs])
            case BranchAlreadyExists() | StructuredOutputValidationFailed() | UnsupportedFeature() | BackendFailed():
                raise SystemExit(str(error))
            case TypecheckFailed() | FileSystemError() | IoFailed():
                raise SystemExit(str(error))
            case _:
                assert_never(error)

made = or_exit(git().commit("fix: cart total", add="all"))
assert_type(made.sha, str)
