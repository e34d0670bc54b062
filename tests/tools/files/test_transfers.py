"""Copies, moves and removals: exactly what was named, over nothing else, whole or not at all."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import worlds.disk
from canaries import World, contents, failed, guarded, unchanged
from pytest_mock import MockerFixture
from worlds.disk import Disk

from orca.tools import MovedFile, RemovedFile, WrittenFile

world = pytest.fixture(guarded)


@pytest.fixture
def tree(world: World) -> World:
    root = world.root
    for name, mode in (("file", 0o640), ("other", 0o600), ("tree/program", 0o755), ("tree/deep/file", 0o444)):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
        (root / name).chmod(mode)
    (root / "tree" / "empty").mkdir(mode=0o750)
    (root / "tree" / "closed").mkdir()
    (root / "tree" / "closed" / "file").write_text("closed")
    (root / "tree" / "closed").chmod(0o555)
    (root / "tree" / "inside").symlink_to("deep/file")
    (root / "tree" / "out").symlink_to("../../outside/secret")
    (root / "tree" / "nowhere").symlink_to("/nothing")
    (root / "tree" / "deep" / "up").symlink_to("..")
    (root / "to-file").symlink_to("file")
    (root / "to-tree").symlink_to("tree")
    (root / "empty").mkdir()
    return world


# ------------------------------------------------------------------ copy


def test_a_file_is_copied_with_its_permissions(tree: World) -> None:
    before = contents(tree.root)
    assert tree.tool.copy("file", "copy").unwrap() == WrittenFile("copy", size=4, created=True)
    assert tree.tool.copy("to-file", "tree/copy").unwrap() == WrittenFile("tree/copy", size=4, created=True)
    after = contents(tree.root)
    assert after.pop("copy") == after.pop("tree/copy") == before["file"]
    assert after == before


def test_a_tree_is_copied_with_permissions_and_links(tree: World) -> None:
    before = contents(tree.root)
    size = sum((tree.root / name).stat().st_size for name in ("tree/program", "tree/deep/file", "tree/closed/file"))
    assert tree.tool.copy("tree", "copy").unwrap() == WrittenFile("copy", size=size, created=True)
    assert contents(tree.root / "copy") == contents(tree.root / "tree")
    assert stat.S_IMODE((tree.root / "copy" / "closed").stat().st_mode) == 0o555
    tree.tool.copy("to-tree/deep", "empty/deep").unwrap()
    assert contents(tree.root / "empty" / "deep") == contents(tree.root / "tree" / "deep")
    tree.tool.copy("tree/deep/up/closed", "tree/empty", overwrite=True).unwrap()
    assert contents(tree.root / "tree" / "empty") == contents(tree.root / "tree" / "closed")
    for name in ("copy", "empty/deep", "tree/empty"):
        tree.tool.remove(name, recursive=True).unwrap()
    del before["tree/empty"]
    assert contents(tree.root) == before


def test_a_large_file_is_copied_whole(world: World) -> None:
    content = os.urandom(3 << 20) + b"end"
    (world.root / "file").write_bytes(content)
    assert world.tool.copy("file", "copy").unwrap().size == len(content)
    assert (world.root / "copy").read_bytes() == content


# ------------------------------------------------------------------ move


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("name", ["file", "tree", "to-file", "to-tree", "tree/out", "tree/nowhere", "pipe"])
def test_what_is_moved_is_the_same_at_its_new_place(name: str, overwrite: bool, tree: World) -> None:
    os.mkfifo(tree.root / "pipe")
    before = contents(tree.root)
    inode = (tree.root / name).lstat().st_ino
    moved = tree.tool.move(name, "empty/moved", overwrite=overwrite).unwrap()
    assert moved == MovedFile("empty/moved", old_path=name, created=True)
    assert (tree.root / "empty" / "moved").lstat().st_ino == inode
    wanted = {
        (f"empty/moved{path[len(name) :]}" if path == name or path.startswith(f"{name}/") else path): held
        for path, held in before.items()
    }
    assert contents(tree.root) == wanted


# ------------------------------------------------------------------ over what is there

OVER: dict[tuple[str, str], str] = {
    ("file", "other"): "overwrites",
    ("file", "to-file"): "same",  # a copy follows the link, a move does not
    ("file", "file"): "already-exists",
    ("file", "empty"): "is-a-directory",
    ("file", "tree"): "is-a-directory",
    ("file", "."): "is-a-directory",
    ("file", "empty/"): "is-a-directory",
    ("file", "other/"): "not-a-directory",
    ("file", "new/"): "not-a-directory",
    ("tree", "empty"): "overwrites",
    ("tree", "empty/"): "overwrites",
    ("tree", "file"): "not-a-directory",
    ("tree", "tree"): "already-exists",
    ("empty", "tree"): "already-exists",
    ("empty", "."): "already-exists",
}


@pytest.mark.parametrize("method", ["copy", "move"])
@pytest.mark.parametrize(("src", "dst"), OVER)
def test_what_is_there_is_overwritten_only_where_it_was_asked_for_and_possible(
    src: str, dst: str, method: str, tree: World
) -> None:
    act: Callable[..., Any] = getattr(tree.tool, method)
    before = contents(tree.root)
    with unchanged(tree.root):
        error = failed(act(src, dst))
        assert error.effect == "none"
        assert error.cause == ("not-a-directory" if dst.endswith("r/") or dst == "new/" else "already-exists")
    wanted = OVER[src, dst]
    if wanted == "same":
        wanted = "already-exists" if method == "copy" else "overwrites"
    if wanted != "overwrites":
        with unchanged(tree.root):
            error = failed(act(src, dst, overwrite=True))
        assert (error.cause, error.effect) == (wanted, "none")
        return
    assert not act(src, dst, overwrite=True).unwrap().created
    after = contents(tree.root)
    place = dst.rstrip("/")
    assert after[place] == before[src]
    assert (src in after) == (method == "copy")
    for path in before:
        if path.startswith(f"{src}/"):
            assert after[place + path[len(src) :]] == before[path]
    assert not [path for path in after if path.endswith(".tmp")]


def test_a_copy_over_a_link_goes_where_it_leads_and_the_link_stays(tree: World) -> None:
    assert not tree.tool.copy("other", "to-file", overwrite=True).unwrap().created
    assert os.readlink(tree.root / "to-file") == "file"
    assert (tree.root / "file").read_text() == "other"
    (tree.root / "dangling").symlink_to("empty/new")
    assert failed(tree.tool.copy("other", "dangling")).cause == "already-exists"
    assert tree.tool.copy("other", "dangling", overwrite=True).unwrap().created
    assert (tree.root / "empty" / "new").read_text() == "other"
    with unchanged(tree.root / "tree"):
        assert failed(tree.tool.copy("other", "tree/out", overwrite=True)).cause == "symlink"


def test_two_names_of_one_file_are_not_moved_onto_each_other(tree: World) -> None:
    """The system would say that it did, and do nothing."""
    (tree.root / "name").hardlink_to(tree.root / "file")
    for method in (tree.tool.copy, tree.tool.move):
        with unchanged(tree.root):
            assert failed(method("file", "name", overwrite=True)).cause == "already-exists"


@pytest.mark.parametrize("method", ["copy", "move"])
def test_a_directory_is_not_put_into_itself(method: str, tree: World) -> None:
    act: Callable[..., Any] = getattr(tree.tool, method)
    for src, dst in (("tree", "tree/new"), ("tree", "tree/deep/new"), ("tree", "to-tree/new"), ("tree", "tree/empty")):
        with unchanged(tree.root):
            error = failed(act(src, dst, overwrite=True))
        assert (error.cause, error.errno, error.effect) == ("other", errno.EINVAL, "none")
    with unchanged(tree.root):
        error = failed(act(".", "tree/new"))
        assert error.cause == ("other" if method == "copy" else "outside-root")


@pytest.mark.parametrize("method", ["copy", "move"])
def test_no_directory_is_made_on_the_way(method: str, tree: World) -> None:
    with unchanged(tree.root):
        error = failed(getattr(tree.tool, method)("file", "new/file"))
    assert (error.cause, error.path, error.effect) == ("not-found", "new/file", "none")
    with unchanged(tree.root):
        error = failed(getattr(tree.tool, method)("nothing", "new/file"))
    assert (error.cause, error.path, error.effect) == ("not-found", "nothing", "none")


@contextmanager
def just_before(name: str, path: str, act: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Something happens right before such a call to the system that makes this path."""
    real, left = getattr(os, name), [act]

    def call(*args: Any, **kwargs: Any) -> Any:
        if left and path in args:
            left.pop()()
        return real(*args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(os, name, call)
        yield
    assert not left


RACES = [("copy", "file", "link"), ("move", "file", "link"), ("copy", "tree", "mkdir"), ("move", "tree", "mkdir")]


@pytest.mark.parametrize(("method", "src", "call"), RACES)
def test_what_somebody_else_puts_there_at_the_last_moment_is_not_overwritten(
    method: str, src: str, call: str, tree: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def arrive() -> None:
        (tree.root / "new").write_text("theirs")

    before = contents(tree.root)
    with just_before(call, "new", arrive, monkeypatch):
        error = failed(getattr(tree.tool, method)(src, "new"))
    assert (error.cause, error.effect) == ("already-exists", "none")
    after = contents(tree.root)
    assert (tree.root / "new").read_text() == "theirs"
    del after["new"]
    assert after == before


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK])
def test_where_a_file_can_have_no_second_name_nothing_is_overwritten_either(
    number: int, tree: World, mocker: MockerFixture
) -> None:
    before = contents(tree.root)
    mocker.patch.object(os, "link", side_effect=OSError(number, "no"))
    for method in (tree.tool.copy, tree.tool.move):
        assert failed(method("file", "other")).cause == "already-exists"
    tree.tool.copy("file", "copy").unwrap()
    tree.tool.move("file", "moved").unwrap()
    tree.tool.move("to-file", "moved-link").unwrap()
    after = contents(tree.root)
    assert after.pop("copy") == after.pop("moved") == before.pop("file")
    assert after.pop("moved-link") == before.pop("to-file")
    assert after == before
    mocker.patch.object(os, "rename", side_effect=OSError(errno.EIO, "broken"))
    for method in (tree.tool.copy, tree.tool.move):
        error = failed(method("copy", "new"))
        assert (error.errno, error.effect) == (errno.EIO, "none")
    assert not os.path.lexists(tree.root / "new")


