"""Bringing another history in: by a rebase or a merge, their conflicts, and the way back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from orca.errors import CommandCause, CommandFailed
from orca.tools.repository import index_file
from orca.tools.repository.calls import Call, Stop
from orca.tools.repository.commits import current_branch, has_hook, head, head_and_branch
from orca.tools.repository.staging import ignored, parse_paths, unmerged
from orca.tools.repository.states import STATUS, Status, parse_status

_AFTER_S: Final = 1.9  # beyond the deadline, to put things back: with the grace of a git that hangs less than 3 s
_OPERATIONS: Final = (
    ("rebase-apply/applying", "am"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
)
_HOOKS: Final = ("pre-merge-commit", "prepare-commit-msg", "commit-msg")
# Messages stay as they are (a configured cleanup would strip lines from them), and so do other branches. What
# conflicts, and how that is marked, is the same everywhere. A rebase reads its own list of commits back: a format that
# git cannot read would end it, and a comment character that begins one of the commands, as "p" does, would silently
# drop the commits.
SETTINGS: Final = tuple(
    word
    for setting in (
        "commit.cleanup=verbatim",
        "core.commentChar=#",
        "i18n.commitEncoding=UTF-8",
        "merge.conflictStyle=merge",
        "merge.directoryRenames=conflict",
        "merge.renames=true",
        "rebase.updateRefs=false",
        "rebase.instructionFormat=%s",
    )
    for word in ("-c", setting)
)
LISTING: Final = ("--name-only", "--no-renames", "--no-ext-diff", "-z")
ADDED: Final = ("diff", "--diff-filter=AT", *LISTING)
_STRATEGY: Final = "--strategy=ort"  # by `pull.twohead=ours` a merge would bring in nothing, and a rebase lose ours
_REBASE: Final = (
    *SETTINGS,
    "rebase",
    "--quiet",
    "--rebase-merges",
    "--no-autostash",
    "--no-autosquash",
    "--no-fork-point",
    "--no-rerere-autoupdate",
    "--no-stat",
    _STRATEGY,
)
_MERGE: Final = (
    *SETTINGS,
    "merge",
    "--quiet",
    "--ff",
    "--commit",
    "--no-squash",
    "--no-edit",
    "--no-autostash",
    "--no-rerere-autoupdate",
    "--no-stat",
    "--no-log",
    "--no-overwrite-ignore",
    _STRATEGY,
)


def operation(call: Call) -> str | None:
    """Return what is in progress here: `rebase`, `merge`, `cherry-pick`, `revert`, or nothing."""
    for name, what in _OPERATIONS:
        if os.path.exists(os.path.join(call.git_dir, name)):
            return what
    return None


def rebase_or_undo(call: Call, sha: str) -> None:
    """Rebase HEAD onto a commit; where that stops, all is as it was before, or `effect` is `unknown`."""
    with put_back_unless_done(call, "rebase"):
        rebase(call, sha)


@contextmanager
def put_back_unless_done(call: Call, what: str, *, keep_conflict: bool = False) -> Iterator[None]:
    """Undo a rebase or a merge that stops; where that cannot be done, `effect` is `unknown`.

    With `keep_conflict`, one that stops at a conflict stays in progress.
    """
    before = state_of(call)
    index = os.path.join(call.git_dir, "index")
    try:
        with index_file.copied(index, call.git_dir) as copy:
            try:
                yield
            except Stop as stop:
                error = stop.error
                if not isinstance(error, CommandFailed) or error.effect == "none":
                    raise
                if keep_conflict and error.cause == "conflict":
                    raise
                with call.overtime(_AFTER_S):
                    ended_by_us = error.exit_code is None
                    back = _put_back(call, what, before, index, copy, is_merged=what == "merge" and ended_by_us)
                raise Stop(replace(error, effect="none" if back else "unknown")) from None
    except OSError as error:
        raise call.refuse("other", (what,), f"the index cannot be copied: {error.strerror}") from None


def state_of(call: Call) -> Status:
    """Return what an operation that is undone must leave as it was."""
    status = parse_status(call.run(*STATUS).stdout)
    return replace(status, upstream=None, ahead=None, behind=None)  # what a fetch changes


def _put_back(call: Call, what: str, before: Status, index: str, copy: str, *, is_merged: bool) -> bool:
    """Undo what is in progress, or finished in spite of the failure; True when nothing differs any more.

    `is_merged` says that files may be merged without a merge being in progress yet.
    """
    try:
        if operation(call) == what:
            call.run(what, "--abort", kind="write")
        if before.head is not None and head_and_branch(call) != (before.head, before.branch):
            if current_branch(call) != before.branch:
                return False
            call.run("reset", "--quiet", "--keep", before.head, kind="write")
        elif is_merged and not before.staged and state_of(call) != before:
            call.run("reset", "--quiet", "--merge", kind="write")  # all that an abort does
        if operation(call) is not None or head_and_branch(call) != (before.head, before.branch):
            return False
        if os.path.exists(copy):
            index_file.replace(index, copy)  # with what was staged, and its flags: an abort loses them
        return state_of(call) == before
    except (Stop, OSError):
        return False


def rebase(call: Call, sha: str) -> None:
    """Rebase HEAD onto a commit, or stop; a conflict leaves it in progress."""
    _integrate(call, sha, "rebase", (*_REBASE, sha))


def merge(call: Call, sha: str, message: bytes) -> None:
    """Merge a commit into HEAD, or stop; a conflict leaves it in progress.

    The message is that of a merge commit; where HEAD can be moved forward, or has no commit yet, none is made.
    """
    branch = current_branch(call)
    if branch is not None:  # a strategy and its options, which those of the call would only be added to
        call.settings.set(f"branch.{branch}.mergeOptions", "")
    _integrate(call, sha, "merge", (*_MERGE, "--cleanup=whitespace", "-F", "/dev/stdin", sha), message)


def _integrate(call: Call, sha: str, what: str, args: tuple[str, ...], message: bytes | None = None) -> None:
    refuse_another(call, *args)
    in_the_way = _ignored_in_the_way(call, sha, what)
    if in_the_way:
        raise call.refuse("dirty", args, "ignored files would be overwritten", in_the_way)
    ended = call.attempt(*args, kind="write", input=message)
    if ended.cause == "exit" and ended.exit_code == 0:
        return
    if ended.cause != "exit":
        raise Stop(call.failed(ended))
    conflicts = unmerged(call)
    if conflicts:
        raise Stop(call.failed(ended, cause="conflict", paths=conflicts))
    going_on = operation(call)
    cause: CommandCause | None = None
    # Merged without a conflict, and not committed; where it is not for a hook, git dies of it (128).
    if going_on == "merge" and ended.exit_code == 1 and has_hook(call, *_HOOKS):
        cause = "hook-failed"
    raise Stop(call.failed(ended, cause=cause, effect="none" if going_on is None else None))


def refuse_another(call: Call, *args: str) -> None:
    going_on = operation(call)
    if going_on is not None:
        raise call.refuse("conflict", args, f"a {going_on} is in progress", unmerged(call))


def _ignored_in_the_way(call: Call, sha: str, what: str) -> tuple[str, ...]:
    """Ignored files at paths that git is about to write: it would overwrite them without a word.

    A rebase writes every path of the commits that it makes anew, also what a later one of them takes out again.
    """
    if head(call) is None:
        return ignored_in_the_way(call, parse_paths(call.run("ls-tree", "-r", "-z", "--name-only", sha).stdout))
    written = parse_paths(call.run(*ADDED, "HEAD", sha).stdout)
    if what == "rebase":
        written += parse_paths(call.run("log", "-m", "--format=", *LISTING, f"{sha}..HEAD").stdout)
    # Where one side has moved a folder, or has a file where the other has a folder, paths are written that neither has.
    tried = call.attempt(*SETTINGS, "merge-tree", "--write-tree", "--name-only", "-z", "HEAD", sha, kind="write")
    if tried.exit_code in (0, 1):  # git before 2.38 cannot say
        tree = tried.stdout.split(b"\0", 1)[0].decode("ascii")
        written += parse_paths(call.run(*ADDED, "HEAD", tree, "--").stdout)
    return ignored_in_the_way(call, written)


def ignored_in_the_way(call: Call, written: Iterable[str]) -> tuple[str, ...]:
    """Return the ignored files where one of these is to be written: at its path, above it, or in its place a folder."""
    found = {there for path in written if (there := in_the_way(call.top, path)) is not None}
    folders = sorted(path for path in found if is_folder(os.path.join(call.top, path)))
    inside: tuple[str, ...] = ()
    if folders:
        others = ("ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--")
        inside = parse_paths(call.run(*others, *call.pathspecs(folders, "ls-files")).stdout)
    return (*ignored(call, sorted(found.difference(folders))), *inside)


def in_the_way(top: str, path: str) -> str | None:
    """Return what is there where a file is to be written: at its path, or a file in place of a folder of its path."""
    parts = path.split("/")
    for depth in range(1, len(parts)):
        parent = "/".join(parts[:depth])
        if not is_folder(os.path.join(top, parent)):
            return parent if os.path.lexists(os.path.join(top, parent)) else None
    return path if os.path.lexists(os.path.join(top, path)) else None


def is_folder(path: str) -> bool:
    """Return whether this is a folder, and no link to one."""
    return os.path.isdir(path) and not os.path.islink(path)
