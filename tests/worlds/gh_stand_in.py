"""A `gh` that needs no network: the calls of `gh api` that orca makes, answered as gh prints GitHub's answers.

A program of that name, which calls `main`, stands beside a `state.json` that is kept under a lock: what is in a
repository on GitHub, whose branches are those of a bare repository, and the faults to play.
"""

import contextlib
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from worlds.gh_repository import API, Json, Refusal, Repository

HERE = Path(sys.argv[0]).resolve().parent
REASONS = {200: "OK", 201: "Created", 302: "Found", 307: "Temporary Redirect", 401: "Unauthorized", 403: "Forbidden"}
REASONS |= {404: "Not Found", 405: "Method Not Allowed", 409: "Conflict", 410: "Gone", 422: "Unprocessable Entity"}
REASONS |= {429: "Too Many Requests", 500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable"}
ORDER = {"upstream": 0, "github": 1, "origin": 2}
LOGIN = """To get started with GitHub CLI, please run:  gh auth login
Alternatively, populate the GH_TOKEN environment variable with a GitHub API authentication token.
"""


class Exit(Exception):
    """gh ends with this code and these words on its stderr."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code = code


class Request:
    """One request: what the arguments of `gh api` come to."""

    def __init__(self, argv: list[str]) -> None:
        self.method, self.host, self.accept, self.fed = "GET", "github.com", "*/*", False
        self.include = False
        if argv[:1] != ["api"]:
            raise Exit(1, f'unknown command "{argv[0] if argv else ""}" for "gh"\n')
        words, given = iter(argv[1:]), []
        for word in words:
            match word:
                case "--include":
                    self.include = True
                case "--method":
                    self.method = next(words)
                case "--hostname":
                    self.host = next(words)
                case "--header":
                    name, _, value = next(words).partition(":")
                    self.accept = value.strip() if name == "Accept" else self.accept
                case "--input":
                    assert next(words) == "-"
                    self.fed = True
                case _ if word.startswith("-"):
                    raise Exit(1, f"unknown flag: {word}\n")
                case _:
                    given.append(word)
        if len(given) != 1:
            raise Exit(1, f"accepts 1 arg(s), received {len(given)}\n")
        self.body: Json = json.loads(sys.stdin.buffer.read()) if self.fed else None
        self.endpoint = given[0]

    def resolve(self) -> None:
        """gh's places for the owner and the name are filled from the remotes, as gh does it."""
        if re.search(r":(?:owner|repo|branch)\b|\{(?:owner|repo|branch)\}", self.endpoint):
            if "GH_REPO" in os.environ:
                owner, name = os.environ["GH_REPO"].split("/")[-2:]
            else:
                owner, name = base_repository()
            places = {"owner": owner, "repo": name, "branch": "branch-of-the-place"}
            self.endpoint = re.sub(
                r":(owner|repo|branch)\b|\{(owner|repo|branch)\}", lambda f: places[f[1] or f[2]], self.endpoint
            )
        parts = urlsplit(self.endpoint)
        self.path = parts.path
        self.query = dict(parse_qsl(parts.query, keep_blank_values=True))


def base_repository() -> tuple[str, str]:
    """The repository of the first remote that leads to GitHub."""
    try:
        done = subprocess.run(["git", "remote", "-v"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        words = "unable to find git executable in PATH; please install git before retrying"
        raise Exit(1, f"unable to expand placeholder in path: {words}\n") from None
    if done.returncode != 0:
        raise Exit(1, f"unable to expand placeholder in path: failed to run git: {done.stderr}\n")
    rows = [line.split() for line in done.stdout.splitlines() if line.endswith("(fetch)")]
    if not rows:
        raise Exit(1, "unable to expand placeholder in path: no git remotes found\n")
    for _, url, _ in sorted(rows, key=lambda row: ORDER.get(row[0], 3)):
        found = re.fullmatch(r"(?:https://github\.com/|git@github\.com:)([^/]+)/([^/]+?)(?:\.git)?/?", url)
        if found:
            return found[1], found[2]
    words = "none of the git remotes configured for this repository point to a known GitHub host. "
    words += "To tell gh about a new GitHub host, please use `gh auth login`"
    raise Exit(1, f"unable to expand placeholder in path: {words}\n")


@contextlib.contextmanager
def locked_state() -> Iterator[Json]:
    """The state, which is written back whatever happens."""
    with (HERE / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        path = HERE / "state.json"
        state = json.loads(path.read_text())
        try:
            yield state
        finally:
            fresh = HERE / "state.json.new"
            fresh.write_text(json.dumps(state, indent=1))
            fresh.replace(path)


def fault_of(state: Json, request: Request) -> str | None:
    """The first fault that fits, which is then used up once."""
    for fault in state["faults"]:
        if fault["times"] and re.search(fault["match"], f"{request.method} {request.endpoint}"):
            fault["times"] -= 1
            return str(fault["kind"])
    return None


def play(kind: str, request: Request) -> None:
    """A fault that comes before GitHub does anything."""
    reset = str(int(time.time()) + 120)
    limit = "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api"
    match kind:
        case "no-login":
            raise Exit(4, LOGIN)
        case "bad-login":
            raise Refusal(401, "Bad credentials")
        case "forbidden":
            raise Refusal(403, "Resource not accessible by integration")
        case "rate-limit":
            headers = {"X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": reset}
            raise Refusal(403, "API rate limit exceeded for user ID 1.", headers=headers)
        case "secondary":
            words = f"You have exceeded a secondary rate limit. {limit}"
            raise Refusal(403, words, headers={"Retry-After": "57", "X-Ratelimit-Remaining": "4999"})
        case "too-many":
            raise Refusal(429, "slow down", headers={"Retry-After": "57"})
        case "no-network":
            raise Exit(
                1, "error connecting to api.github.com\ncheck your internet connection or https://githubstatus.com\n"
            )
        case "reset":
            words = "read tcp 10.0.0.1:5->1.1.1.1:443: read: connection reset by peer"
            raise Exit(1, f'{request.method.title()} "{API}x": {words}\n')
        case "crash":
            raise Exit(2, "panic: runtime error: index out of range\n")
        case "garbage":
            sys.stdout.write("<html>\x1b[31mNot what you think</html>\n")
            raise Exit(0, "")
        case "moved":
            raise Refusal(307, "Moved Permanently")
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case _ if kind.startswith("http:"):
            raise Refusal(int(kind[5:]), "Server Error")
        case _:  # it comes after the work
            pass


def printed(request: Request, status: int, body: Json, headers: dict[str, str]) -> None:
    """What gh prints of an answer: with the headers, as `--include` says."""
    assert request.include
    headers = {"Content-Type": "application/json; charset=utf-8", "X-Github-Request-Id": "1:2", **headers}
    sys.stdout.write(f"HTTP/2.0 {status} {REASONS.get(status, '')}\n")
    sys.stdout.write("".join(f"{name}: {headers[name]}\r\n" for name in sorted(headers)) + "\r\n")
    sys.stdout.write(json.dumps(body) + "\n")


def answered(request: Request) -> None:
    """One request met by GitHub; what a fault makes of an answer comes after the work is done."""
    with locked_state() as state:
        state["calls"].append({"argv": sys.argv[1:], "body": request.body, "env": sorted(os.environ)})
        kind = fault_of(state, request)
    if kind == "no-login":  # gh looks for one before anything else
        play(kind, request)
    request.resolve()
    if kind is not None:
        play(kind, request)
    with locked_state() as state:
        status, body, headers = Repository(state, request).answer()
    match kind:
        case "hang-after":
            time.sleep(100000)
        case "lost":
            raise Refusal(502, "Server Error")
        case "not-json":
            sys.stdout.write(f"HTTP/2.0 {status} OK\nContent-Type: text/html\r\n\r\n<html>")
        case "empty":
            printed(request, status, [], {})
        case "other-shape":
            printed(request, status, [1] if isinstance(body, list) else {"number": "one"}, headers)
        case _:
            printed(request, status, body, headers)


def main() -> int:
    """Answer what the arguments ask, and return gh's exit code."""
    request: Request | None = None
    try:
        request = Request(sys.argv[1:])
        answered(request)
    except Exit as ending:
        sys.stderr.write(str(ending))
        return ending.code
    except Refusal as refusal:
        assert request is not None
        printed(request, refusal.status, refusal.body, refusal.headers)
        sys.stderr.write(f"gh: {refusal.body['message']} (HTTP {refusal.status})\n")
        return 1
    return 0
