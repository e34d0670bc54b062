"""Bringing another history in: rebase and merge onto what was fetched, their conflicts, and the way back."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from orca.errors import CommandCause, CommandFailed
from orca.tools.repository import index_file
from orca.tools.repository.calls import Call, Located, Stop, tagged
from orca.tools.repository.commits import current_branch, has_hook, head
from orca.tools.repository.remotes import checked_remote
from orca.tools.repository.staging import ignored, parse_paths, unmerged
from orca.tools.repository.states import STATUS, Status, parse_status

if TYPE_CHECKING:
    from orca.tools.repository.refs import Pull

_AFTER_S: Final = 1.9  # beyond the deadline, to put things back: with the grace of a git that hangs less than 3 s
_OPERATIONS: Final = (
    ("rebase-apply/applying", "am"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
)
# Messages stay as they are (a configured cleanup would strip lines from them), and so do other branches. A rebase reads
# its own list of commits back: a format that git cannot read would end it, and a comment character that begins one of
# the commands, as "p" does, would silently drop the commits.
_SETTINGS: Final = tuple(
    word
    for setting in (
        "commit.cleanup=verbatim",
        "core.commentChar=#",
        "rebase.updateRefs=false",
        "rebase.instructionFormat=%s",
    )
    for word in ("-c", setting)
)
_REBASE: Final = (
    *_SETTINGS,
    "rebase",
    "--quiet",
    "--rebase-merges",
    "--no-autostash",
    "--no-autosquash",
    "--no-fork-point",
    "--no-rerere-autoupdate",
    "--no-stat",
)
_MERGE: Final = (
    *_SETTINGS,
    "merge",
    "--quiet",
    "--ff",
    "--commit",
    "--no-squash",
    "--no-edit",
    "--no-autostash",
    "--no-rerere-autoupdate",
    "--no-stat",
    "--no-overwrite-ignore",
)


def operation(call: Call) -> str | None:
    """Return what is in progress here: `rebase`, `merge`, `cherry-pick`, `revert`, or nothing."""
    for name, what in _OPERATIONS:
        if os.path.exists(os.path.join(call.git_dir, name)):
            return what
    return None


def fetched(call: Call, remote: str, branch: str) -> str:
    """Fetch one branch of a remote and return its sha, by a ref of our own: FETCH_HEAD is everybody's."""
    ref = f"refs/orca/fetched/{os.urandom(8).hex()}"
    flags = ("--quiet", "--no-prune", "--no-write-fetch-head")
    try:
        call.run("fetch", *flags, "--", remote, f"+refs/heads/{branch}:{ref}", kind="network", effect="none")
        return call.run("rev-parse", "--verify", ref).stdout.decode("ascii").strip()
    finally:
        with call.overtime(_AFTER_S):
            call.attempt("update-ref", "-d", ref, kind="write")


def rebase_or_undo(call: Call, sha: str) -> None:
    """Rebase HEAD onto a commit; where that stops, all is as it was before, or `effect` is `unknown`."""
    before = _state(call)
    index = os.path.join(call.git_dir, "index")
    try:
        with index_file.copied(index, call.git_dir) as copy:
            try:
                _rebase(call, sha)
            except Stop as stop:
                error = stop.error
                if not isinstance(error, CommandFailed) or error.effect == "none":
                    raise
                with call.overtime(_AFTER_S):
                    back = _put_back(call, before, index, copy)
                raise Stop(replace(error, effect="none" if back else "unknown")) from None
    except OSError as error:
        raise call.refuse("other", ("rebase",), f"the index cannot be copied: {error.strerror}") from None


def _state(call: Call) -> Status:
    status = parse_status(call.run(*STATUS).stdout)
    return replace(status, upstream=None, ahead=None, behind=None)  # what a fetch changes


def _put_back(call: Call, before: Status, index: str, copy: str) -> bool:
    """Undo a rebase that is in progress, or finished in spite of the failure; True when nothing differs any more."""
    try:
        if operation(call) == "rebase":
            call.run("rebase", "--abort", kind="write")
        elif before.head is not None and current_branch(call) == before.branch:
            call.run("reset", "--quiet", "--keep", before.head, kind="write")
        if operation(call) is not None or _state(call) != before:
            return False
        index_file.replace(index, copy)  # with its flags, which an abort loses
    except (Stop, OSError):
        return False
    return True


def _rebase(call: Call, sha: str) -> None:
    _integrate(call, sha, "rebase", (*_REBASE, sha))


def _merge(call: Call, sha: str, *flags: str) -> None:
    _integrate(call, sha, "merge", (*_MERGE, *flags, sha))


def _integrate(call: Call, sha: str, what: str, args: tuple[str, ...]) -> None:
    """Run a rebase or a merge, or stop; a conflict leaves it in progress."""
    _refuse_another(call, *args)
    in_the_way = _ignored_in_the_way(call, sha, what)
    if in_the_way:
        raise call.refuse("dirty", args, "ignored files would be overwritten", in_the_way)
    ended = call.attempt(*args, kind="write")
    if ended.cause == "exit" and ended.exit_code == 0:
        return
    if ended.cause != "exit":
        raise Stop(call.failed(ended))
    conflicts = unmerged(call)
    if conflicts:
        raise Stop(call.failed(ended, cause="conflict", paths=conflicts))
    going_on = operation(call)
    cause: CommandCause | None = None
    if going_on == "merge" and has_hook(call, "pre-merge-commit", "prepare-commit-msg", "commit-msg"):
        cause = "hook-failed"  # merged without a conflict, and not committed
    raise Stop(call.failed(ended, cause=cause, effect="none" if going_on is None else None))


