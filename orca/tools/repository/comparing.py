"""Comparing: the difference between two states, and what two histories have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from orca.errors import unsupported_feature
from orca.process import StrPath
from orca.redaction import Redacted
from orca.tools.repository.calls import Call, Located, Stop, tagged
from orca.tools.repository.changes import FORMAT, FileChange, parse_changes
from orca.tools.repository.commits import head, resolve
from orca.tools.repository.integration import SETTINGS
from orca.tools.repository.stash_trees import parse_merged

_CUT: Final = 4096  # what the end of a kept part may lose, beyond what was asked for
_SAME_EVERYWHERE: Final = (
    "-c",
    "core.quotePath=true",
    "-c",
    "diff.suppressBlankEmpty=false",
    "-c",
    "diff.renameLimit=0",
)
_PATCH: Final = (
    "--patch",
    "-M",
    "--no-color",
    "--no-color-moved",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=none",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--unified=3",
    "--inter-hunk-context=0",
    "--diff-algorithm=default",
    "--indent-heuristic",
    "--ws-error-highlight=none",
)


@dataclass(frozen=True, slots=True, repr=False)
class Diff(Redacted):
    """A difference: `text` is a patch (UTF-8, replaced where it is not), `files` is whole in any case."""

    text: str
    truncated: bool
    files: tuple[FileChange, ...]


class ComparisonOperations(Located):
    """Comparing states of the repository."""

    @tagged
    def diff(
        self,
        base: str | None = None,
        target: str | None = None,
        *,
        staged: bool = False,
        merge_base: bool = False,
        paths: Sequence[StrPath] = (),
        limit: int = 1 << 20,
        timeout: float | None = None,
    ) -> Diff:
        """Return what changes from `base` to `target`, as a patch and file by file.

        Without a `target` that is the worktree, with `staged` the index; without a `base` it is what comes before: the
        index for the worktree, HEAD for the index and for a `target`. `merge_base` compares from the common ancestor
        of `base` and the target instead (HEAD, where that is no commit). Untracked files are no part of it; `status`
        names them. With `paths`, only what they name.

        `text` holds at most `limit` bytes, cut at a line's end; memory is bounded by that. It is the same whatever the
        user's display settings are, and no program that the repository names runs, except filters. `files` and `text`
        are read one after the other: an edit of the worktree in between shows in the second only.

        Fails with `CommandFailed`: `unknown-ref`, `bad-ref-name`, `refused` (a path outside), `unborn` (no HEAD to
        compare with), and what `status` fails with.

        >>> from pathlib import Path
        >>> from orca import git
        >>> _ = Path("a.txt").write_text("b\\n")
        >>> diff = git().diff().unwrap()
        >>> diff.files[0].path, diff.text.splitlines()[-2:]
        ('a.txt', ['-a', '+b'])
        """
        if staged and target is not None:
            raise ValueError("diff() compares with the index (staged=True) or with a target, not with both")
        if limit < 0:
            raise ValueError(f"limit must be a number of bytes, not {limit!r}")
        call = self._call(timeout)
        states = _states(call, base, target, merge_base)
        specs = call.pathspecs(paths, "diff")
        asked = (*(["--cached"] if staged else []), *states, "--", *specs)
        files = parse_changes(call.run(*_SAME_EVERYWHERE, "diff", *FORMAT, *asked).stdout)
        ended = call.attempt(*_SAME_EVERYWHERE, "diff", *_PATCH, *asked, limit=2 * (limit + _CUT))
        if ended.cause != "exit" or ended.exit_code != 0:
            raise Stop(call.failed(ended))
        text, truncated = ended.stdout, ended.stdout_size > limit
        if truncated:
            text = text[: text.rfind(b"\n", 0, limit) + 1]
        return Diff(text=text.decode("utf-8", "replace"), truncated=truncated, files=files)

    @tagged
    def is_ancestor(self, a: str, b: str, *, timeout: float | None = None) -> bool:
        """Return whether the commit `a` is `b` or in its history.

        Fails with `CommandFailed`: `unknown-ref`, `bad-ref-name`, and what `status` fails with.

        >>> from orca import git
        >>> git().is_ancestor("HEAD", "main").unwrap()
        True
        """
        call = self._call(timeout)
        commits = resolve(call, a), resolve(call, b)
        return call.run("merge-base", "--is-ancestor", *commits, ok=(0, 1)).exit_code == 0

    @tagged
    def merge_base(self, a: str, b: str, *, timeout: float | None = None) -> str:
        """Return the sha of the best common ancestor of two commits; of several, the first that git names.

        Fails with `CommandFailed`: `exit` with exit code 1 (they have none), `unknown-ref`, `bad-ref-name`, and what
        `status` fails with.

        >>> from orca import git
        >>> git().merge_base("HEAD", "main").unwrap() == git().head().unwrap()
        True
        """
        call = self._call(timeout)
        return _merge_base(call, resolve(call, a), resolve(call, b))

    @tagged
    def would_conflict(self, a: str, b: str, *, timeout: float | None = None) -> tuple[str, ...]:
        """Return the paths in which a merge of two commits would conflict; none: it would go through.

        Neither the worktree nor the index nor a ref is touched; objects that nothing holds may be left, which git
        takes away in time. A merge driver of the configuration counts as in a merge.

        Fails with `UnsupportedFeature` (git before 2.38) and `CommandFailed`: `exit` (unrelated histories),
        `unknown-ref`, `bad-ref-name`, and what `status` fails with.

        >>> from orca import git
        >>> git().would_conflict("HEAD", "main").unwrap()
        ()
        """
        call = self._call(timeout)
        commits = resolve(call, a), resolve(call, b)
        ended = call.attempt(*SETTINGS, "merge-tree", "--write-tree", "--name-only", "-z", *commits)
        if ended.cause == "exit" and ended.exit_code == 129:
            raise Stop(unsupported_feature("would_conflict()", "this needs git 2.38"))
        if ended.cause != "exit" or ended.exit_code not in (0, 1):
            raise Stop(call.failed(ended))
        return parse_merged(ended.stdout)[1] if ended.exit_code == 1 else ()


def _states(call: Call, base: str | None, target: str | None, merge_base: bool) -> tuple[str, ...]:
    """What git compares: one commit or two, by their shas, so that nothing of a name reaches it as an option."""
    to = resolve(call, target) if target is not None else None
    if base is None and to is None and not merge_base:
        return ()
    since = resolve(call, base) if base is not None else head(call)
    if since is None:
        raise call.refuse("unborn", ("diff",), "there is no commit to compare with")
    if merge_base:
        other = to or head(call)
        if other is None:
            raise call.refuse("unborn", ("diff",), "there is no commit to compare with")
        since = _merge_base(call, since, other)
    return (since,) if to is None else (since, to)


def _merge_base(call: Call, a: str, b: str) -> str:
    return call.run("merge-base", a, b).stdout.decode("ascii").split("\n")[0]
