"""A match on the outcome that forgets one of its two cases."""

from typing import assert_never

from orca import Failure, Result, Success, outcome
from orca.errors import RuntimeError


def forgets_failure(result: Result[str, RuntimeError]) -> None:
    match outcome(result):  # error: settings
        case Success(value):
            print(value)


def forgets_success(result: Result[str, RuntimeError]) -> None:
    match outcome(result):  # error: settings
        case Failure(error):
            print(error)


def forgets_failure_and_asserts(result: Result[str, RuntimeError]) -> None:
    ended = outcome(result)
    match ended:
        case Success(value):
            print(value)
        case _:
            assert_never(ended)  # error


def forgets_success_and_returns(result: Result[str, RuntimeError]) -> str:  # error
    match outcome(result):  # error: settings
        case Failure(error):
            return str(error)
