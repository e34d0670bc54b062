"""Commits: making one, and reading them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from orca.errors import CommandCause, Effect, RuntimeError, nothing_to_commit
from orca.process import Ended, StrPath
from orca.redaction import Redacted
from orca.tools.repository.calls import Call, Located, Stop, tagged
from orca.tools.repository.changes import FORMAT, FileChange, parse_changes
from orca.tools.repository.staging import stage, unmerged
from orca.tools.repository.states import STATUS, parse_status

_CHECK_S: Final = 1.5
_COMMIT_HOOKS: Final = ("pre-commit", "prepare-commit-msg", "commit-msg")
_LOG_FIELDS: Final = ("%H", "%h", "%P", "%an", "%ae", "%aI", "%cn", "%ce", "%cI", "%s", "%b")


@dataclass(frozen=True, slots=True, repr=False)
class Commit(Redacted):
    """A commit that was made: its files and line counts are against its first parent.

    `branch` is None when HEAD is detached; `insertions` and `deletions` count lines of text files.
    """

    sha: str
    short: str
    branch: str | None
    subject: str
    files: tuple[FileChange, ...]
    insertions: int
    deletions: int


@dataclass(frozen=True, slots=True, repr=False)
class LogEntry(Redacted):
    """A commit in the history; `body` is the message after its subject."""

    sha: str
    short: str
    parents: tuple[str, ...]
    author: str
    author_email: str
    author_date: datetime
    committer: str
    committer_email: str
    committer_date: datetime
    subject: str
    body: str


def parse_commit(output: bytes, branch: str | None) -> Commit:
    """Return what `log -1 -z --format=%H%x00%h%x00%s%x00 --raw --numstat` printed."""
    sha, short, subject, changes = output.split(b"\0", 3)
    files = parse_changes(changes.lstrip(b"\0\n"))
    return Commit(
        sha=sha.decode("ascii"),
        short=short.decode("ascii"),
        branch=branch,
        subject=subject.decode("utf-8", "replace"),
        files=files,
        insertions=sum(file.insertions or 0 for file in files),
        deletions=sum(file.deletions or 0 for file in files),
    )


def parse_log(output: bytes) -> tuple[LogEntry, ...]:
    """Return what `log -z` printed with one NUL-ended field after the other; a message cannot hold a NUL."""
    fields = output.split(b"\0")
    width = len(_LOG_FIELDS) + 1  # the record's own end, an empty field
    return tuple(_log_entry(fields[at : at + width]) for at in range(0, len(fields) - width + 1, width))


def _log_entry(fields: Sequence[bytes]) -> LogEntry:
    words = [field.decode("utf-8", "replace") for field in fields]
    return LogEntry(
        sha=words[0],
        short=words[1],
        parents=tuple(words[2].split()),
        author=words[3],
        author_email=words[4],
        author_date=datetime.fromisoformat(words[5]),
        committer=words[6],
        committer_email=words[7],
        committer_date=datetime.fromisoformat(words[8]),
        subject=words[9],
        body=words[10].strip("\n"),
    )


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

        A commit that fails leaves the index and the worktree as they were, except for what `add` staged and what a
        hook changed; HEAD is looked at before `effect` is set, after a timeout too.

        Fails with `NothingToCommit` (no change is staged; a merge in progress may be without one) and
        `CommandFailed`: `hook-failed`, `identity-missing`, `signing-failed`, `conflict` (with `paths`), `locked`,
        `ignored-path`, `unknown-path`, `unborn` (amend), `bad-argument` (an empty message), `refused`, `timeout`, and
        what `status` fails with.

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
        if not message.strip() or "\0" in message:
            raise call.refuse("bad-argument", ("commit",), "the message is empty or holds a NUL")
        flags = _flags(author, trailers, amend, allow_empty, verify, sign)
        with call.index("commit"):
            before, branch = head_and_branch(call)
            if amend and before is None:
                raise call.refuse("unborn", ("commit", "--amend"), "there is no commit to amend")
            if only is not None:
                _commit_only(call, only, before, message, flags, may_be_empty=amend or allow_empty)
            else:
                if add == "all":
                    call.run("add", "-A", "--", ":(top)", kind="write")
                elif add == "tracked":
                    call.run("add", "-u", "--", ":(top)", kind="write")
                elif add is not None:
                    stage(call, [add] if isinstance(add, str) else add)
                if not (amend or allow_empty) and not _has_change(call):
                    raise Stop(_nothing(call))
                _commit(call, before, message, flags)
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
        call = self._call(timeout)
        call.checked_revision(rev, "log")
        specs = call.pathspecs(paths, "log")
        if rev == "HEAD" and head(call) is None:
            return ()
        form = f"--format={''.join(f'{field}%x00' for field in _LOG_FIELDS)}"
        args = ("log", "-z", form, f"--max-count={max(0, limit)}", "--no-color", "--end-of-options", rev, "--", *specs)
        return parse_log(call.run(*args).stdout)


def resolve(call: Call, rev: str) -> str:
    """Return the sha of a revision, or stop with `unknown-ref`."""
    call.checked_revision(rev, "rev-parse")
    ended = call.run("rev-parse", "--quiet", "--verify", "--end-of-options", f"{rev}^{{}}", ok=(0, 1, 128))
    if ended.exit_code != 0:
        raise Stop(call.failed(ended, cause="unknown-ref", effect="none"))
    return ended.stdout.decode("ascii").strip()


def head_and_branch(call: Call) -> tuple[str | None, str | None]:
    """The commit and the branch of HEAD; each None where there is none."""
    ended = call.run("rev-parse", "HEAD", "--symbolic-full-name", "HEAD", ok=(0, 128))
    if ended.exit_code == 0:
        sha, ref = os.fsdecode(ended.stdout).splitlines()
        return sha, ref.removeprefix("refs/heads/") if ref != "HEAD" else None
    return None, current_branch(call)


def head(call: Call) -> str | None:
    """Return the commit that HEAD names; None where there is none yet."""
    return head_and_branch(call)[0]


def current_branch(call: Call) -> str | None:
    """Return the branch that HEAD is on, born or not; None when HEAD is detached."""
    ended = call.run("symbolic-ref", "--quiet", "HEAD", ok=(0, 1))
    return os.fsdecode(ended.stdout).strip().removeprefix("refs/heads/") or None


def _flags(
    author: str | None, trailers: Sequence[str], amend: bool, allow_empty: bool, verify: bool, sign: bool | str | None
) -> list[str]:
    flags = [f"--author={author}"] if author is not None else []
    flags += [f"--trailer={trailer}" for trailer in ([trailers] if isinstance(trailers, str) else trailers)]
    flags += [flag for flag, on in (("--amend", amend), ("--allow-empty", allow_empty or amend)) if on]
    if not verify:
        flags.append("--no-verify")
    if sign is not None:
        flags.append("--no-gpg-sign" if sign is False else "--gpg-sign" if sign is True else f"--gpg-sign={sign}")
    return flags


def _has_change(call: Call) -> bool:
    """Whether the index differs from HEAD, or a merge waits for its commit (which may change nothing)."""
    args = ("diff", "--cached", "--quiet", "--no-ext-diff", "--ignore-submodules=none")
    if call.run(*args, ok=(0, 1)).exit_code == 1:
        return True
    return os.path.exists(os.path.join(call.git_dir, "MERGE_HEAD"))


def _nothing(call: Call) -> RuntimeError:
    status = parse_status(call.run(*STATUS).stdout)
    return nothing_to_commit(unstaged=len(status.unstaged), untracked=len(status.untracked))


def _commit(call: Call, before: str | None, message: str, flags: Sequence[str]) -> None:
    args = ("commit", "--quiet", "--cleanup=whitespace", "--no-edit", *flags, "-F", "-")
    ended = call.attempt(*args, kind="write", input=message.encode("utf-8", "surrogateescape"))
    if ended.cause == "exit" and ended.exit_code == 0:
        return
    effect = _effect(call, ended, before)
    conflicts = () if effect == "landed" or ended.cause != "exit" else unmerged(call)
    raise Stop(call.failed(ended, cause=_cause(call, ended, conflicts), effect=effect, paths=conflicts))


def _effect(call: Call, ended: Ended, before: str | None) -> Effect:
    """HEAD says whether the commit was made: git can fail, or run out of time, after that."""
    if not ended.started:
        return "none"
    call.extended(_CHECK_S)
    asked = call.attempt("rev-parse", "HEAD")
    if asked.cause != "exit":
        return "unknown"
    now = asked.stdout.decode("ascii", "replace").strip() if asked.exit_code == 0 else None
    return "landed" if now != before else "none"


def _cause(call: Call, ended: Ended, conflicts: tuple[str, ...]) -> CommandCause | None:
    if conflicts:
        return "conflict"
    # All other reasons for 1 were excluded before git ran: no change, no message.
    if ended.cause == "exit" and ended.exit_code == 1 and has_hook(call, *_COMMIT_HOOKS):
        return "hook-failed"
    return None


def has_hook(call: Call, *names: str) -> bool:
    """Return whether one of these hooks would run here; `core.hooksPath` counts."""
    folder = os.fsdecode(call.run("rev-parse", "--path-format=absolute", "--git-path", "hooks").stdout).rstrip("\n")
    return any(os.access(os.path.join(folder, name), os.X_OK) for name in names)


def _made(call: Call, branch: str | None) -> Commit:
    form = "--format=%H%x00%h%x00%s%x00"
    return parse_commit(call.run("log", "-1", "-m", "--first-parent", *FORMAT, form, "HEAD", "--").stdout, branch)


def _commit_only(
    call: Call, paths: Sequence[StrPath], before: str | None, message: str, flags: Sequence[str], *, may_be_empty: bool
) -> None:
    """Commit some paths through an index of their own, then bring just what was committed into the real one."""
    for state in ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"):
        if os.path.exists(os.path.join(call.git_dir, state)):
            raise call.refuse("conflict", ("commit",), f"a part of the paths cannot be committed during {state}")
    with call.private_index("commit"):
        # From a copy of the index, which knows the files' stat data: git need not read them all again.
        call.run("read-tree", *(("--reset", before) if before is not None else ("--empty",)), kind="write")
        stage(call, [paths] if isinstance(paths, str) else paths)
        if not may_be_empty and not _has_change(call):
            raise Stop(_nothing(call))
        _commit(call, before, message, flags)
    args = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--root", "--no-commit-id")
    committed = call.run(*args, *((before, "HEAD") if before is not None else ("HEAD",)))
    ended = call.attempt("update-index", "-z", "--index-info", kind="write", input=index_info(committed.stdout))
    if ended.cause != "exit" or ended.exit_code != 0:
        raise Stop(call.failed(ended, effect="landed"))


def index_info(raw: bytes) -> bytes:
    """Return the input of `update-index -z --index-info` that repeats what `diff-tree --raw -z` printed."""
    fields = iter(raw.split(b"\0"))
    lines = []
    for header in fields:
        if header:
            _, mode, _, sha, _ = header.split(b" ")
            lines.append(b"%s %s 0\t%s\0" % (mode, sha, next(fields)))
    return b"".join(lines)
