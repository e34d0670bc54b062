"""What the next commit will hold: `add` and `unstage`."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from orca.process import StrPath
from orca.tools.repository.calls import Call, Located, Stop, tagged
from orca.tools.repository.names import literal_path

_STAGED: Final = ("diff", "--cached", "--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules=none", "-z")
UNMERGED: Final = (*_STAGED, "--diff-filter=U")
_TRACKED_THOUGH_IGNORED: Final = ("ls-files", "--cached", "--ignored", "--exclude-standard", "-z")
# `add` compares every path with every pathspec: 40,000 of them would take minutes.
_MANY: Final = 500
_UPDATE_INDEX: Final = (
    *("update-index", "--add", "--remove", "--replace"),
    *("--ignore-skip-worktree-entries", "-z", "--stdin"),
)
_GONE: Final = 0
_STAGEABLE: Final = (stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR, _GONE)  # git passes over others without a word
_FROM_STDIN: Final = ("--pathspec-from-file=-", "--pathspec-file-nul")


def parse_paths(output: bytes) -> tuple[str, ...]:
    """Return the paths of a `-z` listing, each once, in its order."""
    return tuple(dict.fromkeys(os.fsdecode(path) for path in output.split(b"\0") if path))


def unmerged(call: Call) -> tuple[str, ...]:
    """Return the paths that the index holds unmerged."""
    return parse_paths(call.run(*UNMERGED).stdout)


def tracked_though_ignored(call: Call, paths: Sequence[StrPath]) -> tuple[str, ...]:
    """Return the files of the index that are named, or held, by the paths and that git would ignore as new ones."""
    return _among(parse_paths(call.run(*_TRACKED_THOUGH_IGNORED).stdout), paths, call, *_TRACKED_THOUGH_IGNORED)


def track(call: Call, files: Iterable[str]) -> None:
    """Bring files into the index as they are in the worktree, ignored or not; those that are gone leave it."""
    call.change(*_UPDATE_INDEX, input=_lines(files))


def ignored(call: Call, paths: Collection[str]) -> tuple[str, ...]:
    """Return those of the paths that git does not know and ignores."""
    if not paths:
        return ()
    asked = b"".join(os.fsencode(f"./{path}") + b"\0" for path in paths)  # "./": a name may begin with ":"
    answer = parse_paths(call.run("check-ignore", "-z", "--stdin", ok=(0, 1), input=asked).stdout)
    return tuple(path.removeprefix("./") for path in answer)


def stage(call: Call, paths: Collection[StrPath], *, force: bool = False) -> None:
    """Stage the paths, all or none: what git would do in part is looked for first."""
    specs = call.pathspecs(paths, "add")
    literal = [path for path in map(literal_path, specs) if path is not None]
    kinds = {path: _kind(os.path.join(call.top, path)) for path in literal}
    if odd := tuple(path for path, kind in kinds.items() if kind not in _STAGEABLE):
        raise call.refuse("unknown-path", ("add", *odd), "neither files nor links nor folders", odd)
    if foreign := _in_other_repositories(call.top, literal):
        raise call.refuse("unknown-path", ("add", *foreign), "these paths belong to a repository inside", foreign)
    refused = () if force else ignored(call, [path for path in literal if path])
    if refused:
        raise call.refuse("ignored-path", ("add", *refused), "ignored, and force=True was not given", refused)
    files = {path for path, kind in kinds.items() if kind in (stat.S_IFREG, stat.S_IFLNK)}
    flags = ("--force",) if force else ()
    if len(files) <= _MANY and len(literal) == len(specs):
        _add(call, specs, *flags)
        return
    with call.private_index("add", keep=True):  # of patterns git can refuse one and stage what the others match
        if len(files) > _MANY:
            track(call, files)
            specs = [spec for spec in specs if literal_path(spec) not in files]
        if specs:
            _add(call, specs, *flags)


def _add(call: Call, specs: Sequence[str], *flags: str) -> None:
    # `--sparse`: a path that was named is staged, also where a sparse checkout leaves it out.
    ended = call.attempt("add", "-A", "--sparse", *flags, *_FROM_STDIN, kind="write", input=_lines(specs))
    if ended.cause != "exit" or ended.exit_code != 0:
        # git takes its new index into use in one rename, at the very end.
        error = call.failed(ended, effect="none" if ended.cause == "exit" else None)
        raise Stop(replace(error, paths=_unknown(call, specs)) if error.cause == "unknown-path" else error)


def _unknown(call: Call, specs: Iterable[str]) -> tuple[str, ...]:
    """Those of the literal paths that are neither in the worktree nor in the index."""
    literal = [path for path in map(literal_path, specs) if path is not None]
    missing = [path for path in literal if not os.path.lexists(os.path.join(call.top, path))]
    tracked = set(parse_paths(call.run("ls-files", "-z").stdout)) if missing else set()
    return tuple(path for path in missing if path not in tracked and not any(_holds({path}, name) for name in tracked))


def _in_other_repositories(top: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Those of the paths that lie inside a repository of their own below the top: git would skip them in silence."""
    is_top: dict[str, bool] = {}  # of a repository of its own
    found = []
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder:
            if folder not in is_top:
                link = os.path.join(top, folder, ".git")
                is_top[folder] = os.path.isfile(link) or os.path.exists(os.path.join(link, "HEAD"))
            if is_top[folder]:
                found.append(path)
                break
            folder = folder.rpartition("/")[0]
    return tuple(found)


