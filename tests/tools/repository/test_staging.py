"""`add` and `unstage`: all that was given or nothing, and nothing that was not given."""

import os
import socket
from collections.abc import Mapping
from pathlib import Path

import pytest
from outcomes import failed, staged, state
from worlds.repository import commit, git, seed, sha, write

from orca.results import or_raise
from orca.tools import GitTool, Pathspec


def names(repo: Path) -> set[str]:
    """The paths whose index differs from HEAD."""
    return set(git(repo, "diff", "--cached", "--name-only", "--no-renames", "-z").decode().split("\0")) - {""}


def test_add_returns_what_is_staged_of_what_was_asked_for(repo: Path) -> None:
    write(repo / "before", "staged before\n")
    git(repo, "add", "before")
    for name in ("one", "folder/two", "folder/three", "four"):
        write(repo / name, "new\n")
    write(repo / "a.txt", "changed\n")
    assert or_raise(GitTool(repo).add("one", "folder", "a.txt")) == ("a.txt", "folder/three", "folder/two", "one")
    assert names(repo) == {"a.txt", "before", "folder/three", "folder/two", "one"}


def test_add_returns_what_an_earlier_call_staged_and_not_what_has_no_change(repo: Path) -> None:
    write(repo / "new", "new\n")
    tool = GitTool(repo)
    assert or_raise(tool.add("new")) == or_raise(tool.add("new")) == ("new",)
    assert or_raise(tool.add("a.txt")) == ()


def test_add_of_all_stages_changes_deletions_and_new_files(repo: Path) -> None:
    commit(repo, "deleted")
    (repo / "deleted").unlink()
    write(repo / "a.txt", "changed\n")
    write(repo / "new", "new\n")
    write(repo / "folder/new", "new\n")
    assert or_raise(GitTool(repo / "folder").add(all=True)) == ("a.txt", "deleted", "folder/new", "new")
    assert git(repo, "status", "--porcelain").count(b"\n") == 4


def test_a_deleted_file_and_a_deleted_folder_are_staged_by_name(repo: Path) -> None:
    commit(repo, "folder/one")
    commit(repo, "folder/two")
    for path in ("a.txt", "folder/one", "folder/two"):
        (repo / path).unlink()
    assert or_raise(GitTool(repo).add("a.txt", "folder")) == ("a.txt", "folder/one", "folder/two")


def test_a_file_that_became_a_folder_and_back(repo: Path) -> None:
    tool = GitTool(repo)
    (repo / "a.txt").unlink()
    write(repo / "a.txt/inside", "new\n")
    assert or_raise(tool.add("a.txt")) == ("a.txt", "a.txt/inside")
    git(repo, "commit", "--quiet", "-m", "folder")
    (repo / "a.txt/inside").unlink()
    (repo / "a.txt").rmdir()
    write(repo / "a.txt", "file\n")
    assert or_raise(tool.add("a.txt")) == ("a.txt", "a.txt/inside")
    assert or_raise(tool.status()).unstaged == or_raise(tool.status()).untracked == ()


def test_a_link_is_staged_as_a_link_wherever_it_leads(repo: Path) -> None:
    (repo / "outside").symlink_to("/etc")
    (repo / "dangling").symlink_to("nowhere")
    assert or_raise(GitTool(repo).add("outside", "dangling")) == ("dangling", "outside")
    assert git(repo, "cat-file", "blob", ":outside") == b"/etc"
    assert git(repo, "ls-files", "--stage", "outside")[:6] == b"120000"


def test_only_a_pathspec_is_a_pattern(repo: Path) -> None:
    for name in ("one.txt", "two.txt", "folder/three.txt", "*.txt"):
        write(repo / name, "new\n")
    tool = GitTool(repo)
    assert or_raise(tool.add("*.txt")) == ("*.txt",)
    assert or_raise(tool.add(Pathspec(":(glob)*.txt"))) == ("*.txt", "one.txt", "two.txt")
    assert or_raise(tool.add(Pathspec("*.txt"), Pathspec(":!folder"))) == ("*.txt", "one.txt", "two.txt")
    assert or_raise(tool.add(Pathspec("*.txt"))) == ("*.txt", "folder/three.txt", "one.txt", "two.txt")


def test_a_pattern_that_matches_nothing_is_an_unknown_path(repo: Path) -> None:
    write(repo / "new", "new\n")
    before = state(repo)
    error = failed(GitTool(repo).add("new", Pathspec("*.rs")))
    assert (error.cause, error.effect) == ("unknown-path", "none")
    assert state(repo) == before


