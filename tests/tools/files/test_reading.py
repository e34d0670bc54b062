"""Only regular files are read, whole or not at all, and nothing waits for what is none."""

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from canaries import IS_TOLD, World, failed, guarded, unchanged, watching, within

from orca import FsTool
from orca.tools import FileInfo

world = pytest.fixture(guarded)


def test_text_is_utf_8_with_all_that_is_in_it(world: World) -> None:
    for content in (b"", b"a\r\nb\nc\r", b"\xef\xbb\xbfa", "grüße \U0001f40b\0".encode()):
        (world.root / "file").write_bytes(content)
        assert world.tool.read_text("file").unwrap().encode() == content
        assert world.tool.read_bytes("file").unwrap() == content


@pytest.mark.parametrize("content", [b"\xff", b"a\xe9b", b"\xed\xa0\x80", b"\xc0\xaf", "a".encode("utf-16")])
def test_what_is_not_utf_8_is_not_text(content: bytes, world: World) -> None:
    (world.root / "file").write_bytes(content)
    error = failed(world.tool.read_text("file"))
    assert (error.cause, error.errno, error.effect, error.path) == ("not-text", None, "none", "file")
    assert world.tool.read_bytes("file").unwrap() == content


def test_more_than_the_limit_is_too_large(world: World) -> None:
    (world.root / "file").write_bytes(b"12345")
    assert world.tool.read_bytes("file", limit=5).unwrap() == b"12345"
    error = failed(world.tool.read_bytes("file", limit=4))
    assert (error.cause, error.effect) == ("too-large", "none")
    assert failed(world.tool.read_bytes("file", limit=0)).cause == "too-large"
    (world.root / "empty").touch()
    assert world.tool.read_bytes("empty", limit=0).unwrap() == b""
    with pytest.raises(ValueError, match="limit"):
        world.tool.read_bytes("file", limit=-1)
    os.truncate(world.root / "file", (64 << 20) + 1)
    for method in (world.tool.read_text, world.tool.read_bytes):
        assert failed(method("file")).cause == "too-large"
    assert failed(world.tool.edit_text("file", "1", "2")).cause == "too-large"
    assert len(world.tool.read_bytes("file", limit=65 << 20).unwrap()) == (64 << 20) + 1
    os.truncate(world.root / "file", 64 << 20)
    assert len(world.tool.read_text("file").unwrap()) == 64 << 20


def test_a_file_that_does_not_know_its_size_is_read_to_its_end() -> None:
    tool = FsTool("/proc/self")
    assert tool.stat("status").unwrap().size == 0
    assert "Name:" in tool.read_text("status").unwrap()
    assert tool.read_bytes("status").unwrap().endswith(b"\n")
    assert failed(tool.read_bytes("status", limit=10)).cause == "too-large"


def test_a_file_that_grows_or_shrinks_while_it_is_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    path = world.root / "file"
    real = os.fstat
    content = b""

    def fstat(fd: int) -> os.stat_result:
        state = real(fd)
        if stat.S_ISREG(state.st_mode):
            path.write_bytes(content)
        return state

    monkeypatch.setattr(os, "fstat", fstat)
    for content in (b"12345678", b"12", b""):
        path.write_bytes(b"1234")
        assert world.tool.read_bytes("file").unwrap() == content
    content = b"12345678"
    path.write_bytes(b"1234")
    assert failed(world.tool.read_bytes("file", limit=7)).cause == "too-large"


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = os.open(path.parent, os.O_PATH)
        made.bind(f"/proc/self/fd/{here}/{path.name}")
        os.close(here)


NOT_FILES: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "socket": make_socket,
    **(
        {
            "zero": lambda path: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5)),
            "terminal": lambda path: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(5, 0)),
            "disk": lambda path: os.mknod(path, stat.S_IFBLK | 0o666, os.makedev(7, 200)),
        }
        if os.getuid() == 0
        else {}
    ),
}


