"""A repository on GitHub that is none: the stand-in `gh` on PATH, and the state that it keeps."""

import fcntl
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .remote import Remote
from .repository import commit, git, script

TESTS = Path(__file__).parent.parent
PROGRAM = f"""#!{sys.executable} -SE
import os, sys
sys.path.insert(0, {str(TESTS)!r})
from worlds.gh_stand_in import main
code = main()
sys.stdout.flush()
sys.stderr.flush()
os._exit(code)
"""
NAME = "octo/shop"


@dataclass(frozen=True)
class GitHub:
    """`work` is a clone whose pushes land in the bare repository that stands for GitHub's; `bin` holds the `gh`."""

    bin: Path
    remote: Remote

    @property
    def work(self) -> Path:
        return self.remote.work

    @property
    def state(self) -> dict[str, Any]:
        """All that GitHub knows, as it is now; it is replaced whole, so that no reader needs the lock."""
        found: dict[str, Any] = json.loads((self.bin / "state.json").read_text())
        return found

    def set(self, **changes: object) -> None:
        """Changes what GitHub knows."""
        with (self.bin / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            fresh = self.bin / "state.json.new"
            fresh.write_text(json.dumps(self.state | changes))
            fresh.replace(self.bin / "state.json")

    def fault(self, kind: str, match: str = "", times: int = 1000) -> None:
        """From now on requests that fit (`METHOD endpoint`) meet a fault, so many times."""
        self.set(faults=[*self.state["faults"], {"kind": kind, "match": match, "times": times}])

    @property
    def calls(self) -> list[str]:
        """Every request so far: its method, and its endpoint without what it is of."""
        argvs = [call["argv"] for call in self.state["calls"]]
        return [f"{argv[argv.index('--method') + 1]} {argv[-1].removeprefix('repos/{owner}/{repo}')}" for argv in argvs]

    def branch(self, name: str = "fix", content: str = "fixed\n", *, file: str = "fix.txt") -> str:
        """The sha of a new commit on a branch that is checked out and pushed."""
        git(self.work, "switch", "--quiet", "-C", name)
        sha = commit(self.work, file, content)
        git(self.work, "push", "--quiet", "--set-upstream", "origin", name)
        return sha


def check_run(name: str, conclusion: str | None = "success", status: str | None = None) -> dict[str, object]:
    """A check run as GitHub describes it; without a conclusion it is at work."""
    return {
        "id": 1,
        "name": name,
        "status": status or ("completed" if conclusion else "in_progress"),
        "conclusion": conclusion,
        "details_url": f"https://ci.example/{name}",
        "html_url": "https://github.com/x",
        "app": {"slug": "github-actions"},
        "output": {"title": None, "summary": None},
    }


def status(context: str, state: str = "success") -> dict[str, object]:
    """A commit status as GitHub describes it."""
    return {"context": context, "state": state, "target_url": None, "description": f"{context} {state}"}


def checks(*check_runs: object, statuses: object = (), suites: object = ()) -> dict[str, object]:
    """What GitHub has of a commit at one look."""
    return {"check_runs": list(check_runs), "statuses": statuses, "check_suites": suites}


def suite(state: str = "completed", runs: int = 1) -> dict[str, object]:
    """A check suite as GitHub describes it."""
    return {"id": 1, "status": state, "conclusion": None, "latest_check_runs_count": runs}


def github(directory: Path, remote: Remote) -> GitHub:
    """The stand-in in a new directory, and the remote's `work` as a clone of what it stands for."""
    script(directory / "gh", PROGRAM)
    world = GitHub(directory, remote)
    (directory / "state.json").write_text(
        json.dumps(
            {
                "full_name": NAME,
                "bare": str(remote.bare),
                "default_branch": "main",
                "login": "robot",
                "collaborators": ["ada"],
                "forks": [],
                "pulls": [],
                "issues": [],
                "comments": [],
                "reviews": [],
                "checks": [checks()],
                "polls": 0,
                "last_number": 0,
                "largest_page": 100,
                "looks_until_mergeable": 0,
                "rule": None,
                "faults": [],
                "calls": [],
            }
        )
    )
    git(remote.work, "config", "remote.origin.pushurl", str(remote.bare))
    git(remote.work, "config", "remote.origin.url", f"https://github.com/{NAME}.git")
    return world
