"""Bringing a recorded state back, after recording what it replaces."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from orca.errors import command_failed
from orca.tools.files.failures import Call as FileCall
from orca.tools.files.failures import Refused
from orca.tools.files.failures import Stop as FilesStop
from orca.tools.repository.calls import Call, Stop
from orca.tools.repository.checkpoints.places import Places
from orca.tools.repository.checkpoints.recording import OURS, RULES, STATE, Entry, Record, record
from orca.tools.repository.checkpoints.saved import Meta, loads
from orca.tools.repository.staging import parse_paths

_AT_ONCE: Final = 32 << 20  # bytes of contents that are held in memory at once
_LINK: Final = b"120000"
_ARGS: Final = ("checkpoint", "restore")


class Saved:
    """A checkpoint as it is kept: what it says, and its files."""

    def __init__(self, call: Call, ref: str) -> None:
        self._call = call
        self._ref = ref
        self.meta = self.meta_of(call, ref)
        listed = call.run("ls-tree", "-r", "-z", "-l", f"{ref}:worktree", ok=(0, 128)).stdout
        self.files: dict[str, Entry] = {}
        self.sizes: dict[str, int] = {}
        for line in listed.split(b"\0"):
            if line:
                told, _, name = line.partition(b"\t")
                mode, _, sha, size = told.split()
                path = os.fsdecode(name)
                self.files[path] = Entry(_LINK if path in self.meta.links else mode, sha)
                self.sizes[path] = int(size)
        staged = call.run("ls-tree", "-r", "-z", "--name-only", f"{ref}:index", ok=(0, 128)).stdout
        self.tracked = {path.partition("/")[2] for path in parse_paths(staged)}  # the stage goes before the path

    @staticmethod
    def meta_of(call: Call, ref: str) -> Meta:
        """Return what a checkpoint says of itself."""
        try:
            return loads(_blob(call, ref, "meta.json"))
        except (ValueError, KeyError, TypeError) as error:
            raise call.refuse("unknown-ref", _ARGS, f"{ref} is no checkpoint: {error}") from None

    def blob(self, name: str) -> bytes:
        """Return what the checkpoint holds under a name."""
        return _blob(self._call, self._ref, name)

    def contents(self, paths: Collection[str]) -> Iterable[tuple[str, bytes]]:
        """Yield the paths with what stands in them, some of them at a time."""
        part: list[str] = []
        for path in paths:
            part.append(path)
            if sum(self.sizes[one] for one in part) > _AT_ONCE:
                yield from self._read(part)
                part = []
        yield from self._read(part)

    def _read(self, paths: Collection[str]) -> Iterable[tuple[str, bytes]]:
        if paths:
            asked = b"".join(self.files[path].sha + b"\n" for path in paths)
            answer = self._call.run("cat-file", "--batch", input=asked).stdout
            at = 0
            for path in paths:
                at = answer.index(b"\n", at) + 1
                yield path, answer[at : at + self.sizes[path]]
                at += self.sizes[path] + 1


def _blob(call: Call, ref: str, name: str) -> bytes:
    ended = call.run("cat-file", "blob", f"{ref}:{name}", ok=(0, 128))
    if ended.exit_code != 0:
        raise call.refuse("unknown-ref", _ARGS, f"{ref} is no checkpoint")
    return ended.stdout


def restore(call: Call, files_call: FileCall, ref: str) -> Record:
    """Bring the state back; returns what it replaced, which was recorded before anything was touched."""
    saved = Saved(call, ref)
    places = Places(call.top, files_call)
    above = {folder for path in [*saved.files, *saved.meta.folders] for folder in _above(path)}
    standing = places.states(above | set(saved.meta.folders))
    in_the_way = {path for path, state in standing.items() if not stat.S_ISDIR(state.st_mode)}
    undo = record(
        call,
        places,
        f"before the restore of {saved.meta.checkpoint.id}",
        also={*saved.files, *in_the_way},
        refs=saved.meta.refs,
    )
    _refuse_to_lose(call, places, saved, undo)
    _refuse_elsewhere(call, saved.meta)
    lock = os.path.join(call.git_dir, "index.lock")
    try:
        fd = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    except FileExistsError:
        raise call.refuse("locked", _ARGS, "there is an index.lock: another git is at work, or one has died") from None
    try:
        with open(fd, "wb") as file:
            file.write(saved.blob("index.raw") if saved.meta.has_index else b"")
        with _naming(call, undo):
            _files(call, places, saved, undo, in_the_way)
            _state(Places(call.git_dir, files_call), saved)
            _refs(call, saved.meta)
            if saved.meta.has_index:
                os.rename(lock, os.path.join(call.git_dir, "index"))
            else:
                with suppress(FileNotFoundError):
                    os.unlink(os.path.join(call.git_dir, "index"))
    finally:
        with suppress(FileNotFoundError):
            os.unlink(lock)
    return undo


@contextmanager
def _naming(call: Call, undo: Record) -> Iterator[None]:
    """What stops a restore half-way names the checkpoint of what it was about to replace."""
    try:
        yield
    except (Stop, FilesStop, Refused, OSError) as error:
        why = str(error.error) if isinstance(error, Stop | FilesStop) else str(error)
        said = f"{why}; what was there before is checkpoint {undo.meta.checkpoint.id}"
        line = "git checkpoint restore"
        raise Stop(command_failed(line, None, "", said, cause="other", effect="unknown", cwd=call.top)) from error


def _above(path: str) -> Iterable[str]:
    while path := os.path.dirname(path):
        yield path


def _refuse_to_lose(call: Call, places: Places, saved: Saved, undo: Record) -> None:
    """What is ignored is not recorded: where a file has to stand in its place, nothing is begun."""
    standing = places.states(saved.files)
    for path, state in standing.items():
        if stat.S_ISDIR(state.st_mode):
            lost = [inner for inner in places.held(path) if inner not in undo.files]
            if lost:
                raise call.refuse("dirty", _ARGS, f"{path} has to be a file, and holds what is ignored", lost[:100])


def _refuse_elsewhere(call: Call, meta: Meta) -> None:
    """A branch that another worktree has checked out is not moved under it."""
    for ref, sha in meta.refs.items():
        ended = call.run("for-each-ref", "--format=%(objectname)%00%(worktreepath)", ref)
        for line in os.fsdecode(ended.stdout).split("\n"):
            now, _, path = line.partition("\0")
            if path and now != sha and os.path.realpath(path) != os.path.realpath(call.top):
                raise call.refuse("refused", _ARGS, f"{ref} is checked out at {path}", (path,))


def _files(call: Call, places: Places, saved: Saved, undo: Record, in_the_way: Collection[str]) -> None:
    """Make room, write what differs, then remove what was not there; what the rules of then ignore stays."""
    now, then = undo.files, saved.files
    gone = [path for path in now if path not in then]
    for path in in_the_way:
        places.remove(path)
    first = {path for path in gone if os.path.basename(path) == RULES or any(up in then for up in _above(path))}
    for path in first:
        places.remove(path)
    _write(places, saved, undo)
    left = [path for path in gone if path not in first and path not in in_the_way]
    stays = _ignored(call, [path for path in left if path not in undo.tracked and path not in saved.tracked])
    for path in left:
        if path not in stays:
            places.remove(path)
    kept = {folder for path in [*then, *saved.meta.folders] for folder in _above(path)} | set(saved.meta.folders)
    emptied = {folder for path in gone for folder in _above(path)} | set(undo.meta.folders)
    emptied |= {folder for path in undo.meta.folders for folder in _above(path)}
    for folder in sorted(emptied - kept, key=len, reverse=True):
        places.remove_folder(folder)


def _write(places: Places, saved: Saved, undo: Record) -> None:
    now, then = undo.files, saved.files
    standing = places.states(then)
    for path in [path for path, state in standing.items() if stat.S_ISDIR(state.st_mode)]:
        for folder in [*reversed(places.folders(path)), path]:
            places.remove_folder(folder)
    changed = [path for path, entry in then.items() if now.get(path) != entry or path not in standing]
    for path, data in saved.contents(changed):
        if then[path].mode == _LINK:
            places.link(path, data)
        else:
            places.write(path, data, _mode(saved.meta, path, then[path]))
    written = set(changed)
    for path, entry in then.items():
        if entry.mode != _LINK and path not in written:
            mode = _mode(saved.meta, path, entry)
            if stat.S_IMODE(standing[path].st_mode) != mode:
                places.change_mode(path, mode)
    for folder in saved.meta.folders:
        places.make_folder(folder)


def _ignored(call: Call, paths: Collection[str]) -> set[str]:
    """Those of the paths that are ignored by the rules that stand in the worktree now."""
    asked = b"".join(os.fsencode(path) + b"\0" for path in paths)
    args = ("check-ignore", "--no-index", "-z", "--stdin")
    return set(parse_paths(call.run(*args, input=asked, ok=(0, 1)).stdout)) if paths else set()


def _mode(meta: Meta, path: str, entry: Entry) -> int:
    return meta.modes.get(path, 0o755 if entry.mode == b"100755" else 0o644)


def _state(git: Places, saved: Saved) -> None:
    """Make the operation in progress the one that was; what it shares with the index is only ever added."""
    for name in STATE:
        for inner in list(git.held(name)):
            git.remove(inner)
        for folder in reversed(git.folders(name)):
            git.remove_folder(folder)
        if not git.remove_folder(name):
            git.remove(name)
    for name in saved.meta.files:
        if not name.startswith("sharedindex.") or not git.states([name]):
            git.write(name, saved.blob(f"git/{name}"), 0o644)


def _refs(call: Call, meta: Meta) -> None:
    message = ("-m", f"orca: restore {meta.checkpoint.id}")
    for ref, sha in meta.refs.items():
        if sha is not None:
            call.run(*OURS, "update-ref", *message, "--no-deref", ref, sha, kind="write")
        else:
            call.run(*OURS, "update-ref", *message, "--no-deref", "-d", ref, kind="write")
    if meta.checkpoint.branch is not None:
        call.run(*OURS, "symbolic-ref", *message, "HEAD", f"refs/heads/{meta.checkpoint.branch}", kind="write")
    elif meta.checkpoint.head is not None:
        call.run(*OURS, "update-ref", *message, "--no-deref", "HEAD", meta.checkpoint.head, kind="write")
