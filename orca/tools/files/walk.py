"""A path, walked by directory descriptors: no link and no race leads it out of its root."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from orca.process import StrPath
from orca.tools.arguments import absolute
from orca.tools.files.failures import Call, Refused, reason_of

# A directory can be passed through without being readable, where the system has a flag for that.
PASS: Final = os.O_DIRECTORY | getattr(os, "O_PATH", os.O_RDONLY)
_UP: Final = ".."
_LINKS_UP: Final = "../"  # the same as a link spells it: leading outside, it fails for another cause
_MOST_LINKS: Final = 40  # as in Linux
_OUTSIDE: Final = "this path is outside the root"
_LEADS_OUTSIDE: Final = "a symbolic link in this path leads outside the root"


class Root:
    """The directory that paths are relative to. `contained`: none of them may leave it."""

    def __init__(self, path: StrPath, *, contained: bool = True) -> None:
        self.path = absolute(path)
        self.contained = contained

    def open(self) -> int:
        """Return a descriptor of the directory, to walk from."""
        try:
            if not self.path.startswith("/"):  # the current directory was gone; another one is not the root
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            return os.open(spelled(self.path), PASS)
        except (OSError, Refused) as error:
            why = reason_of(error)
            raise Refused(why.cause, f"the root of the tool: {why.message}", why.errno) from None

    def below(self, path: str) -> list[str] | None:
        """Return the parts of an absolute path below the root, None where it does not begin with it."""
        if not self.path.startswith("/"):
            return None
        known = _below(path, self.path)
        return _below(path, os.path.realpath(self.path)) if known is None else known

    def shown(self, path: StrPath) -> str:
        """Return the path as results and failures name it: relative to the root, if it is inside or was given so."""
        text = os.fspath(path)
        if not text.startswith("/"):
            return "/".join(_parts(text)) or "."
        parts = self.below(text) if self.contained else None
        return text if parts is None else "/".join(parts) or "."


class Walk:
    """Where a path leads, within a `with`: `fd` is the directory, `name` what it ends with there, `top` the root.

    `name` is `.` where the path names the root. What stands at the end is not touched: whoever opens it must use
    `O_NOFOLLOW`, and `settle` or `follow` to go where a link leads. A link that stays below the root is followed (none
    is with `follow=False`); an absolute one does when it begins with the path of the root. `make` makes directories
    that are missing on the way, and removes them if the `with` fails. Failures stop the call and name the path.
    """

    fd: int
    name: str
    top: int
    must_be_directory: bool

    def __init__(self, root: Root, path: StrPath, call: Call, *, follow: bool = True, make: bool = False) -> None:
        self._root = root
        self._call = call
        self._path = os.fspath(path)
        self._follow = follow
        self._make = make
        self._contained = root.contained
        self._step = PASS | os.O_NOFOLLOW if self._contained else PASS
        self._todo: list[str] = []  # the last one is the next
        self._names: list[str] = []  # from the root to `fd`, without links
        self._links = 0
        self.made: list[tuple[int, str]] = []

    def __enter__(self) -> Self:
        try:
            self.fd = self.top = self._root.open()
            try:
                self._start()
                self._walk()
            except BaseException:
                self._leave(failed=True)
                raise
        except (OSError, Refused) as error:
            raise self._call.stop(self.shown, error) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._leave(failed=error is not None)
        if isinstance(error, OSError | Refused):
            raise self._call.stop(self.shown, error) from error

    @property
    def shown(self) -> str:
        """The path as results and failures name it."""
        return self._root.shown(self._path)

    @property
    def fence(self) -> int | None:
        """The directory above which nothing is looked at, if there is one."""
        return self.top if self._root.contained else None

    def state(self) -> os.stat_result:
        """Return the state of what stands at the end: of a link, its own."""
        return self._checked(os.stat(self.name, dir_fd=self.fd, follow_symlinks=False))

    def settle(self) -> os.stat_result:
        """Follow links until none stands at the end, and return the state of what does."""
        state = self.settled()
        if state is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return state

    def settled(self) -> os.stat_result | None:
        """The same; None where nothing stands there, though something could."""
        while True:
            try:
                state = os.stat(self.name, dir_fd=self.fd, follow_symlinks=False)
            except FileNotFoundError:
                return None
            if not stat.S_ISLNK(state.st_mode):
                return self._checked(state)
            self.follow()

    def follow(self) -> None:
        """Go where the link that stands at the end leads."""
        text = self._link(self.name)
        self.must_be_directory |= _wants_directory(text)
        self._expand(text)
        self._walk()

    def _checked(self, state: os.stat_result) -> os.stat_result:
        if self.must_be_directory and not stat.S_ISDIR(state.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        return state

    def _start(self) -> None:
        path = spelled(self._path)
        self.must_be_directory = _wants_directory(path)
        if not path:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        parts = self._from_the_top(path) if path.startswith("/") else _parts(path)
        if parts is None:
            raise Refused("outside-root", _OUTSIDE)
        self._todo = parts[::-1]

    def _walk(self) -> None:
        """Go to the last directory of what is left to do."""
        while self._todo:
            part = self._todo.pop()
            if part in (_UP, _LINKS_UP):
                self._up(part)
            elif self._todo:
                self._down(part)
            else:
                self.name = part
                return
        self.name = "."

    def _down(self, part: str) -> None:
        try:
            fd = os.open(part, self._step, dir_fd=self.fd)
        except FileNotFoundError:
            if not self._make or _UP in self._todo or _LINKS_UP in self._todo:
                raise
            fd = self._made(part)
        except OSError as error:
            # What is no directory may be a link to one: which of the two numbers says so depends on the system.
            if not self._contained or error.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise
            state = os.stat(part, dir_fd=self.fd, follow_symlinks=False)
            if stat.S_IFMT(state.st_mode) not in (stat.S_IFLNK, stat.S_IFDIR):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None
            self._expand(self._link(part))
            return
        self._names.append(part)
        self._move_to(fd)

    def _up(self, part: str) -> None:
        """Go to the parent: down again from the root, as what we came through may have been moved outside since."""
        if not self._contained:
            self._move_to(os.open(_UP, self._step, dir_fd=self.fd))
        elif self._names:
            self._call.check()
            self._names.pop()
            self._todo.extend(reversed(self._names))
            self._move_to_top()
        elif part == _UP:
            raise Refused("outside-root", _OUTSIDE)
        else:
            raise Refused("symlink", _LEADS_OUTSIDE)

    def _link(self, part: str) -> str:
        """The text of a link; of what has just taken its place the name, so that it is looked at once more."""
        try:
            return os.readlink(part, dir_fd=self.fd)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            return part

    def _expand(self, text: str) -> None:
        """Put the parts of a link before what is left to do."""
        self._links += 1
        if self._links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if not self._follow:
            raise Refused("symlink", "a symbolic link stands in this path, and none is followed here")
        parts = _parts(text) if not text.startswith("/") else self._from_the_top(text)
        if parts is None:
            raise Refused("symlink", _LEADS_OUTSIDE)
        self._todo.extend(_LINKS_UP if part == _UP else part for part in reversed(parts))

    def _from_the_top(self, path: str) -> list[str] | None:
        """Go where an absolute path begins, and return the rest of it; None where that is outside."""
        if not self._contained:
            self._move_to(os.open("/", self._step))
            return _parts(path)
        self._move_to_top()
        return self._root.below(path)

    def _move_to_top(self) -> None:
        self._names.clear()
        self._move_to(self.top)

    def _move_to(self, fd: int) -> None:
        if self.fd != self.top:
            os.close(self.fd)
        self.fd = fd

    def _made(self, part: str) -> int:
        self.made.append((os.dup(self.fd), part))
        try:
            os.mkdir(part, dir_fd=self.fd)
        except FileExistsError:  # somebody else was faster: it is not ours to remove
            os.close(self.made.pop()[0])
        return os.open(part, self._step, dir_fd=self.fd)

    def _leave(self, *, failed: bool) -> None:
        for parent, name in reversed(self.made):
            if failed:
                with suppress(OSError):  # it holds what somebody else has put there meanwhile
                    os.rmdir(name, dir_fd=parent)
            os.close(parent)
        self.made.clear()
        self._move_to(self.top)
        os.close(self.top)


def spelled(path: StrPath) -> str:
    """Return the path as text that the system can be asked for; refused where no file can have such a name."""
    text = os.fspath(path)
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        raise Refused("other", "no file can have such a name", errno.EINVAL)
    return text


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part and part != "."]


def _below(path: str, top: str) -> list[str] | None:
    parts, above = _parts(path), _parts(top)
    return parts[len(above) :] if parts[: len(above)] == above else None


def _wants_directory(path: str) -> bool:
    return path.endswith(("/", "/."))
