"""Remotes: their addresses as git uses them, what they hold, and what a fetch brings."""

import threading
from pathlib import Path

import pytest
from outcomes import failed
from worlds.remote import Remote, Transport
from worlds.repository import commit, git, hook, sha, write

from orca.errors import RuntimeError
from orca.results import Result, or_raise
from orca.tools import GitTool, RefUpdate
from orca.tools import Remote as Configured

MAIN, TRACKED = "refs/heads/main", "refs/remotes/origin/main"


def config(repository: Path, key: str, *values: str) -> list[str]:
    """The values of a key, after those given have been added."""
    for value in values:
        git(repository, "config", "--add", key, value)
    return git(repository, "config", "--get-all", key).decode().splitlines()


def test_addresses_are_those_that_git_uses(repo: Path) -> None:
    config(repo, "remote.origin.url", "gh:org/shop", "gh:org/second")
    config(repo, "remote.b.c.url", "https://example.org/x")
    config(repo, "remote.b.c.pushurl", "gh:org/push", "gh:org/push2")
    config(repo, "remote.noaddress.fetch", "+refs/heads/*:refs/remotes/noaddress/*")
    config(repo, "url.https://example.com/.insteadOf", "gh:")
    config(repo, "url.ssh://git@example.org/.pushInsteadOf", "https://example.org/")
    tool = GitTool(repo)
    assert or_raise(tool.remotes()) == (
        Configured("b.c", "https://example.org/x", "https://example.com/org/push"),
        Configured("origin", "https://example.com/org/shop", "https://example.com/org/shop"),
    )
    config(repo, "remote.a.url", "https://example.org/y")
    assert or_raise(tool.remotes())[0] == Configured("a", "https://example.org/y", "ssh://git@example.org/y")
    assert or_raise(tool.remote_url()) == "https://example.com/org/shop"
    assert failed(tool.remote_url("absent")).cause == "unknown-remote"
    assert failed(tool.remote_url("noaddress")).cause == "unknown-remote"


@pytest.mark.parametrize("name", ["origin", "a.b", "with/slash", "ümlaut", 'quo"ted'])
def test_a_remote_is_added_under_any_name_that_git_allows(name: str, remote: Remote, repo: Path) -> None:
    tool = GitTool(repo)
    assert or_raise(tool.add_remote(name, str(remote.bare))) == Configured(name, str(remote.bare), str(remote.bare))
    assert [update.local for update in or_raise(tool.fetch(name))] == [f"refs/remotes/{name}/main"]
    assert or_raise(tool.remote_head("main", remote=name)) == remote.head()


def test_a_name_is_taken_once(repo: Path) -> None:
    tool = GitTool(repo)
    or_raise(tool.add_remote("origin", "https://example.org/x"))
    for url in ("https://example.org/y", "https://user:t0ken12345@example.org/y"):
        error = failed(tool.add_remote("origin", url))
        assert (error.cause, error.effect) == ("ref-conflict", "none")
    assert config(repo, "remote.origin.url") == ["https://example.org/x"]


@pytest.mark.parametrize("name", ["", "-x", "--mirror=push", "a b", "a..b", "a\nb", "a\0b"])
def test_what_is_no_name_is_refused(name: str, repo: Path) -> None:
    before = (repo / ".git" / "config").read_bytes()
    error = failed(GitTool(repo).add_remote(name, "https://example.org/x"))
    assert (error.cause, error.effect, error.exit_code) == ("bad-ref-name", "none", None)
    assert (repo / ".git" / "config").read_bytes() == before


@pytest.mark.parametrize(
    "url",
    ["", "--upload-pack=touch {}", "-x", "ext::sh -c touch% {}", "fd::17", "evil::x", "https://a/b\n[core]", "a\0b"],
)
def test_what_could_start_a_program_is_no_address(url: str, repo: Path, tmp_path: Path) -> None:
    planted = tmp_path / "planted"
    text = url.format(planted)
    git(repo, "config", "protocol.ext.allow", "always")
    before = (repo / ".git" / "config").read_bytes()
    tool = GitTool(repo)
    results: list[Result[object, RuntimeError]] = [
        tool.add_remote("origin", text),
        GitTool.clone(text, tmp_path / "clone"),
        tool.push(text),
        tool.fetch(text),
        tool.pull(text),
        tool.remote_head("main", remote=text),
        tool.default_branch(text),
        tool.remote_url(text),
    ]
    for result in results:
        error = failed(result)
        assert (error.cause, error.effect, error.exit_code) == ("refused", "none", None)
    assert (repo / ".git" / "config").read_bytes() == before
    assert not planted.exists()
    assert not (tmp_path / "clone").exists()


