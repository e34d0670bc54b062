"""Signals that end this process: held back while something must not be cut in half."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_blocks: list[None] = []  # one for each that the main thread is in
_pending: list[int] = []


@contextmanager
def deferred() -> Iterator[None]:
    """Hold the handlers of this package back in the main thread until the block has ended."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _blocks.append(None)
    try:
        yield
    finally:
        del _blocks[-1:]  # a child that was forked inside the block has none
        if not _blocks:
            _raise_pending()


def postponed(signum: int) -> bool:
    """Return whether a handler must leave now; the signal is then raised again after the block."""
    if _blocks:
        _pending.append(signum)
    return bool(_blocks)


def forget() -> None:
    """A forked child is in none of its parent's blocks."""
    _blocks.clear()
    _pending.clear()


def _raise_pending() -> None:
    if _pending:
        try:
            signal.raise_signal(_pending.pop(0))
        finally:  # the exception of one must not lose the next
            _raise_pending()
