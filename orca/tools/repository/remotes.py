"""Remotes: what is configured, and what they hold."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from orca.tools.repository import names
from orca.tools.repository.addresses import CONFIGURED, Remotes, holds_secret, take_apart, write_section
from orca.tools.repository.calls import Call, Located, Stop, tagged

if TYPE_CHECKING:
    from orca.tools.repository.refs import RefUpdate, Remote

_NO_SUCH_REMOTE: Final = 2


def configured(call: Call) -> Remotes:
    """Return what is configured about remotes and their addresses."""
    return Remotes(call.run(*CONFIGURED, ok=(0, 1)).stdout)


def checked_remote(call: Call, remote: str, *args: str) -> Remotes:
    """Return what is configured, the remote among it, or stop with `unknown-remote`; its secrets are shielded."""
    if not names.is_remote(remote):
        raise call.refuse("refused", args, f"{remote!r} cannot name a remote")
    found = configured(call)
    if remote not in found.names:
        raise call.refuse("unknown-remote", args, f"no remote {remote!r} is configured")
    call.shield = found.shield(remote)
    return found


def remote_sha(call: Call, remote: str, ref: str) -> str | None:
    """Return what the remote has under a full ref name; None where it has nothing."""
    from orca.tools.repository import refs

    ended = call.run("ls-remote", "--quiet", "--", remote, ref, kind="network", effect="none")
    return refs.parse_refs(ended.stdout).get(ref)


def urls(call: Call, name: str, *flags: str) -> list[str]:
    """Return the addresses of a remote as git uses them; there is at least one."""
    ended = call.run("remote", "get-url", *flags, "--", name, ok=(0, _NO_SUCH_REMOTE))
    if ended.exit_code != 0:
        raise Stop(call.failed(ended, cause="unknown-remote", effect="none"))
    return os.fsdecode(ended.stdout).removesuffix("\n").split("\n")


def _local_refs(call: Call) -> dict[str, str]:
    from orca.tools.repository import refs

    return refs.parse_local_refs(call.run("for-each-ref", "--format=%(objectname) %(refname) %(symref)").stdout)


def _remote(call: Call, name: str) -> Remote:
    from orca.tools.repository import refs

    return refs.Remote(name, urls(call, name)[0], urls(call, name, "--push")[0])


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
        return tuple(_remote(call, name) for name in configured(call).names)

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
        checked_remote(call, name, "remote", "get-url", name)
        return urls(call, name)[0]

    @tagged
    def add_remote(self, name: str, url: str, *, timeout: float | None = None) -> Remote:
        """Return the remote, configured now. Addresses that would start a helper program (`ext::…`) are refused.

        A secret in the address is written to the configuration as it is, where plain git finds it; it is in no argv.

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
        if name in configured(call).names:
            raise call.refuse("ref-conflict", ("remote", "add", name), f"there is a remote {name!r}")
        if holds_secret(url):
            record(call, name, (("url", url), ("fetch", f"+refs/heads/*:refs/remotes/{name}/*")))
        else:
            call.run("remote", "add", "--", name, url, kind="write")
        return _remote(call, name)

    @tagged
    def default_branch(self, remote: str = "origin", *, timeout: float | None = None) -> str:
        """Return the remote's default branch: as the clone recorded it, else as the remote says now.

        Fails with `CommandFailed`: `unknown-remote`, `unknown-ref` (the remote has none), `auth`, `network`, and what
        `status` fails with; all with `effect` `none`. `timeout` is seconds, default the tool's `network_timeout`.

        >>> from orca import git
        >>> from orca.tools import GitTool
        >>> clone = GitTool.clone(str(git().root), "clone").unwrap()
        >>> clone.default_branch().unwrap()
        'main'
        """
        from orca.tools.repository import refs

        call = self._call(timeout, self._network_timeout)
        checked_remote(call, remote, "ls-remote")
        recorded = call.run("symbolic-ref", "--quiet", f"refs/remotes/{remote}/HEAD", ok=(0, 1)).stdout
        if recorded:
            return os.fsdecode(recorded).strip().removeprefix(f"refs/remotes/{remote}/")
        ended = call.run("ls-remote", "--quiet", "--symref", "--", remote, "HEAD", kind="network", effect="none")
        branch = refs.parse_symref(ended.stdout)
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

        An update is `updated` too where the remote's history was rewritten. `prune` deletes the refs of branches that
        the remote no longer has; no tag is ever deleted. `timeout` is seconds, default the tool's `network_timeout`.

        Fails with `CommandFailed`: `unknown-remote`, `auth`, `network`, `locked`, and what `status` fails with. Some
        refs may have been updated then (`effect` `unknown`).

        >>> from orca import git
        >>> from orca.tools import GitTool
        >>> clone = GitTool.clone(str(git().root), "clone").unwrap()
        >>> _ = git().create_branch("feature", switch=False)
        >>> [update.local for update in clone.fetch().unwrap()]
        ['refs/remotes/origin/feature']
        """
        from orca.tools.repository import refs

        call = self._call(timeout, self._network_timeout)
        refspecs = checked_remote(call, remote, "fetch", remote).refspecs(remote)
        before = _local_refs(call)
        flags = ("--prune" if prune else "--no-prune", "--no-prune-tags")
        call.run("fetch", "--quiet", *flags, "--", remote, kind="network")
        return refs.updates(before, _local_refs(call), refspecs)


def record(call: Call, name: str, settings: Sequence[tuple[str, str]]) -> None:
    """Write settings of a remote that must not stand in an argv to the configuration, or stop with `locked`."""
    shown = tuple(f"{key}={take_apart(value).shown}" for key, value in settings)
    try:
        write_section(call.config_file, name, settings)
    except FileExistsError as error:
        raise call.refuse("locked", ("config", *shown), f"{error.filename}: {error.strerror}") from None
    except OSError as error:
        raise call.refuse("other", ("config", *shown), f"{error.filename}: {error.strerror}") from None
