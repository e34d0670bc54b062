"""How a stash is made and brought back: each in steps of which only one touches the files, and that one whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Final

from orca.errors import CommandFailed, Effect
from orca.tools.repository import stash_log, stash_trees
from orca.tools.repository.calls import Call, Stop
from orca.tools.repository.commits import head, head_and_branch
from orca.tools.repository.integration import (
    ADDED,
    LISTING,
    ignored_in_the_way,
    in_the_way,
    is_folder,
    refuse_another,
    state_of,
)
from orca.tools.repository.staging import parse_paths, unmerged
from orca.tools.repository.stash_log import Stash

_AFTER_S: Final = 1.9  # beyond the deadline, to see what has become of the worktree
# From what the index holds to another tree, files too: git looks at everything that is in the way before it begins.
_GO: Final = ("read-tree", "--no-recurse-submodules", "-m", "-u")
_PUSH: Final = ("stash", "push")
_POP: Final = ("stash", "pop")


class _Nothing(Exception):
    """There is nothing to put aside."""


class _Progress:
    """What a call that stops has changed by now."""

    effect: Effect = "none"


def put_aside(call: Call, message: str, text: bytes) -> Stash | None:
    """Return the stash of all that is not committed, or None where there is nothing."""
    with _stashing(call, *_PUSH) as progress:
        before, branch = head_and_branch(call)
        if before is None:
            raise call.refuse("unborn", _PUSH, "there is no commit to go back to")
        try:
            with call.private_index(*_PUSH, keep=True):
                sha = _put_aside(call, before, branch, text, progress)
        except _Nothing:
            return None
        return Stash(sha, message, branch)


def bring_back(call: Call, sha: str) -> None:
    """Bring back what a stash holds, and take it out of the list."""
    with _stashing(call, *_POP) as progress:
        before = head(call)
        if before is None:
            raise call.refuse("unborn", _POP, "there is no commit to bring the work back to")
        if sha not in stash_log.entries(call):
            raise call.refuse("unknown-ref", _POP, f"there is no stash {sha}")
        index, whole = stash_trees.brought_together(call, stash_trees.parts(call, sha), before)
        with call.private_index(*_POP, keep=True):
            _bring_back(call, before, whole, progress)
            stash_trees.change_index(call, whole, index)
        progress.effect = "landed"
        stash_log.drop(call, sha)


@contextmanager
def _stashing(call: Call, *args: str) -> Iterator[_Progress]:
    """Hold the index, where nothing is in progress; a failure inside has the effect that the progress says."""
    _ = call.top  # a bare repository has an index too
    with call.index(*args):
        refuse_another(call, *args)
        if conflicts := unmerged(call):
            raise call.refuse("conflict", args, "these paths are unmerged", conflicts)
        call.check_lock("index", *args)
        stash_log.wait(call, *args)
        progress = _Progress()
        try:
            yield progress
        except Stop as stop:
            error = stop.error
            raise Stop(replace(error, effect=progress.effect) if isinstance(error, CommandFailed) else error) from None


def _put_aside(call: Call, before: str, branch: str | None, text: bytes, progress: _Progress) -> str:
    trees = stash_trees.record(call)
    if call.run("diff-tree", "--quiet", before, trees.whole, ok=(0, 1)).exit_code == 0 and (
        call.run("diff-tree", "--quiet", before, trees.staged, ok=(0, 1)).exit_code == 0
    ):
        raise _Nothing
    _refuse_ignored(call, trees.whole, before, *_PUSH)
    sha = stash_trees.commit(call, trees, before, branch, text)
    subject = os.fsdecode(text.strip().split(b"\n", 1)[0])
    title = f"On {branch or '(no branch)'}: {subject}"
    progress.effect = "unknown"
    store = (*stash_log.PATIENTLY, "stash", "store", "--quiet", f"--message={title}", sha)
    for args in (store, (*_GO, trees.whole, before)):
        ended = call.attempt(*args, kind="write")
        if ended.cause != "exit" or ended.exit_code != 0:
            error = call.failed(ended)
            with call.overtime(_AFTER_S), suppress(Stop):
                if error.cause == "dirty" or _is_all_there(call, trees.whole):
                    stash_log.drop(call, sha)
                    progress.effect = "none"
            raise Stop(error)
    return sha


def _is_all_there(call: Call, whole: str) -> bool:
    """Whether every file is still as it was recorded, and there is no other.

    The private index holds what was recorded until git has taken it all away: then it holds what there is instead.
    """
    if call.run("diff-index", "--cached", "--quiet", whole, "--", ok=(0, 1)).exit_code == 1:
        return False
    changed = call.run("diff-files", "--name-only", "--ignore-submodules=all", "-z").stdout
    others = parse_paths(call.run("ls-files", "--others", "--exclude-standard", "-z", "--", ":(top)").stdout)
    return not changed and all(path.endswith("/") for path in others)


def _bring_back(call: Call, before: str, whole: str, progress: _Progress) -> None:
    _refuse_ignored(call, before, whole, *_POP)
    added, gone = (
        parse_paths(call.run("diff", f"--diff-filter={kind}", *LISTING, before, whole, "--").stdout) for kind in "AD"
    )
    found = {there for path in added if (there := in_the_way(call.top, path)) is not None}.difference(gone)
    if files := tuple(sorted(path for path in found if not is_folder(os.path.join(call.top, path)))):
        raise call.refuse("dirty", _POP, "these files would be overwritten", files)
    state = state_of(call)
    call.attempt("update-index", "-q", "--refresh", kind="write")  # what was only touched is as it was
    progress.effect = "unknown"
    ended = call.attempt(*_GO, before, whole, kind="write")
    if ended.cause != "exit" or ended.exit_code != 0:
        error = call.failed(ended)
        with call.overtime(_AFTER_S), suppress(Stop):
            if error.cause == "dirty" or state_of(call) == state:
                progress.effect = "none"
        raise Stop(error)


def _refuse_ignored(call: Call, old: str, new: str, *args: str) -> None:
    if found := ignored_in_the_way(call, parse_paths(call.run(*ADDED, old, new, "--").stdout)):
        raise call.refuse("dirty", args, "ignored files would be overwritten", found)
