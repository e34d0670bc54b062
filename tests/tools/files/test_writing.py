"""What is written is there whole or not at all, with the permissions it had, and what failed leaves no trace."""

import errno
import fcntl
import os
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from canaries import World, contents, failed, guarded
from error_strategies import property_test
from hypothesis import given
from hypothesis import strategies as st
from pytest_mock import MockerFixture
from worlds.disk import Disk

from orca import FsTool
from orca.tools import WrittenFile

world = pytest.fixture(guarded)

LONGEST = "n" * 255
NOT_UTF_8 = os.fsdecode(b"caf\xe9\xff")


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_was_written_is_returned(world: World) -> None:
    assert world.tool.write_text("new", "grüße\n").unwrap() == WrittenFile("new", size=8, created=True)
    assert world.tool.write_bytes("new", b"\xff\0").unwrap() == WrittenFile("new", size=2, created=False)
    assert (world.root / "new").read_bytes() == b"\xff\0"
    assert failed(world.tool.write_text("./new//", "x")).cause == "not-a-directory"
    assert world.tool.write_text(f"{world.root}/./new", "").unwrap() == WrittenFile("new", size=0, created=False)
    assert (world.root / "new").read_bytes() == b""


def test_line_ends_and_order_marks_are_written_as_they_are(world: World) -> None:
    for text in ("a\r\nb\nc\rd", "\ufeffa", "\0\x1b", "\u2028"):
        world.tool.write_text("file", text).unwrap()
        assert (world.root / "file").read_bytes() == text.encode()


@pytest.mark.parametrize("data", [b"abc", bytearray(b"abc"), memoryview(b"abc"), memoryview(b"aXbXcX")[::2].tobytes()])
def test_bytes_come_in_many_types(data: bytes, world: World) -> None:
    assert world.tool.write_bytes("file", data).unwrap().size == 3
    assert (world.root / "file").read_bytes() == b"abc"


def test_what_is_no_text_or_no_bytes_is_misuse(world: World) -> None:
    tool: Any = world.tool
    misuses: list[Callable[[], Any]] = [
        lambda: tool.write_text("file", b"bytes"),
        lambda: tool.write_text("file", None),
        lambda: tool.write_bytes("file", "text"),
        lambda: tool.write_bytes("file", None),
        lambda: tool.write_text(b"file", "text"),
        lambda: tool.write_text(None, "text"),
        lambda: tool.write_text("file", "text", mode="0644"),
    ]
    for misuse in misuses:
        with pytest.raises(TypeError):
            misuse()
    for mode in (-1, 0o10000):
        with pytest.raises(ValueError, match="mode"):
            tool.write_text("file", "text", mode=mode)
    assert os.listdir(world.root) == []


def test_directories_on_the_way_are_made(world: World) -> None:
    with umask(0o027):
        world.tool.write_text("a/b/./c/file", "x").unwrap()
    assert (world.root / "a/b/c/file").read_text() == "x"
    assert [mode_of(world.root / path) for path in ("a", "a/b", "a/b/c")] == [0o750] * 3
    world.tool.write_text("a/b/d/file", "y").unwrap()
    assert world.tool.write_text(f"{world.root}/a/e/{LONGEST}", "z").unwrap().path == f"a/e/{LONGEST}"


def test_no_directory_is_made_for_a_path_that_goes_up_again(world: World) -> None:
    for path in ("new/../file", "new/deep/../../file"):
        error = failed(world.tool.write_text(path, "x"))
        assert (error.cause, error.effect) == ("not-found", "none")
    assert os.listdir(world.root) == []


def test_permissions_of_a_new_file_are_what_the_umask_leaves_or_what_was_asked_for(world: World) -> None:
    for mask in (0o022, 0o077, 0o000):
        with umask(mask):
            world.tool.write_text(f"{mask}", "x").unwrap()
            world.tool.write_text(f"{mask}-asked", "x", mode=0o751).unwrap()
        assert mode_of(world.root / f"{mask}") == 0o666 & ~mask
        assert mode_of(world.root / f"{mask}-asked") == 0o751


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755, 0o777])
def test_permissions_of_what_is_replaced_are_kept_unless_others_are_asked_for(mode: int, world: World) -> None:
    path = world.root / "file"
    path.write_text("old")
    path.chmod(mode)
    writes: list[Callable[[], Any]] = [
        lambda: world.tool.write_text("file", "new"),
        lambda: world.tool.edit_text("file", "new", "newer"),
    ]
    for write in writes:
        with umask(0o077):
            write().unwrap()
        assert mode_of(path) == mode
    world.tool.write_bytes("file", b"new", mode=0o604).unwrap()
    assert mode_of(path) == 0o604


