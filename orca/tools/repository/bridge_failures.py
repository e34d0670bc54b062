"""What GitPython raises, and what it only notes in flags, as the tags and causes of the git tool: one table of types,
one of words.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterable
from configparser import Error as ConfigError
from struct import error as StructError  # noqa: N812 its own name says nothing
from traceback import walk_tb
from typing import Any, Final
from zlib import error as ZlibError  # noqa: N812

import git
from git.exc import (
    CheckoutError,
    CommandError,
    GitCommandNotFound,
    GitError,
    HookExecutionError,
    InvalidGitRepositoryError,
    NoSuchPathError,
    ODBError,
    RepositoryDirtyError,
    UnmergedEntriesError,
    UnsafeOptionError,
    UnsafeProtocolError,
)

from orca.errors import (
    CommandCause,
    RefRejection,
    RuntimeError,
    branch_already_exists,
    command_failed,
    push_rejected,
    unsupported_feature,
)
from orca.process import Ended
from orca.redaction import redact
from orca.tools.repository import bridge_classes
from orca.tools.repository.bridge_classes import ended_of, is_ours, undecorated
from orca.tools.repository.bridge_ends import failure_of_end
from orca.tools.repository.bridge_programs import Programs
from orca.tools.repository.calls import Call
from orca.tools.repository.push_report import rejection_cause
from orca.tools.repository.staging import unmerged

# What the state of the world makes GitPython's code raise; TypeError and the like are mistakes, but for their words.
_OF_THE_WORLD: Final = (OSError, ValueError, LookupError, AssertionError, EOFError, ConfigError, StructError, ZlibError)

_BY_TYPE: Final[tuple[tuple[type[Exception], CommandCause], ...]] = (
    (NoSuchPathError, "bad-cwd"),
    (InvalidGitRepositoryError, "not-a-repository"),
    (UnsafeProtocolError, "refused"),
    (UnsafeOptionError, "refused"),
    (UnmergedEntriesError, "conflict"),
    (CheckoutError, "dirty"),
    (RepositoryDirtyError, "dirty"),
    (ODBError, "unknown-ref"),
)
_BY_WORDS: Final[tuple[tuple[str, CommandCause], ...]] = (
    (r"is a detached symbolic reference", "detached"),
    (r"Remote named .* didn't exist", "unknown-remote"),
    (r"Lock for file .* did already exist|Lock at .* could not be obtained|\.lock'?$", "locked"),
    (r"File at path .* already exists", "ref-conflict"),
    (r"Invalid reference|escapes the repository|could not be parsed as a ref", "bad-ref-name"),
    (
        (
            r"Reference at .* does not exist|SHA .* could not be resolved|Invalid object|Cannot convert object|"
            r"Could not extract object|Failed to parse reference|No item found with id|Item with name .* not found|"
            r"Need commit, got"
        ),
        "unknown-ref",
    ),
)
_BRANCH: Final = r"Reference at '?refs/heads/(.+?)'? does already exist"
_OTHER_INDEX: Final = r"[Ii]ndex version|index extension|split index"
_BY_ERRNO: Final[dict[int, CommandCause]] = {
    errno.ENOENT: "unknown-path",
    errno.ENOTDIR: "unknown-path",
    errno.ELOOP: "unknown-path",
    errno.ENAMETOOLONG: "unknown-path",
}


def failure_of(error: Exception, programs: Programs) -> RuntimeError | None:
    """Return an exception of GitPython's as a failure; None where it is somebody else's, or a mistake."""
    if not _is_gitpythons(error):
        return None
    call = programs.call
    if (cut_short := programs.cut_short) is not None:
        return call.failed(cut_short, effect="unknown")
    ended = ended_of(error)
    if ended is not None and isinstance(error, HookExecutionError):
        return call.failed(ended, cause="hook-failed", effect="unknown")
    if ended is not None:
        return failure_of_end(ended, call, is_here=ended.cwd == programs.cwd)
    if isinstance(error, CommandError):
        return _of_another_repo(error, call)
    return _of_python(error, call)


def unseen_failure(value: object, programs: Programs) -> RuntimeError | None:
    """Return what failed although `fn` returned a value: for want of time, or in flags that it did not look at."""
    if programs.stopped is not None:
        return programs.call.failed(programs.stopped, effect="unknown")
    if (push := programs.pushes.unseen()) is not None:
        return failure_of(push.error, programs)
    return _flags(value)


def _is_gitpythons(error: Exception) -> bool:
    """Whether GitPython speaks, or what it runs on raised below it; code of the caller's that it called is not it."""
    if isinstance(error, (GitError, ODBError)):
        return True
    rooms = [str(frame.f_globals.get("__name__")) for frame, _ in walk_tb(error.__traceback__)]
    last = next((room for room in reversed(rooms) if room.partition(".")[0] not in sys.stdlib_module_names), "")
    return last.partition(".")[0] in ("git", "gitdb", "smmap") or last == bridge_classes.__name__


