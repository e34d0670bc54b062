"""The git tool: every operation on one repository, each returning a `Result`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from orca.process import StrPath
from orca.tools.arguments import absolute, seconds
from orca.tools.repository import names
from orca.tools.repository.addresses import holds_secret
from orca.tools.repository.branches import BranchOperations
from orca.tools.repository.bridge import BridgeOperations
from orca.tools.repository.calls import Call, Place, Stop, tagged
from orca.tools.repository.checkpoints.operations import CheckpointOperations
from orca.tools.repository.commits import CommitOperations
from orca.tools.repository.comparing import ComparisonOperations
from orca.tools.repository.merging import MergeOperations
from orca.tools.repository.pulling import PullOperations
from orca.tools.repository.pushing import PushOperations
from orca.tools.repository.reading import ReadingOperations
from orca.tools.repository.remotes import RemoteOperations, record
from orca.tools.repository.staging import StagingOperations
from orca.tools.repository.stashes import StashOperations
from orca.tools.repository.states import StateOperations
from orca.tools.repository.tags import TagOperations
from orca.tools.repository.worktrees import WorktreeOperations

_NETWORK_S: Final = 600.0
_RECORD_S: Final = 1.0  # a clone that is there gets its address, even at the deadline

if TYPE_CHECKING:
    from pathlib import Path


class GitTool(
    StateOperations,
    StagingOperations,
    CommitOperations,
    BranchOperations,
    RemoteOperations,
    PushOperations,
    BridgeOperations,
    WorktreeOperations,
    ComparisonOperations,
    ReadingOperations,
    TagOperations,
    CheckpointOperations,
    PullOperations,
    MergeOperations,
    StashOperations,
):
    """git in one repository: by its own commands, in formats made for machines, each call returning a `Result`.

    `root` may be any directory of the worktree: every path that goes in or comes out is relative to its top. Timeouts
    are seconds, bound a whole call, and are taken by every method too: `timeout` for local work, `network_timeout` for
    what talks to a remote, `hook_timeout` for `commit`. Nothing prompts; the user's language, colours and display
    settings do not change an answer, while identity, signing, hooks, filters and credentials are the user's. Calls that
    change the index of one worktree wait for each other, across threads and processes.

    >>> from orca.tools import GitTool
    >>> GitTool(".").status().unwrap().branch
    'main'
    """

    def __init__(
        self,
        root: StrPath = ".",
        *,
        timeout: float = 120.0,
        network_timeout: float = _NETWORK_S,
        hook_timeout: float = 1800.0,
    ) -> None:
        self._place = Place(root)
        self._timeout = seconds(timeout)
        self._network_timeout = seconds(network_timeout)
        self._hook_timeout = seconds(hook_timeout)

    @property
    def root(self) -> Path:
        """The top of the worktree, asked of git once; the directory that was given where there is no worktree."""
        from pathlib import Path

        try:
            return Path(self._call(None).top)
        except Stop:
            return Path(self._place.given)

    @tagged
    def git_dir(self, *, timeout: float | None = None) -> Path:
        """Return the git folder of this worktree, absolute.

        Fails as `status` does.

        >>> from orca import git
        >>> git().git_dir().unwrap().name
        '.git'
        """
        from pathlib import Path

        return Path(self._call(timeout).git_dir)

    @staticmethod
    @tagged
    def init(path: StrPath, branch: str = "main", *, timeout: float = 120.0) -> GitTool:
        """Return the tool for a new repository at `path`, whose first branch is `branch`; one that is there stays.

        Fails with `CommandFailed`: `bad-ref-name`, `exit` (git could not write there), `timeout`, and what keeps a
        program from starting; `UnsupportedFeature` (git before 2.36).

        >>> from orca.tools import GitTool
        >>> GitTool.init("shop").unwrap().current_branch().unwrap()
        'main'
        """
        call = Call(Place("/"), timeout)
        call.checked_branch(branch, "init")
        call.run("init", "--quiet", f"--initial-branch={branch}", "--", _target(call, path), kind="write", at_top=False)
        return GitTool(path)

    @staticmethod
    @tagged
    def clone(
        url: str, path: StrPath, depth: int | None = None, branch: str | None = None, *, timeout: float = _NETWORK_S
    ) -> GitTool:
        """Return the tool for a clone of `url` at `path`, which must be new or empty; its remote is `origin`.

        `depth` keeps that many commits of history, `branch` is checked out instead of the remote's default one. A
        secret in the address is written to the configuration as plain git does; it is in no argv.

        A clone that fails or runs out of time leaves nothing behind (`effect` `none`), unless only its checkout failed
        or git had to be killed (`unknown`); what was at `path` before is not touched.

        Fails with `CommandFailed`: `refused` (an address that would start a helper program), `bad-ref-name`,
        `unknown-remote`, `unknown-ref`, `auth`, `network`, `timeout`, `exit` (`path` is not empty), and what keeps a
        program from starting; `UnsupportedFeature` (git before 2.36). `timeout` is seconds.

        >>> from orca import git
        >>> from orca.tools import GitTool
        >>> GitTool.clone(str(git().root), "clone", branch="main").unwrap().root.name
        'clone'
        """
        if depth is not None and depth < 1:
            raise ValueError("depth counts commits: at least one")
        call = Call(Place("/"), timeout)
        if not names.is_remote(url):
            raise call.refuse("refused", ("clone",), "this address could start a program or be an option")
        # A path is copied whole unless git is told to treat it as any other address.
        flags = ["--no-local", f"--depth={depth}"] if depth is not None else []
        if branch is not None:
            flags.append(f"--branch={call.checked_branch(branch, 'clone')}")
        source = absolute(url) if os.path.exists(url) else url
        shown = call.shield.hide(source) if holds_secret(source) else source
        target = _target(call, path)
        git_dir = os.path.join(target, ".git")
        was_there = os.path.lexists(git_dir)
        args = ("clone", "--quiet", "--origin=origin", *flags, "--", shown, target)
        ended = call.attempt(*args, kind="network", at_top=False)
        if ended.cause != "exit" or ended.exit_code != 0:
            cleaned = was_there or not os.path.lexists(git_dir)
            raise Stop(call.failed(ended, effect="none" if cleaned else None))
        tool = GitTool(path)
        if shown != source:
            inside = Call(tool._place, max(call.left(), _RECORD_S))
            record(inside, "origin", (("url", source),))
            inside.run("config", "--fixed-value", "--unset", "remote.origin.url", shown, kind="write")
        return tool


def _target(call: Call, path: StrPath) -> str:
    """The path from the root; where the current directory is gone a relative one would be taken from somewhere else."""
    target = absolute(path)
    if not os.path.isabs(target):
        raise call.refuse("bad-cwd", ("init",), "the current directory is gone")
    return target
