"""What git tracks: names, contents and tags."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds.repository import commit, git, sha, write

from orca.errors import CommandFailed
from orca.results import Failure, or_raise
from orca.tools import GitTool, Tag
from orca.tools.repository.tags import parse_tags


def failed(result: object) -> CommandFailed:
    assert isinstance(result, Failure)
    error = result.failure()
    assert isinstance(error, CommandFailed)
    return error


def test_contents_come_byte_for_byte(repo: Path) -> None:
    git(repo, "config", "core.autocrlf", "true")
    content = bytes(range(256)) * 10
    (repo / "folder").mkdir()
    (repo / "folder" / "b [x]*").write_bytes(content)
    os.symlink("../a.txt", repo / "folder" / "link")
    git(repo, "add", "-A")
    git(repo, "commit", "--quiet", "-m", "more")
    write(repo / "folder" / "b [x]*", "edited\n")
    tool = GitTool(repo)
    assert or_raise(tool.show("HEAD", "folder/b [x]*")) == content
    assert or_raise(tool.show("main", repo / "folder" / "b [x]*")) == content
    assert or_raise(tool.show("HEAD", "folder/link")) == b"../a.txt"
    assert or_raise(GitTool(repo / "folder").show("HEAD", "a.txt")) == b"a\n"


def test_what_is_no_file_is_an_unknown_path(repo: Path) -> None:
    commit(repo, "folder/b.txt")
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{sha(repo)},module")
    git(repo, "commit", "--quiet", "-m", "a submodule")
    tool = GitTool(repo)
    for path in ("nothing", "folder", "module", ".", "folder/b.txt/x"):
        error = failed(tool.show("HEAD", path))
        assert (error.cause, error.effect) == ("unknown-path", "none"), path
    assert failed(tool.show("HEAD", "../a.txt")).cause == "refused"
    assert failed(tool.show("HEAD", ".git/config")).cause == "refused"
    assert failed(tool.show("nowhere", "a.txt")).cause == "unknown-ref"


def test_a_content_that_is_lost_is_no_unknown_path(repo: Path) -> None:
    blob = git(repo, "rev-parse", "HEAD:a.txt").decode().strip()
    (repo / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    assert failed(GitTool(repo).show("HEAD", "a.txt")).cause != "unknown-path"


def test_the_files_of_the_index_and_of_a_commit(repo: Path) -> None:
    names = ["a b", "ö", "-dash", "new\nline", os.fsdecode(b"\xff")]
    for name in names:
        write(repo / "folder" / name, "x\n")
    git(repo, "add", "-A")
    tool = GitTool(repo / "folder")
    assert set(or_raise(tool.files())) == {"a.txt", *(f"folder/{name}" for name in names)}
    assert or_raise(tool.files("HEAD")) == ("a.txt",)
    assert failed(tool.files("nowhere")).cause == "unknown-ref"


def test_an_unmerged_file_is_named_once(repo: Path) -> None:
    blob = git(repo, "rev-parse", "HEAD:a.txt").decode().strip()
    stages = "".join(f"100644 {blob} {stage}\ta.txt\n" for stage in (1, 2, 3))
    git(repo, "rm", "--cached", "--quiet", "a.txt")
    subprocess.run(["git", "update-index", "--index-info"], cwd=repo, input=stages, text=True, check=True)
    assert or_raise(GitTool(repo).files()) == ("a.txt",)


def test_tags_light_and_annotated(repo: Path) -> None:
    tool = GitTool(repo)
    first = sha(repo)
    assert or_raise(tool.tag("light")) == Tag("light", first, None)
    commit(repo, "b.txt")
    made = or_raise(tool.tag("v1/a", "The first\nline\n\nand more\n", "HEAD~1"))
    assert made == Tag("v1/a", first, "The first line")
    assert or_raise(tool.tags()) == (Tag("light", first, None), made)
    assert git(repo, "cat-file", "-t", "v1/a").strip() == b"tag"


@pytest.mark.parametrize("message", [None, "again"])
def test_a_tag_is_never_moved(repo: Path, message: str | None) -> None:
    tool = GitTool(repo)
    or_raise(tool.tag("v1"))
    first = sha(repo, "v1")
    commit(repo, "b.txt")
    error = failed(tool.tag("v1", message))
    assert (error.cause, error.effect) == ("ref-conflict", "none")
    assert failed(tool.tag("v1/a", message)).cause == "ref-conflict"
    assert sha(repo, "v1") == first


@pytest.mark.parametrize("name", ["-d", "--delete", "a..b", "a b", "", "a\nb", "x.lock"])
def test_what_is_no_name_for_a_tag_is_refused(repo: Path, name: str) -> None:
    assert failed(GitTool(repo).tag(name, "text")).cause == "bad-ref-name"


def test_signing_and_identity_are_the_users(repo: Path) -> None:
    tool = GitTool(repo)
    git(repo, "config", "tag.gpgSign", "true")
    git(repo, "config", "gpg.program", "/nonexistent")
    assert or_raise(tool.tag("light")).name == "light"
    assert failed(tool.tag("signed", "text")).cause == "signing-failed"
    git(repo, "config", "tag.gpgSign", "false")
    git(repo, "config", "user.useConfigOnly", "true")
    git(repo, "config", "user.email", "")
    git(repo, "config", "user.name", "")
    assert failed(tool.tag("nobody", "text")).cause == "identity-missing"
    assert failed(tool.tag("empty", " \n")).cause == "bad-argument"
    assert [tag.name for tag in or_raise(tool.tags())] == ["light"]


TEXTS = st.text(st.characters(exclude_characters="\0\n", exclude_categories=["Cs"]), min_size=1)


@settings(derandomize=True)
@given(st.lists(st.tuples(TEXTS, st.booleans(), TEXTS), max_size=5))
def test_the_list_of_tags_is_read_as_git_prints_it(rows: list[tuple[str, bool, str]]) -> None:
    out = b""
    for name, annotated, subject in rows:
        fields = [
            "refs/tags/" + name,
            "tag" if annotated else "commit",
            "1" * 40,
            "2" * 40 if annotated else "",
            subject,
        ]
        out += b"".join(field.encode() + b"\0" for field in fields) + b"\n"
    wanted = [Tag(name, ("2" if ann else "1") * 40, subject if ann else None) for name, ann, subject in rows]
    assert parse_tags(out) == tuple(wanted)
