"""Bringing another history in: by a rebase or a merge, their conflicts, and the way back."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Final

from orca.errors import CommandCause, CommandFailed
from orca.tools.repository import index_file
from orca.tools.repository.calls import Call, Stop
from orca.tools.repository.commits import current_branch, has_hook, head
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


def rebase_or_undo(call: Call, sha: str) -> None:
    """Rebase HEAD onto a commit; where that stops, all is as it was before, or `effect` is `unknown`."""
    before = _state(call)
    index = os.path.join(call.git_dir, "index")
    try:
        with index_file.copied(index, call.git_dir) as copy:
            try:
                rebase(call, sha)
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


def rebase(call: Call, sha: str) -> None:
    _integrate(call, sha, "rebase", (*_REBASE, sha))


def merge(call: Call, sha: str, *flags: str) -> None:
    _integrate(call, sha, "merge", (*_MERGE, *flags, sha))


def _integrate(call: Call, sha: str, what: str, args: tuple[str, ...]) -> None:
    """Run a rebase or a merge, or stop; a conflict leaves it in progress."""
    refuse_another(call, *args)
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


def refuse_another(call: Call, *args: str) -> None:
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