@pytest.mark.parametrize("text", ["--upload-pack=touch {}; git-upload-pack", "--output={}", "-x", "^main", "a:b"])
def test_no_branch_is_taken_for_an_option_or_a_refspec(text: str, remote: Remote, tmp_path: Path) -> None:
    planted = tmp_path / "planted"
    name, tool = text.format(planted), GitTool(remote.work)
    results: list[Result[object, RuntimeError]] = [
        tool.pull(branch=name),
        tool.remote_head(name),
        GitTool.clone(remote.url, tmp_path / "clone", branch=name),
    ]
    for result in results:
        error = failed(result)
        assert (error.cause, error.effect, error.exit_code) == ("bad-ref-name", "none", None)
    assert not planted.exists()
    assert not (tmp_path / "clone").exists()


@pytest.mark.parametrize("transport", ["file", "http", "ssh"])
def test_a_remote_is_asked_over_every_transport(transport: Transport, request: pytest.FixtureRequest) -> None:
    remote: Remote = request.getfixturevalue("remote_over")(transport)
    new = remote.colleague_pushes()
    tool = GitTool(remote.work)
    assert or_raise(tool.remote_head("main")) == new
    assert or_raise(tool.fetch()) == (RefUpdate(TRACKED, MAIN, sha(remote.work), new, "updated"),)


def test_a_branch_that_is_not_there_has_no_head(remote: Remote) -> None:
    """The remote has names that end alike."""
    for name in ("x/refs/heads/feature", "other/feature"):
        git(remote.colleague, "push", "--quiet", "origin", f"main:refs/heads/{name}")
    git(remote.colleague, "push", "--quiet", "origin", "main:refs/tags/feature")
    tool = GitTool(remote.work)
    assert or_raise(tool.remote_head("feature")) is None
    assert or_raise(tool.remote_head("other/feature")) == remote.head("other/feature")


def test_the_default_branch_is_the_recorded_one_or_else_asked_for(remote: Remote) -> None:
    tool = GitTool(remote.work)
    git(remote.bare, "symbolic-ref", "HEAD", "refs/heads/trunk/next")
    assert or_raise(tool.default_branch()) == "main"
    git(remote.work, "remote", "set-head", "origin", "--delete")
    error = failed(tool.default_branch())  # HEAD leads to a branch that is not there: the remote shows none
    assert (error.cause, error.effect) == ("unknown-ref", "none")
    git(remote.bare, "branch", "trunk/next", "main")
    assert or_raise(tool.default_branch()) == "trunk/next"
    git(remote.bare, "update-ref", "--no-deref", "HEAD", remote.head() or "")
    assert failed(tool.default_branch()).cause == "unknown-ref"


def test_a_remote_that_is_gone_or_was_never_there(remote: Remote) -> None:
    tool = GitTool(remote.work)
    for error in (failed(tool.fetch("absent")), failed(tool.fetch(str(remote.bare))), failed(tool.pull("absent"))):
        assert (error.cause, error.effect) == ("unknown-remote", "none")
    git(remote.work, "config", "remote.origin.url", remote.url_of("missing.git"))
    for error in (failed(tool.fetch()), failed(tool.remote_head("main")), failed(tool.pull())):
        assert error.cause == "unknown-remote"


def test_a_fetch_returns_what_was_created_updated_and_deleted(remote: Remote) -> None:
    tool = GitTool(remote.work)
    git(remote.colleague, "push", "--quiet", "origin", "main:refs/heads/a/one", "main:refs/heads/gone")
    old = sha(remote.work)
    created = or_raise(tool.fetch())
    assert [(ref.remote, ref.old, ref.new, ref.kind) for ref in created] == [
        ("refs/heads/a/one", None, old, "created"),
        ("refs/heads/gone", None, old, "created"),
    ]
    new = remote.colleague_pushes()
    git(remote.colleague, "tag", "-a", "-m", "one", "v1")
    git(remote.colleague, "push", "--quiet", "origin", "v1", ":refs/heads/gone")
    assert or_raise(tool.fetch()) == (
        RefUpdate(TRACKED, MAIN, old, new, "updated"),
        RefUpdate("refs/tags/v1", "refs/tags/v1", None, sha(remote.bare, "v1"), "created"),
    )
    gone = RefUpdate("refs/remotes/origin/gone", "refs/heads/gone", old, None, "deleted")
    assert or_raise(tool.fetch(prune=True)) == (gone,)
    assert or_raise(tool.fetch(prune=True)) == ()


