"""Recording a state: every file that is not ignored, the index as it is, HEAD, and an operation in progress.

It goes into a commit that only a ref of ours holds: `worktree/…` are the files, `index/<stage>/…` what the index names
(so that git keeps it), `git/…` files of the git folder, and `meta.json` what no tree can hold.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from orca.errors import CommandFailed
from orca.tools.files.failures import Refused
from orca.tools.repository.calls import Call, Stop
from orca.tools.repository.checkpoints.places import Places
from orca.tools.repository.checkpoints.saved import Checkpoint, Meta, dumps, worktree_id
from orca.tools.repository.commits import head_and_branch
from orca.tools.repository.staging import parse_paths

REFS: Final = "refs/orca/"
RULES: Final = ".gitignore"
# What an operation that is in progress, or one that has just stopped, keeps in the git folder.
STATE: Final = (
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "MERGE_RR",
    "AUTO_MERGE",
    "MERGE_AUTOSTASH",
    "SQUASH_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "BISECT_START",
    "BISECT_LOG",
    "BISECT_NAMES",
    "BISECT_TERMS",
    "BISECT_EXPECTED_REV",
    "BISECT_ANCESTORS_OK",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
)
_HOLD: Final = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "MERGE_AUTOSTASH")
_HOLD_IN_REBASE: Final = ("onto", "orig-head", "autostash", "squash-onto")
# Ours, whoever the user is: no identity, hook, filter or signature has a say, and every name that a file can have is
# allowed in the tree.
OURS: Final = tuple(
    word
    for setting in (
        "user.name=orca",
        "user.email=orca@localhost",
        "core.hooksPath=/dev/null",
        "core.protectNTFS=false",
        "core.protectHFS=false",
        "core.splitIndex=false",
        "core.untrackedCache=false",
        "core.sparseCheckout=false",
        "i18n.commitEncoding=UTF-8",
    )
    for word in ("-c", setting)
)
_LISTED: Final = ("ls-files", "-z", "--full-name")
_FILE, _TOOL, _LINK, _GITLINK = b"100644", b"100755", b"120000", b"160000"
_PLAIN: Final = {_FILE: 0o644, _TOOL: 0o755}


class Entry(NamedTuple):
    """A file or a link as a tree names it."""

    mode: bytes
    sha: bytes


class Record(NamedTuple):
    """A state that is recorded: what it says, the files by path, and which of these the index names."""

    meta: Meta
    files: Mapping[str, Entry]
    tracked: frozenset[str]


def record(call: Call, places: Places, label: str, *, also: Collection[str] = (), refs: Iterable[str] = ()) -> Record:
    """Record the state, under a ref of ours; nothing else is touched.

    `also` are paths that are recorded even where they are ignored, `refs` branches that are remembered as well.
    """
    with _only_objects():
        commit, made = _recorded(call, places, label, also, refs)
    call.change(*OURS, "update-ref", "--no-deref", refs_of(call) + made.meta.checkpoint.id, commit, "0" * len(commit))
    return made


def _recorded(call: Call, places: Places, label: str, also: Collection[str], refs: Iterable[str]) -> tuple[str, Record]:
    """Write a state down as a commit that nothing holds yet."""
    head, branch = head_and_branch(call)
    index = _bytes_of(os.path.join(call.git_dir, "index"))
    staged = _staged(call.run(*_LISTED, "--stage", "--", ":(top)").stdout)
    others = parse_paths(call.run(*_LISTED, "--others", "--exclude-standard", "--", ":(top)").stdout)
    links = {path for mode, _, _, path in staged if mode == _GITLINK}
    nested = {path.rstrip("/") for path in others if path.endswith("/")}
    paths = {path for mode, _, _, path in staged if mode != _GITLINK} | {path for path in others if path[-1] != "/"}
    ignored = _ignored(call)
    # Rules that ignore themselves count all the same: a restore has to show what there was.
    rules = {path for path in ignored if os.path.basename(path) == RULES}
    states = places.states({*paths, *also, *rules} - links - nested)
    files, odd = _files(call, places, states)
    git = dict(_git_files(call.git_dir))
    wanted = {f"refs/heads/{branch}"} if branch is not None else set()
    wanted |= {*_rebased(git), *refs}
    now = datetime.now(UTC)
    checkpoint = Checkpoint(
        id=f"{now:%Y%m%dT%H%M%S%f}-{os.urandom(4).hex()}",
        label=label,
        head=head,
        branch=branch,
        created=now,
        not_covered=tuple(sorted(links | nested | odd)),
    )
    plain = {path: _PLAIN.get(entry.mode) for path, entry in files.items()}
    meta = Meta(
        checkpoint=checkpoint,
        has_index=index is not None,
        refs={ref: _sha_of(call, ref) for ref in sorted(wanted)},
        modes={
            path: stat.S_IMODE(states[path].st_mode)
            for path, mode in plain.items()
            if mode is not None and stat.S_IMODE(states[path].st_mode) != mode
        },
        links=tuple(path for path, entry in files.items() if entry.mode != _kept(path, entry)),
        folders=tuple(places.empty_folders(ignored | links | nested)),
        files=tuple(git),
    )
    commit = _commit(call, checkpoint, meta, files, staged, index, git)
    return commit, Record(meta, files, frozenset(path for _, _, _, path in staged))


def refs_of(call: Call) -> str:
    """Return what the names of the refs of this worktree's checkpoints begin with."""
    return f"{REFS}{worktree_id(call.git_dir, call.common_dir)}/"