def test_a_move_whose_old_name_cannot_go_has_not_happened(tree: World, mocker: MockerFixture) -> None:
    real = os.unlink

    def unlink(name: str, **kwargs: Any) -> None:
        if name == "file":
            raise PermissionError(errno.EPERM, "the directory is sticky")
        real(name, **kwargs)

    mocker.patch.object(os, "unlink", unlink)
    before = contents(tree.root)
    error = failed(tree.tool.move("file", "moved"))
    assert (error.cause, error.effect) == ("permission", "none")
    assert contents(tree.root) == before


# ------------------------------------------------------------------ whole or not at all


def test_a_copy_that_fails_half_way_leaves_nothing(tree: World) -> None:
    os.mkfifo(tree.root / "tree" / "z-pipe")
    for dst, overwrite in (("copy", False), ("empty", True)):
        with unchanged(tree.root / "tree"), unchanged(tree.root / "empty"):
            error = failed(tree.tool.copy("tree", dst, overwrite=overwrite))
        assert (error.cause, error.path, error.effect) == ("not-a-file", "tree/z-pipe", "none")
        assert not [name for name in os.listdir(tree.root) if name.endswith(".tmp") or name == "copy"]


def test_failures_to_write_name_the_copy_and_failures_to_read_the_original(tree: World, mocker: MockerFixture) -> None:
    real = os.read
    mocker.patch.object(os, "read", side_effect=OSError(errno.EIO, "broken"))
    assert failed(tree.tool.copy("tree", "copy")).path.startswith("tree/")
    mocker.patch.object(os, "read", real)
    mocker.patch.object(os, "write", side_effect=OSError(errno.ENOSPC, "full"))
    assert failed(tree.tool.copy("tree", "copy")).path.startswith("copy/")


