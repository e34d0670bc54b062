"""The README's fenced blocks, with the lines that they stand on."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


@dataclass(frozen=True)
class Block:
    """One fenced block: the words after its fence, the line on which its text begins, and the text."""

    info: str
    line: int
    text: str

    def at_its_line(self) -> str:
        """The text with empty lines before it, so that what is said of it names the line of the README."""
        return "\n" * (self.line - 1) + self.text


def blocks(markdown: str) -> Iterator[Block]:
    """Every block between two fences of three backticks."""
    lines = markdown.splitlines(keepends=True)
    opened: int | None = None
    for number, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if opened is None:
            opened = number
        else:
            yield Block(lines[opened].removeprefix("```").strip(), opened + 2, "".join(lines[opened + 1 : number]))
            opened = None
    if opened is not None:
        raise ValueError(f"the fence in line {opened + 1} is not closed")


def commands(block: Block) -> Iterator[str]:
    """The commands of a shell block, without comments; in one called `console` what stands after `$ `."""
    for line in block.text.splitlines():
        if block.info != "console" or line.startswith("$ "):
            yield line.removeprefix("$ ").partition(" #")[0].rstrip()
