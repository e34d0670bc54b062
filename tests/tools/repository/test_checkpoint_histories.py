"""For any tree and whatever an agent does: a restore gives the first state back, and its undo the second one."""

import os
from pathlib import Path

import pytest
from histories import History, everything, files, git_state

from orca.results import or_raise
from orca.tools import GitTool

PARTS = 12
HISTORIES = int(os.environ.get("ORCA_HISTORIES", "300"))
FIRST = int(os.environ.get("ORCA_SEED", "1000"))


def check(top: Path, outside: Path, seed: int) -> None:
    history = History(top, seed)
    history.act(history.draw.randrange(12))
    tool = GitTool(top)
    first_files, first_git, before = files(top), git_state(top), everything(top)
    point = or_raise(tool.checkpoint(f"history {seed}"))
    assert (everything(top), git_state(top)) == (before, first_git)
    history.act(history.draw.randrange(1, 12))
    second_files, second_git, ignored = files(top), git_state(top), everything(top)
    canary = everything(outside)  # the agent may follow a link there; a restore may not
    undo = or_raise(tool.restore(point))
    assert git_state(top) == first_git
    left = files(top)
    # What was ignored meanwhile is neither recorded nor removed: it may be seen again.
    assert {path: left.get(path) for path in first_files} == first_files
    assert set(left) - set(first_files) <= set(ignored) - set(second_files)
    or_raise(tool.restore(undo))
    assert git_state(top) == second_git
    assert files(top) == second_files
    now = everything(top)
    assert {path: now.get(path) for path in ignored} == ignored
    assert everything(outside) == canary


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_a_restore_gives_back_the_first_state_and_its_undo_the_second(part: int, tmp_path: Path) -> None:
    for number in range(part, HISTORIES, PARTS):
        seed = FIRST + number
        world = tmp_path / str(seed)
        (world / "outside").mkdir(parents=True)
        (world / "outside" / "canary").write_text("not ours\n")
        top = world / "repo"
        or_raise(GitTool.init(top))
        try:
            check(top, world / "outside", seed)
        except BaseException:
            print(f"seed {seed}")
            raise
