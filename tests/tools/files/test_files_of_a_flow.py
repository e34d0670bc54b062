"""`fs()` hands out the files tool of the flow, rooted at the top of the worktree that holds its directory."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orca import FsTool, flow, fs
from orca.results import or_raise


def test_it_is_rooted_at_the_top_of_the_worktree(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repo / "sub").mkdir()
    with flow(repo / "sub") as run:
        assert fs() is run.fs is fs()
        assert or_raise(fs().read_text("a.txt")) == "a\n"
        assert or_raise(fs().write_text("sub/new", "x")).path == "sub/new"
        assert run.map(lambda name: or_raise(fs().read_text(name)), ["a.txt", "sub/new"]) == ["a\n", "x"]
    monkeypatch.chdir(repo / "sub")
    assert or_raise(fs().read_text("a.txt")) == "a\n"


def test_outside_a_worktree_it_is_rooted_at_the_directory(tmp_path: Path) -> None:
    with flow(tmp_path):
        or_raise(fs().write_text("new", "x"))
    assert (tmp_path / "new").read_text() == "x"


def test_a_given_one_is_used(tmp_path: Path) -> None:
    given = FsTool(tmp_path)
    with flow("/", fs=given) as run:
        assert run.fs is fs() is given


def test_with_two_flows_open_a_thread_must_be_told(tmp_path: Path) -> None:
    with flow(tmp_path) as one, flow("/"), ThreadPoolExecutor(1) as pool:
        with pytest.raises(ValueError, match="bind"):
            pool.submit(fs).result()
        assert pool.submit(one.bind(fs)).result() is one.fs


def test_a_deleted_directory_fails_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert fs().list().failure()
    with flow():
        assert fs().write_text("file", "x").failure()
