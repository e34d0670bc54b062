"""What reading and writing a file below a root costs."""

import os
from collections.abc import Callable
from pathlib import Path

from bench_pairs import ratio

from orca.tools import FsTool

TIMES = 30


def rows(top: Path) -> list[tuple[str, float, float]]:
    """1 kB, four levels deep, against the plain calls; a write against a temporary file, fsync and rename by hand."""
    folder = top / "files" / "one" / "two" / "three" / "four"
    folder.mkdir(parents=True)
    path, name = folder / "file.txt", "one/two/three/four/file.txt"
    text = "x" * 1000
    path.write_text(text)
    tool = FsTool(top / "files")

    def many(call: Callable[[], object]) -> Callable[[], object]:
        return lambda: [call() for _ in range(TIMES)]

    def read() -> str:
        with open(path, encoding="utf-8") as file:
            return file.read()

    def write() -> None:
        temporary = f"{path}.tmp"
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, path)

    return [
        (
            "`read_text` of 1 kB, four levels deep / `open().read()`",
            3.0,
            ratio(many(lambda: tool.read_text(name)), many(read)),
        ),
        (
            "`write_text` / temporary file, fsync, rename",
            1.5,
            ratio(many(lambda: tool.write_text(name, text)), many(write)),
        ),
    ]
