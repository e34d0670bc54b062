"""Why a call of GitHub failed: one table from GitHub's answers and one from gh's own words to a cause."""

from __future__ import annotations

import re
import time
from typing import Final

from orca.errors import CommandCause
from orca.tools.github.answers import Answer
from orca.tools.repository import causes as of_git

_ANY: Final = range(100, 600)
_SERVER: Final = range(500, 600)
_LIMIT: Final = r"(?i)rate limit|abuse detection|RATE_LIMITED"

# The first row that fits: the status, what GitHub says with it, and the cause.
_BY_ANSWER: Final[tuple[tuple[range | tuple[int, ...], str, CommandCause], ...]] = (
    (_ANY, _LIMIT, "rate-limit"),
    ((429,), "", "rate-limit"),
    ((401,), "", "auth"),
    ((403,), r"archived", "refused"),
    ((403,), "", "auth"),
    ((404, 410), "", "unknown-ref"),
    ((422,), r"No commit found|PullRequest (?:head|base) invalid", "unknown-ref"),
    ((405, 409, 422), r"branch was modified", "ref-conflict"),
    ((405, 409, 422), r"(?i)merge conflict", "conflict"),
    ((409,), r"(?i)repository is empty", "unborn"),
    ((409,), "", "ref-conflict"),
    ((405, 422), "", "refused"),
    ((301, 302, 307, 308), "", "unknown-remote"),  # it was renamed, and only what reads is sent on
    ((408,), "", "network"),
    (_SERVER, "", "network"),
)

# Where there was no answer: gh could not ask, or did not hear.
_NOT_SENT: Final = r"error connecting to|dial tcp|no such host|proxyconnect|x509: |TLS handshake"
_NO_ANSWER: Final = (
    r"EOF|i/o timeout|[Tt]imeout|connection (?:reset|refused)|network is unreachable|deadline exceeded|"
    r"stream error|GOAWAY|broken pipe|server closed|unexpected end of JSON"
)
_BY_WORDS: Final[tuple[tuple[str, CommandCause], ...]] = (
    (r"unable to find git executable", "not-found"),
    (r"no git remotes found|none of the git remotes", "unknown-remote"),
    (r"gh auth (?:login|refresh)|GH_TOKEN|authentication token", "auth"),
    (_LIMIT, "rate-limit"),
    (_NOT_SENT, "network"),
    (_NO_ANSWER, "network"),
)
_BEFORE: Final = ("auth", "not-found", "unknown-remote", "not-a-repository", "dubious-ownership")
_NOT_LOGGED_IN: Final = 4  # gh's exit code for it


def cause_of_answer(answer: Answer) -> CommandCause:
    """Return why GitHub refused; `exit` where no row fits."""
    if answer.status in (403, 429) and (answer.headers.get("x-ratelimit-remaining") == "0" or _waits(answer)):
        return "rate-limit"
    words = answer.words
    for statuses, pattern, cause in _BY_ANSWER:
        if answer.status in statuses and re.search(pattern, words):
            return cause
    return "exit"


def cause_of_words(exit_code: int | None, stderr: bytes) -> CommandCause:
    """Return why gh got no answer, by its exit code and its words, or by those of the git that it runs."""
    if exit_code == _NOT_LOGGED_IN:
        return "auth"
    said = stderr.decode("utf-8", "replace")
    for pattern, cause in _BY_WORDS:
        if re.search(pattern, said):
            return cause
    return of_git.cause_of(stderr)


def was_not_sent(cause: CommandCause, stderr: bytes) -> bool:
    """Return whether gh gave up before a request left this machine."""
    return cause in _BEFORE or re.search(_NOT_SENT, stderr.decode("utf-8", "replace")) is not None


def advice(answer: Answer) -> str | None:
    """Return when GitHub says that its limit ends, as a sentence; None where it does not say."""
    wait = _waits(answer)
    if wait is None and answer.headers.get("x-ratelimit-remaining") == "0":
        reset = answer.headers.get("x-ratelimit-reset", "")
        wait = max(0, round(int(reset) - time.time())) if reset.isdecimal() else None
    return None if wait is None else f"GitHub takes requests again in {wait} s"


def _waits(answer: Answer) -> int | None:
    after = answer.headers.get("retry-after", "")
    return int(after) if after.isdecimal() else None
