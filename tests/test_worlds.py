"""The worlds are what they claim to be, shown with plain git."""

import errno
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest
from worlds.disk import Disk, mounted
from worlds.push_case import Line, PushCase
from worlds.push_cases import combinations, name
from worlds.remote import Remote, Transport, remote_over
from worlds.repository import commit, git, hook, run_git, running_git, sha, write
from worlds.ssh_server import Client, ssh_server

TESTS = Path(__file__).parent
PORCELAIN_LINE = re.compile(rb"([ +\-*!=])\t[^\t]*:([^\t]+)\t(.*)")


def porcelain(stdout: bytes) -> list[Line]:
    """The lines of `git push --porcelain` that are about a ref."""
    lines: list[Line] = []
    for line in stdout.splitlines():
        if match := PORCELAIN_LINE.fullmatch(line):
            flag, ref, summary = (part.decode() for part in match.groups())
            reason = re.search(r"\((.*)\)$", summary)
            lines.append((flag, ref, reason[1] if reason else ""))
    return lines


def wait_until_it_hangs(remote: Remote, process: "subprocess.Popen[bytes]") -> None:
    """Returns once the push waits for ever; it must not have ended."""
    deadline = time.monotonic() + 30
    while not remote.hangs():
        assert time.monotonic() < deadline
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.02)


def names(processes: Iterable[psutil.Process]) -> set[str]:
    """What those of the processes that have not ended meanwhile are called."""
    found: set[str] = set()
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            found.add(process.name())
    return found


@pytest.mark.slow  # all together; and what git answers has nothing to do with the version of Python
@pytest.mark.parametrize(("case", "transport"), combinations(plain=True), ids=name)
def test_plain_git_answers_each_push_as_the_table_says(
    case: PushCase, transport: Transport, remote_over: Callable[[Transport], Remote]
) -> None:
    remote = remote_over(transport)
    push = case.prepare(remote)
    before = remote.refs()
    if case.exit_code is None:
        with running_git(remote.work, *push.arguments()) as process:
            wait_until_it_hangs(remote, process)
    else:
        done = run_git(remote.work, *push.arguments())
        assert (done.returncode, sorted(porcelain(done.stdout))) == (case.exit_code, sorted(case.lines)), done.stderr
    assert (remote.refs() != before) == case.landed


def test_reasons_of_a_rejection_are_not_translated(remote: Remote, german: Mapping[str, str]) -> None:
    remote.colleague_pushes()
    commit(remote.work)
    done = run_git(remote.work, "push", "--porcelain", "origin", "main", env=os.environ)
    assert b"Fehler" in done.stderr
    assert porcelain(done.stdout) == [("!", "refs/heads/main", "fetch first")]


def test_german_git_says_that_there_is_nothing_to_commit(repo: Path, german: Mapping[str, str]) -> None:
    assert b"nichts zu committen" in run_git(repo, "commit", "-m", "x", env=os.environ).stdout
    # A locale that is not German does not switch the language off, as long as LANGUAGE is.
    done = run_git(repo, "commit", "-m", "x", env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert b"nichts zu committen" in done.stdout


def test_a_clone_and_a_push_by_http_bring_the_same_commits(http_remote: Remote) -> None:
    new = commit(http_remote.work)
    git(http_remote.work, "push", "--quiet", "origin", "main")
    git(http_remote.root, "clone", "--quiet", http_remote.url, "again")
    assert sha(http_remote.root / "again") == new == http_remote.head()


def test_a_large_push_by_http_comes_in_chunks(http_remote: Remote) -> None:
    git(http_remote.work, "config", "http.postBuffer", "70000")
    new = commit(http_remote.work, content=os.urandom(300_000))
    git(http_remote.work, "push", "--quiet", "origin", "main")
    assert http_remote.head() == new
    assert http_remote.http.requests[-1].headers["Transfer-Encoding"] == "chunked"


def test_a_long_negotiation_by_http_comes_compressed(http_remote: Remote) -> None:
    for number in range(40):
        git(http_remote.work, "commit", "--quiet", "--allow-empty", "-m", str(number))
    new = http_remote.colleague_pushes()
    git(http_remote.work, "fetch", "--quiet", "origin")
    assert sha(http_remote.work, "origin/main") == new
    assert any(request.headers["Content-Encoding"] == "gzip" for request in http_remote.http.requests)


def test_http_asks_for_the_password_and_takes_only_the_right_one(http_remote: Remote) -> None:
    http_remote.http.auth = ("user", "right")
    new = commit(http_remote.work)
    for password, exit_code in (("wrong", 128), ("right", 0)):
        git(http_remote.work, "config", "remote.origin.url", http_remote.http.url_of("remote.git", f"user:{password}"))
        assert run_git(http_remote.work, "push", "origin", "main").returncode == exit_code
    assert http_remote.head() == new
    assert http_remote.http.requests[-1].headers["Authorization"] == "Basic dXNlcjpyaWdodA=="


def test_a_server_that_is_closed_in_the_middle_leaves_no_thread_and_no_process(tmp_path: Path, template: Path) -> None:
    threads, processes = set(threading.enumerate()), set(psutil.Process().children(recursive=True))
    with ExitStack() as stack:
        with remote_over("http", tmp_path / "world", template) as remote:
            hook(remote.bare, "pre-receive", "sleep 1000 & touch endless; wait")
            commit(remote.work)
            process = stack.enter_context(running_git(remote.work, "push", "origin", "main"))
            wait_until_it_hangs(remote, process)
            of_the_client = {psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)}
            of_the_server = set(psutil.Process().children(recursive=True)) - of_the_client - processes
            assert "sleep" in names(of_the_server)
        assert process.wait(30) != 0
        assert set(threading.enumerate()) == threads
        _, alive = psutil.wait_procs(of_the_server, timeout=30)
        assert not alive