def _kind(path: str) -> int:
    """What is there: a kind of file, or 0 for nothing."""
    try:
        return stat.S_IFMT(os.lstat(path).st_mode)
    except OSError:
        return _GONE


def _lines(specs: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(spec) + b"\0" for spec in specs)


class StagingOperations(Located):
    """Changing the index."""

    @tagged
    def add(
        self, *paths: StrPath, all: bool = False, force: bool = False, timeout: float | None = None
    ) -> tuple[str, ...]:
        """Return the paths that are staged now, among those that were asked for; a deleted file stages its deletion.

        Stages all that it was given, or nothing. Paths are relative to `root`, and each names one file or directory
        literally; `Pathspec("*.py")` is a pattern. `all=True` stages every change in the worktree. Nothing given is
        misuse (`ValueError`).

        Fails with `CommandFailed`: `ignored-path` (unless `force`; `paths` names them), `unknown-path`, `locked`,
        `refused` (a path outside the worktree; inside a hook of this repository), and what `status` fails with.

        >>> from pathlib import Path
        >>> from orca import git
        >>> _ = Path("new.txt").write_text("new")
        >>> git().add("new.txt").unwrap()
        ('new.txt',)
        """
        if not paths and not all:
            raise ValueError("add() needs paths, or all=True")
        call = self._call(timeout)
        with call.index("add"):
            stage(call, (*paths, ".") if all else paths, force=force)
            staged = parse_paths(call.run(*_STAGED, effect="landed").stdout)
            return staged if all else _among(staged, paths, call, *_STAGED)

    @tagged
    def unstage(self, *paths: StrPath, timeout: float | None = None) -> None:
        """Return None once the index holds for these paths what HEAD holds; the worktree is not touched.

        An unmerged path would lose what the merge knows of it: `conflict`.

        Without paths, all that is staged; a path that git does not know is left alone, as it holds nothing staged.

        Fails with `CommandFailed`: `conflict`, `locked`, `refused`, and what `status` fails with.

        >>> from pathlib import Path
        >>> from orca import git
        >>> _ = Path("new.txt").write_text("new")
        >>> staged = git().add("new.txt")
        >>> git().unstage("new.txt").unwrap()
        >>> git().status().unwrap().untracked[0].path
        'new.txt'
        """
        call = self._call(timeout)
        _ = call.top  # a bare repository has an index too, which nothing is staged in
        with call.index("reset"):
            specs = call.pathspecs(paths, "reset") or [":(top)"]
            conflicts = unmerged(call)
            if paths and conflicts:
                conflicts = _among(conflicts, paths, call, *UNMERGED)
            if conflicts:
                raise call.refuse("conflict", ("reset",), "these paths are unmerged", conflicts)
            call.change("reset", "-q", *_FROM_STDIN, input=_lines(specs))


def _among(listed: Iterable[str], paths: Sequence[StrPath], call: Call, *listing: str) -> tuple[str, ...]:
    """Those of the listed paths that one of the given names or holds; for patterns git decides, asked by `listing`."""
    specs = call.pathspecs(paths, *listing)
    named = {literal_path(spec) for spec in specs}
    patterns = [spec for spec in specs if literal_path(spec) is None]
    matched = parse_paths(call.run(*listing, "--", *patterns).stdout) if patterns else ()
    return tuple(path for path in listed if path in matched or "" in named or _holds(named, path))


def _holds(named: set[str | None], path: str) -> bool:
    while path:
        if path in named:
            return True
        path = path.rpartition("/")[0]
    return False
