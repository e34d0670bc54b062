"""A real sshd on loopback with keys of its own, and the client commands that reach it, or do not."""

import contextlib
import os
import pwd
import shlex
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from .repository import NEUTRAL

# sbin is not on everybody's PATH, and sshd insists on being started by its absolute path.
SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")

SERVER_CONFIG = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {directory}/host
AuthorizedKeysFile {directory}/client.pub
PidFile none
KexAlgorithms curve25519-sha256
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitUserRC no
SetEnv {environment}
"""
CLIENT_CONFIG = """\
Host *
IdentityFile {directory}/{key}
IdentitiesOnly yes
IdentityAgent none
UserKnownHostsFile {known_hosts}
GlobalKnownHostsFile /dev/null
"""

Client = Literal["known", "wrong-key", "unknown-host"]


@dataclass(frozen=True)
class SshServer:
    """A running sshd; whoever has the right key may reach every repository of the current user."""

    directory: Path
    port: int

    def url_of(self, repository: Path) -> str:
        """The `ssh://` address of a repository on this machine."""
        return f"ssh://{pwd.getpwuid(os.getuid()).pw_name}@127.0.0.1:{self.port}{repository}"

    def config(self, client: Client = "known") -> Path:
        """The configuration, for `ssh -F`, of a client that gets in, has the wrong key, or does not know the host."""
        return self.directory / f"{client}.config"

    def command(self, client: Client = "known") -> str:
        """What `GIT_SSH_COMMAND` or `core.sshCommand` must be for that client."""
        return f"ssh -F {shlex.quote(str(self.config(client)))}"

    def bin(self, client: Client = "known") -> Path:
        """A directory for the front of PATH, in which `ssh` is the real one with that client's configuration."""
        return self.directory / f"{client}.bin"


def missing() -> str | None:
    """Why there can be no sshd here; None where there can."""
    if SSHD is None:
        return "sshd is missing: install openssh-server"
    return None if shutil.which("ssh") and shutil.which("ssh-keygen") else "ssh is missing: install openssh-client"


@contextlib.contextmanager
def ssh_server(directory: Path) -> Iterator[SshServer]:
    """An sshd that runs as the current user with its keys and configuration in `directory`, which is made."""
    assert SSHD is not None, missing()
    ssh = shutil.which("ssh")
    directory.mkdir()
    for key in ("host", "client", "stranger"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", directory / key], check=True)
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where the sshd of root separates its privileges
    process, port = _start(SSHD, directory)
    try:
        host_key = (directory / "host.pub").read_text()
        (directory / "known_hosts").write_text(f"[127.0.0.1]:{port} {host_key}")
        (directory / "no_hosts").write_text("")
        for client, key, hosts in (
            ("known", "client", "known_hosts"),
            ("wrong-key", "stranger", "known_hosts"),
            ("unknown-host", "client", "no_hosts"),
        ):
            config = directory / f"{client}.config"
            config.write_text(CLIENT_CONFIG.format(directory=directory, key=key, known_hosts=directory / hosts))
            wrapper = directory / f"{client}.bin" / "ssh"
            wrapper.parent.mkdir()
            wrapper.write_text(f'#!/bin/sh\nexec {ssh} -F {shlex.quote(str(config))} "$@"\n')
            wrapper.chmod(0o755)
        yield SshServer(directory, port)
    finally:
        sessions = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        process.wait()
        for session in psutil.wait_procs(sessions, timeout=5)[1]:  # a session ends when its client hangs up
            session.kill()


def _start(sshd: str, directory: Path) -> tuple[subprocess.Popen[bytes], int]:
    """An sshd that listens, and its port; tries another port when somebody was faster."""
    environment = {**NEUTRAL, "HOME": str(directory)}
    log = directory / "sshd.log"
    for _ in range(5):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        config = directory / "sshd.config"
        settings = " ".join(f'"{name}={value}"' for name, value in environment.items())
        config.write_text(SERVER_CONFIG.format(port=port, directory=directory, environment=settings))
        process = subprocess.Popen([sshd, "-D", "-f", config, "-E", log], stdin=subprocess.DEVNULL)
        while process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
                if connection.recv(4) == b"SSH-":
                    return process, port
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.02)
    raise AssertionError(f"sshd does not start: {log.read_text()}")
