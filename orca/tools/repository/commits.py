"""Commits: making one, and reading them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from orca.errors import CommandFailed, Effect, RuntimeError, nothing_to_commit
from orca.process import StrPath
from orca.tools.repository.calls import Call, Located, Stop, tagged
from orca.tools.repository.head_file import loose_head
from orca.tools.repository.staging import UNMERGED, parse_paths, stage, track, tracked_though_ignored, unmerged
from orca.tools.repository.states import STATUS, parse_status

if TYPE_CHECKING:
    from orca.tools.repository.changes import Commit
    from orca.tools.repository.history import LogEntry

_CHECK_S: Final = 1.5
HOOKS: Final = ("pre-commit", "prepare-commit-msg", "commit-msg")
_MESSAGE_AS_IT_IS: Final = ("-c", "i18n.commitEncoding=UTF-8", "-c", "core.commentChar=#")
_AUTHOR: Final = r"[^<>\n\0]*<[^<>\n\0]*>"
_TRAILER: Final = r"[A-Za-z0-9][A-Za-z0-9-]*[ \t]*[:=][^\n\0]*"


class CommitOperations(Located):
    """Making and reading commits."""

    @tagged
    def commit(
        self,
        message: str,
        *,
        add: Literal["all", "tracked"] | Sequence[StrPath] | None = None,
        only: Sequence[StrPath] | None = None,
        author: str | None = None,
        trailers: Sequence[str] = (),
        amend: bool = False,
        allow_empty: bool = False,
        verify: bool = True,
        sign: bool | str | None = None,
        timeout: float | None = None,
    ) -> Commit:
        """Return the commit that was made of what is staged.

        `add` stages first: `"all"` every change, `"tracked"` those of files that git knows, a sequence just these
        paths. `only` commits exactly these paths as they are in the worktree, new ones too, and leaves the rest of
        the index as it is. `author` is `Name <email>`, a trailer `Key: value`; `sign` overrides the configuration
        (True, False, or a key). Hooks run unless `verify=False`; nothing is retried, staged again or forced.
        `timeout` is seconds, default the tool's `hook_timeout`.

        A commit that fails takes back what `add` staged, and leaves the index and the worktree as they were, except for
        what a hook changed; HEAD is looked at before `effect` is set, after a timeout too.

        Fails with `NothingToCommit` (no change is staged; a merge in progress may be without one) and
        `CommandFailed`: `hook-failed`, `identity-missing`, `signing-failed`, `conflict` (with `paths`; and `only` or
        `amend` while a merge is in progress), `locked`, `ref-conflict` (HEAD was moved meanwhile, by a hook or another
        git), `ignored-path`, `unknown-path`, `unborn` (amend), `bad-argument` (an empty message, an author or a trailer
        in another form), `refused`, `timeout`, and what `status` fails with.

        >>> from pathlib import Path
        >>> from orca import git
        >>> _ = Path("new.txt").write_text("new\\n")
        >>> commit = git().commit("Add a file", add="all").unwrap()
        >>> commit.subject, commit.files[0].kind, commit.insertions
        ('Add a file', 'added', 1)
        """
        if add is not None and only is not None:
            raise ValueError("commit() takes add= or only=, not both")
        if (add is not None and not add) or (only is not None and not only):
            raise ValueError("commit() was given an empty list of paths")
        call = self._call(timeout, self._hook_timeout)
        text = checked_message(call, message, "commit")
        flags = _flags(call, author, trailers, amend, allow_empty, verify, sign)
        with call.index("commit"):
            before, branch = head_and_branch(call)
            if amend and before is None:
                raise call.refuse("unborn", ("commit", "--amend"), "there is no commit to amend")
            if only is not None:
                _commit_only(call, [only] if isinstance(only, str) else only, before, text, flags)
            else:
                with nullcontext() if add is None else call.index_put_back("commit"):
                    if add == "tracked":
                        call.change("add", "-u", "--", ":(top)")
                    elif add is not None:
                        stage(call, ["."] if add == "all" else [add] if isinstance(add, str) else add)
                    if not _has_change(call, flags):
                        raise Stop(_nothing(call))
                    if (failure := _commit(call, before, text, flags)) is not None:
                        raise Stop(failure)
            return _made(call, branch)

    @tagged
    def head(self, *, timeout: float | None = None) -> str | None:
        """Return the sha of the commit that HEAD names; None where there is none yet.

        Fails as `status` does.

        >>> from orca import git
        >>> len(git().head().unwrap())
        40
        """
        return head(self._call(timeout))

    @tagged
    def resolve(self, rev: str, *, timeout: float | None = None) -> str:
        """Return the sha that a revision names: a branch, a tag (its commit), `HEAD~2`, a short sha, `HEAD:path`.

        Fails with `CommandFailed`: `unknown-ref`, `bad-ref-name`, and what `status` fails with.

        >>> from orca import git
        >>> git().resolve("main").unwrap() == git().head().unwrap()
        True
        """
        call = self._call(timeout)
        return resolve(call, rev)

    @tagged
    def log(
        self, limit: int = 20, rev: str = "HEAD", paths: Sequence[StrPath] = (), *, timeout: float | None = None
    ) -> tuple[LogEntry, ...]:
        """Return the latest commits of `rev`, newest first, at most `limit`; with `paths`, only those that touch them.

        A branch without a commit has an empty history.

        Fails with `CommandFailed`: `unknown-ref`, `bad-ref-name`, `refused`, and what `status` fails with.

        >>> from orca import git
        >>> [entry.subject for entry in git().log().unwrap()]
        ['seed']
        """
        from orca.tools.repository.history import LOG, parse_log

        call = self._call(timeout)
        call.checked_revision(rev, "log")
        specs = call.pathspecs(paths, "log")
        if rev == "HEAD" and head(call) is None:
            return ()
        flags = (f"--max-count={max(0, limit)}", "--no-color", "--end-of-options")
        return parse_log(call.run(*LOG, *flags, rev, "--", *specs).stdout)


def resolve(call: Call, rev: str) -> str:
    """Return the sha of a revision, or stop with `unknown-ref`."""
    call.checked_revision(rev, "rev-parse")
    peeled = rev if ":" in rev else f"{rev}^{{}}"  # `HEAD:path` would take the suffix for a part of the path
    ended = call.run("rev-parse", "--quiet", "--verify", "--end-of-options", peeled, ok=(0, 1, 128))
    if ended.exit_code != 0:
        raise Stop(call.failed(ended, cause="unknown-ref", effect="none"))
    return ended.stdout.decode("ascii").strip()


def head_and_branch(call: Call) -> tuple[str | None, str | None]:
    """The commit and the branch of HEAD; each None where there is none."""
    if (found := loose_head(call.git_dir, call.common_dir)) is not None:
        return found
    ended = call.run("rev-parse", "HEAD", "--symbolic-full-name", "HEAD", ok=(0, 128))
    if ended.exit_code != 0:
        return None, current_branch(call)
    sha, _, ref = os.fsdecode(ended.stdout).removesuffix("\n").partition("\n")
    if not ref:  # a branch or a tag is called HEAD as well
        return sha, current_branch(call)
    return sha, ref.removeprefix("refs/heads/") if ref != "HEAD" else None


def head(call: Call) -> str | None:
    """Return the commit that HEAD names; None where there is none yet."""
    return head_and_branch(call)[0]


def current_branch(call: Call) -> str | None:
    """Return the branch that HEAD is on, born or not; None when HEAD is detached."""
    ended = call.run("symbolic-ref", "--quiet", "HEAD", ok=(0, 1))
    return os.fsdecode(ended.stdout).removesuffix("\n").removeprefix("refs/heads/") or None


def checked_message(call: Call, message: str, *args: str) -> bytes:
    """Return the message as git gets it; bytes in it that are not UTF-8 git will read as Latin-1."""
    try:
        text = message.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        text = b""
    # git too finds a message empty that holds sign-offs only.
    if b"\0" in text or not any(line.strip() and not line.startswith(b"Signed-off-by: ") for line in text.split(b"\n")):
        raise call.refuse("bad-argument", args, "the message is empty, or holds what no text can")
    return text


def _flags(
    call: Call,
    author: str | None,
    trailers: Sequence[str],
    amend: bool,
    allow_empty: bool,
    verify: bool,
    sign: bool | str | None,
) -> list[str]:
    # Another form of author would be searched for in the history, another form of trailer be completed.
    if author is not None and not re.fullmatch(_AUTHOR, author):
        raise call.refuse("bad-argument", ("commit", "--author"), f"{author!r} is not of the form 'Name <email>'")
    trailers = [trailers] if isinstance(trailers, str) else trailers
    for trailer in trailers:
        if not re.fullmatch(_TRAILER, trailer):
            raise call.refuse("bad-argument", ("commit", "--trailer"), f"{trailer!r} is not of the form 'Key: value'")
    flags = [f"--author={author}"] if author is not None else []
    flags += [f"--trailer={trailer}" for trailer in trailers]
    flags += [flag for flag, on in (("--amend", amend), ("--allow-empty", allow_empty or amend)) if on]
    if not verify:
        flags.append("--no-verify")
    if sign is not None:
        flags.append("--no-gpg-sign" if sign is False else "--gpg-sign" if sign is True else f"--gpg-sign={sign}")
    return flags


def _has_change(call: Call, flags: Sequence[str]) -> bool:
    """Whether there is something to commit: a merge that waits for its commit may change nothing."""
    args = ("diff", "--cached", "--quiet", "--no-ext-diff", "--ignore-submodules=none")
    if "--allow-empty" in flags or call.run(*args, ok=(0, 1)).exit_code == 1:
        return True
    return os.path.exists(os.path.join(call.git_dir, "MERGE_HEAD"))


def _nothing(call: Call) -> RuntimeError:
    status = parse_status(call.run(*STATUS).stdout)
    return nothing_to_commit(unstaged=len(status.unstaged), untracked=len(status.untracked))


def _commit(call: Call, before: str | None, text: bytes, flags: Sequence[str]) -> CommandFailed | None:
    """Commit what the index holds; return why it failed, and whether the commit was made all the same."""
    args = ("commit", "--quiet", "--cleanup=whitespace", "--no-edit", "--no-verbose", *flags, "-F", "-")
    ended = call.attempt(*_MESSAGE_AS_IT_IS, *args, kind="write", input=text)
    call.extended(max(call.left(), _CHECK_S))
    if ended.cause == "exit" and ended.exit_code == 0:
        return None
    # 1 is for what came before the commit; that there is no change or no message was excluded before git ran.
    stopped = ended.cause == "exit" and ended.exit_code == 1 and b"Error building trees" not in ended.stderr
    hook_failed = stopped and has_hook(call, *HOOKS)
    conflicts = parse_paths(call.attempt(*UNMERGED).stdout) if ended.cause == "exit" and not hook_failed else ()
    error = call.failed(
        ended, cause="hook-failed" if hook_failed else "conflict" if conflicts else None, paths=conflicts
    )
    return replace(error, effect=_effect(call, error, before))


def _effect(call: Call, error: CommandFailed, before: str | None) -> Effect:
    """HEAD says whether the commit was made: git can fail, or run out of time, after that."""
    # git makes the commit its last step but one, and leaves HEAD where it is when somebody else has moved it.
    if error.exit_code == 1 or error.cause in ("ref-conflict", "locked", "hook-failed"):
        return "none"
    asked = call.attempt("rev-parse", "HEAD")
    if asked.cause != "exit":
        return "unknown"
    now = asked.stdout.decode("ascii", "replace").strip() if asked.exit_code == 0 else None
    return "landed" if now != before else "none"


def has_hook(call: Call, *names: str) -> bool:
    """Return whether one of these hooks would run here; `core.hooksPath` counts."""
    folder = os.fsdecode(call.run("rev-parse", "--path-format=absolute", "--git-path", "hooks").stdout).rstrip("\n")
    return any(os.access(os.path.join(folder, name), os.X_OK) for name in names)


def _made(call: Call, branch: str | None) -> Commit:
    from orca.tools.repository.changes import FORMAT, parse_commit

    args = ("log", "-1", "--diff-merges=first-parent", *FORMAT, "--format=%H%x00%h%x00%s%x00", "HEAD", "--")
    return parse_commit(call.run(*args, effect="landed").stdout, branch)


def _commit_only(call: Call, paths: Sequence[StrPath], before: str | None, text: bytes, flags: Sequence[str]) -> None:
    """Commit some paths through an index of their own, then bring just what was committed into the real one."""
    for state in ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"):
        if os.path.exists(os.path.join(call.git_dir, state)):
            raise call.refuse("conflict", ("commit",), f"a part of the paths cannot be committed during {state}")
    if conflicts := unmerged(call):
        raise call.refuse("conflict", ("commit",), "these paths are unmerged", conflicts)
    call.check_lock("index", "commit")  # it would be met only after the commit
    known = tracked_though_ignored(call, paths)
    with call.private_index("commit"):
        # From a copy of the index, which knows the files' stat data: git need not read them all again.
        call.change("read-tree", *(("--reset", before) if before is not None else ("--empty",)))
        if known:
            track(call, known)
        stage(call, paths)
        has_change = _has_change(call, flags)
        failure = _commit(call, before, text, flags) if has_change else None
    if not has_change:
        raise Stop(_nothing(call))
    if failure is None or failure.effect == "landed":
        _repeat(call, before)
    if failure is not None:
        raise Stop(failure)


def _repeat(call: Call, before: str | None) -> None:
    """Bring into the index what was committed since `before`."""
    args = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--root", "--no-commit-id")
    commits = (before, "HEAD") if before is not None else ("HEAD",)
    committed = call.run(*args, *commits, "--", effect="landed")
    info = index_info(committed.stdout)
    call.run("update-index", "-z", "--index-info", kind="write", input=info, effect="landed")


def index_info(raw: bytes) -> bytes:
    """Return the input of `update-index -z --index-info` that repeats what `diff-tree --raw -z` printed."""
    fields = iter(raw.split(b"\0"))
    lines = []
    for header in fields:
        if header:
            _, mode, _, sha, _ = header.split(b" ")
            lines.append(b"%s %s 0\t%s\0" % (mode, sha, next(fields)))
    return b"".join(lines)