def _of_another_repo(error: CommandError, call: Call) -> RuntimeError:
    """A failure of which only the exception is there: of a `git.Repo` that is not ours."""
    status = error.status if isinstance(error.status, int) else None
    died = status is not None and status < 0
    ended = Ended(
        argv=tuple(os.fsdecode(word) for word in error.command),
        cwd="",
        env=os.environ,
        cause="not-found" if isinstance(error, GitCommandNotFound) else "signal" if died else "exit",
        started=not isinstance(error, GitCommandNotFound),
        exit_code=None if died else status,
        reason=str(error.status),
        stdout=undecorated(error.stdout, "stdout").encode("utf-8", "surrogateescape"),
        stderr=undecorated(error.stderr, "stderr").encode("utf-8", "surrogateescape"),
    )
    if isinstance(error, HookExecutionError):
        return call.failed(ended, cause="hook-failed", effect="unknown")
    return failure_of_end(ended, call, is_here=False)


def _of_python(error: Exception, call: Call) -> RuntimeError | None:
    text = str(error) or type(error).__name__
    if (branch := re.search(_BRANCH, text)) is not None:
        return branch_already_exists(branch[1])
    if isinstance(error, UnicodeError):
        return unsupported_feature("names that are not UTF-8", "GitPython reads and writes names as UTF-8")
    if isinstance(error, _OF_THE_WORLD) and (lacking := _lacking(text, call)) is not None:
        return unsupported_feature(lacking, "GitPython cannot read it")
    for kind, cause in _BY_TYPE:
        if isinstance(error, kind):
            return _failed(error, cause, call, _paths(error, call))
    for words, cause in _BY_WORDS:
        if re.search(words, text):
            return _failed(error, cause, call)
    if isinstance(error, OSError):
        cause = _cause_of_os(error, call)
        return _failed(error, cause, call, [_name(error)] if cause == "unknown-path" else ())
    return _failed(error, "other", call) if isinstance(error, (GitError, *_OF_THE_WORLD)) else None


def _cause_of_os(error: OSError, call: Call) -> CommandCause:
    """The cause that the same has where git meets it: it exits, be the disk full or read-only."""
    path = _name(error)
    inside = os.path.join(call.git_dir, "")
    if error.errno == errno.EEXIST or (error.errno in _BY_ERRNO and path.startswith(os.path.join(inside, "refs"))):
        return "locked" if path.endswith(".lock") else "ref-conflict"
    return "exit" if path.startswith(inside) else _BY_ERRNO.get(error.errno or 0, "exit")


def _name(error: OSError) -> str:
    return os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes, os.PathLike)) else ""


def _paths(error: Exception, call: Call) -> Iterable[str]:
    if isinstance(error, CheckoutError):
        return tuple(os.fsdecode(path) for path in error.failed_files)
    return unmerged(call) if isinstance(error, UnmergedEntriesError) else ()


def _lacking(text: str, call: Call) -> str | None:
    """What this repository has that GitPython was not made for."""
    if re.search(_OTHER_INDEX, text):
        return "this form of the index"
    ended = call.attempt("rev-parse", "--show-object-format")
    return "SHA-256" if ended.stdout.strip() == b"sha256" else None


def _failed(error: Exception, cause: CommandCause, call: Call, paths: Iterable[str] = ()) -> RuntimeError:
    text = redact(str(error) or type(error).__name__, os.environ)
    return command_failed("git with_repo", None, "", text, cause=cause, cwd=call.git_dir, effect="unknown", paths=paths)


def _flags(value: Any) -> RuntimeError | None:
    """The refused pushes in what `fn` returned: of a `git.Repo` that is not ours."""
    returned = [value] if isinstance(value, git.PushInfo) else value if isinstance(value, (list, tuple)) else []
    infos = [info for info in returned if isinstance(info, git.PushInfo) and not is_ours(info._remote.repo)]
    refused = [info for info in infos if info.flags & git.PushInfo.ERROR]
    if not refused:
        return None
    rejections = []
    for info in refused:
        reason = info.summary.strip().partition("(")[2].removesuffix(")")
        local = info.local_ref.path if info.local_ref is not None else ""
        rejections.append(
            RefRejection(
                local=os.fspath(local), remote=info.remote_ref_string, cause=rejection_cause(reason), message=reason
            )
        )
    causes = [ref.cause for ref in rejections if ref.cause != "atomic"]
    nothing = git.PushInfo.ERROR | git.PushInfo.UP_TO_DATE
    said = getattr(value, "error", None)
    return push_rejected(
        undecorated(said.stderr, "stderr") if isinstance(said, CommandError) else refused[0].summary.strip(),
        remote=str(refused[0]._remote),
        cause=causes[0] if causes else "atomic",
        refs=rejections,
        landed=[info.remote_ref_string for info in infos if not info.flags & nothing],
        effect="unknown",
    )
