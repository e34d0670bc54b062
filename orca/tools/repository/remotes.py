"""Remotes: what is configured, and what they hold."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from orca.redaction import Redacted
from orca.tools.repository import names
from orca.tools.repository.calls import Call, Located, Stop, tagged

UpdateKind: TypeAlias = Literal["created", "updated", "forced", "deleted", "unchanged"]

_ALREADY_EXISTS: Final = 3
_NO_SUCH_REMOTE: Final = 2


@dataclass(frozen=True, slots=True, repr=False)
class Remote(Redacted):
    """A configured remote and its addresses, as git uses them (`insteadOf` applied); `repr` hides what they hold."""

    name: str
    url: str
    push_url: str


@dataclass(frozen=True, slots=True, repr=False)
class RefUpdate(Redacted):
    """A ref that was brought up to date: full names on both sides, and its sha before and after (None: no ref)."""

    local: str
    remote: str
    old: str | None
    new: str | None
    kind: UpdateKind


def parse_refs(output: bytes) -> dict[str, str]:
    """Return name -> sha of what `for-each-ref --format=%(objectname) %(refname)` or `ls-remote` printed."""
    pairs = (line.replace("\t", " ", 1).partition(" ") for line in os.fsdecode(output).split("\n") if line)
    return {name: sha for sha, _, name in pairs}


def parse_symref(output: bytes) -> str | None:
    """Return the branch that `ls-remote --symref <remote> HEAD` names, if it names one."""
    for line in os.fsdecode(output).split("\n"):
        if line.startswith("ref: refs/heads/") and line.endswith("\tHEAD"):
            return line.removeprefix("ref: refs/heads/").removesuffix("\tHEAD")
    return None


def updates(before: dict[str, str], after: dict[str, str], remote: str) -> tuple[RefUpdate, ...]:
    """Return what changed between two states of the local refs, by name, as updates from the remote."""
    prefix = f"refs/remotes/{remote}/"
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    return tuple(
        RefUpdate(
            local=name,
            remote=f"refs/heads/{name.removeprefix(prefix)}" if name.startswith(prefix) else name,
            old=before.get(name),
            new=after.get(name),
            kind="created" if name not in before else "deleted" if name not in after else "updated",
        )
        for name in changed
    )


def checked_remote(call: Call, remote: str, *args: str) -> str:
    """Return the name of a configured remote, or stop with `unknown-remote`."""
    if not names.is_remote(remote):
        raise call.refuse("refused", args, f"{remote!r} cannot name a remote")
    if remote not in _names(call):
        raise call.refuse("unknown-remote", args, f"no remote {remote!r} is configured")
    return remote


def remote_sha(call: Call, remote: str, ref: str) -> str | None:
    """Return what the remote has under a full ref name; None where it has nothing."""
    ended = call.run("ls-remote", "--quiet", "--", remote, ref, kind="network")
    return parse_refs(ended.stdout).get(ref)


def local_refs(call: Call) -> dict[str, str]:
    """Return every ref of the repository with its sha."""
    return parse_refs(call.run("for-each-ref", "--format=%(objectname) %(refname)").stdout)


def _names(call: Call) -> list[str]:
    return [name for name in os.fsdecode(call.run("remote").stdout).split("\n") if name]


def _url(call: Call, name: str, *flags: str) -> str:
    ended = call.run("remote", "get-url", *flags, "--", name, ok=(0, _NO_SUCH_REMOTE))
    if ended.exit_code != 0:
        raise Stop(call.failed(ended, cause="unknown-remote", effect="none"))
    return os.fsdecode(ended.stdout).removesuffix("\n").split("\n")[0]


class RemoteOperations(Located):
    """Reading and configuring remotes, and fetching from them."""

    @tagged
    def remotes(self, *, timeout: float | None = None) -> tuple[Remote, ...]:
        """Return the configured remotes, by name. Addresses come back as they are: a token in one too.

        Fails as `status` does.

        >>> from orca import git
        >>> git().remotes().unwrap()
        ()
        """
        call = self._call(timeout)
        return tuple(Remote(name, _url(call, name), _url(call, name, "--push")) for name in sorted(_names(call)))

    @tagged
    def remote_url(self, name: str = "origin", *, timeout: float | None = None) -> str:
        """Return the address that git fetches from, as it is: a token in it too.

        Fails with `CommandFailed`: `unknown-remote`, `refused`, and what `status` fails with.

        >>> from orca import git
        >>> _ = git().add_remote("origin", "/srv/shop.git")
        >>> git().remote_url().unwrap()
        '/srv/shop.git'
        """
        call = self._call(timeout)
        return _url(call, checked_remote(call, name, "remote", "get-url", name))

    @tagged
    def add_remote(self, name: str, url: str, *, timeout: float | None = None) -> Remote:
        """Return the remote, configured now. Addresses that would start a helper program (`ext::…`) are refused.

        Fails with `CommandFailed`: `ref-conflict` (the name is taken), `bad-ref-name`, `refused`, `locked`, and what
        `status` fails with.

        >>> from orca import git
        >>> git().add_remote("origin", "https://example.org/shop.git").unwrap().name
        'origin'
        """
        call = self._call(timeout)
        if not names.is_branch_name(name):
            raise call.refuse("bad-ref-name", ("remote", "add"), f"{name!r} is not a name for a remote")
        if not names.is_remote(url):
            raise call.refuse("refused", ("remote", "add", name), "this address could start a program or be an option")
        ended = call.attempt("remote", "add", "--", name, url, kind="write")
        if ended.exit_code == _ALREADY_EXISTS:
            raise Stop(call.failed(ended, cause="ref-conflict", effect="none"))
        if ended.exit_code != 0:
            raise Stop(call.failed(ended))
        return Remote(name, _url(call, name), _url(call, name, "--push"))

    @tagged
    def default_branch(self, remote: str = "origin", *, timeout: float | None = None) -> str:
        """Return the remote's default branch: as the clone recorded it, else as the remote says now.

        Fails with `CommandFailed`: `unknown-remote`, `unknown-ref` (the remote has none), `auth`, `network`, and what
        `status` fails with. `timeout` is seconds, default the tool's `network_timeout`.

        >>> from orca import git
        >>> from orca.tools import GitTool
        >>> clone = GitTool.clone(str(git().root), "clone").unwrap()
        >>> clone.default_branch().unwrap()
        'main'
        """
        call = self._call(timeout, self._network_timeout)
        checked_remote(call, remote, "ls-remote")
        recorded = call.run("symbolic-ref", "--quiet", f"refs/remotes/{remote}/HEAD", ok=(0, 1)).stdout
        if recorded:
            return os.fsdecode(recorded).strip().removeprefix(f"refs/remotes/{remote}/")
        ended = call.run("ls-remote", "--quiet", "--symref", "--", remote, "HEAD", kind="network")
        branch = parse_symref(ended.stdout)
        if branch is None:
            raise call.refuse("unknown-ref", ("ls-remote", "--symref", remote, "HEAD"), "the remote names no branch")
        return branch

    @tagged
    def remote_head(self, branch: str, remote: str = "origin", *, timeout: float | None = None) -> str | None:
        """Return the sha that the remote has for a branch now, asked over the network; None where it has none.

        Fails with `CommandFailed`: `unknown-remote`, `bad-ref-name`, `auth`, `network`, and what `status` fails with.
        `timeout` is seconds, default the tool's `network_timeout`.

        >>> from orca import git
        >>> from orca.tools import GitTool
        >>> clone = GitTool.clone(str(git().root), "clone").unwrap()
        >>> clone.remote_head("main").unwrap() == git().head().unwrap()
        True
        """
        call = self._call(timeout, self._network_timeout)
        call.checked_branch(branch, "ls-remote", remote, branch)
        checked_remote(call, remote, "ls-remote", remote, branch)
        return remote_sha(call, remote, f"refs/heads/{branch}")

    @tagged
    def fetch(
        self, remote: str = "origin", prune: bool = False, *, timeout: float | None = None
    ) -> tuple[RefUpdate, ...]:
        """Return the local refs that changed: the remote's branches under `refs/remotes`, and its tags.

        `prune` deletes those that the remote no longer has. `timeout` is seconds, default the tool's `network_timeout`.

        Fails with `CommandFailed`: `unknown-remote`, `auth`, `network`, `locked`, and what `status` fails with.

        >>> from orca import git
        >>> from orca.tools import GitTool
        >>> clone = GitTool.clone(str(git().root), "clone").unwrap()
        >>> _ = git().create_branch("feature", switch=False)
        >>> [update.local for update in clone.fetch().unwrap()]
        ['refs/remotes/origin/feature']
        """
        call = self._call(timeout, self._network_timeout)
        checked_remote(call, remote, "fetch", remote)
        before = local_refs(call)
        call.run("fetch", "--quiet", "--prune" if prune else "--no-prune", "--", remote, kind="network")
        return updates(before, local_refs(call), remote)
