"""A listing is complete, sorted, and of the directory that was named: no link is entered, and no depth is too deep."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from canaries import World, contents, failed, guarded, within

from orca import FsTool
from orca.tools.files.patterns import matcher

world = pytest.fixture(guarded)


def paths(tool: FsTool, *args: Any, **kwargs: Any) -> list[str]:
    return [info.path for info in tool.list(*args, **kwargs).unwrap()]


@pytest.fixture
def tree(world: World) -> World:
    for name in ("b.py", "a.py", ".hidden.py", "src/one.py", "src/two.txt", "src/deep/three.py", "src-more/four.py"):
        path = world.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (world.root / "empty").mkdir()
    (world.root / "link").symlink_to("src")
    (world.root / "src" / "loop").symlink_to("..")
    (world.root / "src" / "out").symlink_to("../../outside")
    (world.root / "src" / "dangling").symlink_to("nothing")
    return world


def test_a_directory_is_listed_sorted_with_hidden_files(tree: World) -> None:
    assert paths(tree.tool) == [".hidden.py", "a.py", "b.py", "empty", "link", "src", "src-more"]
    assert paths(tree.tool, "src") == ["src/dangling", "src/deep", "src/loop", "src/one.py", "src/out", "src/two.txt"]
    assert tree.tool.list("empty").unwrap() == ()
    kinds = {info.path: info.kind for info in tree.tool.list("src").unwrap()}
    assert kinds["src/deep"] == "directory"
    assert kinds["src/one.py"] == "file"
    assert {kinds[f"src/{name}"] for name in ("loop", "out", "dangling")} == {"symlink"}


def test_a_listing_names_its_entries_by_the_path_that_was_given(tree: World) -> None:
    for given in ("src/deep", "./src//deep/", "src/./deep", f"{tree.root}/src/deep"):
        assert paths(tree.tool, given) == ["src/deep/three.py"]
    assert paths(tree.tool, "link/deep") == ["link/deep/three.py"]
    assert paths(tree.tool, "src/deep/..", "one.py") == ["src/deep/../one.py"]
    for given in (".", "./", str(tree.root), "src/.."):
        assert len(tree.tool.list(given).unwrap()) == 7
    for info in tree.tool.list(recursive=True).unwrap():
        if info.kind == "file":
            assert tree.tool.stat(info.path).unwrap() == info


def test_a_listing_with_what_directories_hold_enters_no_link(tree: World) -> None:
    wanted = sorted(name for name in contents(tree.root))
    assert paths(tree.tool, recursive=True) == wanted
    assert "link/one.py" not in wanted
    assert paths(tree.tool, "link", recursive=True) == sorted(f"link/{name}" for name in contents(tree.root / "src"))


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("*.py", [".hidden.py", "a.py", "b.py", "src-more/four.py", "src/deep/three.py", "src/one.py"]),
        ("src/*.py", ["src/one.py"]),
        ("/*.py", [".hidden.py", "a.py", "b.py"]),
        ("./*.py", [".hidden.py", "a.py", "b.py"]),
        ("**/*.py", [".hidden.py", "a.py", "b.py", "src-more/four.py", "src/deep/three.py", "src/one.py"]),
        ("src/**/*.py", ["src/deep/three.py", "src/one.py"]),
        ("**/deep/*", ["src/deep/three.py"]),
        ("s*/[fo]*.py", ["src-more/four.py", "src/one.py"]),
        ("?.py", ["a.py", "b.py"]),
        ("deep", ["src/deep"]),
        ("src/deep", ["src/deep"]),
        ("*.PY", []),
        ("src", ["src"]),
        ("nothing/**", []),
    ],
)
def test_a_pattern_is_a_glob(pattern: str, wanted: list[str], tree: World) -> None:
    assert paths(tree.tool, pattern=pattern, recursive=True) == wanted


def test_a_pattern_is_for_the_path_below_the_directory_that_is_listed(tree: World) -> None:
    assert paths(tree.tool, "src", "deep/*", recursive=True) == ["src/deep/three.py"]
    assert paths(tree.tool, "src", "src/*", recursive=True) == []
    assert paths(tree.tool, pattern="*.py") == [".hidden.py", "a.py", "b.py"]
    assert paths(tree.tool, pattern="src/*.py") == []


def test_a_hostile_pattern_takes_no_time() -> None:
    with within(20):
        matches = matcher("/".join(["**", "a*a*a*a*b"] * 20))
        assert not matches(["a" * 200] * 200)


@pytest.mark.parametrize("name", ["\udcff\udce9", "a\nb", "n" * 255, "*", "[a]", "\\", "é", "e\u0301", "😀"])
def test_names_of_every_kind_are_listed_and_can_be_used(name: str, world: World) -> None:
    (world.root / name).mkdir()
    (world.root / name / name).write_text("x")
    assert paths(world.tool, recursive=True) == [name, f"{name}/{name}"]
    assert world.tool.read_text(f"{name}/{name}").unwrap() == "x"


def test_what_is_gone_by_its_turn_is_passed_over(tree: World, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.listdir
    monkeypatch.setattr(os, "listdir", lambda fd: [*real(fd), "gone"])
    with_ghosts = paths(tree.tool, recursive=True)
    monkeypatch.undo()
    assert with_ghosts == paths(tree.tool, recursive=True)


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    here = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (here + 20, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


DEPTH = 2500  # more than Python recurses, more than descriptors are there, and paths longer than the system takes


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A directory in a directory, and so on, with a file in the last one."""
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(DEPTH):
        os.mkdir("dd", dir_fd=here)
        below = os.open("dd", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)
    yield tmp_path
    FsTool(tmp_path).remove("dd", recursive=True)


@pytest.mark.slow
@pytest.mark.usefixtures("few_descriptors")
def test_no_tree_is_too_deep(deep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # thousands, one for each directory of the copy
    tool = FsTool(deep)
    listed = paths(tool, recursive=True)
    assert len(listed) == DEPTH + 1
    last = "/".join(["dd"] * DEPTH) + "/file"
    assert last in listed
    assert tool.read_text(last).unwrap() == ""
    tool.write_text(last, "x").unwrap()
    assert tool.copy("dd", "copy").unwrap().size == 1
    assert tool.read_text(last.replace("dd", "copy", 1)).unwrap() == "x"
    assert tool.read_text("/".join(["dd"] * 100 + [".."] * 100) + f"/{last}").unwrap() == "x"
    assert tool.remove("copy", recursive=True).unwrap().entries == DEPTH + 1
    assert tool.remove("dd", recursive=True).unwrap().entries == DEPTH + 1
    assert os.listdir(deep) == []


def test_a_directory_that_may_not_be_read_is_no_empty_one(tree: World, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.listdir

    def listdir(fd: int) -> list[str]:
        if os.readlink(f"/proc/self/fd/{fd}").endswith("/src/deep"):
            raise PermissionError(13, "denied")
        return real(fd)

    with monkeypatch.context() as patched:
        patched.setattr(os, "listdir", listdir)
        error = failed(tree.tool.list(recursive=True))
    assert (error.cause, error.path) == ("permission", "src/deep")
