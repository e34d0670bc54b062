"""What a failure means to a person: its sentence, its typical recovery, and whether trying again may help."""

from __future__ import annotations

import re
from typing import Final, assert_never

from orca.errors.tags import (
    BackendFailed,
    BranchAlreadyExists,
    CommandFailed,
    FileSystemError,
    IoFailed,
    NothingToCommit,
    PushRejected,
    RuntimeError,
    StructuredOutputValidationFailed,
    TypecheckFailed,
    UnsupportedFeature,
)

_DETAIL_CHARACTERS: Final = 400
_CONTROL: Final = r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"

_COMMAND_WORDS: Final[dict[str, str]] = {
    "exit": "exited with {exit_code}",
    "signal": "was ended by {signal}",
    "timeout": "did not end in time and was stopped",
    "cancelled": "was cancelled",
    "not-found": "did not start: there is no such program",
    "not-executable": "did not start: the file may not be executed",
    "bad-format": "did not start: the file is not a program",
    "bad-interpreter": "did not start: the interpreter that its first line names is missing",
    "bad-cwd": "did not start: the working directory {cwd} cannot be used",
    "bad-argument": "was not started: an argument cannot be passed to a program",
    "too-long": "did not start: the arguments or the environment are too long",
    "refused": "was refused before anything ran",
    "checker-failed": "could not check: the type checker is missing, misconfigured or crashed",
    "not-a-repository": "found no git repository",
    "dubious-ownership": "was refused by git: the repository belongs to another user",
    "identity-missing": "has no author or committer identity to commit with",
    "signing-failed": "could not sign",
    "hook-failed": "was stopped by a hook",
    "locked": "met a lock that another process holds or left behind",
    "conflict": "met conflicts",
    "dirty": "was refused: it would overwrite uncommitted work",
    "ignored-path": "was refused: a path is ignored",
    "unknown-path": "names a path that is not there",
    "unknown-ref": "names a revision or ref that is not there",
    "bad-ref-name": "names a ref that git does not allow",
    "ref-conflict": "names a ref that collides with another",
    "unknown-remote": "names a remote that is not configured",
    "no-upstream": "needs an upstream branch, and none is configured",
    "detached": "needs a branch, and HEAD is detached",
    "unborn": "needs a commit, and the branch has none",
    "auth": "was not let in by the remote",
    "network": "could not reach the remote",
    "rate-limit": "was refused for now: too many requests were made",
    "other": "failed",
}

_RECOVERY: Final[dict[str, str]] = {
    "NothingToCommit": "Skip the commit: for the caller this is no error.",
    "BranchAlreadyExists": "Use the branch that exists, or choose another name.",
    "PushRejected": "Look at what the remote has, then rebase onto it, or push with the lease of what was seen.",
    "CommandFailed": "Look at the command, its exit code and its stderr; then try again or report it.",
    "StructuredOutputValidationFailed": "Ask again with the issues, or go on without the structured answer.",
    "UnsupportedFeature": "Do not retry it as it is: this configuration does not support it.",
    "BackendFailed": "Look at the backend and its message; where it may be transient, retry with growing pauses.",
    "TypecheckFailed": "Read the diagnostics, fix the types and check again.",
    "FileSystemError": "Look at the path and the message: permissions, a missing directory, a full disk.",
    "IoFailed": "See where it failed (seam) and in which adapter (kind); a loop's supervisor often retries it.",
}

_RECOVERY_BY_CAUSE: Final[dict[tuple[str, str], str]] = {
    (
        "PushRejected",
        "hook-declined",
    ): "Read what the remote's hook said and change the commits: a retry will not help.",
    ("PushRejected", "protected"): "Push to another branch and open a pull request: this one is protected.",
    (
        "PushRejected",
        "stale-lease",
    ): "Fetch and look at the new commits on the remote before another push with a lease.",
    ("PushRejected", "already-exists"): "Choose another tag name: the remote has this one at another commit.",
    ("CommandFailed", "timeout"): "Give it more time, or find out what it waits for; its effect may have happened.",
    ("CommandFailed", "not-found"): "Install the program or correct its name and PATH.",
    ("CommandFailed", "hook-failed"): "Read what the hook said, correct the change and commit again.",
    ("CommandFailed", "identity-missing"): "Set user.name and user.email, or pass author=.",
    (
        "CommandFailed",
        "locked",
    ): "Wait and try again; if no git is running, a person may delete the lock that stderr names.",
    ("CommandFailed", "conflict"): "Resolve the named paths and go on, or abort the operation.",
    ("CommandFailed", "dirty"): "Commit or set aside the changes first.",
    ("CommandFailed", "ignored-path"): "Leave the ignored paths out, or pass force=True.",
    ("CommandFailed", "dubious-ownership"): "Have a person add the repository to git's safe.directory.",
    (
        "CommandFailed",
        "auth",
    ): "Give git credentials that need no prompt: a credential helper, a token or a key; gh: GH_TOKEN.",
    ("CommandFailed", "network"): "Check the remote's address and the network, then try again.",
    ("CommandFailed", "rate-limit"): "Wait until the time that stderr names, or some minutes, then try again.",
    ("CommandFailed", "no-upstream"): "Name the branch, or push it once with set_upstream=True.",
    ("CommandFailed", "checker-failed"): "Correct the checker's installation or configuration: nothing was checked.",
}


