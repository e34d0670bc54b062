"""Push: one branch under its own name, and what the remote made of it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from orca.errors import Effect, PushCause, RuntimeError, push_rejected
from orca.process import Ended
from orca.redaction import redact
from orca.results import Failure, Result, outcome
from orca.tools.repository.calls import Call, Located, Stop, tagged
from orca.tools.repository.commits import current_branch, has_hook
from orca.tools.repository.integration import rebase_or_undo
from orca.tools.repository.pulling import fetched
from orca.tools.repository.remotes import checked_remote, remote_sha, urls

if TYPE_CHECKING:
    from orca.tools.repository.push_report import Push, PushReport
    from orca.tools.repository.refs import RefUpdate

_ASK_S: Final = 1.9  # beyond the deadline, to ask the remote: with the grace of a git that hangs less than 3 s
_LONGEST_ASK_S: Final = 10.0
_SHA: Final = r"[0-9a-f]{40}(?:[0-9a-f]{24})?"
# git exits with 1 for a pre-push hook that failed, and for a connection that it lost without these being the words of
# the hook: they stand at the beginning of a line of its own.
LOST: Final = rb"(?m)^(?:error: RPC failed|send-pack: unexpected|fatal: the remote end hung up)"


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
        to. Nothing is forced, unless `force_with_lease` gives the sha that the remote must still have (`""`: none); of
        submodules nothing is pushed.

        With `on_rejected="rebase"`, a remote that has moved on (`fetch-first`, `non-fast-forward`) is fetched, the
        current branch is rebased onto it, `recheck` is called, and the push is tried again, `attempts` times in all. A
        failure of `recheck` is returned and stops the push: the branch stays rebased, so that it can be corrected
        there, as it does after the last attempt. A conflict is `CommandFailed(cause="conflict")` with `paths`, and
        everything is as before (`effect="none"`). Tags cannot go along: the rebase would leave them behind.

        Fails with `PushRejected` exactly when the remote refused a ref: `refs` says which and why, `landed` what it
        took all the same. Everything else is `CommandFailed`: `hook-failed` (pre-push, pre-rebase), `unknown-remote`,
        `unknown-ref`, `bad-ref-name`, `detached`, `unborn`, `auth`, `network`, `timeout`, `conflict`, `dirty`,
        `locked`, `refused`, and what `status` fails with. When it ran out of time or lost the connection, the remote
        is asked before `effect` is set: `landed` (the tracking branch here may not know of it), or `unknown`.
        `timeout` is seconds, default the tool's `network_timeout`, for all attempts together, `recheck` included.

        >>> from orca import git
        >>> from orca.tools import GitTool
        >>> clone = GitTool.clone(str(git().root), "clone").unwrap()
        >>> _ = clone.create_branch("feature")
        >>> [ref.kind for ref in clone.push().unwrap().refs]
        ['created']
        """
        from orca.tools.repository.push_report import Push, parse_push

        if attempts < 1:
            raise ValueError("push() needs at least one attempt")
        if on_rejected not in ("fail", "rebase"):
            raise ValueError(f"on_rejected must be 'fail' or 'rebase', not {on_rejected!r}")
        if tags and on_rejected == "rebase":
            raise ValueError("a rebase would leave the tags on commits that it replaces: push them afterwards")
        call = self._call(timeout, self._network_timeout)
        name = _pushed_branch(call, remote, branch)
        tag_list = [tags] if isinstance(tags, str) else tags
        refs = [f"refs/heads/{name}", *(f"refs/tags/{call.checked_branch(tag, 'push')}" for tag in tag_list)]
        lease = _lease(call, refs[0], force_with_lease)
        upstream = ["--set-upstream"] if set_upstream and not _has_upstream(call, name) else []
        rebased = False
        for attempt in range(1, attempts + 1):
            shas = _local(call, refs)
            ended = _run(call, remote, [f"{ref}:{ref}" for ref in refs], *upstream, *lease)
            report = parse_push(ended.stdout)
            if ended.exit_code == 0:
                updates = tuple(_with_sha(update, shas) for update in report.updates if update.local in shas)
                pushed = [update.new for update in updates if update.local == refs[0]]
                return Push(remote, updates, rebased, pushed[0] if pushed and pushed[0] else shas[refs[0]])
            error = _failure(call, ended, report, remote, shas)
            may_rebase = on_rejected == "rebase" and attempt < attempts and not lease
            if not (may_rebase and _moved_on(report) and _rebased(call, remote, name)):
                raise Stop(error)
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
        from orca.tools.repository.push_report import parse_push
        from orca.tools.repository.refs import RefUpdate

        if not expected:
            raise ValueError("delete_remote_branch() needs the sha that the remote is expected to have")
        call = self._call(timeout, self._network_timeout)
        ref = f"refs/heads/{call.checked_branch(name, 'push', remote)}"
        checked_remote(call, remote, "push", remote)
        ended = _run(call, remote, [f":{ref}"], *_lease(call, ref, expected))
        report = parse_push(ended.stdout)
        if ended.exit_code != 0:
            raise Stop(_failure(call, ended, report, remote, {ref: None}))
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
    if expected and not re.fullmatch(_SHA, expected):
        raise call.refuse("bad-ref-name", ("push", "--force-with-lease"), f"{expected!r} is not a whole sha")
    return [f"--force-with-lease={ref}:{expected}"]


