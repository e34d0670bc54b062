"""The list of stashes: the log of one ref, of which one entry is taken out by its sha, wherever it stands by then."""

from __future__ import annotations

import errno
import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from orca.redaction import Redacted
from orca.tools.repository.calls import Call

REF: Final = "refs/stash"
_LONGEST_S: Final = 1.0  # that another git may hold the list; it does so for some milliseconds
_WAIT_S: Final = 0.005
PATIENTLY: Final = ("-c", f"core.filesRefLockTimeout={_LONGEST_S * 1000:.0f}")


@dataclass(frozen=True, slots=True, repr=False)
class Stash(Redacted):
    """An entry of the list of stashes, by its sha: its place in the list changes as others come and go.

    `message` is the caller's, `branch` the one that it was made on, None where HEAD was detached.
    """

    sha: str
    message: str
    branch: str | None


def entries(call: Call) -> tuple[str, ...]:
    """Return the shas of the stashes, newest first, as git counts them."""
    listed = call.run("rev-list", "--walk-reflogs", REF, "--", ok=(0, 128))  # 128: there is none
    return tuple(listed.stdout.decode("ascii").split()) if listed.exit_code == 0 else ()


def wait(call: Call, *args: str) -> None:
    """Wait until no other git holds the list, or stop with `locked`: agents in other worktrees share it."""
    lock = os.path.join(call.common_dir, f"{REF}.lock")
    until = time.monotonic() + min(_LONGEST_S, call.left())
    while os.path.lexists(lock):
        if time.monotonic() >= until:
            raise call.refuse("locked", args, f"another git holds {REF}, or has left its lock behind")
        time.sleep(_WAIT_S)


def without(log: bytes, sha: str) -> bytes | None:
    """Return the log without the newest entry of this sha, None where there is none; the one after it follows on."""
    lines = [line + b"\n" for line in log.split(b"\n") if line]
    for number in reversed(range(len(lines))):
        old, *new = lines[number].split(b" ", 2)[:2]
        if new == [sha.encode("ascii")]:
            after = lines[number + 1 :]
            if after:
                after[0] = b" ".join((old, *after[0].split(b" ", 2)[1:]))
            return b"".join((*lines[:number], *after))
    return None


def newest(log: bytes) -> bytes | None:
    """Return the sha of the newest entry; None where the last line is none."""
    found = re.fullmatch(rb"[0-9a-f]+ ([0-9a-f]+) .*", log.removesuffix(b"\n").rpartition(b"\n")[2])
    return found[1] if found else None


def drop(call: Call, sha: str) -> None:
    """Take the entry out of the list, or stop; one that is gone already is fine.

    git takes out by place only (`stash@{2}`), which another process may have changed since it was looked up: so this
    goes by the files, under the lock that every git takes before it changes the ref or its log.
    """
    log = os.path.join(call.common_dir, "logs", REF)
    until = time.monotonic() + min(_LONGEST_S, call.left())
    while True:
        try:
            left = _left(log, sha)
            if left is None:
                return
            if left:
                _write(call, log, sha)
                return
            # The last one goes with the ref, wherever that is stored, unless another has come meanwhile.
            if call.attempt(*PATIENTLY, "update-ref", "-d", REF, sha, kind="write").exit_code == 0:
                return
        except FileExistsError:
            pass
        except FileNotFoundError:
            _drop_by_place(call, sha)
            return
        except OSError as error:
            raise call.refuse("other", ("stash", "drop"), f"the log of {REF}: {error.strerror}") from None
        if time.monotonic() >= until:
            raise call.refuse("locked", ("stash", "drop"), f"another git holds {REF}, or has left its lock behind")
        time.sleep(_WAIT_S)


def _left(log: str, sha: str) -> bytes | None:
    with open(log, "rb") as file:
        return without(file.read(), sha)


def _write(call: Call, log: str, sha: str) -> None:
    """Put the log without the entry in place, and the ref to its newest one, as `git reflog delete` does."""
    ref = os.path.join(call.common_dir, REF)
    locks = (f"{ref}.lock", f"{log}.lock")
    mode = os.stat(log).st_mode & 0o777
    held: list[str] = []
    try:
        for lock in locks:
            os.close(os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode))
            held.append(lock)
        left = _left(log, sha)  # again: nobody changes it now
        if left:
            top = newest(left)
            if top is None:
                raise OSError(errno.EILSEQ, "it is damaged")
            for lock, content in zip(locks, (top + b"\n", left), strict=True):
                with open(lock, "wb") as file:
                    file.write(content)
            for lock, path in ((locks[1], log), (locks[0], ref)):
                os.replace(lock, path)
                held.remove(lock)  # from now on a lock of this name is another's
        elif left is not None:
            raise FileExistsError  # it has become the last one
    finally:
        for lock in held:
            with suppress(FileNotFoundError):
                os.unlink(lock)


def _drop_by_place(call: Call, sha: str) -> None:
    """Where refs are not stored in files, by the place that git gives it now."""
    listed = entries(call)
    if sha in listed:
        call.change("reflog", "delete", "--rewrite", "--updateref", f"{REF}@{{{listed.index(sha)}}}")
