"""Files below one directory, read and changed so that nothing leads outside and nothing is half done."""

from __future__ import annotations

from orca.tools.files.entries import FileInfo, MovedFile, RemovedFile, WrittenFile
from orca.tools.files.tool import FsTool

__all__ = ["FileInfo", "FsTool", "MovedFile", "RemovedFile", "WrittenFile"]