def _local(call: Call, refs: Sequence[str]) -> dict[str, str]:
    """The sha of every ref; each is looked for, so that git cannot find one missing."""
    listed = os.fsdecode(call.run("for-each-ref", "--format=%(refname) %(objectname)", *refs).stdout)
    found = dict(line.split(" ") for line in listed.split("\n") if line)
    for ref in refs:
        if ref not in found:
            unborn = ref == f"refs/heads/{current_branch(call)}"
            raise call.refuse("unborn" if unborn else "unknown-ref", ("push", ref), f"there is no {ref} here")
    return {ref: found[ref] for ref in refs}


def _has_upstream(call: Call, branch: str) -> bool:
    """Whether one is configured, even if it cannot be found."""
    return call.run("config", "--get-all", f"branch.{branch}.merge", ok=(0, 1)).exit_code == 0


def _run(call: Call, remote: str, refspecs: Sequence[str], *flags: str) -> Ended:
    call.shield.set(f"remote.{remote}.mirror", "false")  # it would push, and delete, every ref
    flags = ("--porcelain", "--no-follow-tags", "--no-recurse-submodules", *flags)
    atomic = ("--atomic",) if len(refspecs) > 1 else ()
    return call.attempt("-c", "core.abbrev=no", "push", *flags, *atomic, "--", remote, *refspecs, kind="network")


def _with_sha(update: RefUpdate, shas: Mapping[str, str]) -> RefUpdate:
    """A new or unchanged ref has no shas in git's line: they are known here."""
    from orca.tools.repository.refs import RefUpdate

    if update.new is not None:
        return update
    sha = shas[update.local]
    old = sha if update.kind == "unchanged" else update.old
    return RefUpdate(update.local, update.remote, old, sha, update.kind)


def _failure(
    call: Call, ended: Ended, report: PushReport, remote: str, wanted: Mapping[str, str | None]
) -> RuntimeError:
    """What a push that did not succeed came to; `wanted` is what the remote should have now."""
    # A hook's own output stands beside git's, and may be that of another push.
    rejections = tuple(ref for ref in report.rejections if ref.remote in wanted)
    landed = tuple(ref.remote for ref in report.updates if ref.remote in wanted and ref.kind != "unchanged")
    if ended.cause == "exit" and rejections:
        causes: list[PushCause] = [ref.cause for ref in rejections if ref.cause != "atomic"]
        return push_rejected(
            redact(ended.stderr.decode("utf-8", "replace"), ended.env),
            remote=remote,
            cause=causes[0] if causes else "atomic",
            refs=rejections,
            landed=landed,
            effect="landed" if landed else "none",
        )
    # Every ref was found here before, and what the remote refuses it names: of what exits with 1 the hook is left.
    hook = ended.cause == "exit" and ended.exit_code == 1 and not re.search(LOST, ended.stderr)
    if hook and has_hook(call, "pre-push"):
        return call.failed(ended, cause="hook-failed", effect="landed" if landed else "none")
    error = call.failed(ended, effect="landed" if landed else "none")
    if landed or not ended.started or error.cause in ("auth", "unknown-remote", "unknown-ref", "bad-ref-name"):
        return error
    return call.failed(ended, effect=_asked(call, remote, wanted))


def _asked(call: Call, remote: str, wanted: Mapping[str, str | None]) -> Effect:
    """Ask the remote what it has: the connection or the time may have been lost after it took the refs."""
    ref, sha = next(iter(wanted.items()))
    after = call.left() + _ASK_S
    call.extended(min(after, _LONGEST_ASK_S))
    try:
        pushed_to = urls(call, remote, "--push", "--all")
        sources = [remote] if pushed_to == urls(call, remote) else [call.shield.hide(url) for url in pushed_to]
        return "landed" if any(remote_sha(call, source, ref) == sha for source in sources) else "unknown"
    except Stop:
        return "unknown"


def _moved_on(report: PushReport) -> bool:
    """Whether a rebase can help: the remote has commits that we have not, and took nothing of this push."""
    moved = all(ref.cause in ("fetch-first", "non-fast-forward") for ref in report.rejections)
    return moved and bool(report.rejections) and all(ref.kind == "unchanged" for ref in report.updates)


def _rebased(call: Call, remote: str, branch: str) -> bool:
    """Rebase the branch onto what the remote has now; False where it is not the current one."""
    if current_branch(call) != branch:
        return False
    sha = fetched(call, remote, branch)
    with call.index("rebase"):
        if current_branch(call) != branch:
            return False
        rebase_or_undo(call, sha)
    return True