def test_a_set_id_bit_was_for_the_old_content(world: World) -> None:
    path = world.root / "program"
    path.write_text("old")
    path.chmod(0o6755)
    world.tool.write_text("program", "new").unwrap()
    assert mode_of(path) == 0o755


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give files away")
def test_the_owner_of_what_is_replaced_is_kept(world: World) -> None:
    path = world.root / "file"
    path.write_text("old")
    os.chown(path, 12345, 23456)
    writes: list[Callable[[], Any]] = [
        lambda: world.tool.write_text("file", "new"),
        lambda: world.tool.edit_text("file", "new", "newer"),
        lambda: world.tool.write_text("source", "x").bind(lambda _: world.tool.copy("source", "file", overwrite=True)),
    ]
    for write in writes:
        write().unwrap()
        assert (path.stat().st_uid, path.stat().st_gid) == (12345, 23456)


def test_other_names_of_a_file_keep_the_old_content(world: World) -> None:
    (world.root / "file").write_text("old")
    (world.root / "name").hardlink_to(world.root / "file")
    world.tool.write_text("file", "new").unwrap()
    assert (world.root / "name").read_text() == "old"


def test_a_link_that_stays_inside_is_written_through_and_stays(world: World) -> None:
    root = world.root
    (root / "a").mkdir()
    (root / "a" / "file").write_text("old")
    (root / "a" / "file").chmod(0o640)
    links = {"link": "a/file", "chain": "link", "a/up": "../link", "absolute": f"{root}/a/file", "folder": "a"}
    for name, target in links.items():
        (root / name).symlink_to(target)
    for number, path in enumerate(("link", "chain", "a/up", "absolute", "folder/file", "folder/up")):
        assert world.tool.write_text(path, str(number)).unwrap() == WrittenFile(path, size=1, created=False)
        assert (root / "a" / "file").read_text() == str(number)
        world.tool.edit_text(path, str(number), f"{number} edited").unwrap()
        assert (root / "a" / "file").read_text() == f"{number} edited"
    assert {name: os.readlink(root / name) for name in links} == links
    assert mode_of(root / "a" / "file") == 0o640
    assert sorted(os.listdir(root / "a")) == ["file", "up"]


def test_a_link_to_nothing_inside_is_where_the_new_file_goes(world: World) -> None:
    links = {"link": "a/new", "deep": "b/c/new", "chain": "link2", "link2": "d"}
    for name, target in links.items():
        (world.root / name).symlink_to(target)
    for path, target in (("link", "a/new"), ("deep", "b/c/new"), ("chain", "d")):
        assert world.tool.write_text(path, "x").unwrap().created
        assert (world.root / target).read_text() == "x"
    assert {name: os.readlink(world.root / name) for name in links} == links
    (world.root / "slash").symlink_to("e/")
    assert failed(world.tool.write_text("slash", "x")).cause == "is-a-directory"
    assert not (world.root / "e").exists()


@pytest.mark.parametrize("name", [LONGEST, NOT_UTF_8, "-rf", "a\nb", " ", "...", "*?[", "é" * 127, ".git-", "\\"])
def test_names_may_be_anything_that_a_name_can_be(name: str, world: World) -> None:
    tool = world.tool
    for path in (name, f"{name[:100]}-folder/{name}"):
        assert tool.write_text(path, "old").unwrap().path == path
        tool.edit_text(path, "old", "new").unwrap()
        assert tool.read_text(path).unwrap() == "new"
        assert tool.stat(path).unwrap().path == path
        tool.copy(path, "copy").unwrap()
        tool.move("copy", path, overwrite=True).unwrap()
        assert [info.path for info in tool.list(os.path.dirname(path) or ".").unwrap() if info.kind == "file"] == [path]
        tool.remove(path).unwrap()


def test_names_that_differ_in_case_only_are_different_names(world: World) -> None:
    for name in ("name", "Name", "NAME", "é", "e\u0301"):
        world.tool.write_text(name, name).unwrap()
    if len(os.listdir(world.root)) != 5:
        pytest.skip("this file system does not tell them apart")
    for name in ("name", "Name", "NAME", "é", "e\u0301"):
        assert world.tool.read_text(name).unwrap() == name
    world.tool.move("name", "NAME", overwrite=True).unwrap()
    assert contents(world.root).keys() == {"Name", "NAME", "é", "e\u0301"}


# ------------------------------------------------------------------ whole or absent


def test_who_reads_meanwhile_sees_the_old_or_the_new_and_nothing_between(world: World) -> None:
    versions = [letter * (1 << 20) for letter in "ab"]
    world.tool.write_text("file", versions[0]).unwrap()
    done = threading.Event()

    def look() -> set[str]:
        seen = set()
        while not done.is_set():
            seen.add((world.root / "file").read_text())
        return seen

    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(look)
        for number in range(20):
            world.tool.write_text("file", versions[number % 2]).unwrap()
        done.set()
        assert looking.result() <= set(versions)