def _refuse_another(call: Call, *args: str) -> None:
    going_on = operation(call)
    if going_on is not None:
        raise call.refuse("conflict", args, f"a {going_on} is in progress", unmerged(call))


def _ignored_in_the_way(call: Call, sha: str, what: str) -> tuple[str, ...]:
    """Ignored files at paths that git is about to write: it would overwrite them without a word.

    A rebase writes every path of the commits that it makes anew, also what a later one of them takes out again.
    """
    listing = ("--name-only", "--no-renames", "--no-ext-diff", "-z")
    if head(call) is None:
        written = parse_paths(call.run("ls-tree", "-r", "-z", "--name-only", sha).stdout)
    else:
        written = parse_paths(call.run("diff", "--diff-filter=AT", *listing, "HEAD", sha).stdout)
    if what == "rebase":
        written += parse_paths(call.run("log", "-m", "--format=", *listing, f"{sha}..HEAD").stdout)
    found = {there for path in written if (there := _in_the_way(call.top, path)) is not None}
    folders = sorted(path for path in found if _is_folder(os.path.join(call.top, path)))
    inside: tuple[str, ...] = ()
    if folders:
        others = ("ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--")
        inside = parse_paths(call.run(*others, *call.pathspecs(folders, "ls-files")).stdout)
    return (*ignored(call, sorted(found.difference(folders))), *inside)


def _in_the_way(top: str, path: str) -> str | None:
    """What is there where a file is to be written: at its path, or a file where a folder of its path is to be."""
    parts = path.split("/")
    for depth in range(1, len(parts)):
        parent = "/".join(parts[:depth])
        if not _is_folder(os.path.join(top, parent)):
            return parent if os.path.lexists(os.path.join(top, parent)) else None
    return path if os.path.lexists(os.path.join(top, path)) else None


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


class IntegrationOperations(Located):
    """Pulling, and what to do about conflicts."""

    @tagged
    def pull(
        self, remote: str = "origin", branch: str | None = None, rebase: bool = True, *, timeout: float | None = None
    ) -> Pull:
        """Return HEAD before and after the remote's branch was brought in: by a rebase of ours onto it, or by a merge.

        `branch` defaults to the upstream of the current branch. Merges among our commits are kept. A conflict leaves
        the operation in progress, to be resolved or ended by `abort()`: `conflict`, with `paths`, `effect` `unknown`;
        so can a timeout, and a hook that refuses the merge commit. Where `effect` is `none`, nothing has changed.

        Fails with `CommandFailed`: `conflict`, `dirty` (uncommitted changes, or files that would be overwritten,
        ignored ones too), `no-upstream`, `detached`, `unknown-remote`, `unknown-ref`, `bad-ref-name`, `hook-failed`,
        `identity-missing`, `auth`, `network`, `timeout`, `locked`, `refused`, `exit` (a merge of unrelated histories),
        and what `status` fails with. `timeout` is seconds, default the tool's `network_timeout`.

        >>> from orca import git
        >>> from orca.tools import GitTool
        >>> clone = GitTool.clone(str(git().root), "clone").unwrap()
        >>> pulled = clone.pull().unwrap()
        >>> pulled.old == pulled.new
        True
        """
        call = self._call(timeout, self._network_timeout)
        args = ("pull", remote)
        if branch is not None:
            call.checked_branch(branch, *args)
        checked_remote(call, remote, *args)
        call.refuse_in_hook(*args)
        _refuse_another(call, *args)
        source = branch if branch is not None else _upstream(call, remote, *args)
        from orca.tools.repository import refs

        sha = fetched(call, remote, source)  # before the lock: a slow remote holds up no commit
        with call.index(*args):
            before = head(call)
            if before is None:
                _merge(call, sha, "--ff-only")
            elif rebase:
                _rebase(call, sha)
            else:
                _merge(call, sha, "-m", f"Merge remote-tracking branch '{remote}/{source}'")
            return refs.Pull(before, head(call) or sha)

    @tagged
    def conflicts(self, *, timeout: float | None = None) -> tuple[str, ...]:
        """Return the unmerged paths.

        Fails as `status` does.

        >>> from orca import git
        >>> git().conflicts().unwrap()
        ()
        """
        return unmerged(self._call(timeout))

    @tagged
    def abort(self, *, timeout: float | None = None) -> str:
        """Return what was in progress and is undone now: `rebase`, `merge`, `cherry-pick`, `revert` or `am`.

        The branch, the index and the worktree are as they were before it began; resolutions made since are gone.

        Fails with `CommandFailed`: `refused` (nothing is in progress), `dirty`, `locked`, and what `status` fails with.

        >>> from orca import Failure, git, outcome
        >>> match outcome(git().abort()):
        ...     case Failure(error):
        ...         print(error.cause)
        refused
        """
        call = self._call(timeout)
        with call.index("merge", "--abort"):
            what = operation(call)
            if what is None:
                raise call.refuse("refused", ("merge", "--abort"), "nothing is in progress")
            call.run(what, "--abort", kind="write")
            return what


def _upstream(call: Call, remote: str, *args: str) -> str:
    branch = current_branch(call)
    if branch is None:
        raise call.refuse("detached", args, "HEAD is detached, and no branch was named")
    form = "--format=%(upstream:remotename)%00%(upstream:remoteref)"
    found = os.fsdecode(call.run("for-each-ref", form, f"refs/heads/{branch}").stdout).split("\n")[0]
    name, _, ref = found.partition("\0")
    if name != remote or not ref:
        raise call.refuse("no-upstream", args, f"branch {branch!r} follows no branch of {remote!r}")
    return ref.removeprefix("refs/heads/")
