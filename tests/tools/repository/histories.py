"""Random histories of a worktree, and its whole state as it can be compared."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

from worlds.repository import run_git

NAMES = [
    "a",
    "b",
    "d",
    "e",
    " lead",
    "-dash",
    'q"uote',
    "new\nline",
    "cr\r",
    os.fsdecode(b"\xff\xfe"),
    "*",
    ".gitmodules",
]
CONTENTS = [b"", b"one\n", b"two\r\nlines\r\n", b"\0\1binary", b"no newline"]
STATE = ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "sequencer")


def bytes_of(path: Path) -> bytes | None:
    """What a file holds; None where there is none."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def files(top: Path) -> dict[str, tuple[object, ...]]:
    """Every file, link and empty directory that is not ignored, with its permissions and content."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=top,
        check=True,
        capture_output=True,
    ).stdout
    found: dict[str, tuple[object, ...]] = {}
    for name in set(filter(None, listed.split(b"\0"))):
        path = os.path.join(os.fsencode(top), name)
        above = os.path.dirname(name)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if any(os.path.islink(os.path.join(os.fsencode(top), part)) for part in _above(above)):
                continue
            state = os.lstat(path)
            if stat.S_ISLNK(state.st_mode):
                found[os.fsdecode(name)] = ("link", os.readlink(path))
            elif stat.S_ISREG(state.st_mode):
                with open(path, "rb") as file:
                    found[os.fsdecode(name)] = ("file", stat.S_IMODE(state.st_mode), file.read())
    return found


def _above(path: bytes) -> list[bytes]:
    parts = path.split(b"/") if path else []
    return [b"/".join(parts[: count + 1]) for count in range(len(parts))]


def everything(top: Path) -> dict[str, tuple[object, ...]]:
    """Every file and link of the worktree, ignored ones too."""
    found: dict[str, tuple[object, ...]] = {}
    for folder, folders, names in os.walk(os.fsencode(top)):
        if b".git" in folders:
            folders.remove(b".git")
        for name in [*names, *(one for one in folders if os.path.islink(os.path.join(folder, one)))]:
            path = os.path.join(folder, name)
            shown = os.fsdecode(os.path.relpath(path, os.fsencode(top)))
            if os.path.islink(path):
                found[shown] = ("link", os.readlink(path))
            else:
                with open(path, "rb") as file:
                    found[shown] = ("file", stat.S_IMODE(os.lstat(path).st_mode), file.read())
    return found


def git_state(top: Path) -> dict[str, object]:
    """The index byte for byte, HEAD, the branch that it is on, and the operation in progress."""
    folder = top / ".git"
    head = (folder / "HEAD").read_text()
    state: dict[str, object] = {"index": bytes_of(folder / "index"), "HEAD": head}
    if head.startswith("ref: "):
        state["branch"] = run_git(top, "rev-parse", "--verify", "--quiet", head[5:].strip()).stdout
    for name in STATE:
        if (folder / name).is_dir():
            for inner in sorted((folder / name).rglob("*")):
                state[str(inner.relative_to(folder))] = bytes_of(inner)
        else:
            state[name] = bytes_of(folder / name)
    return state


class History:
    """What an agent may do to a worktree, drawn one act after the other."""

    def __init__(self, top: Path, seed: int) -> None:
        self.top = top
        self.draw = random.Random(seed)
        self._acts: list[Callable[[], object]] = [
            *(3 * [self.write]),
            *(2 * [self.git_add, self.git_commit]),
            self.delete,
            self.move,
            self.make_link,
            self.change_mode,
            self.empty_folder,
            self.swap,
            self.ignore,
            self.git_reset,
            self.git_switch,
            self.git_merge,
            self.git_rebase,
            self.git_stage_a_part,
            self.git_gc,
            self.git_flags,
        ]

    def act(self, times: int) -> None:
        """Do some things."""
        for _ in range(times):
            with contextlib.suppress(OSError):
                self.draw.choice(self._acts)()

    def path(self) -> Path:
        depth = self.draw.choice([1, 1, 2, 2, 3])
        return self.top.joinpath(*(self.draw.choice(NAMES) for _ in range(depth)))

    def existing(self) -> Path | None:
        found = sorted(everything(self.top))
        return self.top / self.draw.choice(found) if found else None

    def write(self) -> None:
        path = self.path()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.draw.choice(CONTENTS) + str(self.draw.randrange(5)).encode())

    def delete(self) -> None:
        if (path := self.existing()) is not None:
            if self.draw.random() < 0.3 and path.parent != self.top:
                shutil.rmtree(path.parent)
            else:
                path.unlink()

    def move(self) -> None:
        if (path := self.existing()) is not None:
            path.rename(self.path())

    def make_link(self) -> None:
        target = self.draw.choice(["a", "../outside", "/etc", "d", "missing", "."])
        path = self.path()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def change_mode(self) -> None:
        if (path := self.existing()) is not None and not path.is_symlink():
            path.chmod(self.draw.choice([0o600, 0o644, 0o755, 0o700, 0o444]))

    def empty_folder(self) -> None:
        self.path().mkdir(parents=True, exist_ok=True)

    def swap(self) -> None:
        """A folder becomes a link or a file."""
        folders = [
            path for path in self.top.iterdir() if path.is_dir() and not path.is_symlink() and path.name != ".git"
        ]
        if folders:
            path = self.draw.choice(sorted(folders))
            shutil.rmtree(path)
            if self.draw.random() < 0.5:
                path.symlink_to(self.draw.choice(["../outside", "missing", "."]))
            else:
                path.write_bytes(b"was a folder\n")
            if self.draw.random() < 0.5:
                self._ignore(path.name)

    def ignore(self) -> None:
        self._ignore(self.draw.choice(["a", "/d", "e/", "*.log", "b", "!b"]))

    def _ignore(self, pattern: str) -> None:
        path = self.top / ".gitignore"
        if path.is_symlink() or path.is_dir():
            return
        path.write_bytes((bytes_of(path) or b"") + os.fsencode(pattern) + b"\n")

    def git(self, *args: str) -> None:
        run_git(self.top, *args)

    def git_add(self) -> None:
        self.git("add", self.draw.choice(["-A", "-u", "-N ."]).split()[0], ".")

    def git_commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "--quiet", "--allow-empty", "-m", f"commit {self.draw.randrange(1000)}")

    def git_reset(self) -> None:
        self.git(
            "reset", "--quiet", self.draw.choice(["--soft", "--mixed", "--hard"]), self.draw.choice(["HEAD", "HEAD~1"])
        )

    def git_switch(self) -> None:
        name = self.draw.choice(["main", "one", "two"])
        how = self.draw.choice([["-C", name], [name], ["--detach"], ["--orphan", f"o{self.draw.randrange(99)}"]])
        self.git("switch", "--quiet", *how)

    def git_merge(self) -> None:
        self.git("merge", "--quiet", "--no-edit", self.draw.choice(["main", "one", "two"]))

    def git_rebase(self) -> None:
        self.git(*self.draw.choice([["rebase", "--quiet", "main"], ["rebase", "--abort"], ["merge", "--abort"]]))

    def git_stage_a_part(self) -> None:
        if (path := self.existing()) is not None:
            self.git("add", "--force", "--", str(path))
            if self.draw.random() < 0.5 and not path.is_symlink():
                path.write_bytes(b"edited after it was staged\n")

    def git_flags(self) -> None:
        if (path := self.existing()) is not None:
            flag = self.draw.choice(["--assume-unchanged", "--skip-worktree", "--no-skip-worktree"])
            self.git("update-index", flag, "--", str(path))

    def git_gc(self) -> None:
        if self.draw.random() < 0.2:
            self.git("reflog", "expire", "--expire=now", "--all")
            self.git("gc", "--quiet", "--prune=now")
