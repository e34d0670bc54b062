"""Real repositories, and the plain git that arranges and inspects them."""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

PATH = os.environ.get("PATH", os.defpath)
GIT = shutil.which("git") or "/usr/bin/git"
NEUTRAL_CONFIG = Path(__file__).with_name("neutral.gitconfig")

# What everybody but the caller under test runs with: nothing of the caller's language, display or configuration.
NEUTRAL: Mapping[str, str] = {
    "PATH": PATH,
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": str(NEUTRAL_CONFIG),
    "GIT_TERMINAL_PROMPT": "0",
}


@contextlib.contextmanager
def running_git(
    directory: Path, *arguments: str | bytes | Path, env: Mapping[str, str] = NEUTRAL
) -> Iterator[subprocess.Popen[bytes]]:
    """A plain git that runs in `directory` until the block ends, if not before.

    With the neutral environment; `env=os.environ` is the caller's machine. It has a session of its own, so that there
    is no terminal to prompt on, and one process group to kill.
    """
    pipe = subprocess.PIPE
    argv = (GIT, "-C", directory, *arguments)
    with subprocess.Popen(argv, env=dict(env), stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def run_git(
    directory: Path,
    *arguments: str | bytes | Path,
    env: Mapping[str, str] = NEUTRAL,
    stdin: bytes = b"",
    timeout: float = 60.0,
) -> subprocess.CompletedProcess[bytes]:
    """What plain git answered in `directory`, whatever its exit code.

    Out of `timeout` seconds: all of it is killed and `subprocess.TimeoutExpired` raised.
    """
    with running_git(directory, *arguments, env=env) as process:
        stdout, stderr = process.communicate(stdin, timeout=timeout)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def git(directory: Path, *arguments: str | bytes | Path, env: Mapping[str, str] = NEUTRAL, stdin: bytes = b"") -> bytes:
    """The standard output of a plain git that must succeed."""
    done = run_git(directory, *arguments, env=env, stdin=stdin)
    if done.returncode != 0:
        raise AssertionError(f"{done.args} exited {done.returncode}: {done.stderr!r}")
    return done.stdout


def write(path: Path, content: str | bytes) -> Path:
    """`path`, now a file with that content; its parents are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def script(path: Path, body: str) -> Path:
    """`path`, now an executable file: `sh`, unless `body` begins with an interpreter line of its own."""
    write(path, body if body.startswith("#!") else f"#!/bin/sh\n{body}\n").chmod(0o755)
    return path


def hook(repository: Path, name: str, body: str) -> Path:
    """The hook `name` of a repository, bare or not."""
    dot_git = repository / ".git"
    return script((dot_git if dot_git.is_dir() else repository) / "hooks" / name, body)


def commit(repository: Path, name: str = "b.txt", content: str | bytes | None = None, message: str = "change") -> str:
    """The sha of a new commit in which the file `name` has that content; without one, no other clone's is the same."""
    write(repository / name, f"by {repository.name}\n" if content is None else content)
    git(repository, "add", "--", name)
    git(repository, "commit", "--quiet", "-m", message)
    return sha(repository)


def sha(repository: Path, revision: str = "HEAD") -> str:
    """The object name that `revision` stands for."""
    return git(repository, "rev-parse", "--verify", revision).decode().strip()


def seed(directory: Path) -> Path:
    """`directory`, now a repository whose branch `main` has one commit, of the file `a.txt`."""
    git(directory.parent, "init", "--quiet", "--template=", directory)
    commit(directory, "a.txt", "a\n", "seed")
    return directory


def copy(template: Path, directory: Path) -> Path:
    """A copy of a repository, with the index fresh: plumbing sees no file as touched."""
    shutil.copytree(template, directory, symlinks=True)
    git(directory, "update-index", "-q", "--refresh")
    return directory
