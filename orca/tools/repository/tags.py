"""Tags: making and listing them. None is ever moved."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from orca.redaction import Redacted
from orca.tools.repository.calls import Located, Stop, tagged
from orca.tools.repository.commits import checked_message, resolve

_FORMAT: Final = "--format=%(refname)%00%(objecttype)%00%(objectname)%00%(*objectname)%00%(contents:subject)%00"


@dataclass(frozen=True, slots=True, repr=False)
class Tag(Redacted):
    """A tag and the sha of what it names; `message` is the first line of an annotated one's, else None."""

    name: str
    sha: str
    message: str | None = None


class TagOperations(Located):
    """Making and reading tags."""

    @tagged
    def tag(self, name: str, message: str | None = None, rev: str = "HEAD", *, timeout: float | None = None) -> Tag:
        """Return the tag that was made at `rev`: an annotated one if there is a `message`, else a lightweight one.

        An annotated tag is signed where the user's configuration says so. `push(tags=[name])` publishes it. `timeout`
        is seconds, default the tool's.

        Fails with `CommandFailed`: `ref-conflict` (there is such a tag already, which stays as it is; or `a/b` beside
        `a`), `bad-ref-name`, `unknown-ref`, `bad-argument` (an empty message), `identity-missing`, `signing-failed`,
        `locked`, `timeout`, and what `status` fails with.

        >>> from orca import git
        >>> git().tag("v1", "The first").unwrap().message
        'The first'
        """
        call = self._call(timeout)
        args = ("tag", call.checked_branch(name, "tag", name))
        text = None if message is None else checked_message(call, message, *args)
        sha = resolve(call, rev)
        ref = f"refs/tags/{name}"
        if call.run("show-ref", "--verify", "--quiet", ref, ok=(0, 1)).exit_code == 0:
            raise call.refuse("ref-conflict", args, f"there is a tag {name!r} already")
        if text is None:
            call.change("update-ref", "--no-deref", ref, sha, "0" * len(sha))
            return Tag(name, sha)
        made = ("tag", "--annotate", "--cleanup=whitespace", "-F", "-", "--", name, sha)
        ended = call.attempt("-c", "i18n.commitEncoding=UTF-8", *made, kind="write", input=text)
        if ended.cause != "exit" or ended.exit_code != 0:
            raise Stop(
                call.failed(
                    ended,
                    cause="ref-conflict" if b"already exists" in ended.stderr else None,  # somebody was quicker
                    effect="none" if ended.cause == "exit" else None,
                )
            )
        return Tag(name, sha, _subject(text))

    @tagged
    def tags(self, *, timeout: float | None = None) -> tuple[Tag, ...]:
        """Return all tags, by name.

        Fails as `status` does.

        >>> from orca import git
        >>> _ = git().tag("v1")
        >>> [tag.name for tag in git().tags().unwrap()]
        ['v1']
        """
        return parse_tags(self._call(timeout).run("for-each-ref", "--sort=refname", _FORMAT, "refs/tags/").stdout)


def parse_tags(output: bytes) -> tuple[Tag, ...]:
    """Return what `for-each-ref refs/tags` printed with NUL-ended fields, a line break after each record."""
    fields = output.split(b"\0")[:-1]
    return tuple(
        Tag(
            name=os.fsdecode(name.removeprefix(b"\n").removeprefix(b"refs/tags/")),
            sha=(peeled or sha).decode("ascii"),
            message=subject.decode("utf-8", "replace") if kind == b"tag" else None,
        )
        for name, kind, sha, peeled, subject in zip(*[iter(fields)] * 5, strict=True)
    )


def _subject(text: bytes) -> str:
    """The first paragraph as one line, as git shows it."""
    paragraph = text.decode("utf-8", "replace").strip().split("\n\n")[0]
    return " ".join(line.strip() for line in paragraph.split("\n"))