def test_of_many_writers_one_wins_with_all_that_it_wrote(world: World) -> None:
    versions = [str(number) * 100_000 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for result in pool.map(lambda text: world.tool.write_text("new/deep/file", text), versions):
            result.unwrap()
    assert (world.root / "new/deep/file").read_text() in versions
    assert os.listdir(world.root / "new/deep") == ["file"]


@pytest.mark.parametrize("tmpfs", [64 << 10], indirect=True)
def test_a_full_disk_leaves_the_old_content_and_nothing_else(tmpfs: Disk) -> None:
    path = tmpfs.path / "file"
    path.write_text('{"important":1}')
    path.chmod(0o640)
    before = contents(tmpfs.path)
    tool = FsTool(tmpfs.path)
    error = failed(tool.write_bytes("file", b"x" * 200_000))
    assert (error.cause, error.errno, error.effect) == ("no-space", errno.ENOSPC, "none")
    assert contents(tmpfs.path) == before
    methods: list[Callable[[], Any]] = [
        lambda: tool.write_bytes("new/deep/file", b"x" * 200_000),
        lambda: tool.edit_text("file", "1", "1" * 200_000),
    ]
    for method in methods:
        error = failed(method())
        assert (error.cause, error.effect) == ("no-space", "none")
        assert contents(tmpfs.path) == before


def test_a_disk_that_is_full_to_the_last_byte(tmpfs: Disk) -> None:
    (tmpfs.path / "file").write_text("old")
    (tmpfs.path / "tree").mkdir()
    (tmpfs.path / "tree" / "file").write_text("old")
    tmpfs.fill()
    before = contents(tmpfs.path)
    tool = FsTool(tmpfs.path)
    methods: list[Callable[[], Any]] = [
        lambda: tool.write_text("file", "new"),
        lambda: tool.write_text("new/file", "new"),
        lambda: tool.edit_text("file", "old", "new"),
        lambda: tool.copy("file", "copy"),
        lambda: tool.copy("tree", "copy"),
        lambda: tool.copy("tree/file", "file", overwrite=True),
    ]
    for method in methods:
        error = failed(method())
        assert (error.cause, error.effect) == ("no-space", "none")
        assert contents(tmpfs.path) == before
    assert tool.read_text("file").unwrap() == "old"
    assert len(tool.list(recursive=True).unwrap()) == 4
    tool.move("file", "moved").unwrap()
    tool.remove("tree", recursive=True).unwrap()
    tmpfs.free()
    tool.write_text("moved", "new").unwrap()


METHODS: dict[str, Callable[[FsTool], Any]] = {
    "write_text": lambda tool: tool.write_text("file", "new"),
    "write_text of a new file": lambda tool: tool.write_text("new/deep/file", "new"),
    "edit_text": lambda tool: tool.edit_text("file", "old", "new"),
    "copy": lambda tool: tool.copy("file", "copy"),
    "copy over": lambda tool: tool.copy("other", "file", overwrite=True),
    "copy of a tree": lambda tool: tool.copy("tree", "copy"),
}


@pytest.fixture
def tree(world: World) -> World:
    for name in ("file", "other", "tree/file", "tree/deep/file"):
        (world.root / name).parent.mkdir(parents=True, exist_ok=True)
        (world.root / name).write_text("new" if name == "other" else "old")
    return world


def is_written_to(fd: int) -> bool:
    return fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY


def fails(name: str, error: OSError | KeyboardInterrupt, mocker: MockerFixture, *, when: Callable[..., bool]) -> None:
    """The next such call to the system fails; a close has closed all the same."""
    real = getattr(os, name)
    left = [error]

    def call(*args: Any, **kwargs: Any) -> Any:
        if not left or not when(*args):
            return real(*args, **kwargs)
        if name == "close":
            real(*args)
        raise left.pop()

    mocker.patch.object(os, name, call)


def steps() -> Iterator[tuple[str, str]]:
    """Each method with each step that it takes."""
    for method in METHODS:
        yield from ((method, call) for call in ("write", "fsync", "close"))
        yield method, "link" if method == "copy" else "rename"
        if "new file" not in method:  # one has its permissions from the start
            yield method, "fchmod"


@pytest.mark.parametrize(("method", "call"), list(steps()))
def test_a_failure_at_any_step_leaves_what_was_there(
    method: str, call: str, tree: World, mocker: MockerFixture
) -> None:
    before = contents(tree.root)
    on_files = call in {"write", "fsync", "close", "fchmod"}
    fails(call, OSError(errno.ENOSPC, "full"), mocker, when=lambda fd, *_: not on_files or is_written_to(fd))
    error = failed(METHODS[method](tree.tool))
    assert (error.cause, error.errno, error.effect) == ("no-space", errno.ENOSPC, "none")
    mocker.stopall()
    assert contents(tree.root) == before
    METHODS[method](tree.tool).unwrap()


@pytest.mark.parametrize("method", METHODS)
def test_a_ctrl_c_passes_through_and_leaves_what_was_there(method: str, tree: World, mocker: MockerFixture) -> None:
    before = contents(tree.root)
    fails("fsync", KeyboardInterrupt(), mocker, when=is_written_to)
    with pytest.raises(KeyboardInterrupt):
        METHODS[method](tree.tool)
    mocker.stopall()
    assert contents(tree.root) == before


@pytest.mark.parametrize("method", METHODS)
def test_a_failure_after_the_effect_says_that_it_landed(method: str, tree: World, mocker: MockerFixture) -> None:
    before = contents(tree.root)
    landed = False

    def put_in_place(*_: object) -> bool:
        return set(contents(tree.root)) != set(before) or contents(tree.root)["file"] != before["file"]

    def directory_after_the_effect(fd: int) -> bool:
        nonlocal landed
        hidden = any(name.endswith(".tmp") for name in os.listdir(tree.root))
        landed = stat.S_ISDIR(os.fstat(fd).st_mode) and not hidden and put_in_place()
        return landed

    fails("fsync", OSError(errno.EIO, "broken"), mocker, when=directory_after_the_effect)
    error = failed(METHODS[method](tree.tool))
    assert landed
    assert (error.cause, error.errno, error.effect) == ("other", errno.EIO, "landed")
    assert contents(tree.root) != before


def test_a_file_system_that_does_not_sync_directories_is_no_failure(tree: World, mocker: MockerFixture) -> None:
    real = os.fsync

    def fsync(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "invalid")
        real(fd)

    mocker.patch.object(os, "fsync", fsync)
    tree.tool.write_text("file", "new").unwrap()
    tree.tool.move("file", "moved").unwrap()
    tree.tool.remove("moved").unwrap()


def test_what_cannot_be_cleaned_up_is_not_called_nothing(tree: World, mocker: MockerFixture) -> None:
    mocker.patch.object(os, "rename", side_effect=OSError(errno.EIO, "broken"))
    mocker.patch.object(os, "unlink", side_effect=OSError(errno.EIO, "broken"))
    assert failed(tree.tool.write_text("file", "new")).effect == "unknown"


def test_content_and_place_are_on_the_disk_before_success(tree: World, mocker: MockerFixture) -> None:
    """File, then its name, then the directories that were made: in this order, or a power cut shows something else."""
    done: list[str] = []
    real_sync, real_rename = os.fsync, os.rename

    def fsync(fd: int) -> None:
        done.append(os.readlink(f"/proc/self/fd/{fd}").removeprefix(str(tree.root)))
        real_sync(fd)

    def rename(*args: Any, **kwargs: Any) -> None:
        done.append("rename")
        real_rename(*args, **kwargs)

    mocker.patch.object(os, "fsync", fsync)
    mocker.patch.object(os, "rename", rename)
    tree.tool.write_text("a/b/file", "x").unwrap()
    assert done[0].startswith("/a/b/.")
    assert done[1:3] == ["rename", "/a/b"]
    assert sorted(done[3:]) == ["", "/a"]


TEXTS = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("\r\n\ufeff\0")))


