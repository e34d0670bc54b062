"""What the next commit will hold: `add` and `unstage`."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence

from orca.process import StrPath
from orca.tools.repository.calls import Call, Located, Stop, tagged
from orca.tools.repository.names import literal_path

_STAGED = ("diff", "--cached", "--name-only", "--no-renames", "--no-ext-diff", "-z")
_UNMERGED = ("diff", "--cached", "--name-only", "--diff-filter=U", "--no-ext-diff", "-z")
_FROM_STDIN = ("--pathspec-from-file=-", "--pathspec-file-nul")


def parse_paths(output: bytes) -> tuple[str, ...]:
    """Return the paths of a `-z` listing, each once, in its order."""
    return tuple(dict.fromkeys(os.fsdecode(path) for path in output.split(b"\0") if path))


def unmerged(call: Call) -> tuple[str, ...]:
    """Return the paths that the index holds unmerged."""
    return parse_paths(call.run(*_UNMERGED).stdout)


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
    refused = () if force else ignored(call, literal)
    if refused:
        raise call.refuse("ignored-path", ("add", *refused), "ignored, and force=True was not given", refused)
    flags = ("--force",) if force else ()
    ended = call.attempt("add", "-A", *flags, *_FROM_STDIN, kind="write", input=_lines(specs))
    if ended.cause != "exit" or ended.exit_code != 0:
        missing = [path for path in literal if not os.path.lexists(os.path.join(call.top, path))]
        # git takes its new index into use in one rename, at the very end.
        raise Stop(call.failed(ended, effect="none" if ended.cause == "exit" else None, paths=missing))


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
            if all:
                call.run("add", "-A", *(("--force",) if force else ()), "--", ":(top)", kind="write")
            if paths:
                stage(call, paths, force=force)
            staged = parse_paths(call.run(*_STAGED).stdout)
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
        with call.index("reset"):
            specs = call.pathspecs(paths, "reset") or [":(top)"]
            conflicts = unmerged(call)
            if paths and conflicts:
                conflicts = _among(conflicts, paths, call, *_UNMERGED)
            if conflicts:
                raise call.refuse("conflict", ("reset",), "these paths are unmerged", conflicts)
            call.run("reset", "-q", *_FROM_STDIN, kind="write", input=_lines(specs))


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
