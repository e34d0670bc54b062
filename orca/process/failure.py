"""An ended run as the failure that a caller gets."""

from __future__ import annotations

from collections.abc import Iterable

from orca.errors import CommandCause, CommandFailed, Effect, command_failed
from orca.process.runner import Ended
from orca.redaction import redact


def line(argv: Iterable[str]) -> str:
    """Return the command line as a shell would write it."""
    from shlex import join

    return join(argv)


def failed(
    ended: Ended, *, cause: CommandCause | None = None, effect: Effect | None = None, paths: Iterable[str] = ()
) -> CommandFailed:
    """Return the run as `CommandFailed`, redacted by what its own environment held.

    `cause` is the run's own unless given; `effect` is `none` for what did not start, else `unknown`.
    """
    return command_failed(
        redact(line(ended.argv), ended.env),
        ended.exit_code,
        redact(ended.stdout.decode("utf-8", "replace"), ended.env),
        redact(ended.stderr.decode("utf-8", "replace") if ended.started else ended.reason, ended.env),
        cause=cause or ended.cause,
        signal=ended.signal,
        cwd=redact(ended.cwd, ended.env),
        duration_s=ended.duration_s,
        effect=effect or ("unknown" if ended.started else "none"),
        paths=(redact(path, ended.env) for path in paths),
        stdout_dropped=ended.stdout_dropped,
        stderr_dropped=ended.stderr_dropped,
    )
