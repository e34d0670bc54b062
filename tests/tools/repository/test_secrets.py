"""Secrets: in no argv, and in nothing that a failure shows; what is read comes back as it is."""

import base64
import json
import logging
import os
import shlex
import subprocess
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
import pytest
from outcomes import failed, rejected
from worlds.http_server import Fault
from worlds.remote import Remote
from worlds.repository import GIT, PATH, commit, git, hook, script, sha, write

from orca.errors import RuntimeError, recovery, to_wire
from orca.results import Failure, OrcaError, Result, or_raise, outcome
from orca.tools import CommandTool, GitTool

TOKEN = "t0k3n4PlantedHere9Zq"
PREFIXED = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
BASIC = base64.b64encode(f"user:{TOKEN}".encode()).decode()


@pytest.fixture
def every_argv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """What every program of git was started with so far: git itself, and what it starts of its own."""
    real = Path(subprocess.check_output([GIT, "--exec-path"], text=True).strip())
    log, programs, path = tmp_path / "argv.log", tmp_path / "exec-path", tmp_path / "path"
    programs.mkdir()
    for program in real.iterdir():
        (programs / program.name).symlink_to(program)
    for folder, name, original in (
        (path, "git", GIT),
        (programs, "git", real / "git"),
        (programs, "git-remote-http", real / "git-remote-http"),
    ):
        (folder / name).unlink(missing_ok=True)
        script(folder / name, f'printf "%s\\n" "$0" "$@" >>{shlex.quote(str(log))}\nexec {original} "$@"')
    monkeypatch.setenv("GIT_EXEC_PATH", str(programs))
    monkeypatch.setenv("PATH", f"{path}:{PATH}")
    return log.read_text


def works_with_plain_git(repository: Path) -> None:
    """What orca has configured is all that git needs by itself."""
    git(repository, "fetch", "--quiet", "origin")
    commit(repository, "plain.txt")
    git(repository, "push", "--quiet", "origin", f"HEAD:refs/heads/plain-{repository.name}")


@pytest.mark.parametrize("userinfo", [f"user:{TOKEN}", f"{TOKEN}:", f"{TOKEN}:x-oauth-basic", f"a%40b:{TOKEN}%2F%25"])
def test_no_program_of_git_gets_the_secret_of_an_address_in_its_argv(
    userinfo: str, http_remote: Remote, tmp_path: Path, every_argv: Callable[[], str]
) -> None:
    user, _, password = userinfo.partition(":")
    http_remote.http.auth = (user.replace("%40", "@"), password.replace("%2F", "/").replace("%25", "%"))
    url = http_remote.http.url_of("remote.git", userinfo)
    hook(http_remote.work, "pre-push", 'printf "%s\\n" "$@" >>../argv.log')
    tool = or_raise(GitTool.clone(url, tmp_path / "clone"))
    assert or_raise(tool.remote_url()) == url
    assert git(tool.root, "config", "--get-all", "remote.origin.url").decode() == f"{url}\n"
    git(http_remote.work, "remote", "remove", "origin")
    tool = GitTool(http_remote.work)
    assert or_raise(tool.add_remote("origin", url)).url == url
    assert [update.kind for update in or_raise(tool.fetch())] == ["created"]
    commit(http_remote.work)
    assert or_raise(tool.push()).head == or_raise(tool.remote_head("main")) == http_remote.head()
    assert or_raise(tool.default_branch()) == "main"
    assert or_raise(tool.pull()).new == http_remote.head()
    assert rejected(tool.delete_remote_branch("absent", expected=sha(tool.root))).cause == "stale-lease"
    argv = every_argv()
    assert "git-remote-http" in argv
    assert "pre-push" not in argv
    assert TOKEN not in argv
    for repository in (http_remote.work, tmp_path / "clone"):
        works_with_plain_git(repository)


def test_what_the_address_says_comes_before_what_a_helper_says(http_remote: Remote) -> None:
    """As with plain git, which asks no helper then."""
    http_remote.http.auth = ("user", TOKEN)
    git(http_remote.work, "config", "credential.helper", "!f() { echo username=user; echo password=wrong; }; f")
    git(http_remote.work, "config", "remote.origin.url", http_remote.http.url_of("remote.git", f"user:{TOKEN}"))
    new = commit(http_remote.work)
    assert or_raise(GitTool(http_remote.work).push()).head == http_remote.head() == new