def test_one_ignored_path_among_others_stages_nothing(repo: Path) -> None:
    write(repo / ".git/info/exclude", "*.log\nbuild/\n")
    for name in ("a.log", "build/b", "new"):
        write(repo / name, "new\n")
    before = state(repo)
    for given, ignored in (
        (("new", "a.log"), ("a.log",)),
        (("new", "build"), ("build",)),
        (("build/b",), ("build/b",)),
    ):
        error = failed(GitTool(repo).add(*given))
        assert (error.cause, error.effect, error.paths) == ("ignored-path", "none", ignored)
    assert failed(GitTool(repo).add("a.log", all=True)).cause == "ignored-path"
    assert failed(GitTool(repo).commit("x", add=["new", "a.log"])).cause == "ignored-path"
    assert failed(GitTool(repo).commit("x", only=["new", "a.log"])).cause == "ignored-path"
    assert state(repo) == before


def test_a_pattern_that_names_an_ignored_file_stages_nothing_of_the_others(repo: Path) -> None:
    write(repo / ".git/info/exclude", "*.log\n")
    write(repo / "a.log", "new\n")
    write(repo / "new", "new\n")
    before = state(repo)
    for paths in (("new", Pathspec("a.log")), (Pathspec("n*"), Pathspec(":/a.log"))):
        error = failed(GitTool(repo).add(*paths))
        assert (error.cause, error.effect) == ("ignored-path", "none")
    assert state(repo) == before
    assert or_raise(GitTool(repo).add(Pathspec("n*"), Pathspec("a.log"), force=True)) == ("a.log", "new")


def test_force_stages_what_is_ignored(repo: Path) -> None:
    write(repo / ".git/info/exclude", "*.log\n")
    write(repo / "a.log", "new\n")
    write(repo / "b.log", "new\n")
    assert or_raise(GitTool(repo).add("a.log", force=True)) == ("a.log",)
    assert names(repo) == {"a.log"}


def test_what_is_ignored_but_tracked_and_what_a_folder_holds_ignored_is_not_refused(repo: Path) -> None:
    write(repo / ".git/info/exclude", "*.log\n")
    write(repo / "tracked.log", "new\n")
    git(repo, "add", "--force", "tracked.log")
    git(repo, "commit", "--quiet", "-m", "tracked")
    write(repo / "tracked.log", "changed\n")
    write(repo / "folder/new", "new\n")
    write(repo / "folder/new.log", "new\n")
    assert or_raise(GitTool(repo).add("tracked.log", "folder")) == ("folder/new", "tracked.log")


def test_one_unknown_path_among_others_stages_nothing_and_is_named(repo: Path) -> None:
    commit(repo, "deleted")
    commit(repo, "gone/file")
    (repo / "deleted").unlink()
    (repo / "gone/file").unlink()
    write(repo / "new", "new\n")
    before = state(repo)
    error = failed(GitTool(repo).add("new", "deleted", "gone", "unknown", "folder/unknown"))
    assert (error.cause, error.effect, error.paths) == ("unknown-path", "none", ("unknown", "folder/unknown"))
    assert state(repo) == before


def test_a_path_outside_the_worktree_is_refused(repo: Path) -> None:
    outside = write(repo.parent / "outside", "secret\n")
    before = state(repo)
    for path in (outside, "../outside", "folder/../../outside", "/", "..", str(repo.parent)):
        for result in (GitTool(repo).add(path), GitTool(repo).unstage(path), GitTool(repo).commit("x", only=[path])):
            assert (failed(result).cause, failed(result).effect) == ("refused", "none")
    assert state(repo) == before


def test_a_path_that_cannot_be_one_is_refused(repo: Path) -> None:
    for path in ("", "nul\0", "\ud800", Pathspec(""), Pathspec("a.txt\0b"), Pathspec("\ud800")):
        assert failed(GitTool(repo).add(path)).cause == "refused"


def test_a_path_inside_a_git_folder_is_refused_and_not_skipped_in_silence(repo: Path) -> None:
    for path in (".git", ".git/config", ".GIT/config", "folder/.git/x", repo / ".git/config"):
        assert failed(GitTool(repo).add(path)).cause == "refused"


