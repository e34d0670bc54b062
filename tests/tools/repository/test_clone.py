"""`clone` and `init`: what is made, what is left alone, and what a failure leaves behind."""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from outcomes import failed, state
from worlds.disk import Disk
from worlds.remote import Remote, Transport
from worlds.repository import commit, git, hook, seed, sha, write

from orca.results import or_raise
from orca.tools import GitTool


@pytest.mark.parametrize("transport", ["file", "http", "ssh"])
def test_a_clone_works_over_every_transport(
    transport: Transport, remote_over: Callable[[Transport], Remote], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = remote_over(transport)
    if transport == "ssh":
        monkeypatch.setenv("GIT_SSH_COMMAND", remote.ssh.command())
    tool = or_raise(GitTool.clone(remote.url, tmp_path / "clone"))
    assert tool.root == tmp_path / "clone"
    assert or_raise(tool.head()) == remote.head()
    assert or_raise(tool.remote_url()) == remote.url
    assert or_raise(tool.status()).upstream == "origin/main"
    commit(tool.root)
    assert or_raise(tool.push()).head == remote.head()


@pytest.mark.parametrize(
    "name", ["with space", "ümlaut", "-x", "new\nline", "quo'te", "deep/in/new/folders", "a\udcffb"]
)
def test_a_clone_goes_to_a_path_of_any_name(name: str, remote: Remote, tmp_path: Path) -> None:
    tool = or_raise(GitTool.clone(str(remote.bare), tmp_path / "at" / name))
    assert tool.root == tmp_path / "at" / name
    assert or_raise(tool.status()).clean


def test_relative_paths_are_of_the_current_directory(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(remote.root)
    tool = or_raise(GitTool.clone("remote.git", "clone"))
    assert or_raise(tool.remote_url()) == str(remote.bare)
    assert tool.root == remote.root / "clone"


def test_a_clone_of_nothing_is_empty(tmp_path: Path) -> None:
    or_raise(GitTool.init(tmp_path / "empty", branch="trunk"))
    tool = or_raise(GitTool.clone(str(tmp_path / "empty"), tmp_path / "clone"))
    assert or_raise(tool.head()) is None
    assert or_raise(tool.current_branch()) == "trunk"
    write(tool.root / "a.txt", "a\n")
    or_raise(tool.commit("first", add="all"))
    error = failed(GitTool.clone(str(tmp_path / "empty"), tmp_path / "other", branch="main"))
    assert (error.cause, error.effect, (tmp_path / "other").exists()) == ("unknown-ref", "none", False)


def test_a_branch_and_a_depth(remote: Remote, tmp_path: Path) -> None:
    git(remote.colleague, "switch", "--quiet", "-c", "topic")
    new = commit(remote.colleague)
    git(remote.colleague, "push", "--quiet", "origin", "topic")
    for url in (str(remote.bare), f"file://{remote.bare}"):
        tool = or_raise(GitTool.clone(url, tmp_path / url.replace("/", "_"), depth=1, branch="topic"))
        assert [entry.sha for entry in or_raise(tool.log())] == [new]
        assert or_raise(tool.current_branch()) == "topic"
    with pytest.raises(ValueError, match="depth"):
        GitTool.clone(remote.url, tmp_path / "none", depth=0)


def test_the_remote_is_origin_whatever_the_configuration_says(remote: Remote, tmp_path: Path, home: Path) -> None:
    git(tmp_path, "config", "--file", home / ".gitconfig", "clone.defaultRemoteName", "upstream")
    assert [found.name for found in or_raise(or_raise(GitTool.clone(remote.url, tmp_path / "c")).remotes())] == [
        "origin"
    ]


def test_a_full_folder_is_not_touched(remote: Remote, tmp_path: Path) -> None:
    write(tmp_path / "full" / "a.txt", "mine\n")
    seed(tmp_path / "repository")
    write(tmp_path / "file", "mine\n")
    before = state(tmp_path / "repository")
    for target in ("full", "repository", "file"):
        error = failed(GitTool.clone(remote.url, tmp_path / target))
        assert (error.cause, error.exit_code, error.effect) == ("exit", 128, "none")
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["a.txt"]
    assert (tmp_path / "full" / "a.txt").read_text() == (tmp_path / "file").read_text() == "mine\n"
    assert state(tmp_path / "repository") == before
    (tmp_path / "empty").mkdir()
    assert or_raise(or_raise(GitTool.clone(remote.url, tmp_path / "empty")).status()).clean


def test_a_failed_clone_leaves_nothing_behind(http_remote: Remote, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    http_remote.http.auth = ("user", "right")
    for url, cause in ((http_remote.url, "auth"), (str(tmp_path / "absent"), "unknown-remote")):
        for target in ("new", "empty"):
            error = failed(GitTool.clone(url, tmp_path / target))
            assert (error.cause, error.effect) == (cause, "none")
        assert not (tmp_path / "new").exists()
        assert list((tmp_path / "empty").iterdir()) == []


@pytest.mark.slow
def test_a_clone_that_runs_out_of_time_leaves_nothing_behind(remote: Remote, tmp_path: Path, home: Path) -> None:
    mark = tmp_path / "hangs"
    body = f"touch '{mark}'; while test -e '{mark}'; do sleep 0.05; done"
    # A server that begins to answer and gives no pack: everything else of the clone is there by then.
    git(tmp_path, "config", "--file", home / ".gitconfig", "uploadpack.packObjectsHook", f'sh -c "{body}"')
    for timeout in (1.5, 6.0, 24.0):
        started = time.monotonic()
        error = failed(GitTool.clone(f"file://{remote.bare}", tmp_path / "clone", timeout=timeout))
        assert time.monotonic() - started < timeout + 3.0
        if mark.exists():
            break
    mark.unlink()
    assert (error.cause, error.effect, error.exit_code) == ("timeout", "none", None)
    assert not (tmp_path / "clone").exists()


def test_a_checkout_that_fails_leaves_the_clone(remote: Remote, tmp_path: Path, home: Path) -> None:
    template = tmp_path / "template"
    hook(template, "post-checkout", "exit 1")
    git(tmp_path, "config", "--file", home / ".gitconfig", "init.templateDir", template)
    error = failed(GitTool.clone(remote.url, tmp_path / "clone"))
    assert error.effect == "unknown"
    assert sha(tmp_path / "clone") == remote.head()


def test_inside_a_hook_another_repository_is_made(remote: Remote, tmp_path: Path) -> None:
    """What a running git tells its hooks about itself does not reach them."""
    body = (
        "from orca.tools import GitTool; from orca.results import or_raise; "
        f"or_raise(GitTool.clone({remote.url!r}, {str(tmp_path / 'clone')!r})); "
        f"or_raise(GitTool.init({str(tmp_path / 'new')!r}))"
    )
    hook(remote.work, "pre-commit", f'{sys.executable} -c "{body}"')
    before = remote.refs()
    commit(remote.work)
    assert sha(tmp_path / "clone") == remote.head()
    assert or_raise(GitTool(tmp_path / "new").head()) is None
    assert remote.refs() == before
    assert or_raise(GitTool(remote.work).status()).clean


def test_init_makes_a_repository_and_leaves_one_that_is_there(tmp_path: Path) -> None:
    tool = or_raise(GitTool.init(tmp_path / "deep" / "shop", branch="trunk"))
    assert tool.root == tmp_path / "deep" / "shop"
    write(tool.root / "a.txt", "a\n")
    first = or_raise(tool.commit("first", add="all")).sha
    again = or_raise(GitTool.init(tmp_path / "deep" / "shop", branch="other"))
    assert (or_raise(again.head()), or_raise(again.current_branch())) == (first, "trunk")


def test_the_first_branch_is_the_calls_in_any_configuration(
    tmp_path: Path, home: Path, german: Mapping[str, str], hostile_display: Mapping[str, str]
) -> None:
    git(tmp_path, "config", "--file", home / ".gitconfig", "init.defaultBranch", "other")
    assert or_raise(or_raise(GitTool.init(tmp_path / "shop")).current_branch()) == "main"
    assert or_raise(or_raise(GitTool.init(tmp_path / "-x", branch="a/b")).current_branch()) == "a/b"


@pytest.mark.parametrize("branch", ["", "-x", "--bare", "a..b", "a b", "HEAD", "@"])
def test_a_bad_name_for_the_first_branch(branch: str, tmp_path: Path) -> None:
    error = failed(GitTool.init(tmp_path / "shop", branch=branch))
    assert (error.cause, error.effect) == ("bad-ref-name", "none")
    assert not (tmp_path / "shop").exists()


def test_init_on_a_file(tmp_path: Path) -> None:
    write(tmp_path / "file", "mine\n")
    for path in ("file", "file/below"):
        error = failed(GitTool.init(tmp_path / path))
        assert (error.cause, error.exit_code) == ("exit", 128)
    assert (tmp_path / "file").read_text() == "mine\n"


def test_where_nothing_can_be_written(tmpfs: Disk, remote: Remote) -> None:
    tmpfs.fill()
    for result in (GitTool.init(tmpfs.path / "full"), GitTool.clone(remote.url, tmpfs.path / "clone")):
        assert failed(result).cause == "exit"
    assert not (tmpfs.path / "clone").exists()
    tmpfs.free()
    subprocess.run(["mount", "-o", "remount,ro", tmpfs.path], check=True)
    for result in (GitTool.init(tmpfs.path / "readonly"), GitTool.clone(remote.url, tmpfs.path / "clone")):
        error = failed(result)
        assert (error.cause, error.exit_code) == ("exit", 128)
    assert {path.name for path in tmpfs.path.iterdir()} <= {"full"}
    subprocess.run(["mount", "-o", "remount,rw", tmpfs.path], check=True)
    shutil.rmtree(tmpfs.path / "full", ignore_errors=True)


def test_a_relative_place_in_a_directory_that_is_gone_is_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repo: Path
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for result in (GitTool.init("orca-nowhere"), GitTool.clone(str(repo), "orca-nowhere")):
        error = failed(result)
        assert (error.cause, error.effect) == ("bad-cwd", "none")
    assert not Path("/orca-nowhere").exists()
