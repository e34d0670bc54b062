"""Names and words that are not there."""

from orca import CommandFailed, Failure, NothingToCommit, Result, Success, command, git, or_exit, outcome
from orca.errors import RuntimeError, backend_failed, command_failed, file_system_error, io_failed, push_rejected


def fields(error: RuntimeError, nothing: NothingToCommit, failed: CommandFailed) -> None:
    print(error.stderr)  # error
    print(nothing.stderr)  # error
    print(failed.exitCode)  # error
    failed.stderr = ""  # error
    match error:
        case CommandFailed():
            print(error.branch)  # error
        case _:
            print(error.exit_code)  # error


def words(failed: CommandFailed) -> None:
    if failed.cause == "hook-faild":  # error: mypy, settings
        print("never")  # error: mypy settings
    if failed.tag == "CommandFaild":  # error: mypy, settings
        print("never")  # error: mypy settings


def words_in_patterns(failed: CommandFailed) -> None:
    match failed:
        case CommandFailed(cause="hook-faild"):  # error: pyright settings
            print("never")  # error: mypy settings
        case _:
            print("all else")  # error: mypy settings


def fields_in_patterns(error: RuntimeError) -> None:
    match error:
        case NothingToCommit(stderr=stderr):  # error: mypy
            print(stderr)
        case CommandFailed(_):  # error
            print("positional")  # error: mypy settings
        case _:
            print(error)


def results(result: Result[str, RuntimeError]) -> None:
    print(or_exit(result).sha)  # error
    match outcome(result):
        case Success(value):
            print(value.sha)  # error
        case Failure(error):
            print(error.sha)  # error
    unchecked: str = result  # error
    print(unchecked)
    print(result.bind(len))  # error


command_failed("make", 2, "", "", cause="explodet")  # error
command_failed("make", 2, "", "", effect="maybe")  # error
command_failed("make", "2", "", "")  # error
command_failed("make", 2)  # error
push_rejected("no", cause="exit")  # error
backend_failed("gemini", "no")  # error
backend_failed("pi", "no", cause="tired")  # error
file_system_error("a", "no", cause="enoent")  # error
io_failed("pipe", "file", "no")  # error
CommandFailed("make", 2, "", "")  # error
CommandFailed(command="make", exit_code=2, stdout="", stderr="", cause="explodet")  # error
git().push(on_rejected="force")  # error
git().push(force=True)  # error
command().run("make", timeout="10")  # error


def bridge() -> int:
    git().with_repo(lambda repo: repo.heds)  # error
    git().with_repo(lambda: 1)  # error
    git().with_repo(len)  # error
    return git().with_repo(lambda repo: 1)  # error
