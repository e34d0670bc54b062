"""Stashes: uncommitted work put aside, and brought back whole or not at all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from orca.tools.repository.calls import Located, tagged
from orca.tools.repository.commits import checked_message

if TYPE_CHECKING:
    from orca.tools.repository.stash_log import Stash

_SHA: Final = r"[0-9a-f]{40}(?:[0-9a-f]{24})?"


class StashOperations(Located):
    """Putting work aside and bringing it back."""

    @tagged
    def stash(self, message: str, *, timeout: float | None = None) -> Stash | None:
        """Return the stash of all that is not committed, staged, unstaged or untracked; None where there is nothing.

        The index and the worktree are then as HEAD is. Ignored files, submodules and repositories inside stay as they
        are and are no part of it; what was only intended to be added comes back as untracked. Files go through filters
        and line ending settings as they do in a commit, and of their mode only the executable bit is kept. `git stash`
        lists the entry and can bring it back. No hook runs, nothing is signed.

        The entry is made before anything is taken away. Where the call fails with `effect` `none` there is no entry and
        nothing has changed; with `unknown` (out of time while it took away files, a full disk) the entry is in the list
        and holds everything. A file that changes while it is put aside stops it: `dirty`.

        Fails with `CommandFailed`: `unborn`, `conflict` (unmerged paths, or a merge or the like in progress),
        `bad-argument` (an empty message), `dirty` (ignored files stand where HEAD has others), `locked`, `timeout`,
        `refused`, and what `status` fails with. `timeout` is seconds.

        >>> from pathlib import Path
        >>> from orca import git
        >>> _ = Path("new.txt").write_text("new")
        >>> stash = git().stash("half done").unwrap()
        >>> git().status().unwrap().clean
        True
        >>> git().pop_stash(stash).unwrap()
        >>> git().status().unwrap().untracked[0].path
        'new.txt'
        """
        from orca.tools.repository import stashing

        call = self._call(timeout)
        text = checked_message(call, message, "stash")
        return stashing.put_aside(call, message, text)

    @tagged
    def pop_stash(self, stash: Stash, *, timeout: float | None = None) -> None:
        """Return None once the work of the stash is back, what was staged is staged, and its entry is gone.

        It may have been made on another commit: what was committed since then is merged with it. Other changes that are
        not committed stay, unless they are in its way. The entry is found by its sha, whatever its place in the list.

        All of it comes back or nothing: after a conflict or anything in the way the index, the worktree and the list
        are as before (`effect` `none`). Where files were written and the call failed after all, `unknown`: the entry
        stays. `landed`: everything is back and only the entry could not be taken out of the list.

        Fails with `CommandFailed`: `conflict` (with `paths`; a file that was untracked and is committed now; a merge or
        the like in progress), `dirty` (uncommitted changes, untracked or ignored files in the way), `unknown-ref` (no
        such stash any more), `bad-ref-name`, `unborn`, `locked`, `timeout`, `refused`, and what `status` fails with;
        `UnsupportedFeature` (git before 2.38 where HEAD has other content than then). `timeout` is seconds.

        >>> from pathlib import Path
        >>> from orca import git
        >>> _ = Path("a.txt").write_text("half done")
        >>> stash = git().stash("half done").unwrap()
        >>> git().pop_stash(stash).unwrap()
        >>> Path("a.txt").read_text()
        'half done'
        """
        from orca.tools.repository import stashing

        call = self._call(timeout)
        if not re.fullmatch(_SHA, stash.sha):
            raise call.refuse("bad-ref-name", ("stash", "pop"), f"{stash.sha!r} is not a whole sha")
        stashing.bring_back(call, stash.sha)
