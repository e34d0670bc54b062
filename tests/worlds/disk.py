"""A small file system of its own, for tests of a full disk."""

import contextlib
import errno
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Disk:
    """A tmpfs mounted at `path`."""

    path: Path

    def fill(self) -> None:
        """Uses up what is left, to the last byte."""
        with (self.path / ".filler").open("ab", buffering=0) as filler:
            for size in (1 << 16, 1):
                try:
                    while True:
                        filler.write(b"\0" * size)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def free(self) -> None:
        """Gives back what `fill` took."""
        (self.path / ".filler").unlink()


@contextlib.contextmanager
def mounted(path: Path, size: int) -> Iterator[Disk | str]:
    """A disk of `size` bytes mounted at `path`, which is made; or the reason why it cannot be mounted here."""
    path.mkdir()
    if os.getuid() != 0:
        yield "only root may mount a tmpfs"
        return
    options = ["-t", "tmpfs", "-o", f"size={size}", "tmpfs"]
    done = subprocess.run(["mount", *options, path], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        yield f"no tmpfs can be mounted: {done.stderr.strip()}"
        return
    try:
        yield Disk(path)
    finally:
        if subprocess.run(["umount", path], capture_output=True, check=False).returncode != 0:
            subprocess.run(["umount", "--lazy", path], check=True)  # something still has it open