def test_a_fetch_names_the_refs_that_the_configuration_maps(remote: Remote) -> None:
    old, new = sha(remote.work), remote.colleague_pushes()
    git(remote.colleague, "push", "--quiet", "origin", f"{old}:refs/pull/7/head")
    git(remote.work, "config", "--replace-all", "remote.origin.fetch", "+refs/heads/main:refs/here/main")
    git(remote.work, "config", "--add", "remote.origin.fetch", "+refs/pull/*/head:refs/pulls/*/of")
    assert or_raise(GitTool(remote.work).fetch()) == (
        RefUpdate("refs/here/main", MAIN, None, new, "created"),
        RefUpdate("refs/pulls/7/of", "refs/pull/7/head", None, old, "created"),
    )


def test_what_is_committed_meanwhile_was_not_fetched(remote: Remote) -> None:
    """The server holds the fetch up until a commit has been made here."""
    new = remote.colleague_pushes()
    mark = remote.root / "fetching"
    upload = f"touch '{mark}'; while test -e '{mark}'; do sleep 0.02; done; git-upload-pack"
    git(remote.work, "config", "remote.origin.uploadpack", upload)
    fetched: list[tuple[RefUpdate, ...]] = []
    thread = threading.Thread(target=lambda: fetched.append(or_raise(GitTool(remote.work).fetch())))
    thread.start()
    while not mark.exists():
        thread.join(0.02)
        assert thread.is_alive()
    old = sha(remote.work)
    commit(remote.work)
    mark.unlink()
    thread.join(60)
    assert fetched == [(RefUpdate(TRACKED, MAIN, old, new, "updated"),)]


HOSTILE = {
    "fetch.prune": "true",
    "fetch.pruneTags": "true",
    "fetch.output": "compact",
    "fetch.showForcedUpdates": "false",
    "fetch.all": "true",
    "remote.origin.prune": "true",
    "remote.origin.pruneTags": "true",
    "remote.origin.skipDefaultUpdate": "true",
}


def test_configuration_deletes_nothing_that_the_call_does_not_name(remote: Remote) -> None:
    git(remote.work, "update-ref", "refs/remotes/origin/old", "HEAD")
    git(remote.work, "tag", "only-here")
    for key, value in HOSTILE.items():
        git(remote.work, "config", key, value)
    new = remote.colleague_pushes()
    (update,) = or_raise(GitTool(remote.work).fetch())
    assert (update.local, update.new) == (TRACKED, new)
    assert [update.local for update in or_raise(GitTool(remote.work).fetch(prune=True))] == ["refs/remotes/origin/old"]
    assert git(remote.work, "tag").split() == [b"only-here"]


def test_a_remote_of_this_repository_itself(repo: Path) -> None:
    tool = GitTool(repo)
    or_raise(tool.add_remote("self", "."))
    assert [update.remote for update in or_raise(tool.fetch("self"))] == [MAIN]


def test_what_is_read_starts_no_program_of_the_repository(repo: Path, tmp_path: Path) -> None:
    planted = tmp_path / "planted"
    config(repo, "remote.origin.url", f"ext::touch {planted}")
    git(repo, "config", "protocol.ext.allow", "always")
    tool = GitTool(repo)
    assert or_raise(tool.remotes())[0].url == or_raise(tool.remote_url())
    assert not planted.exists()


def test_a_configuration_that_is_locked_says_so(repo: Path) -> None:
    write(repo / ".git" / "config.lock", "")
    for url in ("https://example.org/x", "https://user:t0ken12345@example.org/x"):
        error = failed(GitTool(repo).add_remote("origin", url))
        assert error.cause == "locked"
    assert or_raise(GitTool(repo).remotes()) == ()
    assert (repo / ".git" / "config.lock").exists()


def test_a_fetch_that_a_hook_refuses(remote: Remote) -> None:
    remote.colleague_pushes()
    hook(remote.work, "reference-transaction", "exit 1")
    error = failed(GitTool(remote.work).fetch())
    assert error.cause == "hook-failed"
    assert sha(remote.work, TRACKED) == sha(remote.work)
