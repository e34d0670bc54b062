"""What GitHub does with a request: the REST answers, and their refusals, that the stand-in `gh` prints."""

import re
import subprocess
from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import unquote

API = "https://api.github.com/"
WEB = "https://github.com/"

Json = Any


class Asked(Protocol):
    """A request as it reaches GitHub."""

    method: str
    path: str
    query: dict[str, str]
    body: Json


class Refusal(Exception):
    """GitHub answers with an error."""

    def __init__(self, status: int, message: str, *errors: Json, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"message": message, **({"errors": list(errors)} if errors else {}), "status": str(status)}
        self.headers = headers or {}


class Repository:
    """What GitHub does with a request, on the state that the file holds."""

    def __init__(self, state: Json, request: Asked) -> None:
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
        shown = part if isinstance(body, list) else {**body, str(key): part}
        return status, shown, links if number * size < len(rows) else {}

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
