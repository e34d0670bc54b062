"""Find a type error, fix it, check, commit and push; every branch is taken by tag."""

from typing import assert_never

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
    command,
    flow,
    git,
    or_exit,
    outcome,
    typecheck,
)


def fix_and_push() -> str:
    """Return what came of it, in one sentence."""
    checked = outcome(typecheck().run())
    if isinstance(checked, Failure):
        match checked.failure():
            case TypecheckFailed(diagnostics=found):
                print(f"found: {found[0].path}:{found[0].line}: {found[0].message}")
                or_exit(command().run("sed", "-i", "s/-> str:/-> int:/", found[0].path))  # an agent's turn
                print(f"fixed; {or_exit(typecheck().run()).checker} finds nothing any more")
            case other:
                raise SystemExit(str(other))
    match outcome(git().commit("fix: the total of a cart is a number", add="all")):
        case Success(commit):
            print(f"committed: {commit.short} {commit.subject} (+{commit.insertions} -{commit.deletions})")
        case Failure(error):
            match error:
                case NothingToCommit():
                    return "nothing to commit: the work is done"
                case CommandFailed(cause="hook-failed"):
                    raise SystemExit(f"a hook said no:\n{error.stderr}")
                case BranchAlreadyExists() | PushRejected() | CommandFailed() | StructuredOutputValidationFailed():
                    raise SystemExit(str(error))
                case UnsupportedFeature() | BackendFailed() | TypecheckFailed() | FileSystemError() | IoFailed():
                    raise SystemExit(str(error))
                case _:
                    assert_never(error)
    pushed = outcome(git().push())
    if isinstance(pushed, Failure):
        match pushed.failure():
            case PushRejected(cause="fetch-first" | "non-fast-forward") as rejected:
                print(f"rejected ({rejected.cause}): somebody pushed first; rebasing and checking again")
                pushed = Success(or_exit(git().push(on_rejected="rebase", recheck=lambda: typecheck().run())))
            case other:
                raise SystemExit(str(other))
    return f"pushed: {pushed.unwrap().head[:7]} to {pushed.unwrap().remote}"


with flow():
    print(fix_and_push())
