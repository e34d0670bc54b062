"""No path leads out of the root: nothing outside is read, written, opened or named, whatever stands in the way."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from canaries import SECRET, World, contents, failed, guarded, unchanged

from orca import FileSystemError, FsTool
from orca.results import Result
from orca.tools.files.failures import Call, Refused, Stop
from orca.tools.files.walk import Root, Walk

world = pytest.fixture(guarded)

# Every method, with one path; those with two also with the path in the other place.
METHODS: dict[str, Callable[[FsTool, str], Result[Any, Any]]] = {
    "read_text": lambda tool, path: tool.read_text(path),
    "read_bytes": lambda tool, path: tool.read_bytes(path),
    "write_text": lambda tool, path: tool.write_text(path, "written"),
    "write_bytes": lambda tool, path: tool.write_bytes(path, b"written"),
    "edit_text": lambda tool, path: tool.edit_text(path, SECRET, "edited"),
    "exists": lambda tool, path: tool.exists(path),
    "stat": lambda tool, path: tool.stat(path),
    "list": lambda tool, path: tool.list(path, recursive=True),
    "make_dir": lambda tool, path: tool.make_dir(path),
    "copy from": lambda tool, path: tool.copy(path, "copied"),
    "copy to": lambda tool, path: tool.copy("own", path),
    "copy over": lambda tool, path: tool.copy("own", path, overwrite=True),
    "move from": lambda tool, path: tool.move(path, "moved"),
    "move to": lambda tool, path: tool.move("own", path),
    "move over": lambda tool, path: tool.move("own", path, overwrite=True),
    "remove": lambda tool, path: tool.remove(path),
    "remove recursively": lambda tool, path: tool.remove(path, recursive=True),
}
# What concerns a link itself, when it stands at the end of the path.
OF_THE_LINK = {"make_dir", "copy to", "move from", "move to", "move over", "remove", "remove recursively"}

SPELLED_OUTSIDE = (
    "..",
    "../outside/secret",
    "../root-evil/secret",
    "../root/own",
    "folder/../../outside/secret",
    "./folder/./../../outside",
    "folder//..//..//outside//secret",
    "folder/deep/../../../outside/folder/",
    "{outside}/secret",
    "{outside}/new/new",
    "{evil}/secret",
    "{root}/../outside/secret",
    "{root}-evil/secret",
    "/",
    "/etc/passwd",
    "//etc/passwd",
)


@pytest.fixture
def tree(world: World) -> World:
    """The root, with a file, a folder and links of every shape that lead outside."""
    root = world.root
    (root / "own").write_text("own")
    (root / "folder" / "deep").mkdir(parents=True)
    (root / "folder" / "file").write_text("file")
    for name, target in LINKS_OUT.items():
        (root / name).symlink_to(target.format(**spell(world)))
    return world


LINKS_OUT = {
    "to-file": "../outside/secret",
    "to-folder": "../outside",
    "to-link": "../outside/link",
    "to-pipe": "../outside/pipe",
    "to-nothing": "../outside/nothing",
    "to-sibling": "../root-evil/secret",
    "up": "..",
    "up-slash": "../",
    "absolute": "{outside}/secret",
    "absolute-folder": "{outside}",
    "absolute-prefix": "{root}-evil/secret",
    "absolute-and-up": "{root}/../outside/secret",
    "absolute-slashes": "//{outside}///secret",
    "to-the-top": "/",
    "to-etc": "/etc/passwd",
    "out-and-back": "../root/own",
    "in-and-out": "folder/../../outside/secret",
    "twice": "to-folder/secret",
    "thrice": "folder/deep/../../twice",
    "by-process": "/proc/self/cwd",
    "by-process-root": "/proc/self/root/etc/passwd",
    "by-descriptor": "/proc/self/fd/0",
    "to-stdin": "/dev/stdin",
    "to-null": "/dev/null",
}


def spell(world: World) -> dict[str, str]:
    return {"root": str(world.root), "outside": str(world.outside), "evil": str(world.evil)}


def refused(world: World, method: str, path: str) -> str:
    """The cause of a refusal that names the path as it was given, and changed nothing."""
    error = failed(METHODS[method](world.tool, path))
    assert error.effect == "none"
    if not path.startswith("/"):
        assert not os.path.isabs(error.path)
    return error.cause


@pytest.mark.parametrize("method", METHODS)
def test_a_path_that_is_spelled_outside_is_refused(method: str, tree: World) -> None:
    with unchanged(tree.root):
        for path in SPELLED_OUTSIDE:
            assert refused(tree, method, path.format(**spell(tree))) == "outside-root", path


@pytest.mark.parametrize("method", [method for method in METHODS if method not in OF_THE_LINK])
def test_a_link_that_leads_outside_is_not_followed_at_the_end(method: str, tree: World) -> None:
    with unchanged(tree.root):
        for name in LINKS_OUT:
            for path in (name, f"folder/../{name}", f"{tree.root}/{name}"):
                assert refused(tree, method, path) == "symlink", path


@pytest.mark.parametrize("method", METHODS)
def test_a_link_that_leads_outside_is_not_followed_on_the_way(method: str, tree: World) -> None:
    with unchanged(tree.root):
        for name in LINKS_OUT:
            for rest in ("secret", "folder/secret", "new", "new/new", "..", "../root/own", "folder/../secret"):
                assert refused(tree, method, f"{name}/{rest}") == "symlink", f"{name}/{rest}"


@pytest.mark.parametrize("method", sorted(OF_THE_LINK - {"move from", "move over", "remove", "remove recursively"}))
def test_where_a_link_stands_something_stands(method: str, tree: World) -> None:
    with unchanged(tree.root):
        for name in LINKS_OUT:
            assert refused(tree, method, name) == "already-exists", name


@pytest.mark.parametrize("method", METHODS)
def test_a_slash_after_a_link_does_not_help(method: str, tree: World) -> None:
    with unchanged(tree.root):
        for name in LINKS_OUT:
            cause = refused(tree, method, f"{name}/")
            assert cause in {"symlink", "not-a-directory", "already-exists"}, name


def test_a_link_itself_can_be_removed_moved_and_replaced(tree: World) -> None:
    for number, name in enumerate(LINKS_OUT):
        target = os.readlink(tree.root / name)
        tree.tool.move(name, f"moved-{number}").unwrap()
        assert os.readlink(tree.root / f"moved-{number}") == target
        if number % 2:
            tree.tool.remove(f"moved-{number}", recursive=True).unwrap()
        else:
            tree.tool.write_text("new", str(number)).unwrap()
            tree.tool.move("new", f"moved-{number}", overwrite=True).unwrap()
            assert (tree.root / f"moved-{number}").read_text() == str(number)
            assert not (tree.root / f"moved-{number}").is_symlink()


def test_a_tree_of_links_that_lead_outside_is_listed_copied_moved_and_removed_as_links(tree: World) -> None:
    tool = tree.tool
    tool.make_dir("tree/inner").unwrap()
    for number, name in enumerate(LINKS_OUT):
        tool.move(name, f"tree/{'inner/' * (number % 2)}{name}").unwrap()
    listed = {info.path: info.kind for info in tool.list("tree", recursive=True).unwrap()}
    assert sorted(listed.values()) == ["directory", *["symlink"] * len(LINKS_OUT)]
    before = contents(tree.root / "tree")
    tool.copy("tree", "copy").unwrap()
    assert contents(tree.root / "copy") == before
    tool.move("copy", "moved").unwrap()
    assert contents(tree.root / "moved") == before
    assert tool.remove("moved", recursive=True).unwrap().entries == len(LINKS_OUT) + 2
    assert contents(tree.root / "tree") == before


def test_a_circle_of_links_is_not_walked_for_ever(world: World) -> None:
    circles = {
        "self": "self",
        "one": "two",
        "two": "one",
        "slow": "folder/../slow",
        "here": "./here",
        "grows": "grows/x",
    }
    (world.root / "folder").mkdir()
    for name, target in circles.items():
        (world.root / name).symlink_to(target)
    for name in circles:
        for path in (name, f"{name}/x", f"{world.root}/{name}"):
            error = failed(world.tool.read_text(path))
            assert (error.cause, error.effect) == ("symlink", "none"), path
            assert error.errno is not None
            assert failed(world.tool.write_text(path, "x")).cause == "symlink"
            assert failed(world.tool.exists(path)).cause == "symlink"
    assert set(os.listdir(world.root)) == {*circles, "folder"}
    assert len(world.tool.list(recursive=True).unwrap()) == len(circles) + 1


def test_forty_links_are_followed_and_no_more(world: World) -> None:
    (world.root / "0").write_text("end")
    for number in range(1, 42):
        (world.root / str(number)).symlink_to(str(number - 1))
    assert world.tool.read_text("40").unwrap() == "end"
    assert failed(world.tool.read_text("41")).cause == "symlink"


def test_a_link_that_stays_inside_is_followed(world: World) -> None:
    root = world.root
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "file").write_text("inside")
    links = {
        "file": "a/b/file",
        "folder": "a/b",
        "dots": "a/../a/./b//file",
        "a/b/up": "../../a/b/file",
        "a/up-to-root": "..",
        "absolute": f"{root}/a/b/file",
        "absolute-root": f"{root}",
        "absolute-slashes": f"/{root}//./a/b/",
        "chain": "absolute-root/folder/up",
        "root": ".",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    inside = [
        *("file", "folder/file", "dots", "a/b/up", "a/up-to-root/file", "absolute", "absolute-root/a/b/file"),
        *("absolute-slashes/file", "chain", "root/root/root/file", "folder/../b/file", "folder/../../file"),
        *(f"{root}/file", f"{root}//a/./b/file", f"{root}/a/b/../b/file", "absolute-slashes/../../root/chain"),
    ]
    for path in inside:
        assert world.tool.read_text(path).unwrap() == "inside", path
        assert world.tool.exists(path).unwrap(), path
        assert world.tool.stat(path).unwrap().kind == "file", path
        assert failed(world.tool.list(path)).cause == "not-a-directory", path
    assert failed(world.tool.read_text("a/up-to-root/../own")).cause == "outside-root"
    assert failed(world.tool.read_text("root/../own")).cause == "outside-root"


def test_the_root_may_be_reached_by_a_link(world: World, tmp_path: Path) -> None:
    (world.root / "inner").mkdir()
    (world.root / "inner" / "file").write_text("inside")
    (world.root / "by-name").symlink_to(f"{world.root}/other/file")
    (world.root / "by-real-name").symlink_to(f"{world.root}/inner/file")
    (world.root / "other").symlink_to("inner")
    tool = FsTool(world.root / "other")
    assert tool.read_text("file").unwrap() == "inside"
    assert tool.read_text(f"{world.root}/other/file").unwrap() == "inside"
    assert tool.read_text(f"{world.root}/inner/file").unwrap() == "inside"
    (world.root / "inner" / "link").symlink_to(f"{world.root}/inner/file")
    (world.root / "inner" / "other-link").symlink_to(f"{world.root}/other/file")
    assert tool.read_text("link").unwrap() == tool.read_text("other-link").unwrap() == "inside"
    assert failed(tool.read_text(f"{world.root}/by-name")).cause == "outside-root"
    assert failed(tool.read_text("../by-name")).cause == "outside-root"


def test_a_link_of_the_system_that_has_no_text_of_its_own_is_not_followed() -> None:
    """Those of /proc lead to where no path may lead, and their text may look like a path inside."""
    tool = FsTool(f"/proc/{os.getpid()}")
    reader, writer = os.pipe()
    try:
        for path in ("cwd", "root", "root/etc/passwd", "exe", "cwd/..", "fd/0/x"):
            assert failed(tool.read_text(path)).cause in {"symlink", "not-found"}, path
        error = failed(tool.read_text(f"fd/{reader}"))  # "pipe:[123]"
        assert error.cause == "not-found"
    finally:
        os.close(reader)
        os.close(writer)
    assert "Name:" in tool.read_text("status").unwrap()


def test_a_parent_is_not_made_outside(tree: World) -> None:
    for path in ("to-folder/new/file", "up/new/file", "absolute-folder/new/file", "folder/new/../../../new/file"):
        failed(tree.tool.write_text(path, "x"))
        failed(tree.tool.make_dir(path))
    assert not (tree.root / "folder" / "new").exists()


def test_outside_is_allowed_where_it_was_asked_for(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    root.mkdir()
    other.mkdir()
    (root / "link").symlink_to("../other/file")
    (root / "folder").symlink_to(other)
    (root / "loop").symlink_to("loop")
    tool = FsTool(root, allow_outside=True)
    for number, path in enumerate((f"{other}/file", "../other/file", "link", "folder/file", "folder/../other/file")):
        written = tool.write_text(path, f"{number}\n").unwrap()
        assert written.path == path
        assert written.created == (number == 0)
        assert (other / "file").read_text() == f"{number}\n"
        assert tool.read_text(path).unwrap() == f"{number}\n"
        assert tool.exists(path).unwrap()
        assert tool.stat(path).unwrap().path == path
        tool.edit_text(path, f"{number}", "edited").unwrap()
        assert (other / "file").read_text() == "edited\n"
    assert (root / "link").is_symlink()
    assert [info.path for info in tool.list("folder").unwrap()] == ["folder/file"]
    assert [info.path for info in tool.list(f"{other}/").unwrap()] == [f"{other}/file"]
    assert [info.path for info in tool.list("..").unwrap()] == ["../other", "../root"]
    tool.copy(other, tmp_path / "copy").unwrap()
    tool.move("../copy", "moved").unwrap()
    assert (root / "moved" / "file").read_text() == "edited\n"
    tool.write_text(tmp_path / "new" / "new", "new").unwrap()
    tool.remove("../new", recursive=True).unwrap()
    assert sorted(os.listdir(tmp_path)) == ["other", "root"]
    assert failed(tool.read_text("loop")).cause == failed(tool.read_text("loop/x")).cause == "symlink"


def test_the_root_and_what_holds_it_stay(world: World, tmp_path: Path) -> None:
    (world.root / "a").mkdir()
    for tool, paths in (
        (world.tool, (".", "", "a/..", "a/../", "./", str(world.root), f"{world.root}/")),
        (
            FsTool(world.root, allow_outside=True),
            (".", "..", "../root", str(world.root), str(tmp_path), "/", "a/../.."),
        ),
    ):
        for path in paths:
            wanted = "not-found" if not path else "outside-root"
            assert failed(tool.remove(path)).cause == wanted, path
            assert failed(tool.remove(path, recursive=True)).cause == wanted, path
            assert failed(tool.move(path, "a/b")).cause == wanted, path
            assert failed(tool.move(path, "a/b", overwrite=True)).cause == wanted, path
    assert os.listdir(world.root) == ["a"]


def test_a_walk_that_follows_no_link_stops_at_one_and_shows_the_last(world: World) -> None:
    """What puts a tree back as it was goes nowhere but where it was."""
    (world.root / "folder").mkdir()
    (world.root / "folder" / "file").write_text("inside")
    (world.root / "link").symlink_to("folder")
    (world.root / "last").symlink_to("folder/file")
    root = Root(world.root)
    with pytest.raises(Stop) as stopped, Walk(root, "link/file", Call(60.0), follow=False):
        pass
    assert isinstance(stopped.value.error, FileSystemError)
    assert stopped.value.error.cause == "symlink"
    with Walk(root, "last", Call(60.0), follow=False) as walk:
        assert stat.S_ISLNK(walk.state().st_mode)
        with pytest.raises(Refused):
            walk.settle()
    with Walk(root, "folder/../folder/file", Call(60.0), follow=False) as walk:
        assert os.path.samestat(os.stat(walk.name, dir_fd=walk.fd), (world.root / "folder" / "file").stat())


def test_a_walk_leaves_no_descriptor_open(tree: World) -> None:
    before = os.listdir("/proc/self/fd")
    for name in (*LINKS_OUT, "own", "folder/file", "missing/x", "folder/../own", f"{tree.root}/own", *SPELLED_OUTSIDE):
        for method in METHODS.values():
            method(tree.tool, name.format(**spell(tree)))
    assert os.listdir("/proc/self/fd") == before