@pytest.fixture(scope="module")
def anywhere(tmp_path_factory: pytest.TempPathFactory) -> FsTool:
    return FsTool(tmp_path_factory.mktemp("anywhere"))


@property_test
@given(text=TEXTS)
def test_any_text_comes_back_as_it_was_written(anywhere: FsTool, text: str) -> None:
    assert anywhere.write_text("text", text).unwrap().size == len(text.encode())
    assert anywhere.read_text("text").unwrap() == text
    content = anywhere.read_bytes("text").unwrap()
    anywhere.write_text("text", anywhere.read_text("text").unwrap()).unwrap()
    assert anywhere.read_bytes("text").unwrap() == content


@property_test
@given(data=st.binary())
def test_any_bytes_come_back_as_they_were_written(anywhere: FsTool, data: bytes) -> None:
    anywhere.write_bytes("bytes", data).unwrap()
    assert anywhere.read_bytes("bytes").unwrap() == data
    try:
        text = data.decode()
    except UnicodeDecodeError:
        assert failed(anywhere.read_text("bytes")).cause == "not-text"
    else:
        assert anywhere.read_text("bytes").unwrap() == text


def test_a_text_that_is_not_unicode_is_not_text(world: World) -> None:
    for text in ("\ud800", "a\udcff"):
        error = failed(world.tool.write_text("new/file", text))
        assert (error.cause, error.effect, error.path) == ("not-text", "none", "new/file")
    assert os.listdir(world.root) == []
