"""A `gh` that needs no network: the calls of `gh api` that orca makes, answered as gh prints GitHub's answers.

It is copied beside a `state.json`, which it keeps under a lock: what is in a repository on GitHub, whose branches are
those of a bare repository, and the faults to play. Run by path, without anything that a test interpreter would load.
"""

import contextlib
import fcntl
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

HERE = Path(sys.argv[0]).resolve().parent
API = "https://api.github.com/"
WEB = "https://github.com/"
TRUNK = "repos/{owner}/{name}"
REASONS = {200: "OK", 201: "Created", 302: "Found", 307: "Temporary Redirect", 401: "Unauthorized", 403: "Forbidden"}
REASONS |= {404: "Not Found", 405: "Method Not Allowed", 409: "Conflict", 410: "Gone", 422: "Unprocessable Entity"}
REASONS |= {429: "Too Many Requests", 500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable"}
ORDER = {"upstream": 0, "github": 1, "origin": 2}
LOGIN = """To get started with GitHub CLI, please run:  gh auth login
Alternatively, populate the GH_TOKEN environment variable with a GitHub API authentication token.
"""

Json = Any


class Exit(Exception):
    """gh ends with this code and these words on its stderr."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code = code


class Refusal(Exception):
    """GitHub answers with an error."""

    def __init__(self, status: int, message: str, *errors: Json, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"message": message, **({"errors": list(errors)} if errors else {}), "status": str(status)}
        self.headers = headers or {}


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
    raise Exit(
        1,
        f"unable to expand placeholder in path: {words}To tell gh about a new GitHub host, please use `gh auth login`\n",
    )


class GitHub:
    """What GitHub does with a request, on the state that the file holds."""

    def __init__(self, state: Json, request: Request) -> None:
        self.state, self.request = state, request
        self.owner, self.name = state["full_name"].split("/")
        self.routes: list[tuple[str, str, Callable[..., tuple[int, Json]]]] = [
            ("GET", "", self.repository),
            ("GET", "/pulls", self.pulls),
            ("POST", "/pulls", self.open_pull),
            ("GET", r"/pulls/(\d+)", self.pull),
            ("PATCH", r"/pulls/(\d+)", self.edit_pull),
            ("PUT", r"/pulls/(\d+)/merge", self.merge),
            ("POST", r"/pulls/(\d+)/reviews", self.review),
            ("POST", r"/pulls/(\d+)/requested_reviewers", self.request_reviewers),
            ("GET", r"/issues/(\d+)", self.issue),
            ("POST", r"/issues/(\d+)/labels", self.label),
            ("GET", r"/issues/(\d+)/comments", self.comments),
            ("POST", r"/issues/(\d+)/comments", self.comment),
            ("PATCH", r"/issues/comments/(\d+)", self.edit_comment),
            ("GET", r"/commits/([^/]+)/status", self.status),
            ("GET", r"/commits/([^/]+)/check-runs", self.check_runs),
            ("GET", r"/commits/([^/]+)/check-suites", self.check_suites),
        ]

    def answer(self) -> tuple[int, Json, dict[str, str]]:
        """Status, body and headers."""
        if self.request.path == "graphql":
            return 200, self.graphql(), {}
        prefix = f"repos/{self.owner}/{self.name}"
        if not self.request.path.lower().startswith(prefix.lower()):
            raise Refusal(404, "Not Found")
        rest = self.request.path[len(prefix) :]
        for method, pattern, handle in self.routes:
            found = re.fullmatch(pattern, rest)
            if found and method == self.request.method:
                status, body = handle(*map(unquote, found.groups()))
                return self.page(status, body)
        raise Refusal(404, "Not Found")

    def page(self, status: int, body: Json) -> tuple[int, Json, dict[str, str]]:
        """The part of a list that was asked for, with a link to the next."""
        key = next(
            (name for name in ("check_runs", "check_suites", "statuses") if isinstance(body, dict) and name in body),
            None,
        )
        rows = body if isinstance(body, list) else body[key] if key else None
        if rows is None or self.request.method != "GET":
            return status, body, {}
        size = min(int(self.request.query.get("per_page", "30")), self.state["largest_page"])
        number = int(self.request.query.get("page", "1"))
        part = rows[(number - 1) * size : number * size]
        links = {"Link": f'<{API}{self.request.path}?page={number + 1}>; rel="next", <{API}x?page=9>; rel="last"'}
        return status, {**body, key: part} if key else part, links if number * size < len(rows) else {}

    # The repository and its branches.

    def git(self, *args: str) -> str:
        done = subprocess.run(["git", "-C", self.state["bare"], *args], capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    def head_of(self, branch: str) -> str | None:
        return self.git("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}") or None

    def repository(self) -> tuple[int, Json]:
        return 200, {**self.side_of_repository(), "default_branch": self.state["default_branch"]}

    def side_of_repository(self, owner: str | None = None) -> Json:
        owner = owner or self.owner
        return {
            "full_name": f"{owner}/{self.name}",
            "name": self.name,
            "owner": {"login": owner},
            "fork": owner != self.owner,
        }

    # Pull requests.

    def described(self, row: Json, *, alone: bool) -> Json:
        owner = row["head_owner"]
        head = row["merged_head"] or self.head_of(row["head_ref"]) or row["head_sha"]
        row["head_sha"] = head
        mergeable: Json = None
        if row["state"] == "open" and alone:
            row["looks"] += 1
            if row["looks"] > self.state["looks_until_mergeable"]:
                mergeable = self.tree(row) is not None
        return {
            "number": row["number"],
            "html_url": f"{WEB}{self.owner}/{self.name}/pull/{row['number']}",
            "title": row["title"],
            "body": row["body"],
            "state": row["state"],
            "draft": row["draft"],
            "user": {"login": self.state["login"]},
            "labels": [{"name": name} for name in row["labels"]],
            "requested_reviewers": [{"login": name} for name in row["reviewers"]],
            "merged_at": row["merged_at"],
            "merge_commit_sha": row["merge_sha"],
            "head": {
                "label": f"{owner}:{row['head_ref']}",
                "ref": row["head_ref"],
                "sha": head,
                "repo": None if row["fork_gone"] else self.side_of_repository(owner),
            },
            "base": {
                "label": f"{self.owner}:{row['base_ref']}",
                "ref": row["base_ref"],
                "sha": self.head_of(row["base_ref"]),
                "repo": self.side_of_repository(),
            },
            **({"merged": row["merged_at"] is not None, "mergeable": mergeable} if alone else {}),
        }

    def row(self, number: str) -> Json:
        for row in self.state["pulls"]:
            if row["number"] == int(number):
                return row
        raise Refusal(404, "Not Found")

    def pulls(self) -> tuple[int, Json]:
        query = self.request.query
        rows = list(reversed(self.state["pulls"]))
        wanted = query.get("state", "open")
        rows = [row for row in rows if wanted in ("all", row["state"])]
        if ":" in query.get("head", ""):  # anything else is no filter at all
            owner, ref = query["head"].split(":", 1)
            rows = [row for row in rows if row["head_owner"].lower() == owner.lower() and row["head_ref"] == ref]
        if "base" in query:
            rows = [row for row in rows if row["base_ref"] == query["base"]]
        return 200, [self.described(row, alone=False) for row in rows]

    def pull(self, number: str) -> tuple[int, Json]:
        return 200, self.described(self.row(number), alone=True)

    def open_pull(self) -> tuple[int, Json]:
        body = self.request.body
        owner, colon, ref = body["head"].rpartition(":")
        owner, base = owner if colon else self.owner, body["base"]
        if owner.lower() not in (self.owner.lower(), *self.state["forks"]) or not self.head_of(ref):
            raise Refusal(422, "Validation Failed", {"resource": "PullRequest", "field": "head", "code": "invalid"})
        if not self.head_of(base):
            raise Refusal(422, "Validation Failed", {"resource": "PullRequest", "field": "base", "code": "invalid"})

        def custom(message: str) -> Refusal:
            return Refusal(422, "Validation Failed", {"resource": "PullRequest", "code": "custom", "message": message})

        same = [
            row
            for row in self.state["pulls"]
            if (row["head_owner"], row["head_ref"], row["base_ref"], row["state"]) == (owner, ref, base, "open")
        ]
        if same:
            raise custom(f"A pull request already exists for {owner}:{ref}.")
        if not self.git("rev-list", "-1", f"refs/heads/{base}..refs/heads/{ref}"):
            raise custom(f"No commits between {base} and {ref}")
        if not body["title"]:
            raise Refusal(422, "Validation Failed", {"resource": "Issue", "field": "title", "code": "missing_field"})
        row = {
            "number": self.next_number(),
            "title": body["title"],
            "body": body["body"],
            "state": "open",
            "draft": body["draft"],
            "labels": [],
            "reviewers": [],
            "merged_at": None,
            "merge_sha": None,
            "merged_head": None,
            "head_owner": owner,
            "head_ref": ref,
            "head_sha": self.head_of(ref),
            "base_ref": base,
            "fork_gone": False,
            "looks": 0,
        }
        self.state["pulls"].append(row)
        return 201, self.described(row, alone=True)

    def edit_pull(self, number: str) -> tuple[int, Json]:
        row, body = self.row(number), self.request.body
        if "base" in body and not self.head_of(body["base"]):
            raise Refusal(422, "Validation Failed", {"resource": "PullRequest", "field": "base", "code": "invalid"})
        row.update({{"base": "base_ref"}.get(name, name): value for name, value in body.items()})
        return 200, self.described(row, alone=True)

    def tree(self, row: Json) -> str | None:
        """The tree of the merge; None where there are conflicts."""
        sides = (f"refs/heads/{row['base_ref']}", row["head_sha"])
        return self.git("merge-tree", "--write-tree", *sides) or None

    def merge(self, number: str) -> tuple[int, Json]:
        row, body = self.row(number), self.request.body
        self.described(row, alone=False)
        tree = self.tree(row)
        if self.state["rule"]:
            raise Refusal(405, self.state["rule"])
        if row["state"] != "open" or tree is None:
            raise Refusal(405, "Pull Request is not mergeable")
        if body["sha"] != row["head_sha"]:
            raise Refusal(409, "Head branch was modified. Review and try the merge again.")
        base = f"refs/heads/{row['base_ref']}"
        parents = ["-p", base, *(["-p", row["head_sha"]] if body["merge_method"] == "merge" else [])]
        identity = ["-c", "user.name=GitHub", "-c", "user.email=noreply@github.com"]
        sha = self.git(*identity, "commit-tree", tree, *parents, "-m", row["title"])
        self.git("update-ref", base, sha)
        row.update(state="closed", merged_at="2026-01-02T03:04:05Z", merge_sha=sha, merged_head=row["head_sha"])
        return 200, {"sha": sha, "merged": True, "message": "Pull Request successfully merged"}

    def review(self, number: str) -> tuple[int, Json]:
        row, body = self.row(number), self.request.body
        if body["event"] == "APPROVE":
            raise Refusal(422, "Unprocessable Entity", "Can not approve your own pull request")
        changed = self.git("diff", "--name-only", f"refs/heads/{row['base_ref']}...{row['head_sha']}").split("\n")
        if any(comment["path"] not in changed for comment in body["comments"]):
            raise Refusal(422, "Unprocessable Entity", "Path could not be resolved")
        state = {"COMMENT": "COMMENTED", "REQUEST_CHANGES": "CHANGES_REQUESTED"}[body["event"]]
        review = {
            "id": self.next_number(),
            "html_url": f"{WEB}{self.owner}/{self.name}/pull/{number}#pullrequestreview-1",
            "state": state,
            "user": {"login": self.state["login"]},
            "body": body["body"],
            "commit_id": body.get("commit_id", row["head_sha"]),
        }
        self.state["reviews"].append({**review, "comments": body["comments"]})
        return 200, review

    def request_reviewers(self, number: str) -> tuple[int, Json]:
        row, body = self.row(number), self.request.body
        if not set(body["reviewers"]) <= set(self.state["collaborators"]):
            words = "Reviews may only be requested from collaborators."
            raise Refusal(422, f"{words} One or more of the users or teams you specified is not a collaborator")
        row["reviewers"] += body["reviewers"] + body["team_reviewers"]
        return 201, self.described(row, alone=False)

    # Issues and comments.

    def next_number(self) -> int:
        self.state["last_number"] += 1
        return int(self.state["last_number"])

    def thread(self, number: str) -> Json:
        for row in (*self.state["issues"], *self.state["pulls"]):
            if row["number"] == int(number):
                return row
        raise Refusal(404, "Not Found")

    def issue(self, number: str) -> tuple[int, Json]:
        row = self.thread(number)
        return 200, {
            "number": row["number"],
            "html_url": f"{WEB}{self.owner}/{self.name}/issues/{number}",
            "title": row["title"],
            "state": row["state"],
            "state_reason": row.get("state_reason"),
            "body": row["body"],
            "user": {"login": row.get("author", self.state["login"])} if row.get("author", "") is not None else None,
            "labels": [{"name": name} for name in row["labels"]],
            "assignees": [{"login": name} for name in row.get("assignees", [])],
            "created_at": "2026-01-02T03:04:05Z",
            **({"pull_request": {"url": API}} if "head_ref" in row else {}),
        }

    def label(self, number: str) -> tuple[int, Json]:
        row = self.thread(number)
        row["labels"] += [name for name in self.request.body["labels"] if name not in row["labels"]]
        return 200, [{"name": name} for name in row["labels"]]

    def shown(self, row: Json) -> Json:
        return {
            "id": row["id"],
            "node_id": f"IC_{row['id']}",
            "html_url": f"{WEB}{self.owner}/{self.name}/issues/{row['number']}#issuecomment-{row['id']}",
            "user": None if row["author"] is None else {"login": row["author"]},
            "body": row["body"],
        }

    def comments(self, number: str) -> tuple[int, Json]:
        self.thread(number)
        return 200, [self.shown(row) for row in self.state["comments"] if row["number"] == int(number)]

    def comment(self, number: str) -> tuple[int, Json]:
        self.thread(number)
        body = self.request.body["body"]
        if not body.strip():
            raise Refusal(
                422,
                "Validation Failed",
                {
                    "resource": "IssueComment",
                    "field": "data",
                    "code": "unprocessable",
                    "message": "Body cannot be blank",
                },
            )
        row = {"id": self.next_number(), "number": int(number), "author": self.state["login"], "body": body}
        self.state["comments"].append(row)
        return 201, self.shown(row)

    def edit_comment(self, wanted: str) -> tuple[int, Json]:
        for row in self.state["comments"]:
            if row["id"] == int(wanted):
                row["body"] = self.request.body["body"]
                return 200, self.shown(row)
        raise Refusal(404, "Not Found")

    def graphql(self) -> Json:
        assert "viewerDidAuthor" in self.request.body["query"]
        rows = {f"IC_{row['id']}": row for row in self.state["comments"]}
        found = [rows.get(name) for name in self.request.body["variables"]["ids"]]
        mine = [
            row and {"databaseId": row["id"], "viewerDidAuthor": row["author"] == self.state["login"]} for row in found
        ]
        return {"data": {"nodes": mine}}

    # Checks.

    def commit(self, ref: str) -> str:
        names = [ref] if re.fullmatch(r"[0-9a-f]{40}", ref) else [f"refs/heads/{ref}", f"refs/tags/{ref}"]
        for name in names:
            sha = self.git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
            if sha:
                return sha
        raise Refusal(422, f"No commit found for SHA: {ref}")

    def status(self, ref: str) -> tuple[int, Json]:
        sha = self.commit(ref)
        rows = self.now()["statuses"]
        return 200, {"sha": sha, "state": "pending", "total_count": len(rows), "statuses": rows}

    def check_runs(self, ref: str) -> tuple[int, Json]:
        self.commit(ref)
        rows = self.now()["check_runs"]
        return 200, {"total_count": len(rows), "check_runs": rows}

    def check_suites(self, ref: str) -> tuple[int, Json]:
        self.commit(ref)
        rows = self.now()["check_suites"]
        self.state["polls"] += 1  # the last that is asked of a commit
        return 200, {"total_count": len(rows), "check_suites": rows}

    def now(self) -> Json:
        """What the checks are at this look: the last of the list from there on."""
        history = self.state["checks"]
        return history[min(self.state["polls"], len(history) - 1)]


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
            raise Exit(
                1,
                f'{request.method.title()} "{API}x": read tcp 10.0.0.1:5->1.1.1.1:443: read: connection reset by peer\n',
            )
        case "crash":
            raise Exit(2, "panic: runtime error: index out of range\n")
        case "garbage":
            sys.stdout.write("<html>\x1b[31mNot what you think</html>\n")
            raise Exit(0, "")
        case "moved":
            raise Refusal(307, "Moved Permanently")
        case "hang":
            time.sleep(100000)
        case _ if kind.startswith("http:"):
            raise Refusal(int(kind[5:]), "Server Error")


def printed(request: Request, status: int, body: Json, headers: dict[str, str]) -> None:
    """What gh prints of an answer: with the headers, as `--include` says."""
    assert request.include
    headers = {"Content-Type": "application/json; charset=utf-8", "X-Github-Request-Id": "1:2", **headers}
    sys.stdout.write(f"HTTP/2.0 {status} {REASONS.get(status, '')}\n")
    sys.stdout.write("".join(f"{name}: {headers[name]}\r\n" for name in sorted(headers)) + "\r\n")
    sys.stdout.write(json.dumps(body) + "\n")


def main() -> int:
    """Answer one request."""
    request: Request | None = None
    after = None
    try:
        request = Request(sys.argv[1:])
        with locked_state() as state:
            state["calls"].append({"argv": sys.argv[1:], "body": request.body, "env": sorted(os.environ)})
            kind = fault_of(state, request)
        if kind == "no-login":
            play(kind, request)
        request.resolve()
        if kind is not None:
            play(kind, request)
        with locked_state() as state:
            status, body, headers = GitHub(state, request).answer()
        after = kind
        if after == "hang-after":  # it is done, and nobody hears of it
            time.sleep(100000)
        if after == "lost":
            raise Refusal(502, "Server Error")
        if after == "not-json":
            headers["Content-Type"] = "text/html"
            body = "<html>"
            sys.stdout.write(f"HTTP/2.0 {status} OK\nContent-Type: text/html\r\n\r\n<html>")
            return 0
        if after == "other-shape":
            body = [1] if isinstance(body, list) else {"number": "one"}
        printed(request, status, body, headers)
        return 0
    except Exit as ending:
        sys.stderr.write(str(ending))
        return ending.code
    except Refusal as refusal:
        assert request is not None
        printed(request, refusal.status, refusal.body, refusal.headers)
        sys.stderr.write(f"gh: {refusal.body['message']} (HTTP {refusal.status})\n")
        return 1


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
