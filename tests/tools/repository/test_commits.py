"""`commit`, `log` and the revisions: what goes in comes out, and what stands in the way has a cause."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from outcomes import changed, failed, message, nothing, state
from worlds.repository import commit, git, hook, sha, write

from orca.results import or_raise
from orca.tools import FileChange, GitTool

SCISSORS = "# ------------------------ >8 ------------------------"


@pytest.fixture
def changing(repo: Path) -> Path:
    """The repository with one change staged, of `a.txt`."""
    write(repo / "a.txt", "a\nb\n")
    git(repo, "add", "a.txt")
    return repo


def test_commit_returns_what_it_made(changing: Path) -> None:
    write(changing / "binary", b"\0\1")
    write(changing / "new", "one\ntwo\n")
    git(changing, "add", ".")
    made = or_raise(GitTool(changing).commit("subject\n\nbody"))
    assert (made.sha, made.branch, made.subject) == (sha(changing), "main", "subject")
    assert made.sha.startswith(made.short)
    assert (made.insertions, made.deletions) == (3, 0)
    assert made.files == (
        FileChange("a.txt", None, "modified", 1, 0, binary=False),
        FileChange("binary", None, "added", None, None, binary=True),
        FileChange("new", None, "added", 2, 0, binary=False),
    )


def test_commit_takes_only_what_is_staged(changing: Path) -> None:
    write(changing / "a.txt", "changed after staging\n")
    write(changing / "untracked", "new\n")
    made = or_raise(GitTool(changing).commit("x"))
    assert git(changing, "show", "HEAD:a.txt") == b"a\nb\n"
    assert changed(changing) == {b"a.txt"} == {os.fsencode(file.path) for file in made.files}


def test_the_first_commit_of_a_branch(repo: Path, hostile_display: Mapping[str, str]) -> None:
    git(repo, "switch", "--quiet", "--orphan", "fresh")
    write(repo / "new", "new\n")
    made = or_raise(GitTool(repo).commit("first", add=["new"]))
    assert (made.branch, [file.kind for file in made.files]) == ("fresh", ["added"])
    assert git(repo, "rev-list", "--parents", "HEAD").decode().split() == [made.sha]


def test_a_commit_on_a_detached_head_is_on_no_branch(changing: Path) -> None:
    git(changing, "switch", "--quiet", "--detach")
    made = or_raise(GitTool(changing).commit("x"))
    assert (made.branch, made.sha) == (None, sha(changing))
    assert sha(changing, "main") == sha(changing, "HEAD~1")


def test_a_merge_is_committed_and_shown_against_its_first_parent(
    repo: Path, hostile_display: Mapping[str, str]
) -> None:
    git(repo, "switch", "--quiet", "--create", "other")
    commit(repo, "theirs.txt")
    git(repo, "switch", "--quiet", "main")
    commit(repo, "ours.txt")
    git(repo, "merge", "--no-commit", "--no-ff", "other")
    made = or_raise(GitTool(repo).commit("merged"))
    assert [(file.path, file.kind, file.insertions) for file in made.files] == [("theirs.txt", "added", 1)]
    assert len(git(repo, "rev-list", "--parents", "-1", "HEAD").split()) == 3


def test_add_all_takes_new_files_too_and_add_tracked_does_not(repo: Path) -> None:
    commit(repo, "deleted")
    (repo / "deleted").unlink()
    write(repo / "a.txt", "changed\n")
    write(repo / "folder/new", "new\n")
    tool = GitTool(repo / "folder")
    or_raise(tool.commit("x", add="tracked"))
    assert changed(repo) == {b"a.txt", b"deleted"}
    write(repo / "a.txt", "changed again\n")
    write(repo / "deleted", "again\n")
    or_raise(tool.commit("x", add="all"))
    assert changed(repo) == {b"a.txt", b"deleted", b"folder/new"}


def test_add_of_some_paths_commits_them_with_what_was_staged_before(changing: Path) -> None:
    write(changing / "new", "new\n")
    write(changing / "other", "new\n")
    or_raise(GitTool(changing).commit("x", add=["new"]))
    assert changed(changing) == {b"a.txt", b"new"}


# The message


@pytest.mark.parametrize(
    "text",
    [
        "#123 is fixed",
        "subject\n\n# a heading\n#not a comment",
        "-m",
        "--amend",
        "-F/etc/passwd",
        f"subject\n\n{SCISSORS}\nbelow the line",
        "fixup! seed",
        "käse ☃ \U0001f600",
        "f is the comment character of somebody",
        "subject\n\nSigned-off-by: A <a@example.invalid>",
        "tab\tand \x01 control",
        "x" * 300_000,
        "line\n" * 20_000,
    ],
    ids=range(13),
)
def test_a_message_is_kept_as_it_is(text: str, changing: Path, hostile_display: Mapping[str, str]) -> None:
    made = or_raise(GitTool(changing).commit(text))
    assert message(changing).decode().rstrip("\n") == text.rstrip("\n")
    assert or_raise(GitTool(changing).log(1))[0].sha == made.sha


def test_a_message_whose_lines_begin_with_everything_that_could_be_a_comment(changing: Path) -> None:
    git(changing, "config", "core.commentChar", "auto")
    text = "".join(f"{character} line\n" for character in "#;@!$%^&|:")
    or_raise(GitTool(changing).commit(text))
    assert message(changing).decode() == text


def test_a_message_is_rid_of_stray_white_space_only(changing: Path) -> None:
    or_raise(GitTool(changing).commit("\n\n  subject  \n\n\n\nbody \n\n"))
    assert message(changing) == b"  subject\n\nbody\n"


def test_a_message_is_utf_8_whatever_the_user_writes_in(changing: Path) -> None:
    git(changing, "config", "i18n.commitEncoding", "ISO-8859-1")
    assert or_raise(GitTool(changing).commit("käse €")).subject == "käse €"
    assert message(changing).decode() == "käse €\n"
    assert b"encoding" not in git(changing, "cat-file", "commit", "HEAD")


def test_bytes_of_a_message_that_are_not_utf_8_are_read_as_latin_1(changing: Path) -> None:
    assert or_raise(GitTool(changing).commit("caf\udce9")).subject == "café"


def test_a_message_equal_to_the_template_is_a_message(changing: Path) -> None:
    git(changing, "config", "commit.template", str(write(changing.parent / "template", "hello\n")))
    assert or_raise(GitTool(changing).commit("hello")).subject == "hello"


@pytest.mark.parametrize(
    "text", ["", "  \n\t\n", "nul\0", "\ud800", "Signed-off-by: A <a@example.invalid>\n\nSigned-off-by: B <b@x>\n"]
)
def test_an_empty_message_is_a_bad_argument_before_anything_is_staged(text: str, changing: Path) -> None:
    write(changing / "new", "new\n")
    before = state(changing)
    hook(changing, "pre-commit", "exit 1")
    error = failed(GitTool(changing).commit(text, add="all"))
    assert (error.cause, error.effect) == ("bad-argument", "none")
    assert state(changing) == before


def test_author_and_trailers(changing: Path) -> None:
    trailers = ("Co-authored-by: B <b@example.invalid>", "Fixes: #12", "Fixes: #13")
    or_raise(GitTool(changing).commit("subject\n\nbody", author="Ä <a@example.invalid>", trailers=trailers))
    assert message(changing) == b"subject\n\nbody\n\n" + "\n".join(trailers).encode() + b"\n"
    entry = or_raise(GitTool(changing).log())[0]
    assert (entry.author, entry.author_email) == ("Ä", "a@example.invalid")
    assert (entry.committer, entry.committer_email) == ("T", "t@example.invalid")


@pytest.mark.parametrize("author", ["nobody", "T", "", "A <a", "A <a>\nx", "A\0 <a>", "--all", "\ud800 <a>"])
def test_an_author_in_another_form_is_a_bad_argument_and_not_searched_for(author: str, changing: Path) -> None:
    before = state(changing)
    assert failed(GitTool(changing).commit("x", author=author)).cause == "bad-argument"
    assert state(changing) == before


@pytest.mark.parametrize("trailer", ["", "no colon", "A: b\nC: d", "A: \0", "--help", ": x"])
def test_a_trailer_in_another_form_is_a_bad_argument_and_not_completed(trailer: str, changing: Path) -> None:
    before = state(changing)
    assert failed(GitTool(changing).commit("x", trailers=[trailer])).cause == "bad-argument"
    assert state(changing) == before


# Amending, and empty commits


def test_amend_replaces_the_last_commit(changing: Path) -> None:
    tool = GitTool(changing)
    commit(changing, "b.txt")
    made = or_raise(tool.commit("again", amend=True))
    assert changed(changing) == {b"a.txt", b"b.txt"} == {os.fsencode(file.path) for file in made.files}
    assert [entry.subject for entry in or_raise(tool.log())] == ["again", "seed"]
    write(changing / "b.txt", "by repo\n")
    git(changing, "rm", "--quiet", "--cached", "b.txt")
    git(changing, "reset", "--quiet", "HEAD~1", "--", "a.txt")
    assert or_raise(tool.commit("nothing is left of it", amend=True)).files == ()


def test_amend_with_only_keeps_the_rest_of_the_commit_and_of_the_index(changing: Path) -> None:
    commit(changing, "b.txt")
    write(changing / "new", "new\n")
    write(changing / "staged", "new\n")
    git(changing, "add", "staged")
    or_raise(GitTool(changing).commit("again", amend=True, only=["new"]))
    assert changed(changing) == {b"a.txt", b"b.txt", b"new"}
    assert git(changing, "diff", "--cached", "--name-only") == b"staged\n"


def test_amend_before_the_first_commit_is_unborn(repo: Path) -> None:
    git(repo, "switch", "--quiet", "--orphan", "fresh")
    write(repo / "new", "new\n")
    before = state(repo)
    error = failed(GitTool(repo).commit("x", add="all", amend=True))
    assert (error.cause, error.effect) == ("unborn", "none")
    assert state(repo) == before


def test_an_empty_commit_is_made_only_when_it_is_allowed(repo: Path) -> None:
    assert nothing(GitTool(repo).commit("x")) == (0, 0)
    assert or_raise(GitTool(repo).commit("x", allow_empty=True)).files == ()
    assert or_raise(GitTool(repo).commit("y", allow_empty=True, only=["a.txt"])).sha == sha(repo)
    assert sha(repo, "HEAD~2^{tree}") == sha(repo, "HEAD^{tree}")


def test_add_together_with_only_and_empty_lists_are_misuse(repo: Path) -> None:
    tool = GitTool(repo)
    with pytest.raises(ValueError, match="not both"):
        tool.commit("x", add=["a"], only=["b"])
    with pytest.raises(ValueError, match="empty"):
        tool.commit("x", add=[])
    with pytest.raises(ValueError, match="empty"):
        tool.commit("x", only=())


def test_a_branch_or_a_tag_that_is_called_head_confuses_nothing(changing: Path) -> None:
    git(changing, "update-ref", "refs/heads/HEAD", "HEAD")
    git(changing, "update-ref", "refs/tags/HEAD", "HEAD")
    tool = GitTool(changing)
    made = or_raise(tool.commit("x"))
    assert (made.branch, made.sha) == ("main", sha(changing, "refs/heads/main"))
    assert or_raise(tool.head()) == made.sha
    assert or_raise(tool.current_branch()) == "main"