def test_a_path_beyond_a_link_is_unknown_even_when_the_link_stays_inside(repo: Path) -> None:
    write(repo / "folder/file", "new\n")
    (repo / "link").symlink_to("folder")
    (repo / "out").symlink_to(repo.parent)
    write(repo.parent / "outside", "secret\n")
    before = state(repo)
    for path in ("link/file", "out/outside"):
        error = failed(GitTool(repo).add("a.txt", path))
        assert (error.cause, error.effect) == ("unknown-path", "none")
    assert state(repo) == before


def test_a_file_of_a_repository_inside_is_unknown_and_not_skipped_in_silence(repo: Path) -> None:
    (repo / "folder").mkdir()
    inner = seed(repo / "folder/inner")
    write(repo / "new", "new\n")
    before = state(repo)
    for path in ("folder/inner/a.txt", "folder/inner/deeper/x"):
        error = failed(GitTool(repo).add("new", path))
        assert (error.cause, error.effect, error.paths) == ("unknown-path", "none", (path,))
    assert state(repo) == before
    assert or_raise(GitTool(repo).add("folder/inner")) == ("folder/inner",)
    assert git(repo, "ls-files", "--stage", "folder/inner").split()[:2] == [b"160000", sha(inner).encode()]


@pytest.mark.parametrize("setting", ["add.ignoreErrors", "add.ignore-errors"])
def test_what_git_cannot_stage_stages_nothing_even_where_the_configuration_says_go_on(setting: str, repo: Path) -> None:
    git(repo, "init", "--quiet", "inner")  # without a commit there is nothing to stage of it
    write(repo / "new", "new\n")
    before = state(repo)
    git(repo, "config", setting, "true")
    for result in (GitTool(repo).add("new", "inner"), GitTool(repo).add(all=True)):
        assert failed(result).effect == "none"
    assert state(repo) == before


@pytest.mark.parametrize("kind", ["fifo", "socket"])
def test_what_is_neither_file_nor_link_stages_nothing_and_does_not_block(kind: str, repo: Path) -> None:
    write(repo / "new", "new\n")
    if kind == "fifo":
        os.mkfifo(repo / "odd")
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(repo / "odd"))
    before = state(repo)
    error = failed(GitTool(repo).add("new", "odd"))
    assert (error.cause, error.effect, error.paths) == ("unknown-path", "none", ("odd",))
    assert state(repo) == before


def test_add_of_all_passes_over_what_is_neither_file_nor_link(repo: Path) -> None:
    os.mkfifo(repo / "fifo")
    write(repo / "new", "new\n")
    assert or_raise(GitTool(repo).add(all=True)) == ("new",)


def test_an_intended_file_is_staged_with_its_content(repo: Path) -> None:
    write(repo / "new", "new\n")
    git(repo, "add", "--intent-to-add", "new")
    assert or_raise(GitTool(repo).add("new")) == ("new",)
    assert git(repo, "cat-file", "blob", ":new") == b"new\n"


def test_absolute_paths_and_paths_with_detours(repo: Path) -> None:
    write(repo / "folder/new", "new\n")
    for path in (repo / "folder/new", "./folder/new", "folder//new", "folder/../folder/new", repo / "folder/"):
        assert or_raise(GitTool(repo).add(path)) == ("folder/new",)
        git(repo, "reset", "--quiet")


def test_the_top_itself_is_a_path(repo: Path) -> None:
    write(repo / "new", "new\n")
    for path in (".", repo, "folder/.."):
        assert or_raise(GitTool(repo).add(path)) == ("new",)
        git(repo, "reset", "--quiet")


def test_a_path_that_differs_in_case_is_another_path(repo: Path) -> None:
    write(repo / "A.TXT", "upper\n")
    write(repo / "a.txt", "lower\n")
    assert or_raise(GitTool(repo).add("A.TXT")) == ("A.TXT",)


def test_a_path_of_many_folders_is_a_path(repo: Path) -> None:
    deep = "/".join(["d"] * 1500)
    assert failed(GitTool(repo).add(deep)).cause == "unknown-path"


def test_an_empty_folder_has_nothing_to_stage(repo: Path) -> None:
    (repo / "empty").mkdir()
    assert or_raise(GitTool(repo).add("empty")) == ()


def test_a_path_outside_the_sparse_checkout_is_staged_when_it_is_named(repo: Path) -> None:
    commit(repo, "inside/x")
    commit(repo, "outside/y")
    git(repo, "sparse-checkout", "set", "--cone", "--sparse-index", "inside")
    write(repo / "inside/new", "new\n")
    write(repo / "outside/new", "new\n")
    tool = GitTool(repo)
    assert or_raise(tool.add("inside/new", "outside/new")) == ("inside/new", "outside/new")
    or_raise(tool.commit("x"))
    assert or_raise(tool.add(all=True)) == ()
    assert sha(repo, "HEAD:outside/y") == sha(repo, "HEAD~1:outside/y")