def sentence(error: RuntimeError) -> str:
    """Return one plain sentence for a person, on one line, control characters escaped, bounded in length."""
    return re.sub(_CONTROL, lambda found: found[0].encode("unicode_escape").decode("ascii"), _words(error))


def recovery(error: RuntimeError) -> str:
    """Return the typical recovery from this failure, as one or two plain sentences.

    >>> from orca.errors import nothing_to_commit, recovery
    >>> recovery(nothing_to_commit())
    'Skip the commit: for the caller this is no error.'
    """
    by_cause = _RECOVERY_BY_CAUSE.get((error.tag, getattr(error, "cause", "")))
    return by_cause or _RECOVERY[error.tag]


def is_retryable(error: RuntimeError) -> bool:
    """Return whether the same call may succeed later without a change.

    BackendFailed and IoFailed say it themselves; CommandFailed is retryable when it was locked out, had no network,
    met a rate limit or ran out of time; all else is not.

    >>> from orca.errors import command_failed, is_retryable
    >>> is_retryable(command_failed("git fetch", 128, "", "", cause="network"))
    True
    """
    match error:
        case BackendFailed() | IoFailed():
            return error.retryable
        case CommandFailed():
            return error.cause in ("locked", "network", "rate-limit", "timeout")
        case _:
            return False


def _words(error: RuntimeError) -> str:
    match error:
        case NothingToCommit(unstaged=unstaged, untracked=untracked):
            waiting = [f"{count} {word}" for count, word in ((unstaged, "unstaged"), (untracked, "untracked")) if count]
            return "Nothing to commit: no change is staged" + (f" ({', '.join(waiting)})." if waiting else ".")
        case BranchAlreadyExists(branch=branch):
            return f"The branch {_short(branch)} already exists."
        case PushRejected(remote=remote, cause=cause, refs=refs, landed=landed):
            by = f"The remote {_short(remote)}" if remote else "The remote"
            refused = ", ".join(f"{ref.remote} ({ref.message or ref.cause})" for ref in refs) or cause
            all_the_same = f"; landed all the same: {_short(', '.join(landed))}" if landed else ""
            return f"{by} rejected the push: {_short(refused)}{all_the_same}."
        case CommandFailed():
            words = _COMMAND_WORDS[error.cause].format(
                exit_code="an unknown status" if error.exit_code is None else error.exit_code,
                signal=_short(error.signal or "a signal"),
                cwd=_short(error.cwd or ""),
            )
            about = f" ({_short(', '.join(error.paths))})" if error.paths else ""
            return f"The command `{_short(error.command)}` {words}{about}{_last_line(error.stderr, error.stdout)}"
        case StructuredOutputValidationFailed(issues=issues):
            return f"The reply does not fit its schema: {_short('; '.join(issues) or 'no issue named')}."
        case UnsupportedFeature(feature=feature, reason=reason):
            return f"Not supported: {_short(feature)}: {_short(reason)}."
        case BackendFailed(backend=backend, cause=cause, message=message):
            return f"The backend {_short(backend)} failed ({cause}): {_short(message)}"
        case TypecheckFailed(checker=checker, diagnostics=diagnostics):
            by = f"The type checker {_short(checker)}" if checker else "The type checker"
            found = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
            if not found:
                return f"{by} did not accept the code."
            first = _short(f"{found[0].path}:{found[0].line}: {found[0].message}")
            return f"{by} found {len(found)} {'error' if len(found) == 1 else 'errors'}, first {first}."
        case FileSystemError(path=path, cause=cause, message=message):
            return f"The file {_short(path)} could not be used ({cause}): {_short(message)}"
        case IoFailed(seam=seam, kind=kind, message=message):
            return f"The {_short(seam)} {_short(kind)} failed: {_short(message)}"
        case _:
            assert_never(error)


def _short(text: object) -> str:
    words = str(text)
    return words if len(words) <= _DETAIL_CHARACTERS else words[: _DETAIL_CHARACTERS - 1] + "…"


def _last_line(*outputs: str) -> str:
    """The last line that says something: programs put the reason at the end."""
    for output in outputs:
        lines = output[-_DETAIL_CHARACTERS * 4 :].split("\n")
        for line in reversed(lines):
            if line.strip():
                return f": {_short(line.strip())}"
    return "."
