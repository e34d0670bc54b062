"""The machine that every test runs on, and a fixture for each of the worlds."""

import os
import signal
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest
import worlds.disk
import worlds.german
import worlds.github
import worlds.hostile_display
import worlds.remote
import worlds.ssh_server
import worlds.stand_ins
from worlds.disk import Disk
from worlds.github import GitHub
from worlds.remote import Remote, Transport
from worlds.repository import NEUTRAL_CONFIG, PATH, copy
from worlds.ssh_server import SshServer

# What would let the caller's machine into a test: families of variables by prefix, the others by name.
STRAY_PREFIXES = ("GIT_", "GH_", "GITHUB_", "LC_", "SSH_", "XDG_", "GNUPG", "GPG_", "GCM_", "CLICOLOR")
STRAY = {"LANGUAGE", "NO_COLOR", "FORCE_COLOR", "DISPLAY", "WAYLAND_DISPLAY", "COLUMNS", "LINES"}
STRAY |= {"PAGER", "EDITOR", "VISUAL", "EMAIL", "http_proxy", "https_proxy", "all_proxy"}

# What was started in the background ignores an interrupt, and under nohup a hang-up; every child would do so too.
for _number, _default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _default)


def _forbid_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """With ORCA_FORBID_SKIPS=1 whatever was skipped has failed, for the reason that it gave."""
    if report.skipped and os.environ.get("ORCA_FORBID_SKIPS") == "1":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"no test may be skipped here. {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _forbid_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _forbid_skip(report)
    return report


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test's own home, with an identity in its `.gitconfig`; nothing of the real machine's settings counts."""
    for name in list(os.environ):
        if name.startswith(STRAY_PREFIXES) or name in STRAY or name.lower() in STRAY:
            monkeypatch.delenv(name)
    directory = tmp_path_factory.mktemp("home")
    (directory / ".gitconfig").write_bytes(NEUTRAL_CONFIG.read_bytes())
    monkeypatch.setenv("HOME", str(directory))
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return directory


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The seeded repositories that the worlds are copied from: `repo`, `remote.git`, `work`, `colleague`."""
    return worlds.remote.build_template(tmp_path_factory.mktemp("template") / "template")


@pytest.fixture
def repo(tmp_path: Path, template: Path) -> Path:
    """A repository whose branch `main` has one commit, of `a.txt`; no remote."""
    return copy(template / "repo", tmp_path / "repo")


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    """An sshd that serves every ssh remote of the session."""
    if reason := worlds.ssh_server.missing():
        pytest.skip(reason)
    with worlds.ssh_server.ssh_server(tmp_path_factory.mktemp("ssh") / "sshd") as server:
        yield server


RemoteOver = Callable[[Transport], Remote]


@pytest.fixture
def remote_over(tmp_path: Path, template: Path, request: pytest.FixtureRequest) -> Iterator[RemoteOver]:
    """A function from a transport to a fresh remote over it."""
    numbers = count(1)
    with ExitStack() as standing:

        def over(transport: Transport) -> Remote:
            server: SshServer | None = request.getfixturevalue("sshd") if transport == "ssh" else None
            root = tmp_path / f"{transport}-{next(numbers)}"
            return standing.enter_context(worlds.remote.remote_over(transport, root, template, server))

        yield over


@pytest.fixture
def remote(remote_over: RemoteOver) -> Remote:
    """A bare repository with the clones `work` and `colleague`; `work` reaches it by its path."""
    return remote_over("file")


@pytest.fixture
def http_remote(remote_over: RemoteOver) -> Remote:
    """The same, which `work` reaches by smart HTTP; `.http` sets credentials and faults."""
    return remote_over("http")


@pytest.fixture
def ssh_remote(remote_over: RemoteOver) -> Remote:
    """The same, which `work` reaches by ssh; its `core.sshCommand` has the key, `.ssh` has others."""
    return remote_over("ssh")


@pytest.fixture
def german(monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """The variables of a caller who speaks German, which are set."""
    if reason := worlds.german.missing():
        pytest.skip(reason)
    for name, value in worlds.german.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    return worlds.german.ENVIRONMENT


@pytest.fixture
def hostile_display(home: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """The variables of a caller whose display settings change everything, which are set, as is the configuration."""
    worlds.hostile_display.configure(home)
    for name, value in worlds.hostile_display.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    return worlds.hostile_display.ENVIRONMENT


@pytest.fixture
def tmpfs(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Disk]:
    """A disk of 4 MiB, or of as many bytes as the test's indirect parameter says."""
    with worlds.disk.mounted(tmp_path / "disk", getattr(request, "param", 4 << 20)) as disk:
        if isinstance(disk, str):
            pytest.skip(disk)
        yield disk


@pytest.fixture
def sleeping_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The `git` on PATH never ends."""
    monkeypatch.setenv("PATH", f"{worlds.stand_ins.sleeping_git(tmp_path / 'sleeping-git')}:{PATH}")


@pytest.fixture
def old_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The `git` on PATH says that it is of version 2.20.1."""
    monkeypatch.setenv("PATH", f"{worlds.stand_ins.old_git(tmp_path / 'old-git')}:{PATH}")


@pytest.fixture
def no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no `git` on PATH, nor anything else."""
    monkeypatch.setenv("PATH", str(worlds.stand_ins.no_git(tmp_path / "no-git")))


@pytest.fixture
def github(tmp_path: Path, remote: Remote, monkeypatch: pytest.MonkeyPatch) -> GitHub:
    """A repository on GitHub, `octo/shop`, with `work` as its clone; the `gh` on PATH is a stand-in."""
    world = worlds.github.github(tmp_path / "gh-stand-in", remote)
    monkeypatch.setenv("PATH", f"{world.bin}:{PATH}")
    return world
