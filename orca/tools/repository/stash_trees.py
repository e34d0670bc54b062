"""What a stash holds, as trees: recorded from a worktree, and brought together with where HEAD is by then.

A stash is a commit of the worktree as git knows it, whose parents are HEAD, a commit of the index, and one of the
untracked files, where there are some: as `git stash` makes them, which so can read ours, and this one git's.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from orca.errors import unsupported_feature
from orca.tools.repository.calls import Call, Stop
from orca.tools.repository.commits import index_info
from orca.tools.repository.integration import SETTINGS
from orca.tools.repository.staging import parse_paths, track

_UTF8: Final = ("-c", "i18n.commitEncoding=UTF-8")
# Whose stash it is where the user has no name: what `git stash` takes then.
_NAMELESS: Final = ("-c", "user.name=git", "-c", "user.email=git@stash")
_GITLINK: Final = b"160000"
_RAW: Final = ("diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=none")
_INDEX_INFO: Final = ("update-index", "-z", "--index-info")


class Trees(NamedTuple):
    """The index, the tracked files, the untracked ones (None: there are none), and all files together."""

    staged: str
    worktree: str
    untracked: str | None
    whole: str


def record(call: Call) -> Trees:
    """Return what the index and the worktree hold; the private index then holds every file that was recorded."""
    intended = call.run("diff-files", "--name-only", "--diff-filter=A", "-z").stdout  # `add --intent-to-add`
    if intended:
        call.change("update-index", "--force-remove", "-z", "--stdin", input=intended)
    index = _tree(call)
    call.change("add", "-u", "--", ":(top)")
    # A submodule that has moved on stays where it is: a stash does not bring it back, so it need not hold it.
    if links := gitlinks(call.run(*_RAW, index, "--").stdout):
        call.change(*_INDEX_INFO, input=links)
    worktree = _tree(call)
    listed = parse_paths(call.run("ls-files", "--others", "--exclude-standard", "-z", "--", ":(top)").stdout)
    others = {path for path in listed if not path.endswith("/")}  # that would be a repository of its own
    if not others:
        return Trees(index, worktree, None, worktree)
    track(call, others)
    untracked = staged_among(call.run("ls-files", "--stage", "-z", "--", ":(top)").stdout, others)
    return Trees(index, worktree, _tree_of(call, untracked) if untracked else None, _tree(call))


def gitlinks(raw: bytes) -> bytes:
    """Return the input of `update-index --index-info` that puts back the submodules which `diff-index` names."""
    fields = iter(raw.split(b"\0"))
    lines = []
    for header in fields:
        if header:
            path = next(fields)
            mode, _, sha, _, _ = header.removeprefix(b":").split(b" ")
            if mode == _GITLINK:
                lines.append(b"%s %s 0\t%s\0" % (mode, sha, path))
    return b"".join(lines)


def staged_among(listed: bytes, paths: Collection[str]) -> bytes:
    """Return those lines of `ls-files --stage -z` that are about one of the paths."""
    lines = [line for line in listed.split(b"\0") if os.fsdecode(line.partition(b"\t")[2]) in paths]
    return b"".join(line + b"\0" for line in lines)


def commit(call: Call, trees: Trees, base: str, branch: str | None, message: bytes) -> str:
    """Return the sha of the stash as a commit, which nothing names yet."""
    place = os.fsencode(branch or "(no branch)")
    title = call.run("log", "-1", "--format=%h %s", base, "--").stdout
    parents = [base, commit_tree(call, trees.staged, [base], b"index on %s: %s" % (place, title))]
    if trees.untracked is not None:
        parents.append(commit_tree(call, trees.untracked, [], b"untracked files on %s: %s" % (place, title)))
    return commit_tree(call, trees.worktree, parents, b"On %s: %s" % (place, message))


def commit_tree(call: Call, tree: str, parents: Sequence[str], message: bytes) -> str:
    """Return the sha of a new commit that nothing names; of the user, or of nobody where they have no name."""
    args = ("commit-tree", "--no-gpg-sign", tree, *(word for parent in parents for word in ("-p", parent)), "-F", "-")
    ended = call.attempt(*_UTF8, *args, kind="write", input=message)
    if ended.exit_code != 0 and call.failed(ended).cause == "identity-missing":
        ended = call.attempt(*_UTF8, *_NAMELESS, *args, kind="write", input=message)
    if ended.exit_code != 0:
        raise Stop(call.failed(ended))
    return ended.stdout.decode("ascii").strip()


class Parts(NamedTuple):
    """The commits of a stash: where HEAD was, the index, the worktree, and the untracked files, if there are any."""

    base: str
    staged: str
    worktree: str
    untracked: str | None


def parts(call: Call, sha: str) -> Parts:
    """Return the commits that a stash consists of; what has been put into the list and is none is `unknown-ref`."""
    parents = call.run("rev-parse", f"{sha}^@").stdout.decode("ascii").split()
    if len(parents) not in (2, 3):
        raise call.refuse("unknown-ref", ("stash", "pop"), f"{sha} is not a stash")
    return Parts(parents[0], parents[1], sha, parents[2] if len(parents) == 3 else None)


def brought_together(call: Call, stash: Parts, head: str) -> tuple[str, str]:
    """Return the index and the files, untracked ones too, that there are when the stash is back, as trees.

    Stops with `conflict` where what has been committed since then says otherwise; nothing is touched.
    """
    base_tree, head_tree, index, worktree = _trees(call, stash.base, head, stash.staged, stash.worktree)
    if base_tree != head_tree:
        moved = commit_tree(call, head_tree, [stash.base], b"HEAD, on what the stash was made on")
        worktree = _merged(call, moved, stash.worktree)
        index = head_tree if index == base_tree else _merged(call, moved, stash.staged)
    if stash.untracked is None:
        return index, worktree
    untracked = call.run("ls-tree", "-r", "-z", "--full-tree", stash.untracked).stdout
    tracked = parse_paths(call.run("ls-tree", "-r", "-z", "--full-tree", "--name-only", worktree).stdout)
    if taken := overlapping(parse_tree_paths(untracked), tracked):
        raise call.refuse("conflict", ("stash", "pop"), "these files were untracked, and are committed now", taken)
    return index, _tree_of(call, untracked, worktree)


def overlapping(paths: Collection[str], others: Collection[str]) -> tuple[str, ...]:
    """Return those of the paths that cannot be in one tree with the others: the same, or a folder of one is a file."""
    there = set(others)
    folders = {folder for path in others for folder in _folders(path)}
    return tuple(path for path in paths if path in there or path in folders or not there.isdisjoint(_folders(path)))


def _folders(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def parse_tree_paths(listed: bytes) -> tuple[str, ...]:
    """Return the paths of `ls-tree -z`."""
    return tuple(os.fsdecode(line.partition(b"\t")[2]) for line in listed.split(b"\0") if line)


def parse_merged(output: bytes) -> tuple[str, tuple[str, ...]]:
    """Return the tree and the paths in conflict that `merge-tree --write-tree --name-only -z` printed."""
    tree, _, rest = output.partition(b"\0")
    paths = rest.split(b"\0\0", 1)[0] if not rest.startswith(b"\0") else b""
    return tree.decode("ascii"), parse_paths(paths)


def _merged(call: Call, ours: str, theirs: str) -> str:
    args = ("merge-tree", "--write-tree", "--name-only", "-z", ours, theirs)
    ended = call.attempt(*SETTINGS, *args, kind="write")
    if ended.cause == "exit" and ended.exit_code == 129:
        raise Stop(unsupported_feature("pop_stash() where HEAD has changed", "this needs git 2.38"))
    if ended.cause != "exit" or ended.exit_code not in (0, 1):
        raise Stop(call.failed(ended))
    tree, conflicts = parse_merged(ended.stdout)
    if ended.exit_code == 1:
        raise Stop(call.failed(ended, cause="conflict", effect="none", paths=conflicts))
    return tree


def _trees(call: Call, *commits: str) -> list[str]:
    asked = (f"{commit}^{{tree}}" for commit in commits)
    return call.run("rev-parse", *asked).stdout.decode("ascii").split()


def _tree(call: Call) -> str:
    """The tree that the private index holds."""
    return call.change("write-tree").stdout.decode("ascii").strip()


def _tree_of(call: Call, entries: bytes, above: str | None = None) -> str:
    """A tree of these entries, and of those of another tree; the private index stays as it is."""
    with call.private_index("stash"):
        call.change("read-tree", above if above is not None else "--empty")
        call.change(*_INDEX_INFO, input=entries)
        return _tree(call)


def change_index(call: Call, old: str, new: str) -> None:
    """Bring into the private index what differs between two trees."""
    args = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new, "--")
    if info := index_info(call.run(*args).stdout):
        call.change(*_INDEX_INFO, input=info)
