"""orca run by a hook: on another repository it is at home, on its own it reads what it is shown and changes nothing."""

import json
import shlex
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from outcomes import changed, state
from worlds.repository import NEUTRAL, git, hook, seed, sha, write

from orca.results import or_raise
from orca.tools import GitTool

OUTER = {**NEUTRAL, "GIT_AUTHOR_NAME": "Outer", "GIT_AUTHOR_DATE": "@86400 +0000"}

IN_ANOTHER = """
from pathlib import Path
from orca.results import or_raise
from orca.tools import GitTool
tool = GitTool({root!r})
Path(tool.root, "new").write_text("new")
or_raise(tool.commit("by the hook", add=["new"]))
Path(tool.root, "other").write_text("new")
or_raise(tool.commit("by the hook again", only=["other"]))
or_raise(tool.create_branch("by-the-hook"))
"""

ON_ITS_OWN = """
import json, time
from pathlib import Path
from orca.results import Failure, or_raise
from orca.tools import GitTool
tool = GitTool({root!r})
status = or_raise(tool.status())
calls = {{
    "add": lambda: tool.add("a.txt"),
    "add all": lambda: tool.add(all=True),
    "unstage": lambda: tool.unstage(),
    "commit": lambda: tool.commit("x"),
    "commit all": lambda: tool.commit("x", add="all"),
    "commit only": lambda: tool.commit("x", only=["a.txt"]),
    "switch": lambda: tool.switch("other"),
    "create_branch": lambda: tool.create_branch("new"),
}}
began = time.monotonic()
causes = {{name: (call().failure().cause, call().failure().effect) for name, call in calls.items()}}
Path({report!r}).write_text(json.dumps({{
    "staged": [entry.path for entry in status.staged],
    "unstaged": [entry.path for entry in status.unstaged],
    "head": or_raise(tool.head()),
    "branch": or_raise(tool.current_branch()),
    "branches": [branch.name for branch in or_raise(tool.branches())],
    "log": [entry.subject for entry in or_raise(tool.log())],
    "causes": causes,
    "seconds": time.monotonic() - began,
}}))
"""

CAUSES = ("add", "add all", "unstage", "commit", "commit all", "commit only", "switch", "create_branch")


def python(repository: Path, code: str, **values: str) -> str:
    """A line of shell that runs the code, with these values in it."""
    file = write(repository.parent / "inner.py", code.format(**values))
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(file))}"


@pytest.fixture
def other(repo: Path) -> Path:
    """A second repository, in which nobody but the hook is at work."""
    return seed(repo.parent / "other")


def all_changes(repo: Path) -> None:
    git(repo, "commit", "--quiet", "--all", "-m", "outer", env=OUTER)


def what_is_staged(repo: Path) -> None:
    git(repo, "add", "a.txt")
    git(repo, "commit", "--quiet", "-m", "outer", env=OUTER)


def from_a_folder(repo: Path) -> None:
    git(repo, "add", "a.txt")
    git(repo / "folder", "commit", "--quiet", "-m", "outer", env=OUTER)


def some_paths(repo: Path) -> None:
    git(repo, "commit", "--quiet", "-m", "outer", "--", "a.txt", env=OUTER)


def with_a_setting(repo: Path) -> None:
    git(repo, "-c", "user.name=Setting", "-c", "core.abbrev=11", "commit", "--quiet", "--all", "-m", "outer", env=OUTER)


def with_settings_by_number(repo: Path) -> None:
    settings = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Setting"}
    git(repo, "commit", "--quiet", "--all", "-m", "outer", env={**OUTER, **settings})


def with_the_folder_named(repo: Path) -> None:
    git(repo, "--git-dir=.git", "--work-tree=.", "commit", "--quiet", "--all", "-m", "outer", env=OUTER)


def by_orca(repo: Path) -> None:
    or_raise(GitTool(repo).commit("outer", add=["a.txt"], author="Outer <outer@example.invalid>"))


def by_orca_some_paths(repo: Path) -> None:
    or_raise(GitTool(repo).commit("outer", only=["a.txt"], author="Outer <outer@example.invalid>"))


