"""Reading what is tracked: the names of the files, and their contents at some commit."""

from __future__ import annotations

from orca.process import StrPath
from orca.tools.repository import names
from orca.tools.repository.calls import Located, Stop, tagged
from orca.tools.repository.commits import resolve
from orca.tools.repository.staging import parse_paths


class ReadingOperations(Located):
    """Reading files as git holds them."""

    @tagged
    def show(self, rev: str, path: StrPath, *, timeout: float | None = None) -> bytes:
        """Return the content of a file at a revision, byte for byte as git holds it (no filter, no conversion).

        A link is what it points to. The whole content is held in memory.

        Fails with `CommandFailed`: `unknown-path` (nothing, a directory or a submodule is there), `unknown-ref`,
        `bad-ref-name`, `refused` (a path outside), and what `status` fails with.

        >>> from orca import git
        >>> git().show("HEAD", "a.txt").unwrap()
        b'a\\n'
        """
        call = self._call(timeout)
        commit = resolve(call, rev)
        try:
            name = names.relative(path, call.top_or_git_dir)
        except names.Refused as refused:
            raise call.refuse("refused", ("show",), str(refused)) from None
        ended = call.run("cat-file", "blob", f"{commit}:{name}", ok=(0, 128))
        if ended.exit_code != 0:
            there = call.run("ls-tree", "-z", "--full-tree", commit, "--", f":(top,literal){name}").stdout
            is_missing = bool(name) and there.split(b" ")[1:2] == [
                b"blob"
            ]  # a file, of which git cannot read the content
            raise Stop(call.failed(ended, cause=None if is_missing else "unknown-path", effect="none", paths=(name,)))
        return ended.stdout

    @tagged
    def files(self, rev: str | None = None, *, timeout: float | None = None) -> tuple[str, ...]:
        """Return the paths of all tracked files, submodules among them: those of the index, or of a revision.

        They are in git's order, relative to the top. Paths that are not UTF-8 keep their bytes (`surrogateescape`).

        Fails with `CommandFailed`: `unknown-ref`, `bad-ref-name`, and what `status` fails with.

        >>> from orca import git
        >>> git().files().unwrap() == git().files("HEAD").unwrap()
        True
        """
        call = self._call(timeout)
        if rev is None:
            return parse_paths(call.run("ls-files", "-z", "--cached", "--deduplicate", "--", ":(top)").stdout)
        return parse_paths(call.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", resolve(call, rev)).stdout)
