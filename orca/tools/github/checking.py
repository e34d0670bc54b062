"""Reading the checks of a commit, and waiting for them."""

from __future__ import annotations

import threading
import time
from typing import Final

from orca import process
from orca.errors import CommandFailed
from orca.tools.arguments import seconds
from orca.tools.github.calls import Call, Located, Place, Stop, quoted, tagged
from orca.tools.github.checks import Checks, is_running, parse_check_run, parse_status
from orca.tools.repository.names import is_branch_name

_GROWS: Final = 1.5
_LONGEST: Final = 6  # times the first pause
_SHORTEST_POLL_S: Final = 0.001
_LONGEST_POLL_S: Final = 60.0
_SHOWN: Final = 5
_MOST_FAILURES: Final = 5  # in a row; what is no answer now may be one in a minute
_MAY_PASS: Final = ("network", "timeout")


class CheckOperations(Located):
    """Reading checks and waiting for them."""

    @tagged
    def checks(self, ref: str, *, timeout: float | None = None) -> Checks:
        """Return the checks that were reported for a commit: check runs, the latest of each, and commit statuses.

        `ref` is a branch or a tag as GitHub has it, or a whole sha: that of what was pushed (`head_sha` of a pull
        request) is the one that cannot move.

        Fails with `CommandFailed`: `unknown-ref`, `bad-ref-name` (`HEAD` too: GitHub has another), and as
        `pull_request` does. A check that failed is an answer and no failure.

        >>> from orca import gh
        >>> checks = gh().checks("main")
        """
        call = self._call(timeout)
        return _checks(call, _checked(call, ref))

    @tagged
    def wait_for_checks(
        self,
        ref: str,
        timeout: float,
        *,
        appear: float = 60.0,
        interval: float = 5.0,
        cancel: threading.Event | None = None,
    ) -> Checks:
        """Return the checks of a commit once all are complete, whatever they came to.

        The commit is the one that `ref` names at first, though it may move. Nothing on GitHub says whether checks are
        to come: where none has been reported within `appear` seconds, what is returned has none (`passed` is false).
        GitHub is asked every `interval` seconds at first, and then less and less often, down to a sixth of that. All
        times are seconds. Ctrl-C, `cancel_all` and setting `cancel` end the wait.

        Fails with `CommandFailed`: `timeout` (its text names what was pending; `effect` is `none`), `cancelled`, and
        as `checks` does; a network that fails is tried again until it has failed five times in a row.

        >>> from orca import gh
        >>> checks = gh().wait_for_checks("main", timeout=1800)
        """
        wait = _Wait(self._place, _checked(self._call(timeout), ref), timeout, cancel)
        pause, longest, none_after = seconds(interval), _LONGEST * interval, time.monotonic() + appear
        while True:
            found = wait.look()
            if found is not None and found.complete and (found.checks or time.monotonic() >= none_after):
                return found
            wait.pause(pause)
            pause = min(pause * _GROWS, longest)


class _Wait:
    """What is known while checks are waited for."""

    def __init__(self, place: Place, ref: str, timeout: float, cancel: threading.Event | None) -> None:
        self._place = place
        self._call = Call(place, timeout)
        self._ref = ref
        self._cancel = cancel
        self._failures = 0
        self._found: Checks | None = None

    def look(self) -> Checks | None:
        """Return the checks as they are now; None where the network may be back the next time."""
        try:
            poll = Call(self._place, min(max(self._call.left(), _SHORTEST_POLL_S), _LONGEST_POLL_S), self._cancel)
            self._found = _checks(poll, self._ref)
        except Stop as stop:
            self._failures += 1
            passes = isinstance(stop.error, CommandFailed) and stop.error.cause in _MAY_PASS
            if not passes or self._failures == _MOST_FAILURES or (self._call.left() <= 0 and self._found is None):
                raise
            return None
        self._ref, self._failures = self._found.sha, 0
        return self._found

    def pause(self, pause: float) -> None:
        """Wait, or stop with `timeout` or `cancelled`."""
        if self._call.left() > 0 and process.pause(min(pause, self._call.left()), self._cancel) is not None:
            raise self._call.refuse("cancelled", f"the wait for the checks of {self._ref} was ended")
        if self._call.left() <= 0:
            raise self._call.refuse("timeout", f"the checks of {self._ref}: {_state(self._found)}")


def _checked(call: Call, ref: str) -> str:
    if not is_branch_name(ref):
        raise call.refuse("bad-ref-name", f"{ref!r} is not the name of a branch, a tag or a commit on GitHub")
    return ref


def _checks(call: Call, ref: str) -> Checks:
    """The statuses name the commit; the rest is asked of that one, so that it is one answer though a branch moves."""
    sha, statuses = ref, []
    for page in call.objects(f"commits/{quoted(ref)}/status"):
        sha = call.parsed(lambda found: found.text("sha"), page)
        statuses += call.parsed(lambda found: [parse_status(row) for row in found.records("statuses")], page)
    at = f"commits/{sha}"
    runs = [call.parsed(parse_check_run, found) for found in call.pages(f"{at}/check-runs", "check_runs")]
    suites = [call.parsed(is_running, found) for found in call.pages(f"{at}/check-suites", "check_suites")]
    return Checks(sha, (*runs, *statuses), sum(suites))


def _state(found: Checks | None) -> str:
    if found is None:
        return "GitHub could not be asked"
    pending = ", ".join(check.name for check in found.pending[:_SHOWN]) or "more may come"
    return (
        f"{len(found.pending)} of {len(found.checks)} are pending: {pending}" if found.checks else "none was reported"
    )