Way = Callable[[Path], None]
WAYS: tuple[Way, ...] = (
    *(all_changes, what_is_staged, from_a_folder, some_paths, with_a_setting, with_settings_by_number),
    *(with_the_folder_named, by_orca, by_orca_some_paths),
)

# The way in which the hook comes to run, whether in a linked worktree, and whether it goes to the other repository.
CASES = [
    *((way, False, False) for way in WAYS),
    *((way, False, True) for way in (all_changes, what_is_staged, some_paths, by_orca_some_paths)),
    *((what_is_staged, True, goes) for goes in (False, True)),
    (by_orca, True, True),
]
NAMES = [f"{way.__name__}{'-linked' * linked}{'-after-cd' * goes}" for way, linked, goes in CASES]
in_every_way = pytest.mark.parametrize(("way", "linked", "goes"), CASES, ids=NAMES)


def outer_worktree(repo: Path, linked: bool) -> Path:
    """The worktree in which the hook runs, with a change of `a.txt` that is not staged."""
    top = repo
    if linked:
        top = repo.parent / "linked"
        git(repo, "worktree", "add", "--quiet", "-b", "linked", top)
    (top / "folder").mkdir()
    write(top / "a.txt", "changed\n")
    return top


@in_every_way
def test_a_hook_commits_in_another_repository_as_if_it_were_outside(
    way: Way, linked: bool, goes: bool, repo: Path, other: Path
) -> None:
    outer = outer_worktree(repo, linked)
    code = python(repo, IN_ANOTHER, root="." if goes else str(other))
    hook(repo, "pre-commit", f"cd {other} && {code}" if goes else code)
    way(outer)
    assert git(other, "log", "--format=%s %an %cn", "by-the-hook").decode().splitlines() == [
        "by the hook again T T",
        "by the hook T T",
        "seed T T",
    ]
    for revision in ("by-the-hook", "by-the-hook~1"):
        date = datetime.fromisoformat(git(other, "log", "-1", "--format=%aI", revision).decode().strip())
        assert datetime.now(UTC) - date < timedelta(hours=1)
    assert (changed(other, "by-the-hook~1"), changed(other, "by-the-hook")) == ({b"new"}, {b"other"})
    assert git(other, "status", "--porcelain") == b""
    assert git(outer, "log", "-1", "--format=%s %an") == b"outer Outer\n"
    assert changed(outer) == {b"a.txt"}
    assert git(outer, "status", "--porcelain") == b""


@in_every_way
def test_a_hook_reads_its_own_repository_as_it_is_shown_it_and_changes_nothing(
    way: Way, linked: bool, goes: bool, repo: Path, other: Path
) -> None:
    outer = outer_worktree(repo, linked)
    report = repo.parent / "report"
    code = python(repo, ON_ITS_OWN, root=str(outer), report=str(report))
    hook(repo, "pre-commit", f"cd {other} && {code}" if goes else code)
    head, branches = sha(outer), git(outer, "for-each-ref", "--format=%(refname:short)", "refs/heads")
    write(outer / "folder/untracked", "new\n")
    way(outer)
    seen: dict[str, Any] = json.loads(report.read_text())
    assert seen["staged"] == ["a.txt"]
    assert seen["unstaged"] == []
    assert (seen["head"], seen["log"]) == (head, ["seed"])
    assert seen["branches"] == branches.decode().split()
    assert seen["branch"] == outer.name.replace("repo", "main")
    assert seen["causes"] == {name: ["refused", "none"] for name in CAUSES}
    assert seen["seconds"] < 5
    assert changed(outer) == {b"a.txt"}
    assert git(outer, "log", "-1", "--format=%s") == b"outer\n"


def test_the_main_worktree_is_another_one_for_a_hook_of_a_linked_one(repo: Path) -> None:
    linked = repo.parent / "linked"
    git(repo, "worktree", "add", "--quiet", "-b", "linked", linked)
    write(linked / "a.txt", "changed\n")
    code = python(repo, IN_ANOTHER, root=str(repo))
    # Hooks are shared: this one is not to run for the commits that it makes.
    hook(repo, "pre-commit", f'test "$(pwd)" = {repo} || {code}')
    git(linked, "commit", "--quiet", "--all", "-m", "outer", env=OUTER)
    assert git(repo, "log", "--format=%s %an").decode().splitlines()[:2] == ["by the hook again T", "by the hook T"]
    assert (changed(linked), changed(repo)) == ({b"a.txt"}, {b"other"})