def test_a_failure_inside_the_server_is_not_swallowed(tmp_path: Path, template: Path) -> None:
    world = remote_over("http", tmp_path / "world", template)
    remote = world.__enter__()
    with socket.create_connection(("127.0.0.1", remote.http.port)) as connection:
        connection.sendall(b"POST /remote.git HTTP/1.1\r\nContent-Length: many\r\n\r\n")
        assert connection.recv(1) == b""
    with pytest.raises(ValueError, match="invalid literal"):
        world.__exit__(None, None, None)


@pytest.mark.parametrize(("client", "exit_code"), [("known", 0), ("wrong-key", 128), ("unknown-host", 128)])
def test_the_ssh_on_path_is_of_that_client(client: Client, exit_code: int, ssh_remote: Remote) -> None:
    git(ssh_remote.work, "config", "--unset", "core.sshCommand")
    env = {**os.environ, "PATH": f"{ssh_remote.ssh.bin(client)}:{os.environ['PATH']}"}
    assert run_git(ssh_remote.work, "ls-remote", "origin", env=env).returncode == exit_code


def test_sshd_is_gone_afterwards(tmp_path: Path, sshd: object) -> None:
    with ssh_server(tmp_path / "another") as another, socket.create_connection(("127.0.0.1", another.port)) as client:
        assert client.recv(4) == b"SSH-"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", another.port)).close()


def test_the_colleague_and_the_server_do_not_see_a_hostile_display(
    http_remote: Remote, hostile_display: Mapping[str, str]
) -> None:
    assert http_remote.colleague_pushes() == http_remote.head()
    git(http_remote.work, "fetch", "origin")
    assert b"\x1b" not in git(http_remote.work, "log", "origin/main")


def traceless(env: Mapping[str, str]) -> dict[str, str]:
    """The hostile environment without what makes git talk all the time, and what makes it refuse to work at all."""
    return {name: value for name, value in env.items() if "TRACE" not in name and "PATHSPECS" not in name}


HOSTILE = {
    ("status",): b"\x1b[",
    ("branch",): b"\x1b[",
    ("log",): b"hostile T seed",
    ("diff",): b"hostile a.txt",
    ("diff", "--no-ext-diff"): b"\x1b[",
    ("rev-parse", "--short", "HEAD"): b"%(sha)s",
    ("st",): b"hostile",
}


@pytest.mark.parametrize("command", HOSTILE, ids=" ".join)
def test_a_hostile_display_changes_what_git_prints(
    command: tuple[str, ...], repo: Path, hostile_display: Mapping[str, str]
) -> None:
    write(repo / "a.txt", "changed\n")
    expected = HOSTILE[command].replace(b"%(sha)s", sha(repo).encode())
    assert expected in run_git(repo, *command, env=traceless(os.environ)).stdout
    assert expected not in run_git(repo, *command).stdout


def test_a_hostile_environment_traces_and_forbids_paths(repo: Path, hostile_display: Mapping[str, str]) -> None:
    done = run_git(repo, "add", "a.txt", env=os.environ)
    assert done.returncode == 128
    assert b"trace" in done.stderr


