"""What a program writes: kept head and tail up to a limit, handed on line by line, and copied to a log file."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Final

from orca.redaction import trim_cut

_READ_BYTES: Final = 1 << 16  # what a pipe holds
_READS_PER_WAKE: Final = 16
_LINE_BYTES: Final = 16 << 20
_NO_LIMIT: Final = 1 << 62


class LogFile:
    """The whole output, raw, in one file that only its owner can read; a failure to write it is kept, not raised."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.error: str | None = None
        self._fd: int | None = None
        try:
            # Without O_NONBLOCK a FIFO of that name would block the open for ever.
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
            if not stat.S_ISREG(os.fstat(self._fd).st_mode):
                self._fail("not a regular file")
                return
            os.fchmod(self._fd, 0o600)
            os.ftruncate(self._fd, 0)
        except (OSError, ValueError) as error:
            self._fail(str(error))

    def write(self, data: memoryview) -> None:
        try:
            while self._fd is not None and len(data):
                data = data[os.write(self._fd, data) :]
        except OSError as error:
            self._fail(str(error))

    def close(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            try:
                os.close(fd)
            except OSError as error:  # a quota or a remote file system may complain only now
                self.error = self.error or str(error)

    def _fail(self, why: str) -> None:
        self.error = why
        self.close()


class Capture:
    """One output stream of a program: `size` bytes came, `data()` is what was kept of them.

    The first half of the limit is kept as it came, the second half is a ring that holds the latest bytes. Without a
    limit everything is kept: a machine format that was cut would be read wrongly.
    """

    def __init__(
        self, fd: int, limit: int | None, on_line: Callable[[str], object] | None = None, log: LogFile | None = None
    ) -> None:
        self.fd = fd
        self.size = 0
        self._head_limit = _NO_LIMIT if limit is None else limit // 2
        self._ring_limit = 0 if limit is None else limit - self._head_limit
        self._head = bytearray()
        self._ring = bytearray()
        self._ring_at = 0
        self._on_line = on_line
        self._line = bytearray()
        self._log = log

    def read(self) -> bool:
        """Take what is there, a bounded number of times; False once the stream has ended."""
        for _ in range(_READS_PER_WAKE):
            try:
                data = os.read(self.fd, _READ_BYTES)
            except BlockingIOError:
                return True
            if not data:
                return False
            self._take(memoryview(data))
        return True

    def end(self) -> None:
        """Hand on the last line, which had no line end."""
        if self._on_line is not None and self._line:
            line, self._line = self._line, bytearray()
            self._on_line(_text(line))

    def data(self) -> tuple[bytes, int]:
        """Return the bytes kept and the number dropped between their head and their tail."""
        if self.size <= self._head_limit + self._ring_limit:
            return b"".join((self._head, self._ring)), 0
        tail = self._ring[self._ring_at :] + self._ring[: self._ring_at]
        head, tail_kept = trim_cut(bytes(self._head), bytes(tail))
        return head + tail_kept, self.size - len(head) - len(tail_kept)

    def _take(self, data: memoryview) -> None:
        self.size += len(data)
        if self._log is not None:
            self._log.write(data)
        if self._on_line is not None:
            self._split(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if len(data) and self._ring_limit:
            self._keep_latest(data)

    def _keep_latest(self, data: memoryview) -> None:
        room = self._ring_limit - len(self._ring)
        if room > 0:
            self._ring += data[:room]
            data = data[room:]
        data = data[-self._ring_limit :]
        while len(data):
            part = data[: self._ring_limit - self._ring_at]
            self._ring[self._ring_at : self._ring_at + len(part)] = part
            self._ring_at = (self._ring_at + len(part)) % self._ring_limit
            data = data[len(part) :]

    def _split(self, data: memoryview) -> None:
        assert self._on_line is not None
        searched = len(self._line)
        self._line += data
        if self._line.find(b"\n", searched) >= 0:
            *lines, self._line = self._line.split(b"\n")
            for line in lines:
                self._on_line(_text(line))
        elif len(self._line) > _LINE_BYTES:
            at = _last_character(self._line)
            piece, self._line = self._line[:at], self._line[at:]
            self._on_line(piece.decode("utf-8", "replace"))


def _last_character(text: bytearray) -> int:
    """Where the last character begins, which may not be whole yet."""
    at = len(text) - 1
    while at > len(text) - 4 and text[at] & 0xC0 == 0x80:
        at -= 1
    return at


def _text(line: bytearray) -> str:
    return line.removesuffix(b"\r").decode("utf-8", "replace")
