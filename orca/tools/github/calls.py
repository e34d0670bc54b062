"""One public call on GitHub: its deadline, `gh api` run under it, and its failures as values."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any, Final, TypeVar
from urllib.parse import quote

from orca import process
from orca.errors import CommandCause, CommandFailed, Effect, command_failed
from orca.process import Ended, StrPath
from orca.tools.arguments import absolute, seconds
from orca.tools.github import causes, neutral
from orca.tools.github.answers import Answer, Unreadable, parse_answer
from orca.tools.github.records import Record, records
from orca.tools.repository import names
from orca.tools.repository.calls import Stop, tagged

T = TypeVar("T")

_PAGE: Final = 100  # the most that GitHub gives at once
_LARGEST_BYTES: Final = 64 << 20
_SHOWN_BYTES: Final = 1 << 16  # of an answer, in an error
_REPOSITORY: Final = r"(?:(?P<host>[\w.-]+(?::\d+)?)/)?(?P<owner>[\w.-]+)/(?P<name>[\w.-]+)"
__all__ = ["Call", "Located", "Place", "Quoted", "Stop", "checked_number", "quoted", "tagged"]

_HEADERS: Final = ("Accept: application/vnd.github+json", "X-GitHub-Api-Version: 2022-11-28")


class Quoted(str):
    """A value of a query that is percent-encoded where it must be."""

    __slots__ = ()


class Place:
    """Where a tool works: a directory whose remotes name the repository, unless `repo` names it."""

    def __init__(self, root: StrPath, repo: str | None) -> None:
        self.root = absolute(root)
        named = None if repo is None else re.fullmatch(_REPOSITORY, repo)
        if repo is not None and (named is None or {".", ".."} & set(named.groups())):
            raise ValueError(f"repo must be OWNER/NAME or HOST/OWNER/NAME, not {repo!r}")
        # gh puts the repository of the remotes in the place of these two words.
        self.repository = f"{named['owner']}/{named['name']}" if named else "{owner}/{repo}"
        self.owner = named["owner"] if named else "{owner}"
        self.host: str | None = named["host"] if named else None


class Call:
    """One public call: every gh that it runs shares its deadline."""

    def __init__(self, place: Place, timeout: float, cancel: threading.Event | None = None) -> None:
        self._place = place
        self._cancel = cancel
        self.deadline = time.monotonic() + seconds(timeout)
        self.landed: str | None = None  # what has happened already, as a sentence

    @property
    def root(self) -> str:
        """The directory of the tool."""
        return self._place.root

    @property
    def owner(self) -> str:
        """The owner of the repository, or the word that gh puts it for."""
        return self._place.owner

    def left(self) -> float:
        """Return the seconds until the deadline."""
        return self.deadline - time.monotonic()

    def url(self, path: str, query: dict[str, str] | None = None) -> str:
        """Return the address of what the repository has under a path; what came from outside is quoted in it."""
        pairs = "&".join(f"{name}={quoted(value)}" for name, value in (query or {}).items())
        return f"repos/{self._place.repository}{path and '/' + path}{pairs and '?' + pairs}"

    def get(self, path: str = "", **query: str) -> Record:
        """Return the object that the repository has under a path."""
        return self.read(Record, self.request("GET", self.url(path, query)))

    def send(self, method: str, path: str, body: object) -> Record:
        """Return the object that GitHub answers a change with."""
        return self.read(Record, self.request(method, self.url(path), body), "landed")

    def graphql(self, query: str, **variables: object) -> Record:
        """Return the data that GitHub answers a reading query with."""
        answer = self.request("POST", "graphql", {"query": query, "variables": variables}, reads=True)
        return self.read(Record, answer).record("data")

    def pages(self, path: str, key: str | None = None, **query: str) -> Iterator[Record]:
        """Return the objects of a list, page after page; `key` is where in each page it is."""
        for answer in self._answers(path, query):
            yield from self.read(lambda data: records(data) if key is None else Record(data).records(key), answer)

    def objects(self, path: str, **query: str) -> Iterator[Record]:
        """Return the pages of what comes in pages but is no list."""
        return (self.read(Record, answer) for answer in self._answers(path, query))

    def read(self, parse: Callable[[Any], T], answer: Answer, effect: Effect = "none") -> T:
        """Return what a parser makes of an answer's JSON, or stop with `other` where it can make nothing of it."""
        try:
            return parse(answer.data)
        except Unreadable as unreadable:
            raise self._unreadable(str(unreadable), answer.body, effect) from None

    def parsed(self, parse: Callable[[Record], T], record: Record, effect: Effect = "none") -> T:
        """Return what a parser makes of an object, or stop with `other` where it can make nothing of it."""
        try:
            return parse(record)
        except Unreadable as unreadable:
            raise self._unreadable(str(unreadable), b"", effect) from None

    def request(self, method: str, url: str, body: object = None, *, reads: bool | None = None) -> Answer:
        """Return GitHub's answer to one request, or stop: `reads` says that it changes nothing (default: a GET)."""
        reads = method == "GET" if reads is None else reads
        ended = self._gh(method, url, None if body is None else self._encoded(body))
        answer = parse_answer(ended.stdout)
        if ended.cause == "exit" and ended.exit_code == 0:
            if answer is not None and not ended.stdout_dropped and 200 <= answer.status < 300:
                return answer
            why = f"gh printed more than {_LARGEST_BYTES} bytes" if ended.stdout_dropped else "gh printed no answer"
            raise self._unreadable(why, ended.stdout, "none" if reads else "unknown")
        raise Stop(self._failed(ended, answer, url, reads))

    def refuse(self, cause: CommandCause, why: str) -> Stop:
        """Return the stop of a call that asks nothing more; its effect is `none`, unless something has landed."""
        return self.stopped(cause, why, "landed" if self.landed else "none")

    def stopped(self, cause: CommandCause, why: str, effect: Effect) -> Stop:
        """Return the stop of a call for a reason that no single gh gave."""
        why = why if self.landed is None else f"{why}\n{self.landed}"
        return Stop(command_failed("gh api", None, "", why, cause=cause, effect=effect, cwd=self.root))

    def amended(self, error: CommandFailed, note: str, *, effect: Effect | None = None) -> Stop:
        """Return the stop with a failure to which something is to be said; its last line is what people are shown."""
        return Stop(replace(error, stderr=f"{error.stderr}\n{note}".lstrip(), effect=effect or error.effect))

    def checked_branch(self, name: str) -> str:
        """Return the branch name, or stop with `bad-ref-name` where git does not allow it."""
        if not names.is_branch_name(name):
            raise self.refuse("bad-ref-name", f"{name!r} is not a name for a branch or a commit")
        return name

    def extended(self, by: float) -> None:
        """Give the call at least `by` seconds from now, to find out what a request that was not answered had done."""
        self.deadline = max(self.deadline, time.monotonic() + by)

    def _answers(self, path: str, query: dict[str, str]) -> Iterator[Answer]:
        for page in count(1):
            answer = self.request("GET", self.url(path, {**query, "per_page": str(_PAGE), "page": str(page)}))
            yield answer
            if not answer.has_next_page:
                return

    def _encoded(self, body: object) -> bytes:
        try:
            return json.dumps(body, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise self.refuse("bad-argument", "a text holds a lone surrogate, which is no text") from None

    def _gh(self, method: str, url: str, body: bytes | None) -> Ended:
        host = () if self._place.host is None else ("--hostname", self._place.host)
        headers = (word for header in _HEADERS for word in ("--header", header))
        fed = () if body is None else ("--input", "-")  # by stdin: an argv is for everybody on the machine to see
        ended = process.run(
            ("gh", "api", "--include", "--method", method, *host, *headers, *fed, url),
            cwd=self.root,
            env=neutral.environment(),
            deadline=self.deadline,
            input=body,
            limit=_LARGEST_BYTES,
            cancel=self._cancel,
        )
        return ended._replace(argv=("gh", "api", "--method", method, *host, url))

    def _failed(self, ended: Ended, answer: Answer | None, url: str, reads: bool) -> CommandFailed:
        said: list[str | None] = [ended.stderr.decode("utf-8", "replace").strip()]
        cause, certain = ended.cause, not ended.started
        if ended.cause == "exit" and answer is None:
            cause = causes.cause_of_words(ended.exit_code, ended.stderr)
            certain = causes.was_not_sent(cause, ended.stderr)
        elif ended.cause == "exit" and answer is not None:
            cause, certain = causes.cause_of_answer(answer), 400 <= answer.status < 500
            said += [answer.words.partition("\n")[2], causes.advice(answer) if cause == "rate-limit" else None]
            if answer.status == 404:
                cause, why = self._what_is_missing(url)
                said.append(why)
        effect: Effect = "landed" if self.landed else "none" if reads or certain else "unknown"
        shown = ended._replace(
            stdout=(ended.stdout if answer is None else answer.body)[:_SHOWN_BYTES],
            stderr="\n".join(filter(None, [*said, self.landed])).encode(),
            reason="\n".join(filter(None, [ended.reason, self.landed])),
        )
        return process.failed(shown, cause=cause, effect=effect)

    def _what_is_missing(self, url: str) -> tuple[CommandCause, str]:
        """GitHub says of all that may not be seen that it is not there: the repository as much as what is in it."""
        repository = self.url("")
        if url not in (repository, "graphql") and self.left() > 0:
            answer = parse_answer(self._gh("GET", repository, None).stdout)
            if answer is None or answer.status != 404:
                return "unknown-ref", "this is not there, or this login may not see it"
        return "unknown-remote", "the repository is not there, or this login may not see it"

    def _unreadable(self, why: str, output: bytes, effect: Effect) -> Stop:
        said = why if self.landed is None else f"{why}\n{self.landed}"
        stdout = output[:_SHOWN_BYTES].decode("utf-8", "replace")
        effect = "landed" if self.landed else effect
        return Stop(command_failed("gh api", 0, stdout, said, effect=effect, cwd=self.root))


class Located:
    """What every group of operations stands on: a place, and the timeout of its calls in seconds."""

    _place: Place
    _timeout: float

    def _call(self, timeout: float | None) -> Call:
        return Call(self._place, self._timeout if timeout is None else timeout)


def quoted(value: str) -> str:
    """Return a value for a path or a query: a colon or a brace in it would be one of gh's placeholders, too."""
    return value if isinstance(value, Quoted) else quote(value, safe="")


def checked_number(number: int) -> int:
    """Return the number of an issue or a pull request; anything else is misuse (`ValueError`)."""
    if type(number) is not int or number < 1:
        raise ValueError(f"a number of an issue or a pull request counts from 1, it is not {number!r}")
    return number