def test_what_could_not_be_cleaned_up_is_not_called_nothing(tree: World, mocker: MockerFixture) -> None:
    mocker.patch.object(os, "fsync", side_effect=OSError(errno.EIO, "broken"))
    mocker.patch.object(os, "rmdir", side_effect=OSError(errno.EIO, "broken"))
    assert failed(tree.tool.copy("tree", "copy")).effect == "unknown"


# ------------------------------------------------------------------ between file systems


@pytest.fixture
def disk(tree: World) -> Iterator[Disk]:
    """Another file system inside the root."""
    with worlds.disk.mounted(tree.root / "disk", 1 << 20) as disk:
        if isinstance(disk, str):
            pytest.skip(disk)
        yield disk


@pytest.mark.parametrize("name", ["file", "tree", "to-file", "tree/out"])
def test_a_move_to_another_file_system_is_a_copy_and_a_removal(name: str, disk: Disk, tree: World) -> None:
    before = contents(tree.root / name) if name == "tree" else {}
    own = (tree.root / name).lstat().st_mode
    assert tree.tool.move(name, "disk/moved").unwrap() == MovedFile("disk/moved", old_path=name, created=True)
    assert not os.path.lexists(tree.root / name)
    assert (disk.path / "moved").lstat().st_mode == own
    if name == "tree":
        assert contents(disk.path / "moved") == before
    assert os.listdir(disk.path) == ["moved"]
    tree.tool.move("disk/moved", name).unwrap()
    assert os.listdir(disk.path) == []
    (disk.path / "there").write_text("there")
    with unchanged(disk.path):
        assert failed(tree.tool.move(name, "disk/there")).cause == "already-exists"


