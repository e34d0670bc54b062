"""Signals that end this process: held back while something must not be cut in half."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_depth = 0
_pending: list[int] = []


@contextmanager
def deferred() -> Iterator[None]:
    """Hold the handlers of this package back in the main thread until the block has ended."""
    global _depth
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if not _depth and _pending:
            signum = _pending[0]
            _pending.clear()
            signal.raise_signal(signum)


def postponed(signum: int) -> bool:
    """Return whether a handler must leave now; the signal is then raised again after the block."""
    if _depth:
        _pending.append(signum)
    return bool(_depth)
