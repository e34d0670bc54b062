"""How a git that GitPython ran failed, as the tag that the git tool gives for the same: words first, then plumbing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Final

from orca.errors import (
    CommandCause,
    PushCause,
    RuntimeError,
    branch_already_exists,
    nothing_to_commit,
    push_rejected,
)
from orca.process import Ended
from orca.redaction import redact
from orca.tools.repository.bridge_pushes import operands_of, report_of, subcommand
from orca.tools.repository.calls import Call
from orca.tools.repository.causes import cause_of
from orca.tools.repository.commits import HOOKS, current_branch, has_hook, head
from orca.tools.repository.integration import operation
from orca.tools.repository.pushing import LOST
from orca.tools.repository.staging import unmerged
from orca.tools.repository.states import STATUS, parse_status

# What the methods of the git tool find out before git is asked, and git itself says only so.
_MORE_CAUSES: Final[tuple[tuple[bytes, CommandCause], ...]] = (
    (rb"resolve your current index first", "conflict"),
    (rb"not currently on a branch|HEAD is detached", "detached"),
    (rb"has no upstream branch|no upstream configured|no tracking information", "no-upstream"),
    (rb"does not have any commits yet", "unborn"),
    (rb"not a valid branch point|not something we can merge|invalid upstream '", "unknown-ref"),
    (rb"upstream branch of your current branch does not match", "other"),
)
_EXISTS: Final = rb"(?m)^fatal: [Aa] branch named '(.+)' already exists"
_UNKNOWN: Final = rb"(?m)^(?:fatal|error): pathspec '(.+)' did not match any file"
_IGNORED: Final = rb"(?s)paths are ignored by one of your \.gitignore files:\n(.*?)\n(?:hint: |\Z)"
_NO_SOURCE: Final = rb"(?m)^error: (?:src refspec (\S+) |unable to delete )"
_MERGING: Final = frozenset("am cherry-pick commit merge pull rebase revert stash".split())
_MERGE_HOOKS: Final = ("pre-merge-commit", "prepare-commit-msg", "commit-msg")


def failure_of_end(ended: Ended, call: Call, *, is_here: bool) -> RuntimeError:
    """Return what a program came to that did not exit with 0; `is_here` says that this repository can be asked."""
    if ended.cause != "exit":
        return call.failed(ended, effect="unknown")
    command, args = subcommand(ended.argv)
    found: RuntimeError | None = None
    if command == "push":
        found = _push(ended, call, is_here)
    elif is_here:
        found = _commit(ended, call, args) if command == "commit" else _existing_branch(ended, call)
        found = found or _conflict(ended, call, command)
    if found is not None:
        return found
    cause = _cause(ended)
    if cause == "unknown-path" and command == "checkout" and "--" not in args:
        cause = "unknown-ref"  # git takes for a path what is no branch
    paths: Iterable[str] = ()
    if cause == "conflict" and is_here:
        paths = unmerged(call)
    elif cause in ("ignored-path", "unknown-path"):
        paths = _paths(ended)
    return call.failed(ended, cause=cause, effect="unknown", paths=paths)


def _cause(ended: Ended) -> CommandCause:
    found = cause_of(ended.stderr)
    if found == "exit":
        for words, cause in _MORE_CAUSES:
            if re.search(words, ended.stderr):
                return cause
    return found


def _paths(ended: Ended) -> list[str]:
    """The paths that git names: those that it does not know, or ignores."""
    ignored = re.search(_IGNORED, ended.stderr)
    found = ignored[1].split(b"\n") if ignored else re.findall(_UNKNOWN, ended.stderr)
    return [os.fsdecode(path) for path in found]


def _push(ended: Ended, call: Call, is_here: bool) -> RuntimeError:
    report = report_of(ended)
    landed = tuple(ref.remote for ref in report.updates if ref.kind != "unchanged")
    if report.rejections:
        causes: list[PushCause] = [ref.cause for ref in report.rejections if ref.cause != "atomic"]
        return push_rejected(
            redact(ended.stderr.decode("utf-8", "replace"), ended.env),
            remote=next(iter(operands_of(ended.argv)), None),
            cause=causes[0] if causes else "atomic",
            refs=report.rejections,
            landed=landed,
            effect="landed" if landed else "none",
        )
    source = re.search(_NO_SOURCE, ended.stderr)
    if source is not None:
        branch = current_branch(call) if is_here and head(call) is None else None
        unborn = branch is not None and os.fsdecode(source[1] or b"") in (branch, f"refs/heads/{branch}")
        return call.failed(ended, cause="unborn" if unborn else "unknown-ref", effect="unknown")
    hook = ended.exit_code == 1 and not re.search(LOST, ended.stderr)
    if hook and is_here and has_hook(call, "pre-push"):
        return call.failed(ended, cause="hook-failed", effect="unknown")
    return call.failed(ended, cause=_cause(ended), effect="landed" if landed else "unknown")


def _commit(ended: Ended, call: Call, args: Sequence[str]) -> RuntimeError | None:
    # 1 is for what came before the commit: no change, or a hook. A dry run of the same commit tells; it runs no hook.
    if ended.exit_code != 1 or b"Error building trees" in ended.stderr:
        return None
    conflicts = unmerged(call)
    if conflicts:
        return call.failed(ended, cause="conflict", effect="unknown", paths=conflicts)
    if call.attempt("commit", "--dry-run", *args, kind="write").exit_code == 1:
        status = parse_status(call.run(*STATUS).stdout)
        return nothing_to_commit(unstaged=len(status.unstaged), untracked=len(status.untracked))
    return call.failed(ended, cause="hook-failed", effect="unknown") if has_hook(call, *HOOKS) else None


def _existing_branch(ended: Ended, call: Call) -> RuntimeError | None:
    if (said := re.search(_EXISTS, ended.stderr)) is None:
        return None
    name = os.fsdecode(said[1])
    there = call.run("show-ref", "--verify", "--quiet", f"refs/heads/{name}", ok=(0, 1, 128)).exit_code == 0
    return branch_already_exists(name) if there else None


def _conflict(ended: Ended, call: Call, command: str) -> RuntimeError | None:
    """What stopped half-way: by unmerged paths, or by a hook that refused the merge commit."""
    paths = unmerged(call) if command in _MERGING else ()
    if paths:
        return call.failed(ended, cause="conflict", effect="unknown", paths=paths)
    merged = command in ("merge", "pull") and operation(call) == "merge"
    if merged and has_hook(call, *_MERGE_HOOKS):
        return call.failed(ended, cause="hook-failed", effect="unknown")
    return None
