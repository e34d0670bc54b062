"""Checkpoints of a worktree: made, listed, compared, brought back and dropped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from orca.errors import CommandFailed
from orca.process import StrPath
from orca.tools.repository.calls import Call, Located, Stop, tagged

if TYPE_CHECKING:
    from orca.tools.files import failures
    from orca.tools.repository.changes import FileChange
    from orca.tools.repository.checkpoints.saved import Checkpoint


class CheckpointOperations(Located):
    """Recording the state of the worktree, and bringing it back."""

    @tagged
    def checkpoint(self, label: str = "", *, timeout: float | None = None) -> Checkpoint:
        """Return the checkpoint that was made of the whole state: what an agent does from now on can be undone.

        It holds HEAD and its branch, the index as it is, an operation in progress (a merge, a rebase), and every file
        and link that is not ignored, byte for byte, with its permissions; neither the index nor the worktree is
        touched. It needs no identity, runs no hook and no filter, and lies in the repository under `refs/orca`, which
        no push of orca's publishes and no clean-up of git's removes. An `.env` that is not ignored is then in the
        repository as well. Submodules and nested repositories are recorded by their commit only, and named in
        `not_covered`; ignored files are neither recorded nor removed. Permissions of directories, owners and times are
        not recorded. `timeout` is seconds, default the tool's.

        Fails with `CommandFailed`: `locked`, `refused` (inside a hook of this repository), `timeout`, `exit` (git
        cannot write), `FileSystemError` (a file cannot be read), and what `status` fails with; nothing is left then.

        >>> from pathlib import Path
        >>> from orca import git
        >>> before = git().checkpoint("before the agent").unwrap()
        >>> _ = Path("a.txt").write_text("spoiled\\n")
        >>> undo = git().restore(before).unwrap()
        >>> Path("a.txt").read_text()
        'a\\n'
        """
        call = self._call(timeout)
        with _worktree(call, "checkpoint"):
            return checkpoint(call, label)

    @tagged
    def restore(self, checkpoint: Checkpoint, *, timeout: float | None = None) -> Checkpoint:
        """Return a checkpoint of what was replaced, once the worktree is as it was when `checkpoint` was made.

        The files that are not ignored, the index, the operation in progress, HEAD, and the branch that was checked
        out (a rebased one too) are then as they were; other branches stay. What it replaces is recorded first, also
        what has become ignored since: `restore` of what it returns undoes it. Where something stops it half-way
        (`effect` is `unknown`), the failure names that checkpoint. No link leads it out of the worktree.

        Fails with `CommandFailed`: `unknown-ref` (there is no such checkpoint), `dirty` (where a file has to be, there
        is a directory that holds ignored files: `paths`), `refused` (another worktree has the branch checked out;
        inside a hook of this repository), `locked`, `timeout`, `exit`, `FileSystemError`, and what `status` fails with.

        >>> from orca import git
        >>> point = git().checkpoint().unwrap()
        >>> git().restore(point).unwrap().label == f"before the restore of {point.id}"
        True
        """
        from orca.tools.repository.checkpoints import restoring

        call = self._call(timeout)
        with _worktree(call, "checkpoint", "restore"):
            return restoring.restore(call, _files_call(call), _ref(call, checkpoint)).meta.checkpoint

    @tagged
    def changed_since(self, checkpoint: Checkpoint, *, timeout: float | None = None) -> tuple[FileChange, ...]:
        """Return which files differ from what they were when `checkpoint` was made; what is ignored is left out.

        Fails with `CommandFailed`: `unknown-ref`, `locked`, `refused`, `timeout`, `FileSystemError`, and what `status`
        fails with.

        >>> from pathlib import Path
        >>> from orca import git
        >>> point = git().checkpoint().unwrap()
        >>> _ = Path("new.txt").write_text("new\\n")
        >>> [change.path for change in git().changed_since(point).unwrap()]
        ['new.txt']
        """
        from orca.tools.repository.changes import FORMAT, parse_changes
        from orca.tools.repository.checkpoints import recording
        from orca.tools.repository.checkpoints.places import Places

        call = self._call(timeout)
        with _worktree(call, "diff-tree"):
            before = f"{_ref(call, checkpoint)}:worktree"
            if call.run("cat-file", "-e", before, ok=(0, 128)).exit_code != 0:  # there was no file at all
                before = recording.tree(call, [])
            now = recording.worktree_tree(call, Places(call.top, _files_call(call)))
            return parse_changes(call.run("diff-tree", "-r", *FORMAT, before, now).stdout)

    @tagged
    def checkpoints(self, *, timeout: float | None = None) -> tuple[Checkpoint, ...]:
        """Return the checkpoints of this worktree, the oldest first.

        Fails as `status` does.

        >>> from orca import git
        >>> point = git().checkpoint("one").unwrap()
        >>> git().checkpoints().unwrap() == (point,)
        True
        """
        from orca.tools.repository.checkpoints.recording import refs_of
        from orca.tools.repository.checkpoints.restoring import Saved

        call = self._call(timeout)
        listed = call.run("for-each-ref", "--sort=refname", "--format=%(refname)", refs_of(call)).stdout
        return tuple(Saved.meta_of(call, ref).checkpoint for ref in os.fsdecode(listed).split("\n") if ref)

    @tagged
    def drop_checkpoint(self, checkpoint: Checkpoint, *, timeout: float | None = None) -> str:
        """Return the sha of the commit that held the checkpoint, which is dropped: git removes what it held in time.

        Fails with `CommandFailed`: `unknown-ref`, `locked`, `timeout`, `exit`, and what `status` fails with.

        >>> from orca import git
        >>> point = git().checkpoint().unwrap()
        >>> _ = git().drop_checkpoint(point).unwrap()
        >>> git().checkpoints().unwrap()
        ()
        """
        from orca.tools.repository.checkpoints.recording import OURS

        call = self._call(timeout)
        ref = _ref(call, checkpoint)
        sha = call.run("rev-parse", "--verify", ref).stdout.decode("ascii").strip()
        call.change(*OURS, "update-ref", "--no-deref", "-d", ref, sha)
        return sha

    @tagged
    def restore_paths(self, *paths: StrPath, timeout: float | None = None) -> Checkpoint:
        """Return a checkpoint of what was replaced, once the paths are as HEAD has them, in the index and the worktree.

        What HEAD does not have, and the index has, is removed; untracked files stay. All of it happens or nothing.
        `restore` of what it returns undoes it. Paths are literal unless they are `Pathspec`s.

        Fails with `CommandFailed`: `unknown-path` (neither HEAD nor the index knows one), `unborn`, `conflict` (a merge
        or the like is in progress), `refused` (a path outside; inside a hook of this repository), `locked`, `timeout`,
        `exit`, `FileSystemError`, and what `status` fails with.

        >>> from pathlib import Path
        >>> from orca import git
        >>> _ = Path("a.txt").write_text("spoiled\\n")
        >>> undo = git().restore_paths("a.txt").unwrap()
        >>> Path("a.txt").read_text()
        'a\\n'
        """
        if not paths:
            raise ValueError("restore_paths() was given no path")
        from orca.tools.repository.commits import head
        from orca.tools.repository.integration import refuse_another

        call = self._call(timeout)
        args = ("restore", "--source=HEAD", "--staged", "--worktree")
        specs = call.pathspecs(paths, *args)
        with _worktree(call, *args):
            refuse_another(call, *args)
            if head(call) is None:
                raise call.refuse("unborn", args, "there is no commit to restore from")
            undo = checkpoint(call, "before restore_paths()")
            try:
                call.run(*args, "--", *specs, kind="write")
            except Stop as stop:
                if isinstance(stop.error, CommandFailed) and stop.error.cause == "unknown-path":
                    raise Stop(replace(stop.error, effect="none")) from None
                raise
            return undo


def checkpoint(call: Call, label: str) -> Checkpoint:
    """Record the state of the worktree of this call."""
    from orca.tools.repository.checkpoints.places import Places
    from orca.tools.repository.checkpoints.recording import record

    return record(call, Places(call.top, _files_call(call)), label).meta.checkpoint


@contextmanager
def _worktree(call: Call, *args: str) -> Iterator[None]:
    """Hold the index of a worktree; a file that cannot be read or written stops the call as the file tool says it."""
    from orca.tools.files import failures

    _ = call.top  # a bare repository has no files
    try:
        with call.index(*args):
            yield
    except failures.Stop as stop:
        raise Stop(stop.error) from None
    except failures.Refused as refused:
        raise call.refuse("other", args, str(refused)) from None


def _files_call(call: Call) -> failures.Call:
    from orca.tools.files.failures import Call as FilesCall

    return FilesCall(max(call.left(), 0.001))


def _ref(call: Call, checkpoint: Checkpoint) -> str:
    from orca.tools.repository.checkpoints.recording import refs_of

    ref = refs_of(call) + checkpoint.id
    known = call.checked_revision(ref, "checkpoint")
    if call.run("show-ref", "--verify", "--quiet", known, ok=(0, 1, 128)).exit_code != 0:
        raise call.refuse("unknown-ref", ("checkpoint",), f"there is no checkpoint {checkpoint.id!r}")
    return known
