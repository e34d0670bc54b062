"""The pushes of one call through GitPython: one that the remote refused is not lost where nobody looked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from orca.errors import RefRejection
from orca.process import Ended
from orca.tools.repository.push_report import PushReport, parse_push, rejection_cause
from orca.tools.repository.refs import RefUpdate, UpdateKind

GIT: Final = "git"
_WITH_VALUE: Final = frozenset("-c -C --git-dir --work-tree --namespace --config-env --super-prefix".split())
# What `git push` shows people of a ref, in a line of standard error.
_REJECTION: Final = r" ! \[(?:remote )?rejected\] +(\S+)(?: +-> +(\S+))?(?: \((.*)\))?"
_UPDATE: Final = r" ([ +*-]) (?:\[[^]]*\]|[0-9a-f]+\.{2,3}[0-9a-f]+) +(\S+)(?: +-> +(\S+))?(?: \(.*\))?"
_KINDS: Final[dict[str, UpdateKind]] = {" ": "updated", "+": "forced", "*": "created", "-": "deleted"}


def subcommand(argv: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return git's own command in an argv, and the arguments behind it; two empty ones where the program is not git."""
    words = iter(range(1, len(argv))) if argv and argv[0] == GIT else iter(())
    for at in words:
        if argv[at] in _WITH_VALUE:
            next(words, None)
        elif not argv[at].startswith("-"):
            return argv[at], argv[at + 1 :]
    return "", ()


def operands_of(argv: Sequence[str]) -> Sequence[str]:
    """Return the remote and the refspecs that the argv of a push names."""
    _, args = subcommand(argv)
    return args[args.index("--") + 1 :] if "--" in args else [arg for arg in args if not arg.startswith("-")]


def report_of(ended: Ended) -> PushReport:
    """Return what the remote took and what it refused: from the machine format, else from what people are shown."""
    _, args = subcommand(ended.argv)
    if "--porcelain" in args:
        return parse_push(ended.stdout)
    rejections, updates = [], []
    for line in ended.stderr.decode("utf-8", "surrogateescape").split("\n"):
        if found := re.fullmatch(_REJECTION, line):
            local, remote, why = found[1], found[2] or found[1], found[3] or ""
            rejections.append(RefRejection(local=local, remote=remote, cause=rejection_cause(why), message=why))
        elif found := re.fullmatch(_UPDATE, line):
            updates.append(RefUpdate(found[2], found[3] or found[2], None, None, _KINDS[found[1]]))
    return PushReport(tuple(updates), tuple(rejections))


@dataclass(frozen=True)
class FailedPush:
    """A push that failed, and the exception that says so, which GitPython may have kept to itself."""

    ended: Ended
    error: Exception

    def was_seen(self) -> bool:
        """Whether the exception ever left GitPython: the outermost frame that it came through is not GitPython's."""
        trace = self.error.__traceback__
        return trace is None or str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0] != "git"

    def is_made_good_by(self, later: Ended) -> bool:
        """Whether a push that succeeded since took to the same remote what this one could not."""
        mine, theirs = operands_of(self.ended.argv), operands_of(later.argv)
        if mine[:1] != theirs[:1]:
            return False
        updates = {_short(ref.remote) for ref in report_of(later).updates}
        if not updates:  # a quiet one
            return set(mine) <= set(theirs)
        return {_short(ref.remote) for ref in report_of(self.ended).rejections} <= updates


class Pushes:
    """The failed pushes of one call that no later one has made good."""

    def __init__(self) -> None:
        self._failed: list[FailedPush] = []

    def note(self, ended: Ended, error: Exception | None) -> None:
        """Take note of a program that ended, if it was a push."""
        if subcommand(ended.argv)[0] != "push":
            return
        if error is not None:
            self._failed.append(FailedPush(ended, error))
        else:
            self._failed = [push for push in self._failed if not push.is_made_good_by(ended)]

    def unseen(self) -> FailedPush | None:
        """Return the first failed push that nobody was told of."""
        return next((push for push in self._failed if not push.was_seen()), None)


def _short(ref: str) -> str:
    return ref.removeprefix("refs/heads/").removeprefix("refs/tags/")