@contextmanager
def _only_objects() -> Iterator[None]:
    """Objects that nothing holds are no effect: whatever stops here has left everything as it was."""
    try:
        yield
    except Stop as stop:
        if isinstance(stop.error, CommandFailed):
            raise Stop(replace(stop.error, effect="none")) from None
        raise


def worktree_tree(call: Call, places: Places) -> str:
    """Return the sha of a tree of all files that are not ignored, as a checkpoint would hold them."""
    with _only_objects():
        return _worktree_tree(call, places)


def _worktree_tree(call: Call, places: Places) -> str:
    staged = _staged(call.run(*_LISTED, "--stage", "--", ":(top)").stdout)
    others = parse_paths(call.run(*_LISTED, "--others", "--exclude-standard", "--", ":(top)").stdout)
    paths = {path for mode, _, _, path in staged if mode != _GITLINK} | {path for path in others if path[-1] != "/"}
    files, _ = _files(call, places, places.states(paths))
    return tree(call, [_line(_kept(path, entry), entry.sha, path) for path, entry in files.items()])


def _kept(path: str, entry: Entry) -> bytes:
    return _FILE if entry.mode == _LINK and _is_gitmodules(path) else entry.mode


def _files(call: Call, places: Places, states: Mapping[str, os.stat_result]) -> tuple[dict[str, Entry], set[str]]:
    """Write every file and link as an object; returns them, and the paths of what is neither."""
    regular = sorted(path for path, state in states.items() if stat.S_ISREG(state.st_mode))
    links = sorted(path for path, state in states.items() if stat.S_ISLNK(state.st_mode))
    odd = {path for path, state in states.items() if stat.S_IFMT(state.st_mode) not in _HELD or _is_git(path)}
    regular, links = [path for path in regular if path not in odd], [path for path in links if path not in odd]
    at_once = [path for path in regular if _can_be_listed(path)]
    shas: dict[str, bytes] = {}
    if at_once:
        paths = b"".join(os.fsencode(path) + b"\n" for path in at_once)
        args = ("hash-object", "-w", "--no-filters", "--stdin-paths")
        ended = call.attempt(*args, kind="write", input=paths)
        if ended.cause == "exit" and ended.exit_code == 0:
            shas = dict(zip(at_once, ended.stdout.split(), strict=True))
            # git reads by path, where something else may have been put meanwhile: what has changed is read again.
            after = places.states(at_once)
            shas = {path: sha for path, sha in shas.items() if _same(states[path], after.get(path))}
    for path in [*regular, *links]:
        if path not in shas:
            shas[path] = _blob(call, places.read(path))
    kinds = {path: _TOOL if states[path].st_mode & 0o100 else _FILE for path in regular} | dict.fromkeys(links, _LINK)
    return {path: Entry(kinds[path], sha) for path, sha in sorted(shas.items())}, odd


_HELD: Final = (stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR)


def _can_be_listed(path: str) -> bool:
    """Whether git takes a line for this path: it strips a carriage return, and unquotes what begins with a quote."""
    return "\n" not in path and not path.endswith("\r") and not path.startswith('"')


def _same(before: os.stat_result, after: os.stat_result | None) -> bool:
    def stamp(state: os.stat_result) -> tuple[int, ...]:
        return state.st_dev, state.st_ino, state.st_mode, state.st_size, state.st_mtime_ns, state.st_ctime_ns

    return after is not None and stamp(before) == stamp(after)


def _staged(listed: bytes) -> list[tuple[bytes, bytes, bytes, str]]:
    """The index: mode, sha, stage and path of each entry."""
    found = []
    for line in listed.split(b"\0"):
        if line:
            told, _, path = line.partition(b"\t")
            mode, sha, stage = told.split(b" ")
            found.append((mode, sha, stage, os.fsdecode(path)))
    return found


