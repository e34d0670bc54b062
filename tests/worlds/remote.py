"""A bare repository with two clones of it: `work` for the caller, and `colleague` for who pushes meanwhile."""

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .http_server import HttpServer
from .repository import commit, copy, git, seed, write
from .ssh_server import SshServer

Transport = Literal["file", "http", "ssh"]

# A hook of the remote that does not end as long as the world stands, wherever it was started from.
ENDLESS_HOOK = "touch endless; while test -e standing; do sleep 0.05; done"


@dataclass
class Remote:
    """`bare`, `work` and `colleague` below `root`; `work` reaches `bare` by `url`, the colleague by its path."""

    root: Path
    server: HttpServer | SshServer | None

    @property
    def bare(self) -> Path:
        return self.root / "remote.git"

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def colleague(self) -> Path:
        return self.root / "colleague"

    @property
    def url(self) -> str:
        return self.url_of(self.bare.name)

    @property
    def http(self) -> HttpServer:
        """The server, of a remote over HTTP."""
        assert isinstance(self.server, HttpServer)
        return self.server

    @property
    def ssh(self) -> SshServer:
        """The server, of a remote over ssh."""
        assert isinstance(self.server, SshServer)
        return self.server

    def url_of(self, name: str) -> str:
        """The address of the repository `name` in `root`, over the same transport; it need not be there."""
        match self.server:
            case HttpServer():
                return self.server.url_of(name)
            case SshServer():
                return self.server.url_of(self.root / name)
            case None:
                return str(self.root / name)

    def colleague_pushes(self, name: str = "c.txt", content: str = "c\n") -> str:
        """The sha that the colleague has just put on the remote's `main`."""
        sha = commit(self.colleague, name, content, "colleague")
        git(self.colleague, "push", "--quiet", "origin", "HEAD:refs/heads/main")
        return sha

    def hangs(self) -> bool:
        """Whether a push has got to where it waits for ever: for a silent server, or for the endless hook."""
        silenced = isinstance(self.server, HttpServer) and self.server.silenced.is_set()
        return silenced or (self.bare / "endless").exists()

    def refs(self) -> dict[str, str]:
        """Every ref of the remote, and the object that it points to."""
        lines = git(self.bare, "for-each-ref", "--format=%(refname) %(objectname)").decode().splitlines()
        return dict(line.split(" ") for line in lines)

    def head(self, branch: str = "main") -> str | None:
        """What `branch` of the remote points to; None where there is no such branch."""
        return self.refs().get(f"refs/heads/{branch}")


def build_template(root: Path) -> Path:
    """`root`, now with the seeded repositories to copy: `repo`, and `remote.git` with `work` and `colleague`."""
    root.mkdir()
    seed(root / "repo")
    git(root, "clone", "--quiet", "--bare", "--template=", "repo", "remote.git")
    git(root / "remote.git", "remote", "remove", "origin")
    git(root / "remote.git", "config", "http.receivepack", "true")
    for clone in ("work", "colleague"):
        git(root, "clone", "--quiet", "--template=", "remote.git", clone)
    return root


@contextlib.contextmanager
def remote_over(transport: Transport, root: Path, template: Path, sshd: SshServer | None = None) -> Iterator[Remote]:
    """A remote of its own in `root`, which is made; `ssh` goes by the server that is given."""
    root.mkdir()
    shutil.copytree(template / "remote.git", root / "remote.git")
    standing = write(root / "remote.git" / "standing", "")
    with contextlib.ExitStack() as running:
        server = running.enter_context(HttpServer(root)) if transport == "http" else sshd
        remote = Remote(root, server if transport != "file" else None)
        copy(template / "work", remote.work)
        copy(template / "colleague", remote.colleague)
        git(remote.work, "config", "remote.origin.url", remote.url)
        git(remote.colleague, "config", "remote.origin.url", str(remote.bare))
        if transport == "ssh":
            git(remote.work, "config", "core.sshCommand", remote.ssh.command())
        try:
            yield remote
        finally:
            standing.unlink()
