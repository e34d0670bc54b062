"""`Result` and the few helpers around it: a closed form for `match`, and short forms for scripts."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TypeVar

from returns.result import Failure, Result, Success

from orca.errors import RuntimeError, recovery

T = TypeVar("T")
E = TypeVar("E")

__all__ = ["Failure", "OrcaError", "Result", "Success", "collect", "or_exit", "or_raise", "outcome", "partition"]


class OrcaError(Exception):
    """What `or_raise` raises: `error` is the tagged failure, `str()` its whole sentence."""

    def __init__(self, error: RuntimeError) -> None:
        super().__init__(str(error))
        self.error = error


def outcome(result: Result[T, E]) -> Success[T] | Failure[E]:
    """Return the same object, typed as the closed union of its two cases, so that `match` on it is exhaustive.

    >>> from orca import Failure, Success, outcome
    >>> match outcome(Success(2)):
    ...     case Success(value):
    ...         print(value)
    ...     case Failure(error):
    ...         print(error)
    2
    """
    if isinstance(result, (Success, Failure)):
        return result
    raise TypeError(f"outcome() takes a Result, not {type(result).__name__}")


def or_raise(result: Result[T, RuntimeError]) -> T:
    """Return the value, or raise `OrcaError`, which carries the error and its whole sentence.

    >>> from orca import Success, or_raise
    >>> or_raise(Success(2))
    2
    """
    match outcome(result):
        case Success(value):
            return value
        case Failure(error):
            raise OrcaError(error)


def or_exit(result: Result[T, RuntimeError]) -> T:
    """Return the value, or print the error's sentence and its recovery to stderr and exit with 1: for scripts.

    >>> from orca import Success, or_exit
    >>> or_exit(Success(2))
    2
    """
    match outcome(result):
        case Success(value):
            return value
        case Failure(error):
            print(f"{error}\n{recovery(error)}", file=sys.stderr)
            raise SystemExit(1)


def collect(results: Iterable[Result[T, E]]) -> Result[list[T], E]:
    """Return every value as one list, or the first failure; what comes after that failure is not asked for.

    >>> from orca import Failure, Success, collect
    >>> collect([Success(1), Success(2)]).unwrap()
    [1, 2]
    """
    values: list[T] = []
    for result in results:
        match outcome(result):
            case Success(value):
                values.append(value)
            case Failure(error):
                return Failure(error)
    return Success(values)


def partition(results: Iterable[Result[T, E]]) -> tuple[list[T], list[E]]:
    """Return all values and all errors, each in its order.

    >>> from orca import Failure, Success, partition
    >>> partition([Success(1), Failure("no"), Success(2)])
    ([1, 2], ['no'])
    """
    values: list[T] = []
    errors: list[E] = []
    for result in results:
        match outcome(result):
            case Success(value):
                values.append(value)
            case Failure(error):
                errors.append(error)
    return values, errors
