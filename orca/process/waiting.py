"""A wait between two runs, which ends when everything is being stopped."""

from __future__ import annotations

import threading
import time
from typing import Final

from orca.process import live

_TICK_S: Final = 0.05


def pause(seconds: float, cancel: threading.Event | None = None) -> str | None:
    """Wait and return None; or return why, as soon as everything is being stopped or `cancel` is set.

    A signal ends it in the main thread as it ends a run; `cancel_all` ends it in whatever thread.
    """
    until = time.monotonic() + seconds
    this = live.Run()
    try:
        if not live.enter(this):
            return "everything is being stopped"
        while this.cancelled is None and not (cancel is not None and cancel.is_set()):
            left = until - time.monotonic()
            if left <= 0:
                return None
            time.sleep(min(left, _TICK_S))
        return this.cancelled or "cancelled"
    finally:
        live.leave(this)
