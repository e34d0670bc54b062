"""What one case of a push is: the state it starts from, the push to make, and what comes of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .remote import Remote, Transport
from .repository import commit, git

EVERYWHERE: tuple[Transport, ...] = ("file", "http", "ssh")

MAIN = "refs/heads/main"
FEATURE = "refs/heads/feature"
V1 = "refs/tags/v1"


@dataclass(frozen=True, kw_only=True)
class Push:
    """The push to make from `remote.work`, in neutral terms.

    `branch`: pushed to the same name; None is the branch that is checked out.
    `lease`: the sha that the remote's branch is expected to have, for a push with force or a deletion.
    `plain`: arguments that plain git gets instead, where its push is not the one that a tool makes of the rest.
    """

    remote: str = "origin"
    branch: str | None = "main"
    tags: tuple[str, ...] = ()
    lease: str | None = None
    delete: bool = False
    plain: tuple[str, ...] | None = None

    def arguments(self) -> list[str]:
        """The arguments of the plain `git` that makes this push."""
        arguments = ["push", "--porcelain"]
        if self.plain is not None:
            return [*arguments, *self.plain]
        ref = f"refs/heads/{self.branch}"
        if self.lease is not None:
            arguments.append(f"--force-with-lease={ref}:{self.lease}")
        if self.tags:
            arguments.append("--atomic")
        arguments += ["--", self.remote]
        if self.branch is not None:
            arguments.append(f":{ref}" if self.delete else f"{ref}:{ref}")
        return arguments + [f"refs/tags/{tag}:refs/tags/{tag}" for tag in self.tags]


# A line of the porcelain output: the flag, the remote's ref, and the reason (empty where there is none).
Line = tuple[str, str, str]


@dataclass(frozen=True, kw_only=True)
class PushCase:
    """One case: `prepare` brings a fresh remote into the state, and says which push to make.

    What plain git answers: `exit_code` (None: it never ends by itself) and the `lines` of its porcelain output.
    The truth about the remote afterwards: `landed`, whether any of its refs changed.
    What a tool must make of it: the `tag` and `cause` of its failure, or no tag for a success; `plain_only` says that
    no call of a tool makes this push, so that there is nothing to expect of it.
    """

    name: str
    prepare: Callable[[Remote], Push]
    exit_code: int | None
    lines: tuple[Line, ...] = ()
    landed: bool = False
    tag: Literal["PushRejected", "CommandFailed"] | None = None
    cause: str | None = None
    transports: tuple[Transport, ...] = EVERYWHERE
    plain_only: bool = False


def new_commit(remote: Remote) -> Push:
    """A push of `main` that is one commit ahead."""
    commit(remote.work)
    return Push()


def new_commit_and_tag(remote: Remote) -> Push:
    """A push of `main` that is one commit ahead, and of the tag `v1` on it."""
    commit(remote.work)
    git(remote.work, "tag", "v1")
    return Push(tags=("v1",))