def test_many_paths_are_staged_as_few_are(repo: Path) -> None:
    """Beyond some hundreds of paths git is fed in another way; what comes of it must be the same."""
    write(repo / ".git/info/exclude", "*.log\n")
    wanted = [f"folder {number % 7}/file {number}" for number in range(600)]
    for name in wanted:
        write(repo / name, f"{name}\n")
    git(repo, "commit", "--quiet", "--allow-empty", "-m", "x")
    (repo / "a.txt").unlink()
    write(repo / "folder 0/link target", "not asked for\n")
    (repo / "link").symlink_to("folder 0")
    (repo / wanted[0]).chmod(0o755)
    before = state(repo)
    tool = GitTool(repo)
    assert failed(tool.add(*wanted, "unknown")).cause == "unknown-path"
    write(repo / "x.log", "ignored\n")
    assert failed(tool.add(*wanted, "x.log")).paths == ("x.log",)
    (repo / "x.log").unlink()
    assert state(repo) == before
    assert or_raise(tool.add(*wanted, "a.txt", "link")) == tuple(sorted([*wanted, "a.txt", "link"]))
    many = staged(repo)
    git(repo, "reset", "--quiet")
    git(repo, "add", "-A", "--", *wanted, "a.txt", "link")
    assert staged(repo) == many


def test_many_paths_do_not_undo_what_another_git_staged_meanwhile(repo: Path) -> None:
    wanted = [f"file {number}" for number in range(600)]
    for name in (*wanted, "theirs"):
        write(repo / name, f"{name}\n")
    # git runs a filter while it stages: the moment at which somebody else stages, too.
    meanwhile = "test -e ../once || { touch ../once; unset GIT_INDEX_FILE; git add theirs; }; cat"
    git(repo, "config", "filter.meanwhile.clean", meanwhile)
    write(repo / ".git/info/attributes", f'"{wanted[0]}" filter=meanwhile\n')
    tool = GitTool(repo)
    error = failed(tool.add(*wanted))
    assert (error.cause, error.effect) == ("locked", "none")
    assert names(repo) == {"theirs"}
    assert or_raise(tool.add(*wanted)) == tuple(sorted(wanted))
    assert names(repo) == {"theirs", *wanted}


def test_add_before_the_first_commit(repo: Path) -> None:
    git(repo, "switch", "--quiet", "--orphan", "fresh")
    write(repo / "new", "new\n")
    tool = GitTool(repo)
    assert or_raise(tool.add("new")) == ("new",)
    assert or_raise(tool.unstage("new")) is None
    assert staged(repo) == b""
    assert or_raise(tool.add(all=True)) == ("new",)
    or_raise(tool.unstage())
    assert (staged(repo), (repo / "new").read_text()) == (b"", "new\n")


def test_nothing_given_to_add_is_misuse(repo: Path) -> None:
    with pytest.raises(ValueError, match="paths"):
        GitTool(repo).add()


@pytest.mark.parametrize("setting", ["diff.ignoreSubmodules", "submodule.sub.ignore"])
def test_a_staged_submodule_counts_whatever_the_configuration_ignores(setting: str, repo: Path) -> None:
    seed(repo.parent / "sub")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../sub", "sub")
    git(repo, "commit", "--quiet", "-m", "submodule")
    commit(repo / "sub")
    git(repo, "config", setting, "all")
    tool = GitTool(repo)
    assert or_raise(tool.add("sub")) == ("sub",)
    assert [change.path for change in or_raise(tool.commit("x", only=["sub"])).files] == ["sub"]
    assert git(repo, "ls-files", "--stage", "sub").split()[1].decode() == sha(repo / "sub")


def test_staging_is_the_same_on_a_hostile_display(repo: Path, hostile_display: Mapping[str, str]) -> None:
    write(repo / "*.txt", "new\n")
    write(repo / "folder/new", "new\n")
    tool = GitTool(repo)
    assert or_raise(tool.add("*.txt")) == ("*.txt",)
    assert or_raise(tool.add(all=True)) == ("*.txt", "folder/new")
    or_raise(tool.unstage("folder"))
    assert names(repo) == {"*.txt"}
