"""Push: one branch under its own name, and what the remote made of it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from orca.errors import CommandFailed, Effect, PushCause, RefRejection, RuntimeError, push_rejected
from orca.process import Ended
from orca.redaction import Redacted, redact
from orca.results import Failure, Result, outcome
from orca.tools.repository.calls import Call, Located, Stop, tagged
from orca.tools.repository.commits import current_branch, has_hook, head
from orca.tools.repository.integration import fetched, rebase_onto, undo
from orca.tools.repository.names import is_revision
from orca.tools.repository.remotes import RefUpdate, UpdateKind, checked_remote, remote_sha

_CHECK_S: Final = 1.5
_LINE: Final = re.compile(rb"([ +\-*!=])\t([^\t]*):([^\t]+)\t(.*)", re.DOTALL)
_SHAS: Final = re.compile(r"([0-9a-f]{4,64})\.{2,3}([0-9a-f]{4,64})")
_REASON: Final = re.compile(r"\(([^()]*)\)$")
_KINDS: Final[dict[str, UpdateKind]] = {
    " ": "updated",
    "+": "forced",
    "-": "deleted",
    "*": "created",
    "=": "unchanged",
}
_CAUSES: Final[tuple[tuple[str, PushCause], ...]] = (
    ("fetch first", "fetch-first"),
    ("non-fast-forward", "non-fast-forward"),
    ("stale info", "stale-lease"),
    ("remote ref updated since checkout", "stale-lease"),
    ("already exists", "already-exists"),
    ("protected branch hook declined", "protected"),
    ("repository rule violations", "protected"),
    ("hook declined", "hook-declined"),
    ("atomic", "atomic"),
    ("currently checked out", "checked-out"),
    ("deletion prohibited", "deletion-denied"),
    ("shallow update not allowed", "shallow"),
)


@dataclass(frozen=True, slots=True, repr=False)
class Push(Redacted):
    """What a push did: each ref with its sha before and after, whether a rebase was needed, and the sha pushed."""

    remote: str
    refs: tuple[RefUpdate, ...]
    rebased: bool
    head: str


@dataclass(frozen=True, slots=True)
class PushReport:
    """What `push --porcelain` printed: refs that the remote took, refs that it refused."""

    updates: tuple[RefUpdate, ...]
    rejections: tuple[RefRejection, ...]


def parse_push(output: bytes) -> PushReport:
    """Return what `push --porcelain` printed with full shas (`core.abbrev=no`); lines that are not of a ref are skipped.

    A ref whose fate the remote did not report is in neither list.
    """
    updates: list[RefUpdate] = []
    rejections: list[RefRejection] = []
    for line in output.split(b"\n"):
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        flag, local, remote, summary = (os.fsdecode(group) for group in match.groups())
        if flag != "!":
            shas = _SHAS.match(summary)
            old, new = (shas[1], shas[2]) if shas else (None, None)
            updates.append(RefUpdate(local, remote, old, new, _KINDS[flag]))
        elif "rejected]" in summary.partition(" (")[0]:
            found = _REASON.search(summary)
            message = found[1] if found else summary
            rejections.append(RefRejection(local=local, remote=remote, cause=rejection_cause(message), message=message))
    return PushReport(tuple(updates), tuple(rejections))


def rejection_cause(reason: str) -> PushCause:
    """Return the cause for the reason that git gives in brackets."""
    for words, cause in _CAUSES:
        if words in reason:
            return cause
    return "other"


class PushOperations(Located):
    """Pushing to a remote."""

    @tagged
    def push(
        self,
        remote: str = "origin",
        branch: str | None = None,
        *,
        tags: Sequence[str] = (),
        set_upstream: bool = True,
        force_with_lease: str | None = None,
        on_rejected: Literal["fail", "rebase"] = "fail",
        recheck: Callable[[], Result[Any, RuntimeError]] | None = None,
        attempts: int = 3,
        timeout: float | None = None,
    ) -> Push:
        """Return what the remote took: one branch (default the current one), to its own name, with these tags.

        Several refs go together or not at all. `set_upstream` makes a branch without an upstream follow the one pushed
        to. Nothing is forced, unless `force_with_lease` gives the sha that the remote must still have (`""`: none).

        With `on_rejected="rebase"`, a remote that has moved on (`fetch-first`, `non-fast-forward`) is fetched, the
        current branch is rebased onto it, `recheck` is called, and the push is tried again, `attempts` times in all. A
        failure of `recheck` is returned and stops the push: the branch stays rebased, so that it can be corrected
        there. A conflict is `CommandFailed(cause="conflict")` with `paths`, and everything is as before
        (`effect="none"`).

        Fails with `PushRejected` exactly when the remote refused a ref: `refs` says which and why, `landed` what it
        took all the same. Everything else is `CommandFailed`: `hook-failed` (pre-push), `unknown-remote`,
        `unknown-ref`, `bad-ref-name`, `detached`, `unborn`, `auth`, `network`, `timeout`, `conflict`, `dirty`,
        `locked`, `refused`, and what `status` fails with. When it ran out of time or lost the connection, the remote
        is asked before `effect` is set: `landed`, or `unknown`. `timeout` is seconds, default the tool's
        `network_timeout`, for all attempts together.

        >>> from orca import git
        >>> from orca.tools import GitTool
        >>> clone = GitTool.clone(str(git().root), "clone").unwrap()
        >>> _ = clone.create_branch("feature")
        >>> [ref.kind for ref in clone.push().unwrap().refs]
        ['created']
        """
        if attempts < 1:
            raise ValueError("push() needs at least one attempt")
        if tags and on_rejected == "rebase":
            raise ValueError("a rebase would leave the tags on commits that it replaces: push them afterwards")
        call = self._call(timeout, self._network_timeout)
        name = _pushed_branch(call, remote, branch)
        tag_list = [tags] if isinstance(tags, str) else tags
        refs = [f"refs/heads/{name}", *(f"refs/tags/{call.checked_branch(tag, 'push')}" for tag in tag_list)]
        lease = _lease(call, refs[0], force_with_lease)
        rebased = False
        for attempt in range(1, attempts + 1):
            sha, upstream = _local(call, refs)
            flags = ["--set-upstream"] if set_upstream and not upstream else []
            ended = _run(call, remote, [f"{ref}:{ref}" for ref in refs], *flags, *lease)
            report = parse_push(ended.stdout)
            if ended.exit_code == 0:
                return Push(remote, tuple(_with_sha(ref, sha) for ref in report.updates), rebased, sha)
            error = _refused(call, ended, report, remote, {refs[0]: sha})
            may_rebase = on_rejected == "rebase" and attempt < attempts and not lease
            if not (may_rebase and _moved_on(report) and current_branch(call) == name):
                raise Stop(error)
            _rebase(call, remote, name)
            rebased = True
            if recheck is not None:
                checked = outcome(recheck())
                if isinstance(checked, Failure):
                    raise Stop(checked.failure())
        raise AssertionError("the last attempt returns or stops")

    @tagged
    def delete_remote_branch(
        self, name: str, *, expected: str, remote: str = "origin", timeout: float | None = None
    ) -> RefUpdate:
        """Return the branch that was deleted on the remote; `old` is its sha, with which a push restores it.

        It is deleted only while the remote still has `expected`, a sha.

        Fails with `PushRejected` (`stale-lease`: it is elsewhere or gone; `deletion-denied`, `hook-declined`, …) and
        `CommandFailed`, as `push` does. `timeout` is seconds, default the tool's `network_timeout`.

        >>> from orca import git
        >>> from orca.tools import GitTool
        >>> clone = GitTool.clone(str(git().root), "clone").unwrap()
        >>> _ = git().create_branch("old", switch=False)
        >>> clone.delete_remote_branch("old", expected=git().head().unwrap()).unwrap().kind
        'deleted'
        """
        call = self._call(timeout, self._network_timeout)
        ref = f"refs/heads/{call.checked_branch(name, 'push', remote)}"
        checked_remote(call, remote, "push", remote)
        if not expected:
            raise ValueError("delete_remote_branch() needs the sha that the remote is expected to have")
        ended = _run(call, remote, [f":{ref}"], *_lease(call, ref, expected))
        report = parse_push(ended.stdout)
        if ended.exit_code != 0:
            raise Stop(_refused(call, ended, report, remote, {ref: None}))
        return RefUpdate("", ref, expected, None, "deleted")


def _pushed_branch(call: Call, remote: str, branch: str | None) -> str:
    args = ("push", remote, *([branch] if branch else []))
    if branch is not None:
        call.checked_branch(branch, *args)
    checked_remote(call, remote, *args)
    name = branch if branch is not None else current_branch(call)
    if name is None:
        raise call.refuse("detached", args, "HEAD is detached, and no branch was named")
    return name


def _lease(call: Call, ref: str, expected: str | None) -> list[str]:
    if expected is None:
        return []
    if expected and not is_revision(expected):
        raise call.refuse("bad-ref-name", ("push", "--force-with-lease"), "the lease is not a sha")
    return [f"--force-with-lease={ref}:{expected}"]


def _local(call: Call, refs: Sequence[str]) -> tuple[str, str]:
    """The sha of the branch and its upstream; every ref is looked for, so that git cannot find one missing."""
    form = "--format=%(refname)%00%(objectname)%00%(upstream)"
    listed = os.fsdecode(call.run("for-each-ref", form, *refs).stdout)
    found = {name: rest for name, _, rest in (line.partition("\0") for line in listed.split("\n"))}
    for ref in refs:
        if ref not in found:
            unborn = ref == f"refs/heads/{current_branch(call)}"
            raise call.refuse("unborn" if unborn else "unknown-ref", ("push", ref), f"there is no {ref} here")
    sha, _, upstream = found[refs[0]].partition("\0")
    return sha, upstream


def _run(call: Call, remote: str, refspecs: Sequence[str], *flags: str) -> Ended:
    atomic = ("--atomic",) if len(refspecs) > 1 else ()
    args = ("-c", "core.abbrev=no", "push", "--porcelain", "--no-follow-tags", *atomic, *flags, "--", remote, *refspecs)
    return call.attempt(*args, kind="network")


def _with_sha(ref: RefUpdate, sha: str) -> RefUpdate:
    """A new or unchanged ref has no shas in git's line: a branch's are known."""
    if ref.new is not None or not ref.local.startswith("refs/heads/"):
        return ref
    return RefUpdate(ref.local, ref.remote, sha if ref.kind == "unchanged" else ref.old, sha, ref.kind)


def _refused(call: Call, ended: Ended, report: PushReport, remote: str, wanted: dict[str, str | None]) -> RuntimeError:
    if ended.cause == "exit" and report.rejections:
        causes = [ref.cause for ref in report.rejections if ref.cause != "atomic"]
        landed = tuple(ref.remote for ref in report.updates if ref.kind != "unchanged")
        return push_rejected(
            redact(ended.stderr.decode("utf-8", "replace"), ended.env),
            remote=remote,
            cause=causes[0] if causes else "atomic",
            refs=report.rejections,
            landed=landed,
            effect="landed" if landed else "none",
        )
    if ended.cause == "exit" and ended.exit_code == 1 and has_hook(call, "pre-push"):
        # Every ref was found here before, and what the remote refuses it names: only the hook is left.
        return call.failed(ended, cause="hook-failed", effect="none")
    error = call.failed(ended)
    if isinstance(error, CommandFailed) and error.cause in ("auth", "unknown-remote", "unknown-ref", "bad-ref-name"):
        return call.failed(ended, effect="landed" if report.updates else "none")
    return call.failed(ended, effect=_effect(call, ended, report, remote, wanted))


def _effect(call: Call, ended: Ended, report: PushReport, remote: str, wanted: dict[str, str | None]) -> Effect:
    """Ask the remote what it has: the connection or the time may have been lost after it took the refs."""
    if not ended.started:
        return "none"
    if any(ref.kind != "unchanged" for ref in report.updates):
        return "landed"
    call.extended(_CHECK_S)
    ref, sha = next(iter(wanted.items()))
    try:
        return "landed" if remote_sha(call, remote, ref) == sha else "unknown"
    except Stop:
        return "unknown"


def _moved_on(report: PushReport) -> bool:
    return bool(report.rejections) and all(
        ref.cause in ("fetch-first", "non-fast-forward") for ref in report.rejections
    )


def _rebase(call: Call, remote: str, branch: str) -> None:
    """Rebase the current branch onto what the remote has now; what fails is undone."""
    with call.index("rebase"):
        before = head(call)
        assert before is not None
        try:
            rebase_onto(call, fetched(call, remote, branch))
        except Stop as stop:
            error = stop.error
            if isinstance(error, CommandFailed) and error.effect != "none":
                back = undo(call, before, branch)
                raise Stop(_with_effect(error, "none" if back else "unknown")) from None
            raise


def _with_effect(error: CommandFailed, effect: Effect) -> CommandFailed:
    from dataclasses import replace

    return replace(error, effect=effect)