def test_a_move_to_a_full_file_system_leaves_all_as_it_was(disk: Disk, tree: World) -> None:
    disk.fill()
    before = contents(tree.root)
    for name in ("file", "tree"):
        error = failed(tree.tool.move(name, "disk/moved"))
        assert (error.cause, error.effect) == ("no-space", "none")
        assert contents(tree.root) == before


def test_a_move_whose_original_cannot_go_says_that_the_copy_landed(
    disk: Disk, tree: World, mocker: MockerFixture
) -> None:
    mocker.patch.object(os, "unlink", side_effect=OSError(errno.EIO, "broken"))
    error = failed(tree.tool.move("tree", "disk/moved"))
    assert (error.effect, error.path.split("/")[0]) == ("landed", "tree")
    assert (disk.path / "moved" / "deep" / "file").read_text() == "tree/deep/file"


def test_what_is_no_file_does_not_move_to_another_file_system(disk: Disk, tree: World) -> None:
    os.mkfifo(tree.root / "pipe")
    with unchanged(tree.root):
        error = failed(tree.tool.move("pipe", "disk/pipe"))
    assert (error.cause, error.path, error.effect) == ("not-a-file", "pipe", "none")
    assert not [name for name in os.listdir(disk.path) if name != ".filler"]


# ------------------------------------------------------------------ remove


def test_what_is_removed_is_gone_and_nothing_else(tree: World) -> None:
    before = contents(tree.root)
    for name in ("file", "to-tree", "tree/out", "tree/nowhere", "tree/deep/up", "empty"):
        assert tree.tool.remove(name).unwrap() == RemovedFile(name, entries=1)
        del before[name]
        assert contents(tree.root) == before


def test_a_directory_that_is_not_empty_needs_to_be_asked_for(tree: World) -> None:
    with unchanged(tree.root):
        error = failed(tree.tool.remove("tree"))
    assert (error.cause, error.effect) == ("is-a-directory", "none")
    entries = len(contents(tree.root / "tree")) + 1
    before = {name: held for name, held in contents(tree.root).items() if name.split("/")[0] != "tree"}
    assert tree.tool.remove("tree", recursive=True).unwrap() == RemovedFile("tree", entries=entries)
    assert contents(tree.root) == before
    assert tree.tool.remove("empty", recursive=True).unwrap().entries == 1
    assert tree.tool.remove("file", recursive=True).unwrap().entries == 1


def test_a_removal_that_stops_half_way_says_that_a_part_is_gone(tree: World, mocker: MockerFixture) -> None:
    real, left = os.unlink, [None, None]

    def unlink(*args: Any, **kwargs: Any) -> None:
        if not left:
            raise OSError(errno.EIO, "broken")
        left.pop()
        real(*args, **kwargs)

    mocker.patch.object(os, "unlink", unlink)
    error = failed(tree.tool.remove("tree", recursive=True))
    assert (error.cause, error.errno, error.effect) == ("other", errno.EIO, "unknown")
    assert error.path.startswith("tree/")
    with unchanged(tree.root):
        assert failed(tree.tool.remove("tree", recursive=True)).effect == "none"


def test_a_link_in_place_of_a_directory_is_removed_and_not_what_it_leads_to(tree: World) -> None:
    with unchanged(tree.root / "tree"):
        assert tree.tool.remove("to-tree", recursive=True).unwrap().entries == 1
        (tree.root / "to-tree").symlink_to("tree")
        assert failed(tree.tool.remove("to-tree/", recursive=True)).cause == "not-a-directory"


def test_a_directory_is_made_once(tree: World) -> None:
    made = tree.tool.make_dir("new/deep").unwrap()
    assert (made.path, made.kind) == ("new/deep", "directory")
    assert (tree.root / "new" / "deep").is_dir()
    for name in ("new/deep", "new/deep/", "file", "to-file", "to-tree", ".", "new/..", str(tree.root)):
        with unchanged(tree.root):
            error = failed(tree.tool.make_dir(name))
        assert (error.cause, error.effect) == ("already-exists", "none"), name
    with unchanged(tree.root):
        assert failed(tree.tool.make_dir("file/new")).cause == "not-a-directory"