@pytest.mark.parametrize("kind", NOT_FILES)
def test_what_is_no_regular_file_is_neither_read_nor_written_and_nothing_waits(kind: str, world: World) -> None:
    (world.root / "own").write_text("own")
    NOT_FILES[kind](world.root / kind)
    (world.root / "link").symlink_to(kind)
    tool = world.tool
    methods: list[Callable[[str], Any]] = [
        tool.read_text,
        tool.read_bytes,
        lambda path: tool.write_text(path, "x"),
        lambda path: tool.write_bytes(path, b"x"),
        lambda path: tool.edit_text(path, "x", "y"),
        lambda path: tool.copy(path, "copy"),
    ]
    with within(20), unchanged(world.root):
        for method in methods:
            for path in (kind, "link", f"{world.root}/{kind}"):
                error = failed(method(path))
                assert (error.cause, error.effect) == ("not-a-file", "none")
        for path in (kind, "link"):
            assert failed(tool.list(path)).cause == "not-a-directory"
            assert failed(tool.read_text(f"{path}/x")).cause == "not-a-directory"
            assert failed(tool.read_text(f"{path}/")).cause == "not-a-directory"
            assert tool.exists(path).unwrap()
            assert tool.stat(path).unwrap().kind == "other"
    with within(20):
        assert {info.path: info.kind for info in tool.list().unwrap()}[kind] == "other"
        tool.make_dir("tree").unwrap()
        tool.move(kind, f"tree/{kind}").unwrap()
        error = failed(tool.copy("tree", "copy"))
        assert (error.cause, error.path, error.effect) == ("not-a-file", f"tree/{kind}", "none")
        assert not (world.root / "copy").exists()
        assert tool.remove("tree", recursive=True).unwrap().entries == 2


@pytest.mark.parametrize("kind", NOT_FILES)
def test_what_is_no_regular_file_is_not_even_opened(kind: str, world: World) -> None:
    """Who opens a pipe lets another process go on that waits for a reader; who opens a device may set it going."""
    (world.root / "held").mkdir()
    (world.root / "own").write_text("own")
    NOT_FILES[kind](world.root / "held" / kind)
    tool, path = world.tool, f"held/{kind}"
    with within(20), watching(world.root / "held") as events:
        for method in (tool.read_text, tool.read_bytes):
            failed(method(path))
        failed(tool.edit_text(path, "x", "y"))
        failed(tool.copy(path, "copy"))
    assert not events
    with within(20):
        failed(tool.write_text(path, "x"))
        failed(tool.copy("own", path, overwrite=True))
    with watching(world.root) as events:
        tool.read_text("own").unwrap()
    assert bool(events) == IS_TOLD


def test_nothing_outside_is_read_from_where_outside_is_allowed_but_regular_files(tmp_path: Path) -> None:
    tool = FsTool(tmp_path, allow_outside=True)
    with within(20):
        for path in ("/dev/null", "/dev/zero", "/dev/tty"):
            if os.path.exists(path):
                assert failed(tool.read_bytes(path)).cause == "not-a-file"
                assert failed(tool.write_bytes(path, b"x")).cause == "not-a-file"


def test_what_is_there(world: World) -> None:
    (world.root / "file").write_text("grüße")
    (world.root / "file").chmod(0o751)
    os.utime(world.root / "file", ns=(1, 1_600_000_000_123_456_789))
    (world.root / "folder").mkdir(mode=0o700)
    (world.root / "link").symlink_to("file")
    (world.root / "dangling").symlink_to("nothing")
    wanted = FileInfo("file", kind="file", size=7, mode=0o751, modified_ns=1_600_000_000_123_456_789)
    assert world.tool.stat("file").unwrap() == wanted
    assert world.tool.stat("./folder/../file").unwrap().path == "folder/../file"
    assert world.tool.stat(f"{world.root}//file").unwrap() == wanted
    assert world.tool.stat("link").unwrap().kind == "file"
    assert world.tool.stat("link").unwrap().size == 7
    assert [world.tool.stat(path).unwrap().kind for path in (".", "folder/")] == ["directory"] * 2
    assert world.tool.stat(".").unwrap().path == world.tool.stat(world.root).unwrap().path == "."
    assert failed(world.tool.stat("dangling")).cause == "not-found"
    exist = {path: world.tool.exists(path).unwrap() for path in ("file", "link", "folder", ".", "dangling", "nothing")}
    assert exist == {"file": True, "link": True, "folder": True, ".": True, "dangling": False, "nothing": False}
    assert not world.tool.exists("file/below").unwrap()
    assert not world.tool.exists("nothing/../file").unwrap()
    assert not world.tool.exists("file/").unwrap()


def test_a_result_shows_no_secret(world: World) -> None:
    token = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"
    world.tool.write_text(token, "x").unwrap()
    info = world.tool.stat(token).unwrap()
    assert info.path == token
    assert token not in repr(info)
    assert token not in str(failed(world.tool.read_text(f"{token}/x")))
