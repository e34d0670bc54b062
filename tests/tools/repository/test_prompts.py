"""Nothing asks anybody: not on a terminal, not through a program that asks, over no transport."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from outcomes import failed
from worlds.push_case import new_commit
from worlds.remote import Remote
from worlds.repository import GIT, commit, git, script
from worlds.ssh_server import Client

from orca.tools import GitTool

SOON_S = 30.0  # by itself, and not because of a deadline: on a busy machine too


@dataclass(frozen=True)
class OnTerminal:
    """What a program printed on its terminal until it ended, or was ended because it waited."""

    printed: bytes
    waited: bool


# Makes the terminal on its stdin the controlling one, as a login does, and becomes the program.
LOGIN = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"


def on_terminal(argv: Sequence[str | Path], until: Callable[[bytes], bool] = lambda _: False) -> OnTerminal:
    """Runs a program on a terminal of its own, to its end or until it has printed something."""
    leader, follower = os.openpty()
    program = subprocess.Popen(
        [sys.executable, "-c", LOGIN, *argv], stdin=follower, stdout=follower, stderr=follower, start_new_session=True
    )
    os.close(follower)
    printed = b""
    try:
        while not until(printed):
            printed += os.read(leader, 4096)
    except OSError:  # nobody has the terminal open any more
        pass
    finally:
        waited = program.poll() is None and until(printed)
        if waited:
            program.kill()
        program.wait()
        os.close(leader)
    return OnTerminal(printed, waited)


PUSH = """
import json, os, sys
sys.stdin.close()
from orca.errors import to_wire
from orca.results import Failure, outcome
from orca.tools import GitTool
result = outcome(GitTool(sys.argv[1]).push(timeout=60))
with open(sys.argv[2], "w") as file:
    json.dump(to_wire(result.failure()) if isinstance(result, Failure) else None, file)
"""


def pushed_on_terminal(remote: Remote, tmp_path: Path) -> tuple[OnTerminal, dict[str, object], float]:
    """What came of a push through the tool in a program that has a terminal, and how long it took."""
    started = time.monotonic()
    seen = on_terminal([sys.executable, "-c", PUSH, remote.work, tmp_path / "result.json"])
    return seen, json.loads((tmp_path / "result.json").read_text()), time.monotonic() - started


@pytest.mark.parametrize("userinfo", ["", "user"])
def test_a_server_that_wants_a_password_gets_a_failure_and_the_terminal_nothing(
    userinfo: str, http_remote: Remote, tmp_path: Path
) -> None:
    http_remote.http.auth = ("user", "right")
    git(http_remote.work, "config", "remote.origin.url", http_remote.http.url_of("remote.git", userinfo))
    commit(http_remote.work)
    seen, error, took = pushed_on_terminal(http_remote, tmp_path)
    assert (error["_tag"], error["cause"], error["exitCode"], error["effect"]) == ("CommandFailed", "auth", 128, "none")
    assert seen.printed == b""
    assert took < SOON_S
    plain = on_terminal([GIT, "-C", http_remote.work, "push"], lambda printed: b"for 'http://" in printed)
    assert plain.waited, "plain git asks on this terminal"


@pytest.mark.parametrize("client", ["wrong-key", "unknown-host"])
@pytest.mark.parametrize("configured", [True, False])
def test_ssh_asks_nothing_either(
    client: Client, configured: bool, ssh_remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if configured:
        git(ssh_remote.work, "config", "core.sshCommand", ssh_remote.ssh.command(client))
    else:
        git(ssh_remote.work, "config", "--unset", "core.sshCommand")
        monkeypatch.setenv("PATH", f"{ssh_remote.ssh.bin(client)}:{os.environ['PATH']}")
    commit(ssh_remote.work)
    seen, error, took = pushed_on_terminal(ssh_remote, tmp_path)
    assert (error["_tag"], error["cause"], error["effect"]) == ("CommandFailed", "auth", "none")
    assert seen.printed == b""
    assert took < SOON_S


def test_a_key_with_a_passphrase_is_not_asked_for_it(ssh_remote: Remote, tmp_path: Path) -> None:
    key = tmp_path / "key"
    shutil.copy(ssh_remote.ssh.directory / "client", key)
    subprocess.run(["ssh-keygen", "-q", "-p", "-N", "a passphrase", "-f", key], check=True, stdout=subprocess.DEVNULL)
    config = tmp_path / "config"
    known = str(ssh_remote.ssh.directory / "client")
    config.write_text(ssh_remote.ssh.config().read_text().replace(f"{known}\n", f"{key}\n"))
    assert str(key) in config.read_text()
    git(ssh_remote.work, "config", "core.sshCommand", f"ssh -F '{config}'")
    commit(ssh_remote.work)
    seen, error, took = pushed_on_terminal(ssh_remote, tmp_path)
    assert (error["cause"], seen.printed) == ("auth", b"")
    assert took < SOON_S
    plain = on_terminal([GIT, "-C", ssh_remote.work, "push"], lambda printed: b"passphrase" in printed)
    assert plain.waited, "plain git's ssh asks on this terminal"


@pytest.mark.parametrize("setting", ["GIT_ASKPASS", "core.askPass", "SSH_ASKPASS"])
def test_a_program_that_asks_is_not_run(
    setting: str, http_remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    http_remote.http.auth = ("user", "right")
    asked = tmp_path / "asked"
    program = script(tmp_path / "askpass", f"touch '{asked}'; echo right")
    if setting.isupper():
        monkeypatch.setenv(setting, str(program))
        monkeypatch.setenv("DISPLAY", ":0")
        monkeypatch.setenv("SSH_ASKPASS_REQUIRE", "force")
    else:
        git(http_remote.work, "config", setting, program)
    commit(http_remote.work)
    error = failed(GitTool(http_remote.work).push(timeout=60))
    assert (error.cause, error.exit_code) == ("auth", 128)
    assert not asked.exists()
    monkeypatch.setenv("GIT_TERMINAL_PROMPT", "0")
    subprocess.run([GIT, "-C", http_remote.work, "push"], capture_output=True, check=False, stdin=subprocess.DEVNULL)
    assert asked.exists(), "plain git runs this program"


def test_the_users_credential_helper_is_asked(http_remote: Remote) -> None:
    """It is configuration of policy, and answers without anybody."""
    http_remote.http.auth = ("user", "right")
    git(http_remote.work, "config", "credential.helper", "!f() { echo username=user; echo password=right; }; f")
    new_commit(http_remote)
    assert GitTool(http_remote.work).push().unwrap().head == http_remote.head()


@pytest.mark.slow
def test_a_helper_that_never_answers_is_ended_with_the_call(http_remote: Remote, tmp_path: Path) -> None:
    http_remote.http.auth = ("user", "right")
    mark = tmp_path / "asked"
    helper = script(tmp_path / "helper", f"touch '{mark}'; while test -e '{mark}'; do sleep 0.05; done; touch ended")
    git(http_remote.work, "config", "credential.helper", helper)
    commit(http_remote.work)
    for timeout in (1.5, 6.0, 24.0):
        started = time.monotonic()
        error = failed(GitTool(http_remote.work).push(timeout=timeout))
        assert time.monotonic() - started < timeout + 3.0
        if mark.exists():
            break
    assert (error.cause, error.exit_code) == ("timeout", None)
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(helper) not in running