def test_a_hostile_editor_never_comes_back(repo: Path, hostile_display: Mapping[str, str]) -> None:
    with running_git(repo, "commit", "--amend", env=traceless(os.environ)) as process:
        deadline = time.monotonic() + 30
        while "sleep" not in names(psutil.Process(process.pid).children(recursive=True)):
            assert time.monotonic() < deadline
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.02)


def test_a_full_disk_takes_nothing_until_it_is_freed(tmpfs: Disk) -> None:
    tmpfs.fill()
    with pytest.raises(OSError, match="No space") as raised:
        write(tmpfs.path / "more", b"more")
    assert raised.value.errno == errno.ENOSPC
    tmpfs.free()
    write(tmpfs.path / "more", b"more")


def test_a_disk_is_unmounted_even_while_a_file_of_it_is_open(tmp_path: Path, tmpfs: Disk) -> None:
    with ExitStack() as files:
        with mounted(tmp_path / "other", 1 << 20) as other:
            assert isinstance(other, Disk)
            assert other.path.is_mount()
            files.enter_context((other.path / "file").open("w"))
        assert not other.path.is_mount()


def test_the_sleeping_git_never_answers(sleeping_git: None) -> None:
    with subprocess.Popen(["git", "--version"], stdout=subprocess.PIPE) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=0.3)
        assert psutil.Process(process.pid).name() == "sleep"  # one process: nothing is left when it is killed
        process.kill()


def test_the_old_git_is_old_by_word_only(repo: Path, old_git: None) -> None:
    for command in (["git", "--version"], ["git", "-C", str(repo), "version"]):
        assert subprocess.check_output(command) == b"git version 2.20.1\n"
    assert subprocess.check_output(["git", "-C", str(repo), "rev-parse", "HEAD"]).decode().strip() == sha(repo)


def test_there_is_no_git(no_git: None) -> None:
    assert shutil.which("git") is None


def run_pytest(directory: Path, **env: str) -> "subprocess.CompletedProcess[str]":
    """A run of pytest with our fixtures over the tests in a directory."""
    options: list[str | Path] = ["-c", os.devnull, "--rootdir", directory, "-p", "conftest", "-rA"]
    env = {**os.environ, "PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **env}
    argv = [sys.executable, "-m", "pytest", *options, directory]
    return subprocess.run(argv, env=env, capture_output=True, text=True, check=False)


def test_a_skip_fails_where_none_is_allowed(tmp_path: Path) -> None:
    write(tmp_path / "test_module.py", "import pytest; pytest.skip('by the module', allow_module_level=True)")
    inner = """
import pytest
@pytest.fixture
def fixture():
    pytest.skip("by the fixture")
def test_with_fixture(fixture): pass
def test_itself():
    pytest.skip("by the test")
"""
    write(tmp_path / "test_inner.py", inner)
    skipped = run_pytest(tmp_path, ORCA_FORBID_SKIPS="")
    assert (skipped.returncode, "3 skipped in" in skipped.stdout) == (0, True), skipped.stdout
    forbidden = run_pytest(tmp_path, ORCA_FORBID_SKIPS="1")
    assert (forbidden.returncode, "skipped in" in forbidden.stdout) == (2, False), forbidden.stdout
    (tmp_path / "test_module.py").unlink()
    forbidden = run_pytest(tmp_path, ORCA_FORBID_SKIPS="1")
    assert (forbidden.returncode, "1 failed, 1 error in" in forbidden.stdout) == (1, True), forbidden.stdout
    assert "by the fixture" in forbidden.stdout
    assert "by the test" in forbidden.stdout


def test_nothing_of_the_machine_reaches_a_test(tmp_path: Path) -> None:
    stray = {"GIT_DIR": "/stray", "GIT_INDEX_FILE": "/stray", "SSH_ASKPASS": "/stray", "LC_ALL": "de_DE.UTF-8"}
    stray |= {"HTTPS_PROXY": "stray", "EDITOR": "stray", "FORCE_COLOR": "1", "GIT_CONFIG_COUNT": "1"}
    inner = f"""
import os, subprocess
def test_inner():
    assert not {set(stray)!r} & set(os.environ)
    config = subprocess.check_output(["git", "config", "--show-origin", "--list"], cwd="/").decode().splitlines()
    assert "file:" + os.environ["HOME"] + "/.gitconfig\\tuser.name=T" in config
    assert all(line.startswith("file:" + os.environ["HOME"]) for line in config)
"""
    write(tmp_path / "test_inner.py", inner)
    done = run_pytest(tmp_path, HOME=str(tmp_path), **stray)
    assert done.returncode == 0, done.stdout
