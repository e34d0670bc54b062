"""The bridge to GitPython: code that people have, with the failures of the git tool."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from orca import process
from orca.errors import unsupported_feature
from orca.tools.repository import neutral
from orca.tools.repository.calls import Call, Located, Stop, tagged

if TYPE_CHECKING:
    import git

    from orca.tools.repository.bridge_programs import Programs

T = TypeVar("T")

_ARGS: Final = ("with_repo",)
_ASK_S: Final = 1.9  # beyond the deadline, to find out why a git failed: with the grace of one that hangs less than 3 s


class BridgeOperations(Located):
    """Working on the repository with GitPython."""

    @tagged
    def with_repo(self, fn: Callable[[git.Repo], T], *, timeout: float | None = None) -> T:
        """Return what `fn` makes of the repository, given as GitPython's `git.Repo`, which is open for this call only.

        Meanwhile the index is this call's, as it is a commit's: other calls that change it wait, and one that `fn`
        itself makes through a tool is `locked`. What GitPython starts gets the environment and the settings that every
        git of this tool gets, above them what `fn` sets (`repo.git.update_environment`), and is ended with all that it
        started itself at the deadline, on a signal, and when the call is over: afterwards the repository is of no
        use (`ValueError`). A `git.Repo` that `fn` opens itself, a submodule's too, has nothing of this.

        What `fn` returns is the value as it is: a `Result` stays one inside the `Success`. GitPython's exceptions are
        failures; any other that `fn` raises passes through. A push that failed is a failure also where GitPython only
        sets flags (`PushInfo`) and `fn` did not look, unless a later push in `fn` took the same refs to that remote.
        One that `fn` was told of by an exception (`raise_if_error()`) and caught is `fn`'s own affair.

        Fails with the tags and causes of the methods that do the same: `NothingToCommit`, `BranchAlreadyExists`,
        `PushRejected` with its `refs`, and `CommandFailed` with each of its causes; `timeout` also where `fn` caught
        what a git raised that had no time left. `effect` is `unknown` once `fn` was called, that of a push aside.
        `UnsupportedFeature`: git before 2.36, no GitPython that can be loaded, and what GitPython cannot read (SHA-256,
        other forms of the index, names that are not UTF-8). `timeout` is seconds, default the tool's `hook_timeout`;
        where `fn` waits or computes by itself, nothing can end it.

        GitPython has its limits: `repo.index` applies no filters, `repo.index.commit` neither signs nor minds that
        there is nothing to commit, and `repo.create_head` returns a branch that exists at that commit.

        >>> from orca import git
        >>> git().with_repo(lambda repo: [head.name for head in repo.heads]).unwrap()
        ['main']
        """
        call = self._call(timeout, self._hook_timeout)
        self._refuse_what_is_gone(call)
        with call.index(*_ARGS):
            _load_gitpython(call)
            from orca.tools.repository.bridge_programs import Programs

            programs = Programs(call, self._place.cwd, lambda: self._place.is_gone)
            try:
                return self._called(fn, programs)
            finally:
                programs.close()

    def _called(self, fn: Callable[[git.Repo], T], programs: Programs) -> T:
        from orca.tools.repository.bridge_classes import opened

        assert self._place.found is not None
        try:
            repo = opened(programs, self._place.found)
            try:
                value = fn(repo)
            finally:
                repo.close()
        except Stop:
            raise
        except Exception as error:
            from orca.tools.repository.bridge_failures import failure_of

            with programs.call.overtime(_ASK_S):
                failure = failure_of(error, programs)
            if failure is None:
                raise
            raise Stop(failure) from error
        from orca.tools.repository.bridge_failures import unseen_failure

        with programs.call.overtime(_ASK_S):
            failure = unseen_failure(value, programs)
        if failure is not None:
            raise Stop(failure)
        return value

    def _refuse_what_is_gone(self, call: Call) -> None:
        """The repository may have been found long ago."""
        if call.git_dir and not os.path.isdir(self._place.cwd):
            raise call.refuse("bad-cwd", _ARGS, f"{self._place.cwd}: {os.strerror(errno.ENOENT)}")
        if self._place.is_gone:
            raise call.refuse("not-a-repository", _ARGS, "the repository that was here is gone")


def _load_gitpython(call: Call) -> None:
    """Import GitPython, which runs `git version` at that and gives it all the time it wants."""
    if sys.modules.get("git") is not None:
        return
    program = os.environ.get("GIT_PYTHON_GIT_EXECUTABLE") or "git"
    env = neutral.environment("read", os.environ)
    ended = process.run((program, "version"), cwd="/", env=env, deadline=call.deadline)
    if ended.cause != "exit" or ended.exit_code != 0:
        raise Stop(call.failed(ended, effect="none"))
    try:
        import git  # noqa: F401
    except ImportError as error:
        reason = str(error).strip().split("\n")[0]
        raise Stop(unsupported_feature("GitPython", f"it cannot be loaded: {reason}")) from None