@pytest.mark.parametrize("push", [True, False])
def test_nor_where_the_users_own_rules_put_it_there(
    push: bool, http_remote: Remote, every_argv: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    http_remote.http.auth = ("user", TOKEN)
    base = http_remote.http.url_of("", f"user:{TOKEN}")
    rule = "pushInsteadOf" if push else "insteadOf"
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{base}.{rule}")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "gh:")
    git(http_remote.work, "config", "remote.origin.url", "gh:remote.git")
    commit(http_remote.work)
    tool = GitTool(http_remote.work)
    assert or_raise(tool.push()).head == http_remote.head()
    assert or_raise(tool.remotes())[0].push_url == f"{base}remote.git"
    if not push:
        assert or_raise(tool.fetch()) == ()
    assert TOKEN not in every_argv()


def test_nor_while_the_remote_is_asked_what_became_of_a_push(
    http_remote: Remote, every_argv: Callable[[], str]
) -> None:
    http_remote.http.auth = ("user", TOKEN)
    http_remote.http.fault, http_remote.http.fault_at = 500, "after-push"
    git(http_remote.work, "config", "remote.origin.url", str(http_remote.root / "elsewhere.git"))
    pushed_to = http_remote.http.url_of("remote.git", f"user:{TOKEN}")
    git(http_remote.work, "config", "remote.origin.pushurl", pushed_to)
    commit(http_remote.work)
    error = failed(GitTool(http_remote.work).push())
    assert (error.cause, error.effect) == ("network", "landed")
    assert TOKEN not in every_argv()


@pytest.mark.slow
def test_the_process_table_does_not_show_it(http_remote: Remote) -> None:
    """Looked at while a push waits for its server."""
    url = http_remote.http.url_of("remote.git", f"user:{TOKEN}")
    git(http_remote.work, "config", "remote.origin.url", url)
    http_remote.http.fault = "silent"
    seen: list[str] = []

    def look() -> None:
        assert http_remote.http.silenced.wait(60)
        for child in psutil.Process().children(recursive=True):
            seen.extend(child.cmdline())

    commit(http_remote.work)
    thread = threading.Thread(target=look)
    thread.start()
    error = failed(GitTool(http_remote.work).push(timeout=2))
    thread.join()
    assert error.cause == "timeout"
    assert "push" in seen
    assert not [word for word in seen if TOKEN in word]


def test_a_token_in_a_query_is_in_no_argv_of_ours(
    http_remote: Remote, repo: Path, every_argv: Callable[[], str]
) -> None:
    """git itself hands the address to its transport, the query in it: what git starts below itself is not ours."""
    url = f"{http_remote.url}?private_token={TOKEN}"
    tool = GitTool(repo)
    assert or_raise(tool.add_remote("origin", url)).url == url
    results: list[Result[object, RuntimeError]] = [tool.fetch(), tool.push(), tool.pull(branch="main")]
    results.append(GitTool.clone(url, repo.parent / "clone"))
    for result in results:
        assert failed(result).cause == "unknown-remote"
    assert any(f"private_token={TOKEN}" in request.path for request in http_remote.http.requests)
    ours = [argv for argv in every_argv().split(f"{repo.parent}/path/git\n") if argv]
    assert len(ours) > 4
    assert not [argv for argv in ours if TOKEN in argv.split("/exec-path/")[0]]


def test_an_odd_address_is_written_as_git_reads_it(repo: Path) -> None:
    config = repo / ".git" / "config"
    config.write_bytes(config.read_bytes().removesuffix(b"\n"))
    config.chmod(0o640)
    url = f'https://user:{TOKEN}@example.org/a "b"\\c#d;e\t.git '
    assert or_raise(GitTool(repo).add_remote('quo"ted', url)).url == url
    key = 'remote.quo"ted.'
    assert git(repo, "config", "--get-all", f"{key}url").decode() == f"{url}\n"
    assert git(repo, "config", "--get-all", f"{key}fetch") == b'+refs/heads/*:refs/remotes/quo"ted/*\n'
    assert git(repo, "config", "core.bare") == b"false\n"
    assert config.stat().st_mode & 0o777 == 0o640


def test_a_configuration_behind_a_link_stays_behind_it(repo: Path) -> None:
    config = repo / ".git" / "config"
    real = config.rename(repo.parent / "real-config")
    config.symlink_to(real)
    url = f"https://user:{TOKEN}@example.org/x"
    or_raise(GitTool(repo).add_remote("origin", url))
    assert config.is_symlink()
    assert url in real.read_text()


def test_a_linked_worktree_writes_to_the_configuration_that_all_share(repo: Path) -> None:
    git(repo, "worktree", "add", "--quiet", repo.parent / "linked")
    url = f"https://user:{TOKEN}@example.org/x"
    or_raise(GitTool(repo.parent / "linked").add_remote("origin", url))
    assert or_raise(GitTool(repo).remote_url()) == url


def shown(error: RuntimeError) -> Iterator[str]:
    """Everything that a failure shows of itself."""
    yield str(error)
    yield repr(error)
    yield repr(asdict(error))
    yield json.dumps(to_wire(error))
    yield recovery(error)
    with pytest.raises(OrcaError) as raised:
        or_raise(Failure(error))
    yield "".join(traceback.format_exception(raised.value))


FAILING: dict[str, Callable[[GitTool, str, Path], Result[object, RuntimeError]]] = {
    "push": lambda tool, url, path: tool.push(),
    "push of a tag": lambda tool, url, path: tool.push(tags=["v1"]),
    "push to the address": lambda tool, url, path: tool.push(url),
    "push of a branch": lambda tool, url, path: tool.push(branch=url),
    "push with a lease": lambda tool, url, path: tool.push(force_with_lease="0" * 40),
    "push with a rebase": lambda tool, url, path: tool.push(on_rejected="rebase", attempts=2),
    "delete_remote_branch": lambda tool, url, path: tool.delete_remote_branch("main", expected="0" * 40),
    "fetch": lambda tool, url, path: tool.fetch(),
    "fetch of the address": lambda tool, url, path: tool.fetch(url),
    "pull": lambda tool, url, path: tool.pull(),
    "pull of a branch": lambda tool, url, path: tool.pull(branch="absent"),
    "remote_head": lambda tool, url, path: tool.remote_head("main"),
    "remote_head of the address": lambda tool, url, path: tool.remote_head("main", remote=url),
    "default_branch": lambda tool, url, path: tool.default_branch(),
    "remote_url": lambda tool, url, path: tool.remote_url(url),
    "add_remote": lambda tool, url, path: tool.add_remote("origin", url),
    "add_remote, a bad name": lambda tool, url, path: tool.add_remote(url, url),
    "clone": lambda tool, url, path: GitTool.clone(url, path / "clone"),
    "clone of a branch": lambda tool, url, path: GitTool.clone(url, path / "clone", branch="absent"),
    "clone of a program": lambda tool, url, path: GitTool.clone(f"ext::{url}", path / "clone"),
    "commit": lambda tool, url, path: tool.commit(url),
    "resolve": lambda tool, url, path: tool.resolve(url),
    "switch": lambda tool, url, path: tool.switch(url),
    "create_branch": lambda tool, url, path: tool.create_branch("new", url),
    "log": lambda tool, url, path: tool.log(rev=url),
    "command": lambda tool, url, path: CommandTool(path).run("git", "ls-remote", url),
    "shell": lambda tool, url, path: CommandTool(path).shell(f"echo {shlex.quote(url)}; env >&2; exit 1"),
}


@dataclass(frozen=True)
class Planted:
    """A remote that `work` reaches by `url`; the token stands somewhere, and is `known` wherever somebody prints it."""

    remote: Remote
    url: str
    known: bool


@pytest.fixture(params=["user:TOKEN@", "TOKEN@", "TOKEN:@", "?private_token=TOKEN", "header", "GIT_CONFIG", "env"])
def planted(request: pytest.FixtureRequest, http_remote: Remote, monkeypatch: pytest.MonkeyPatch) -> Planted:
    where = request.param.replace("TOKEN", TOKEN)
    work, url = http_remote.work, http_remote.url
    if where.endswith("@"):
        url = http_remote.http.url_of("remote.git", where.removesuffix("@"))
    elif where.startswith("?"):
        url += where
    elif where == "header":
        git(work, "config", "http.extraHeader", f"Authorization: Basic {BASIC}")
    elif where == "GIT_CONFIG":
        header = f"http.{url}.extraHeader"
        for name, value in (("COUNT", "1"), ("KEY_0", header), ("VALUE_0", f"X-Auth-Token: {TOKEN}")):
            monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    else:
        monkeypatch.setenv("DEPLOY_TOKEN", TOKEN)
    git(work, "config", "remote.origin.url", url)
    return Planted(http_remote, url, known=where.endswith("@") or where == "env")


def tell_all(planted: Planted) -> None:
    """Hooks, here and on the remote, that print what they know, and fail."""
    here = [planted.url, PREFIXED, *([TOKEN] if "DEPLOY_TOKEN" in os.environ else [])]
    there = [planted.url, PREFIXED, *([TOKEN, BASIC] if planted.known else [])]
    for name in ("pre-commit", "post-checkout", "pre-rebase", "pre-push"):
        failing = "exit 1" if name != "pre-push" else ""
        hook(planted.remote.work, name, f"printf '%s\\n' {shlex.join(here)} >&2\nenv >&2\ngit config -l >&2\n{failing}")
    hook(planted.remote.bare, "pre-receive", f"printf '%s\\n' {shlex.join(there)}\nexit 1")


FAULTS: list[Fault | None] = [None, 401, 500]


@pytest.mark.parametrize("fault", FAULTS)
def test_no_failure_shows_a_token(
    fault: Fault | None,
    planted: Planted,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    work = planted.remote.work
    if fault is None:
        planted.remote.colleague_pushes()
        git(work, "fetch", "--quiet", planted.remote.bare, "main:refs/remotes/origin/main")
    git(work, "commit", "--quiet", "--allow-empty", "-m", "ours")
    git(work, "tag", "v1")
    git(work, "remote", "set-head", "origin", "--delete")
    write(work / "new.txt", "new\n")
    git(work, "add", "new.txt")
    tell_all(planted)
    planted.remote.http.fault = fault
    failures = []
    for name, call in FAILING.items():
        result = outcome(call(GitTool(work), planted.url, tmp_path))
        if isinstance(result, Failure):
            failures.append(name)
            for text in shown(result.failure()):
                for secret in (TOKEN, BASIC, PREFIXED):
                    assert secret not in text, name
    reached = {"fetch", "clone", "remote_head", "default_branch", "command"} if fault is None else set()
    assert set(FAILING) - set(failures) <= reached
    printed = capfd.readouterr()
    assert TOKEN not in caplog.text + printed.out + printed.err


def test_what_is_read_comes_back_unchanged_and_only_its_repr_is_redacted(repo: Path, tmp_path: Path) -> None:
    url = f"https://user:{TOKEN}@example.org/x"
    tool = GitTool(repo)
    added = or_raise(tool.add_remote("origin", url))
    assert (added.url, added.push_url) == (url, url)
    assert or_raise(tool.remotes()) == (added,)
    assert or_raise(tool.remote_url()) == url
    assert TOKEN not in repr(added)
    assert "example.org" in repr(added)
    content = f"url = {url}\ntoken = {PREFIXED}\n"
    write(repo / "config.ini", content)
    made = or_raise(tool.commit(f"Use {PREFIXED}", add="all"))
    assert git(repo, "show", "HEAD:config.ini").decode() == content == (repo / "config.ini").read_text()
    assert made.subject == or_raise(tool.log())[0].subject == f"Use {PREFIXED}"
    for value in (made, or_raise(tool.log())[0]):
        assert PREFIXED not in repr(value)
    ran = or_raise(CommandTool(repo).run("cat", "config.ini"))
    assert (ran.stdout, ran.stdout_raw) == (content, content.encode())
    assert TOKEN not in repr(ran)
    assert PREFIXED not in repr(ran)
