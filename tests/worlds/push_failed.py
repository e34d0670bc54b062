"""The pushes that fail without a ref being refused, and those that succeed although something looks wrong."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from .http_server import Fault, When
from .push_case import EVERYWHERE, FEATURE, MAIN, V1, Line, Push, PushCase, new_commit, new_commit_and_tag
from .remote import ENDLESS_HOOK, Remote, Transport
from .repository import git, hook
from .ssh_server import Client

HTTP: tuple[Transport, ...] = ("http",)
SSH: tuple[Transport, ...] = ("ssh",)


def _pre_push_hook(remote: Remote) -> Push:
    hook(remote.work, "pre-push", "echo 'tests fail' >&2; exit 1")
    return new_commit(remote)


def _unknown_branch(remote: Remote) -> Push:
    return Push(branch="absent")


def _bad_name(remote: Remote) -> Push:
    return Push(branch="bad..name")


def _unborn(remote: Remote) -> Push:
    git(remote.work, "switch", "--quiet", "--orphan", "feature")
    return Push(branch="feature")


def _deletion_of_nothing(remote: Remote) -> Push:
    return Push(branch="feature", delete=True, plain=("--delete", "origin", "feature"))


def _detached(remote: Remote) -> Push:
    git(remote.work, "switch", "--quiet", "--detach")
    return Push(branch=None)


def _no_upstream(remote: Remote) -> Push:
    git(remote.work, "switch", "--quiet", "--create", "feature")
    return Push(branch=None, plain=("--", "origin", f"{FEATURE}:{FEATURE}"))


def _upstream_of_another_name(remote: Remote) -> Push:
    git(remote.work, "switch", "--quiet", "--create", "feature", "--track", "origin/main")
    return Push(branch=None, plain=("--", "origin", f"{FEATURE}:{FEATURE}"))


def _by_default(prepare: Callable[[Remote], Push], remote: Remote) -> Push:
    """The push that plain git makes when nothing is named."""
    return replace(prepare(remote), plain=())


def _no_such_remote(remote: Remote) -> Push:
    return Push(remote="nowhere")


def _elsewhere(url: str, remote: Remote) -> Push:
    git(remote.work, "config", "remote.origin.url", url)
    return Push()


def _no_such_repository(remote: Remote) -> Push:
    return _elsewhere(remote.url_of("missing.git"), remote)


def _second_url_missing(remote: Remote) -> Push:
    for url in (remote.url, remote.url_of("missing.git")):
        git(remote.work, "config", "--add", "remote.origin.pushurl", url)
    return new_commit(remote)


def _no_credentials(remote: Remote) -> Push:
    remote.http.auth = ("user", "right")
    return new_commit(remote)


def _wrong_credentials(remote: Remote) -> Push:
    remote.http.auth = ("user", "right")
    return _elsewhere(remote.http.url_of(remote.bare.name, "user:wrong"), remote)


def _http_fault(fault: Fault, at: When, remote: Remote) -> Push:
    remote.http.fault, remote.http.fault_at = fault, at
    return new_commit(remote)


def _ssh_client(client: Client, remote: Remote) -> Push:
    git(remote.work, "config", "core.sshCommand", remote.ssh.command(client))
    return new_commit(remote)


def _remote_hook(name: str, body: str, remote: Remote) -> Push:
    hook(remote.bare, name, body)
    return new_commit(remote)


def _up_to_date(remote: Remote) -> Push:
    return Push()


def _new_branch(remote: Remote) -> Push:
    git(remote.work, "switch", "--quiet", "--create", "feature")
    return Push(branch="feature")


def _forced(remote: Remote) -> Push:
    expected = remote.colleague_pushes()
    return replace(new_commit(remote), lease=expected)


def _deletion(remote: Remote) -> Push:
    git(remote.colleague, "push", "--quiet", "origin", f"main:{FEATURE}")
    return Push(branch="feature", delete=True, lease=remote.head("feature"))


def _tag_of_the_same_name(remote: Remote) -> Push:
    git(remote.work, "tag", "main")
    return new_commit(remote)


def _failed(
    name: str,
    cause: str,
    prepare: Callable[[Remote], Push],
    exit_code: int | None,
    *lines: Line,
    landed: bool = False,
    transports: tuple[Transport, ...] = EVERYWHERE,
    plain_only: bool = False,
) -> PushCase:
    return PushCase(
        name=name,
        prepare=prepare,
        exit_code=exit_code,
        lines=lines,
        landed=landed,
        tag="CommandFailed",
        cause=cause,
        transports=transports,
        plain_only=plain_only,
    )


def _done(name: str, prepare: Callable[[Remote], Push], *lines: Line) -> PushCase:
    landed = any(flag != "=" for flag, _, _ in lines)
    return PushCase(name=name, prepare=prepare, exit_code=0, lines=lines, landed=landed)


UPDATED: Line = (" ", MAIN, "")
DIES = "kill -9 $PPID"  # of a hook the parent is the remote's `git receive-pack`

FAILED = (
    _failed("pre-push hook", "hook-failed", _pre_push_hook, 1),
    _failed("unknown branch", "unknown-ref", _unknown_branch, 1),
    _failed("bad name", "bad-ref-name", _bad_name, 128),
    _failed("no commits", "unborn", _unborn, 1),
    _failed("deletion of nothing by name", "unknown-ref", _deletion_of_nothing, 1, plain_only=True),
    _failed("detached", "detached", _detached, 128),
    _failed("no upstream, by default", "no-upstream", partial(_by_default, _no_upstream), 128, plain_only=True),
    _failed("another name, by default", "other", partial(_by_default, _upstream_of_another_name), 128, plain_only=True),
    _failed("no such remote", "unknown-remote", _no_such_remote, 128),
    _failed("no such repository", "unknown-remote", _no_such_repository, 128),
    _failed("second URL missing", "unknown-remote", _second_url_missing, 128, UPDATED, landed=True),
    _failed("no credentials", "auth", _no_credentials, 128, transports=HTTP),
    _failed("wrong credentials", "auth", _wrong_credentials, 128, transports=HTTP),
    _failed("wrong key", "auth", partial(_ssh_client, "wrong-key"), 128, transports=SSH),
    _failed("unknown host key", "auth", partial(_ssh_client, "unknown-host"), 128, transports=SSH),
    _failed("401", "auth", partial(_http_fault, 401, "every"), 128, transports=HTTP),
    _failed("403", "auth", partial(_http_fault, 403, "every"), 128, transports=HTTP),
    _failed("403 to the push", "auth", partial(_http_fault, 403, "push"), 1, transports=HTTP),
    _failed("404", "unknown-remote", partial(_http_fault, 404, "every"), 128, transports=HTTP),
    _failed("500", "network", partial(_http_fault, 500, "every"), 128, transports=HTTP),
    _failed("500 to the push", "network", partial(_http_fault, 500, "push"), 1, transports=HTTP),
    _failed("500 after the push", "network", partial(_http_fault, 500, "after-push"), 1, landed=True, transports=HTTP),
    # Nothing listens on port 1, and no name ends in `.invalid`.
    _failed("refused", "network", partial(_elsewhere, "http://127.0.0.1:1/x.git"), 128, transports=HTTP),
    _failed("refused, by ssh", "network", partial(_elsewhere, "ssh://127.0.0.1:1/x.git"), 128, transports=SSH),
    _failed("no such host", "network", partial(_elsewhere, "http://nowhere.invalid/x.git"), 128, transports=HTTP),
    _failed("no such host, by ssh", "network", partial(_elsewhere, "ssh://nowhere.invalid/x.git"), 128, transports=SSH),
    _failed("hangs up", "network", partial(_http_fault, "hang-up", "every"), 128, transports=HTTP),
    _failed("hangs up on the push", "network", partial(_http_fault, "hang-up", "push"), 1, transports=HTTP),
    _failed(
        "hangs up after the push",
        "network",
        partial(_http_fault, "hang-up", "after-push"),
        1,
        landed=True,
        transports=HTTP,
    ),
    _failed("dies before", "network", partial(_remote_hook, "pre-receive", DIES), 128, transports=("file", "ssh")),
    _failed("dies before, by HTTP", "network", partial(_remote_hook, "pre-receive", DIES), 1, transports=HTTP),
    _failed("dies after", "network", partial(_remote_hook, "post-receive", DIES), 1, UPDATED, landed=True),
    _failed("silent", "timeout", partial(_http_fault, "silent", "every"), None, transports=HTTP),
    _failed("silent on the push", "timeout", partial(_http_fault, "silent", "push"), None, transports=HTTP),
    _failed(
        "silent after the push",
        "timeout",
        partial(_http_fault, "silent", "after-push"),
        None,
        landed=True,
        transports=HTTP,
    ),
    _failed("endless before", "timeout", partial(_remote_hook, "pre-receive", ENDLESS_HOOK), None),
    _failed("endless after", "timeout", partial(_remote_hook, "post-receive", ENDLESS_HOOK), None, landed=True),
)

DONE = (
    _done("up to date", _up_to_date, ("=", MAIN, "")),
    _done("fast-forward", new_commit, UPDATED),
    _done("new branch", _new_branch, ("*", FEATURE, "")),
    _done("no upstream", _no_upstream, ("*", FEATURE, "")),
    _done("upstream of another name", _upstream_of_another_name, ("*", FEATURE, "")),
    _done("new tag", new_commit_and_tag, UPDATED, ("*", V1, "")),
    _done("forced", _forced, ("+", MAIN, "forced update")),
    _done("deletion", _deletion, ("-", FEATURE, "")),
    _done("tag of the same name", _tag_of_the_same_name, UPDATED),
    _done("failing post-receive hook", partial(_remote_hook, "post-receive", "exit 3"), UPDATED),
)
