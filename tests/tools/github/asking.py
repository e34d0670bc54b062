"""What a call of GitHub came to."""

from orca.errors import CommandFailed, RuntimeError
from orca.results import Failure, Result, Success, outcome


def failed(result: Result[object, RuntimeError]) -> CommandFailed:
    """The error of a call that failed as a command."""
    match outcome(result):
        case Failure(CommandFailed() as error):
            return error
        case Failure(error):
            raise AssertionError(f"it failed otherwise: {error!r}")
        case Success(value):
            raise AssertionError(f"it succeeded: {value!r}")
