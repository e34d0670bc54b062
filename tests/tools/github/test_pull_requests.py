"""Pull requests: one for each branch, found again, updated."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from asking import failed
from worlds.github import GitHub
from worlds.repository import commit, git

from orca.results import or_raise
from orca.tools import GitHubTool


def test_a_pull_request_is_opened_once_and_found_again(github: GitHub) -> None:
    sha = github.branch("fix/total")
    tool = GitHubTool(github.work)
    request = or_raise(tool.create_pull_request("Total", "Sums\nthe cart.", draft=True))
    assert (request.number, request.state, request.base, request.head) == (1, "open", "main", "fix/total")
    assert (request.title, request.body, request.draft) == ("Total", "Sums\nthe cart.", True)
    assert (request.head_sha, request.created) == (sha, True)
    assert request.url == "https://github.com/octo/shop/pull/1"
    again = or_raise(tool.create_pull_request("Other", "text"))
    assert (again.number, again.title, again.created) == (1, "Total", False)
    assert or_raise(tool.pull_request("fix/total")) == or_raise(tool.pull_request(1)) == again
    assert or_raise(tool.pull_request("octo:fix/total")) == again
    assert len(github.state["pulls"]) == 1


def test_many_at_once_get_the_same_one(github: GitHub) -> None:
    github.branch()
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: GitHubTool(github.work).create_pull_request("Fix", ""), range(4)))
    requests = [or_raise(result) for result in results]
    assert [request.number for request in requests] == [1] * 4
    assert [request.created for request in requests].count(True) == 1


def test_another_was_faster_between_the_look_and_the_request(github: GitHub) -> None:
    """The first look finds nothing: it is answered as if the other were not there yet."""
    github.branch()
    tool = GitHubTool(github.work)
    or_raise(tool.create_pull_request("First", ""))
    github.fault("empty", "^GET .*pulls", times=1)
    request = or_raise(tool.create_pull_request("Second", ""))
    assert (request.number, request.title, request.created) == (1, "First", False)
    assert [call.partition("?")[0] for call in github.calls[-4:]] == ["GET ", "GET /pulls", "POST /pulls", "GET /pulls"]


def test_a_branch_may_have_one_into_each_base(github: GitHub) -> None:
    github.branch("release", "r\n", file="r.txt")
    github.branch("fix")
    tool = GitHubTool(github.work)
    first = or_raise(tool.create_pull_request("Fix", ""))
    second = or_raise(tool.create_pull_request("Backport", "", base="release"))
    assert (first.base, second.base, second.created) == ("main", "release", True)
    assert or_raise(tool.create_pull_request("Fix", "", base="main")).number == first.number


def test_closed_ones_do_not_count_as_the_branch_s_own(github: GitHub) -> None:
    github.branch()
    tool = GitHubTool(github.work)
    or_raise(tool.create_pull_request("Fix", ""))
    github.set(pulls=[{**github.state["pulls"][0], "state": "closed"}])
    assert or_raise(tool.pull_request("fix")).state == "closed"
    second = or_raise(tool.create_pull_request("Again", ""))
    assert (second.number, second.created) == (2, True)
    assert or_raise(tool.pull_request("fix")).number == 2


def test_labels_and_reviewers_are_added_to_either(github: GitHub) -> None:
    github.branch()
    tool = GitHubTool(github.work)
    or_raise(tool.create_pull_request("Fix", "", labels=["bot"]))
    or_raise(tool.create_pull_request("Fix", "", labels=["urgent"], reviewers=["ada", "octo/core"]))
    (row,) = github.state["pulls"]
    assert (row["labels"], row["reviewers"]) == (["bot", "urgent"], ["ada", "core"])


def test_what_fails_after_the_pull_request_is_there_says_that_it_is(github: GitHub) -> None:
    github.branch()
    error = failed(GitHubTool(github.work).create_pull_request("Fix", "", reviewers=["stranger"]))
    assert (error.cause, error.effect) == ("refused", "landed")
    assert "pull request 1 is there: https://github.com/octo/shop/pull/1" in str(error)
    assert "collaborators" in error.stderr


Arranged = Callable[[GitHub], object]
REFUSED: dict[str, tuple[Arranged, dict[str, str], str, str]] = {
    "detached": (lambda github: git(github.work, "switch", "--quiet", "--detach"), {}, "detached", "name the head"),
    "the base itself": (lambda github: git(github.work, "switch", "--quiet", "main"), {}, "refused", "is the base"),
    "not pushed": (lambda github: git(github.work, "switch", "--quiet", "-c", "new"), {}, "unknown-ref", "pushed?"),
    "no such head": (lambda github: None, {"head": "nowhere"}, "unknown-ref", "head invalid"),
    "no such base": (lambda github: None, {"base": "nowhere"}, "unknown-ref", "base invalid"),
    "no such fork": (lambda github: None, {"head": "stranger:fix"}, "unknown-ref", "OWNER:BRANCH"),
    "bad head": (lambda github: None, {"head": "-x"}, "bad-ref-name", "'-x'"),
    "bad owner": (lambda github: None, {"head": "a b:fix"}, "bad-ref-name", "OWNER:BRANCH"),
    "bad base": (lambda github: None, {"base": "a..b"}, "bad-ref-name", "'a..b'"),
    "nothing in it": (lambda github: github.remote.refs(), {"head": "empty"}, "refused", "No commits between"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_opened_is_told_apart(github: GitHub, case: str) -> None:
    arrange, given, cause, words = REFUSED[case]
    github.branch()
    git(github.work, "push", "--quiet", "origin", "origin/main:refs/heads/empty")
    arrange(github)
    error = failed(GitHubTool(github.work).create_pull_request("Fix", "", **given))  # type: ignore[arg-type]
    assert (error.cause, error.effect) == (cause, "none")
    assert words in error.stderr
    assert github.state["pulls"] == []


def test_a_title_and_a_body_may_be_anything(github: GitHub) -> None:
    github.branch()
    title, body = '--title "@file" $(x) \x1b[31m é\U0001f419', "-x\n\n@-\r\n```\n" + "long " * 60_000
    request = or_raise(GitHubTool(github.work).create_pull_request(title, body))
    assert (request.title, request.body) == (title, body)
    assert "\x1b" not in repr(request)
    error = failed(GitHubTool(github.work).update_pull_request(1, title="\udcff"))
    assert (error.cause, error.effect) == ("bad-argument", "none")


def test_no_text_is_in_an_argv(github: GitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GH_TOKEN", "ghp_0123456789abcdefghijklmnopqrstuvwxyz")
    github.branch()
    or_raise(GitHubTool(github.work).create_pull_request("TITLE", "BODY", labels=["LABEL"], reviewers=["ada"]))
    argvs = " ".join(word for call in github.state["calls"] for word in call["argv"])
    assert not [word for word in ("TITLE", "BODY", "LABEL", "ada", "ghp_") if word in argvs]


@pytest.mark.parametrize("branch", ["a&state=closed", "50%25", "{branch}", "{owner}", "x#y", "repo", "ü", "a+b", "123"])
def test_names_of_branches_reach_github_as_they_are(github: GitHub, branch: str) -> None:
    """What gh would take for one of its places, and what an address is made of."""
    github.branch(branch)
    tool = GitHubTool(github.work)
    request = or_raise(tool.create_pull_request("Fix", ""))
    assert request.head == branch
    assert or_raise(tool.pull_request(branch)).number == request.number
    assert or_raise(tool.create_pull_request("Fix", "")).created is False
    assert or_raise(tool.checks(branch)).sha == request.head_sha


def test_a_branch_of_a_fork(github: GitHub) -> None:
    github.set(forks=["me"])
    github.branch()
    tool = GitHubTool(github.work)
    own = or_raise(tool.create_pull_request("Own", ""))
    theirs = or_raise(tool.create_pull_request("Fork", "", head="me:fix"))
    assert (own.head, theirs.head, theirs.created) == ("fix", "me:fix", True)
    assert or_raise(tool.pull_request("me:fix")).number == theirs.number
    assert or_raise(tool.pull_request("ME:fix")).number == theirs.number
    assert or_raise(tool.pull_request("fix")).number == own.number
    github.set(pulls=[{**row, "fork_gone": row["head_owner"] == "me"} for row in github.state["pulls"]])
    assert or_raise(tool.pull_request(theirs.number)).head == "me:fix"


def test_a_branch_that_follows_a_fork_is_taken_from_there(github: GitHub) -> None:
    """In a clone of a fork: `upstream` is where the pull request goes, `origin` is the fork."""
    github.set(forks=["me"])
    git(github.work, "remote", "rename", "origin", "upstream")
    git(github.work, "remote", "add", "origin", "git@github.com:me/shop.git")
    git(github.work, "config", "remote.origin.pushurl", str(github.remote.bare))
    github.branch()
    tool = GitHubTool(github.work)
    request = or_raise(tool.create_pull_request("Fix", ""))
    assert (request.head, request.created) == ("me:fix", True)
    assert or_raise(tool.create_pull_request("Fix", "")).created is False
    assert github.state["pulls"][0]["head_owner"] == "me"


def test_an_update_changes_what_it_is_given(github: GitHub) -> None:
    github.branch("release", "r\n", file="r.txt")
    github.branch()
    tool = GitHubTool(github.work)
    or_raise(tool.create_pull_request("Fix", "old"))
    assert or_raise(tool.update_pull_request(1, title="Better")).body == "old"
    updated = or_raise(tool.update_pull_request(1, body="new", base="release"))
    assert (updated.title, updated.body, updated.base, updated.created) == ("Better", "new", "release", False)
    assert failed(tool.update_pull_request(1, base="nowhere")).cause == "unknown-ref"
    assert failed(tool.update_pull_request(1, base="-x")).cause == "bad-ref-name"
    with pytest.raises(ValueError, match="nothing to update"):
        tool.update_pull_request(1)


def test_one_that_is_not_there(github: GitHub) -> None:
    tool = GitHubTool(github.work)
    for error in (failed(tool.pull_request(99)), failed(tool.pull_request("nowhere"))):
        assert (error.cause, error.effect) == ("unknown-ref", "none")
    for number in (0, -1, True, 1.0):
        with pytest.raises(ValueError, match="counts from 1"):
            tool.pull_request(number)  # type: ignore[arg-type]


def test_a_state_that_only_a_newer_github_knows_is_unknown(github: GitHub) -> None:
    github.branch()
    tool = GitHubTool(github.work)
    or_raise(tool.create_pull_request("Fix", ""))
    github.set(pulls=[{**github.state["pulls"][0], "state": "archived"}])
    assert or_raise(tool.pull_request(1)).state == "unknown"


def test_a_request_that_got_no_answer_is_looked_for(github: GitHub) -> None:
    github.branch()
    github.fault("lost", "^POST")
    request = or_raise(GitHubTool(github.work).create_pull_request("Fix", ""))
    assert (request.number, request.created) == (1, True)


@pytest.mark.slow
def test_one_that_ran_out_of_time_is_named_by_the_failure(github: GitHub) -> None:
    github.branch()
    github.fault("hang-after", "^POST")
    error = failed(GitHubTool(github.work).create_pull_request("Fix", "", timeout=8))
    assert (error.cause, error.effect) == ("timeout", "landed")
    assert str(error).endswith("pull request 1 is there: https://github.com/octo/shop/pull/1")


def test_an_answer_that_cannot_be_read_says_that_it_has_landed(github: GitHub) -> None:
    github.branch()
    github.fault("not-json", "^POST")
    tool = GitHubTool(github.work)
    assert or_raise(tool.create_pull_request("Fix", "")).created
    github.fault("other-shape", "^PATCH")
    error = failed(tool.update_pull_request(1, title="New"))
    assert (error.cause, error.effect) == ("other", "landed")


def test_the_repository_may_be_named(github: GitHub, tmp_path: Path) -> None:
    """Where no remote names it: outside a repository, or in a clone by another address."""
    github.branch()
    named = GitHubTool(tmp_path, repo="octo/shop")
    request = or_raise(named.create_pull_request("Fix", "", head="fix"))
    assert or_raise(named.pull_request("fix")).number == request.number
    assert failed(GitHubTool(tmp_path, repo="octo/other").pull_request(1)).cause == "unknown-remote"
    or_raise(GitHubTool(tmp_path, repo="ghe.example:8443/octo/shop").pull_request(1))
    argv = github.state["calls"][-1]["argv"]
    assert argv[argv.index("--hostname") + 1] == "ghe.example:8443"
    for bad in ("shop", "a/b/c/d", "-x/../y", "octo/shop?x", "", "octo/..", "a b/c"):
        with pytest.raises(ValueError, match="OWNER/NAME"):
            GitHubTool(tmp_path, repo=bad)


def test_upstream_goes_before_origin(github: GitHub) -> None:
    git(github.work, "remote", "add", "upstream", "https://github.com/else/where")
    assert failed(GitHubTool(github.work).pull_request(1)).cause == "unknown-remote"


def test_a_commit_that_is_pushed_moves_the_head(github: GitHub) -> None:
    github.branch()
    tool = GitHubTool(github.work)
    or_raise(tool.create_pull_request("Fix", ""))
    sha = commit(github.work, "more.txt", "more\n")
    git(github.work, "push", "--quiet", "origin", "fix")
    assert or_raise(tool.pull_request("fix")).head_sha == sha
