"""The pushes in which a ref is refused: a case for every reason that git gives."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from .push_case import EVERYWHERE, FEATURE, MAIN, V1, Line, Push, PushCase, new_commit, new_commit_and_tag
from .remote import Remote, Transport
from .repository import commit, git, hook, sha, write

# Refuses every ref in the words of a hosting service, by the protocol of the `proc-receive` hook.
HOSTING_SERVICE = """\
#!{python}
import sys
def read():
    size = int(sys.stdin.buffer.read(4), 16)
    return sys.stdin.buffer.read(size - 4) if size else None
def write(text):
    sys.stdout.buffer.write(b"%04x" % (len(text) + 4) + text if text else b"0000")
    sys.stdout.buffer.flush()
while read() is not None:
    pass
write(b"version=1\\n")
write(b"")
while (command := read()) is not None:
    write(b"ng " + command.split()[2] + b" {reason}\\n")
write(b"")
"""


def _fetch_first(remote: Remote) -> Push:
    remote.colleague_pushes()
    return new_commit(remote)


def _one_of_two_late(remote: Remote) -> Push:
    remote.colleague_pushes()
    return new_commit_and_tag(remote)


def _non_fast_forward(remote: Remote) -> Push:
    _fetch_first(remote)
    git(remote.work, "fetch", "--quiet", "origin")
    return Push()


def _force_denied(remote: Remote) -> Push:
    git(remote.bare, "config", "receive.denyNonFastForwards", "true")
    return replace(_non_fast_forward(remote), lease=remote.head())


def _stale_lease(remote: Remote) -> Push:
    return replace(_fetch_first(remote), lease=sha(remote.work, "origin/main"))


def _lease_of_nothing(remote: Remote) -> Push:
    return Push(branch="feature", delete=True, lease=remote.head())


def _not_included(remote: Remote) -> Push:
    plain = ("--force-with-lease", "--force-if-includes", "--", "origin", f"{MAIN}:{MAIN}")
    return replace(_non_fast_forward(remote), plain=plain)


def _tag_exists(remote: Remote) -> Push:
    git(remote.colleague, "tag", "v1", commit(remote.colleague))
    git(remote.colleague, "push", "--quiet", "origin", "v1")
    return new_commit_and_tag(remote)


def _tag_alone_exists(remote: Remote) -> Push:
    return replace(_tag_exists(remote), plain=("--", "origin", f"{V1}:{V1}"))


def _pre_receive(remote: Remote) -> Push:
    hook(remote.bare, "pre-receive", "echo 'policy: main is closed'; exit 1")
    return new_commit(remote)


def _update_hook(remote: Remote) -> Push:
    hook(remote.bare, "update", f'test "$1" != {MAIN}')
    return new_commit_and_tag(remote)


def _update_hook_not_atomic(remote: Remote) -> Push:
    return replace(_update_hook(remote), plain=("--", "origin", f"{MAIN}:{MAIN}", f"{V1}:{V1}"))


def _second_url_refuses(remote: Remote) -> Push:
    mirror = shutil.copytree(remote.bare, remote.root / "mirror.git")
    hook(mirror, "pre-receive", "exit 1")
    for url in (remote.url, remote.url_of(mirror.name)):
        git(remote.work, "config", "--add", "remote.origin.pushurl", url)
    return new_commit(remote)


def _hosting_service(reason: str, remote: Remote) -> Push:
    git(remote.bare, "config", "receive.procReceiveRefs", "refs/heads")
    hook(remote.bare, "proc-receive", HOSTING_SERVICE.format(python=sys.executable, reason=reason))
    return new_commit(remote)


def _checked_out(remote: Remote) -> Push:
    git(remote.bare, "worktree", "add", "--quiet", remote.root / "deployed", "main")
    return new_commit(remote)


def _deletion_denied(remote: Remote) -> Push:
    git(remote.bare, "config", "receive.denyDeletes", "true")
    git(remote.colleague, "push", "--quiet", "origin", f"main:{FEATURE}")
    return Push(branch="feature", delete=True, lease=remote.head("feature"))


def _deletion_of_current(remote: Remote) -> Push:
    return Push(delete=True, lease=remote.head())


def _shallow(remote: Remote) -> Push:
    commit(remote.colleague, content="1")
    commit(remote.colleague, content="2")
    git(remote.work, "fetch", "--quiet", "--depth=1", f"file://{remote.colleague}", "main:feature")
    return Push(branch="feature")


def _too_big(remote: Remote) -> Push:
    git(remote.bare, "config", "receive.maxInputSize", "100")
    commit(remote.work, content="".join(map(str, range(10_000))))
    return Push()


def _bad_object(remote: Remote) -> Push:
    git(remote.bare, "config", "receive.fsckObjects", "true")
    tree, parent = sha(remote.work, "HEAD^{tree}"), sha(remote.work)
    no_address = f"tree {tree}\nparent {parent}\nauthor T 0 +0000\ncommitter T 0 +0000\n\nbad\n".encode()
    bad = git(remote.work, "hash-object", "-w", "-t", "commit", "--literally", "--stdin", stdin=no_address)
    git(remote.work, "update-ref", MAIN, bad.strip())
    return Push()


def _locked(remote: Remote) -> Push:
    write(remote.bare / f"{MAIN}.lock", "")
    return new_commit(remote)


def _directory_in_the_way(remote: Remote) -> Push:
    git(remote.colleague, "push", "--quiet", "origin", f"main:{FEATURE}/one")
    git(remote.work, "branch", "--quiet", "feature")
    return Push(branch="feature")


def _hidden(remote: Remote) -> Push:
    git(remote.bare, "config", "receive.hideRefs", FEATURE)
    git(remote.work, "branch", "--quiet", "feature")
    return Push(branch="feature")


def _no(reason: str, ref: str = MAIN) -> Line:
    return ("!", ref, reason)


def _refused(
    name: str,
    cause: str,
    prepare: Callable[[Remote], Push],
    *lines: Line,
    transports: tuple[Transport, ...] = EVERYWHERE,
    plain_only: bool = False,
) -> PushCase:
    return PushCase(
        name=name,
        prepare=prepare,
        exit_code=1,
        lines=lines,
        landed=any(flag != "!" for flag, _, _ in lines),
        tag="PushRejected",
        cause=cause,
        transports=transports,
        plain_only=plain_only,
    )


CALLED_OFF = "atomic push failed"
PROTECTED = "protected branch hook declined"
RULES = "push declined due to repository rule violations"

REFUSED = (
    _refused("fetch first", "fetch-first", _fetch_first, _no("fetch first")),
    _refused(
        "one of two late",
        "fetch-first",
        _one_of_two_late,
        _no("fetch first"),
        _no(CALLED_OFF, V1),
        transports=("file", "ssh"),
    ),
    # Over HTTP git fails to read its own protocol at this point, and says nothing of the other ref.
    _refused("one of two late, by HTTP", "fetch-first", _one_of_two_late, _no("fetch first"), transports=("http",)),
    _refused("non-fast-forward", "non-fast-forward", _non_fast_forward, _no("non-fast-forward")),
    _refused("force denied", "non-fast-forward", _force_denied, _no("non-fast-forward")),
    _refused("stale lease", "stale-lease", _stale_lease, _no("stale info")),
    _refused("lease of nothing", "stale-lease", _lease_of_nothing, _no("stale info", FEATURE)),
    _refused("not included", "stale-lease", _not_included, _no("remote ref updated since checkout"), plain_only=True),
    _refused("tag exists", "already-exists", _tag_exists, _no("already exists", V1), _no(CALLED_OFF)),
    _refused("tag alone exists", "already-exists", _tag_alone_exists, _no("already exists", V1), plain_only=True),
    _refused("pre-receive hook", "hook-declined", _pre_receive, _no("pre-receive hook declined")),
    _refused("update hook", "hook-declined", _update_hook, _no("hook declined"), _no("atomic push failure", V1)),
    _refused(
        "update hook, one of two",
        "hook-declined",
        _update_hook_not_atomic,
        ("*", V1, ""),
        _no("hook declined"),
        plain_only=True,
    ),
    _refused(
        "second URL refuses",
        "hook-declined",
        _second_url_refuses,
        (" ", MAIN, ""),
        _no("pre-receive hook declined"),
    ),
    _refused("protected branch", "protected", partial(_hosting_service, PROTECTED), _no(PROTECTED)),
    _refused("repository rules", "protected", partial(_hosting_service, RULES), _no(RULES)),
    _refused("checked out there", "checked-out", _checked_out, _no("branch is currently checked out")),
    _refused("deletion denied", "deletion-denied", _deletion_denied, _no("deletion prohibited", FEATURE)),
    _refused(
        "deletion of its HEAD",
        "deletion-denied",
        _deletion_of_current,
        _no("deletion of the current branch prohibited"),
    ),
    _refused("shallow", "shallow", _shallow, _no("shallow update not allowed", FEATURE)),
    _refused("too big", "other", _too_big, _no("unpacker error")),
    _refused("bad object", "other", _bad_object, _no("unpacker error")),
    _refused("locked there", "other", _locked, _no("failed to update ref")),
    _refused("directory in the way", "other", _directory_in_the_way, _no("failed to update ref", FEATURE)),
    _refused("hidden", "other", _hidden, _no("deny updating a hidden ref", FEATURE)),
)