def _git_files(git_dir: str) -> Iterable[tuple[str, bytes]]:
    """The files of an operation in progress, and those that the index shares, by name and content."""
    try:
        shared = [name for name in os.listdir(git_dir) if name.startswith("sharedindex.")]
    except OSError:
        shared = []
    for name in sorted([*STATE, *shared]):
        path = os.path.join(git_dir, name)
        if os.path.isdir(path) and not os.path.islink(path):
            for folder, _, files in os.walk(path):
                for file in sorted(files):
                    inner = os.path.join(folder, file)
                    if (data := _bytes_of(inner)) is not None:
                        yield os.path.relpath(inner, git_dir), data
        elif (data := _bytes_of(path)) is not None:
            yield name, data


def _bytes_of(path: str) -> bytes | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:  # git makes no link of such a name
            return None
        raise Refused("other", f"the git folder cannot be read: {error.strerror}", error.errno) from None
    with open(fd, "rb") as file:
        return file.read()


def _rebased(git: Mapping[str, bytes]) -> Iterable[str]:
    """The branch that a rebase in progress will move: HEAD is detached meanwhile."""
    for name in ("rebase-merge/head-name", "rebase-apply/head-name"):
        ref = os.fsdecode(git.get(name, b"")).strip()
        if ref.startswith("refs/heads/"):
            yield ref


def _sha_of(call: Call, ref: str) -> str | None:
    ended = call.run("rev-parse", "--quiet", "--verify", ref, ok=(0, 1, 128))
    return ended.stdout.decode("ascii").strip() or None if ended.exit_code == 0 else None


def _ignored(call: Call) -> set[str]:
    """What is ignored; a directory stands for all that it holds."""
    args = ("--others", "--ignored", "--exclude-standard", "--directory", "--", ":(top)")
    return {path.rstrip("/") for path in parse_paths(call.run(*_LISTED, *args).stdout)}


def _is_gitmodules(path: str) -> bool:
    """Whether git takes no link of this name into an index."""
    return any(part.lower().startswith(".gitmodules") for part in path.split("/"))


def _is_git(path: str) -> bool:
    """Whether git takes nothing of this name into an index."""
    return any(part.lower() == ".git" for part in path.split("/"))


def _line(mode: bytes, sha: bytes, path: str) -> bytes:
    return b"%s %s 0\t%s\0" % (mode, sha, os.fsencode(path))


def _commit(
    call: Call,
    checkpoint: Checkpoint,
    meta: Meta,
    files: Mapping[str, Entry],
    staged: Iterable[tuple[bytes, bytes, bytes, str]],
    index: bytes | None,
    git: Mapping[str, bytes],
) -> str:
    _blob(call, b"")  # what the index names for a file that is only intended to be added need not be there
    lines = [_line(_kept(path, entry), entry.sha, f"worktree/{path}") for path, entry in files.items()]
    lines += [
        _line(_FILE if mode == _LINK else mode, sha, f"index/{stage.decode()}/{path}")
        for mode, sha, stage, path in staged
    ]
    lines += [_line(_FILE, _blob(call, data), f"git/{name}") for name, data in git.items()]
    lines.append(_line(_FILE, _blob(call, dumps(meta)), "meta.json"))
    if index is not None:
        lines.append(_line(_FILE, _blob(call, index), "index.raw"))
    parents = dict.fromkeys(sha for sha in [checkpoint.head, *meta.refs.values(), *_held(git)] if sha)
    known = [sha for sha in parents if call.run("cat-file", "-e", f"{sha}^{{commit}}", ok=(0, 1, 128)).exit_code == 0]
    args = ("commit-tree", "--no-gpg-sign", tree(call, lines), *(word for sha in known for word in ("-p", sha)))
    message = f"checkpoint {checkpoint.id}\n".encode()
    return call.run(*OURS, *args, "-F", "-", kind="write", input=message).stdout.decode("ascii").strip()


def _blob(call: Call, data: bytes) -> bytes:
    return call.run("hash-object", "-w", "--no-filters", "--stdin", kind="write", input=data).stdout.strip()


def _held(git: Mapping[str, bytes]) -> Iterable[str]:
    """The commits that an operation in progress needs."""
    for name, data in git.items():
        if name in _HOLD or os.path.basename(name) in _HOLD_IN_REBASE:
            yield from (word for word in data.decode("ascii", "replace").split() if _is_sha(word))


def _is_sha(word: str) -> bool:
    return len(word) in (40, 64) and all(character in "0123456789abcdef" for character in word)


def tree(call: Call, lines: Iterable[bytes]) -> str:
    """Return the sha of the tree that the lines of an index describe."""
    with call.private_index("checkpoint"):
        call.change(*OURS, "read-tree", "--empty")
        ended = call.change(*OURS, "update-index", "-z", "--index-info", input=b"".join(lines))
        if b"Ignoring path" in ended.stderr:  # git leaves out what it does not like, and exits with 0
            raise Stop(call.failed(ended, cause="other", effect="none"))
        return call.run(*OURS, "write-tree", "--missing-ok", kind="write").stdout.decode("ascii").strip()