def test_outside_a_hook_identity_and_configuration_of_the_environment_count(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "GIT_AUTHOR_NAME": "Author",
        "GIT_COMMITTER_EMAIL": "committer@example.invalid",
        "GIT_AUTHOR_DATE": "@86400 +0000",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "user.name",
        "GIT_CONFIG_VALUE_0": "Counted",
        "GIT_CONFIG_PARAMETERS": "'user.email'='parameter@example.invalid'",
    }.items():
        monkeypatch.setenv(name, value)
    or_raise(GitTool(repo).commit("x", allow_empty=True))
    form = "--format=%an|%ae|%cn|%ce|%at"
    shown = git(repo, "log", "-1", form).decode().strip()
    assert shown == "Author|parameter@example.invalid|Counted|committer@example.invalid|86400"


@pytest.mark.parametrize("variable", ["GIT_DIR", "GIT_INDEX_FILE"])
def test_a_variable_that_names_another_repository_leads_no_call_there(
    variable: str, repo: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(other / ".git" / ("index" if variable == "GIT_INDEX_FILE" else "")))
    before = state(other)
    write(repo / "new", "new\n")
    tool = GitTool(repo)
    assert [entry.path for entry in or_raise(tool.status()).untracked] == ["new"]
    monkeypatch.delenv(variable)
    made = sha(repo)
    monkeypatch.setenv(variable, str(other / ".git" / ("index" if variable == "GIT_INDEX_FILE" else "")))
    assert or_raise(tool.head()) == made
    assert or_raise(tool.commit("x", add="all")).files[0].path == "new"
    assert state(other) == before


def test_a_variable_that_names_nothing_at_all_hurts_nobody(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for value in (".git/index", "nowhere", "/nonexistent/index"):
        monkeypatch.setenv("GIT_INDEX_FILE", value)
        assert or_raise(GitTool(repo).status()).clean
        or_raise(GitTool(repo).commit("x", allow_empty=True))


# What a call of ours starts


def test_a_program_that_git_runs_for_a_call_of_ours_is_locked_out_at_once(repo: Path) -> None:
    """A filter knows nothing of hooks: git tells it of no index."""
    report = repo.parent / "report"
    code = """
import json, sys, time
from pathlib import Path
from orca.tools import GitTool
began = time.monotonic()
error = GitTool({root!r}).add("a.txt").failure()
Path({report!r}).write_text(json.dumps([error.cause, error.effect, time.monotonic() - began]))
sys.stdout.write(sys.stdin.read())
"""
    git(repo, "config", "filter.orca.clean", python(repo, code, root=str(repo), report=str(report)))
    write(repo / ".git/info/attributes", "*.c filter=orca\n")
    write(repo / "x.c", "new\n")
    assert or_raise(GitTool(repo).add("x.c")) == ("x.c",)
    cause, effect, seconds = json.loads(report.read_text())
    assert (cause, effect) == ("locked", "none")
    assert seconds < 5


def test_a_hook_of_a_commit_of_ours_is_locked_out_of_other_changes_at_once(repo: Path) -> None:
    report = repo.parent / "report"
    code = """
import json, time
from pathlib import Path
from orca.tools import GitTool
began = time.monotonic()
error = GitTool({root!r}).commit("x", allow_empty=True).failure()
Path({report!r}).write_text(json.dumps([error.cause, time.monotonic() - began]))
"""
    body = python(repo, code, root=str(repo), report=str(report))
    for name in ("pre-commit", "post-commit"):
        hook(repo, name, body)
        or_raise(GitTool(repo).commit("x", allow_empty=True))
        cause, seconds = json.loads(report.read_text())
        assert cause in ("refused", "locked")
        assert seconds < 5
        report.unlink()
    assert git(repo, "rev-list", "--count", "HEAD") == b"3\n"
