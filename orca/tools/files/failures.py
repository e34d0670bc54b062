"""One public call on files: its deadline, how far its effect came, and its failures as values."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Final, NamedTuple, ParamSpec, TypeVar

from orca.errors import Effect, FileCause, RuntimeError, file_system_error
from orca.results import Failure, Result, Success

P = ParamSpec("P")
T = TypeVar("T")


class Reason(NamedTuple):
    """Why a call on files failed, in words that name no path: they may be shown where the path may not."""

    cause: FileCause
    message: str
    errno: int | None = None


_REASONS: Final[dict[int, tuple[FileCause, str]]] = {
    errno.ENOENT: ("not-found", "there is no such file or directory"),
    errno.EEXIST: ("already-exists", "something of this name exists already"),
    errno.ENOTEMPTY: ("already-exists", "the directory is not empty"),
    errno.EACCES: ("permission", "the permissions do not allow it"),
    errno.EPERM: ("permission", "the system does not allow it"),
    errno.EISDIR: ("is-a-directory", "this is a directory"),
    errno.ENOTDIR: ("not-a-directory", "a part of the path is not a directory"),
    errno.ENXIO: ("not-a-file", "this is not a regular file"),
    errno.ELOOP: ("symlink", "a symbolic link stands where none is followed, or there are too many"),
    errno.ENOSPC: ("no-space", "there is no space left"),
    errno.EDQUOT: ("no-space", "the quota is used up"),
    errno.EROFS: ("read-only", "the file system is read-only"),
    errno.EFBIG: ("too-large", "the file would be larger than is allowed"),
    errno.ENAMETOOLONG: ("other", "a name in the path is too long"),
    errno.EBUSY: ("other", "it is in use"),
    errno.EMFILE: ("other", "too many files are open"),
    errno.EIO: ("other", "the device failed"),
}


class Refused(Exception):
    """orca does not do it, though the system might."""

    def __init__(self, cause: FileCause, message: str, errno: int | None = None) -> None:
        super().__init__(message)
        self.reason = Reason(cause, message, errno)


class Stop(Exception):
    """A call ends here with a failure at this path; it never leaves the method that `tagged` wraps."""

    def __init__(self, call: Call, path: str, why: Reason) -> None:
        super().__init__(why.message)
        self._call = call
        self._path = path
        self._why = why

    @property
    def error(self) -> RuntimeError:
        """The failure, with the effect that the call has had once all that could be has been taken back."""
        cause, message, number = self._why
        return file_system_error(self._path, message, cause=cause, errno=number, effect=self._call.effect)


def reason_of(error: OSError | Refused) -> Reason:
    """Return why; never in the words of the exception, which name paths."""
    if isinstance(error, Refused):
        return error.reason
    # `strerror` speaks the language of the program around us.
    name = errno.errorcode.get(error.errno or 0, "an error without a number")
    cause, message = _REASONS.get(error.errno or 0, ("other", f"the system does not do it: {name}"))
    return Reason(cause, message, error.errno)


def tagged(method: Callable[P, T]) -> Callable[P, Result[T, RuntimeError]]:
    """A method that stops with a failure, as one that returns it."""

    @wraps(method)
    def returning(*args: P.args, **kwargs: P.kwargs) -> Result[T, RuntimeError]:
        try:
            return Success(method(*args, **kwargs))
        except Stop as stop:
            return Failure(stop.error)

    return returning


class Call:
    """One public call: all that it does shares its deadline, and `effect` says how far it has come."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self.effect: Effect = "none"

    def left(self) -> float:
        """Return the seconds until the deadline."""
        return self._deadline - time.monotonic()

    def check(self) -> None:
        """Refuse to go on after the deadline."""
        if self.left() < 0:
            raise Refused("other", f"this took longer than {self._timeout:g} s", errno.ETIMEDOUT)

    def has_begun(self) -> None:
        """Note that a part of it has happened."""
        if self.effect == "none":
            self.effect = "unknown"

    def undo(self, act: Callable[[], object]) -> None:
        """Take back a part of what was done; where that fails, nobody knows what is left of it."""
        try:
            act()
        except OSError:
            self.has_begun()

    def stop(self, shown: str, error: OSError | Refused) -> Stop:
        """Return what ends the call, for a failure at this path."""
        return Stop(self, shown, reason_of(error))

    def naming(self, path: str) -> Naming:
        """Return a context in which failures name this path."""
        return Naming(self, path)


class Naming:
    """What fails inside stops the call with a failure that names this path."""

    __slots__ = ("_call", "_path")

    def __init__(self, call: Call, path: str) -> None:
        self._call = call
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(error, OSError | Refused):
            raise self._call.stop(self._path, error) from error
