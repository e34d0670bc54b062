"""The command tool: its directory, its environment, its shell, and what it shows of secrets."""

from __future__ import annotations

import copy
import dataclasses
import math
import os
import pickle
import shutil
import threading
import time
from pathlib import Path

import pytest

from orca import CommandFailed, CommandTool, command
from orca.tools import CommandResult

TOKEN = "Zq8Lm3Xv9Rt2Wk5Yh7Bn4Cd6"


def failed(result: object) -> CommandFailed:
    error = result.failure()  # type: ignore[attr-defined]
    assert isinstance(error, CommandFailed)
    return error


# ------------------------------------------------------------------ what comes back


def test_a_result_holds_what_the_program_did() -> None:
    started = time.monotonic()
    done = command().run("sh", "-c", "echo out; echo err >&2; exit 3", ok_codes=(3,)).unwrap()
    assert isinstance(done, CommandResult)
    assert done.argv == ("sh", "-c", "echo out; echo err >&2; exit 3")
    assert (done.exit_code, done.stdout, done.stderr) == (3, "out\n", "err\n")
    assert (done.stdout_raw, done.stderr_raw) == (b"out\n", b"err\n")
    assert (done.stdout_size, done.stderr_size, done.stdout_dropped, done.stderr_dropped) == (4, 4, 0, 0)
    assert 0 < done.duration_s <= time.monotonic() - started
    assert done.log_error is None


def test_a_failure_holds_what_the_program_did() -> None:
    error = failed(CommandTool("/").run("sh", "-c", "echo out; echo err >&2; exit 3", "an argument"))
    assert error.command == "sh -c 'echo out; echo err >&2; exit 3' 'an argument'"
    assert (error.exit_code, error.stdout, error.stderr) == (3, "out\n", "err\n")
    assert (error.cause, error.effect, error.cwd) == ("exit", "unknown", "/")
    assert error.duration_s is not None
    assert error.duration_s > 0


def test_a_failure_counts_what_it_dropped() -> None:
    error = failed(command().run("sh", "-c", "seq 100000; seq 100000 >&2; exit 1", limit=1000))
    assert error.stdout_dropped > 500_000
    assert error.stderr_dropped > 500_000
    assert len(error.stdout) <= 1000
    assert error.stdout.startswith("1\n")
    assert error.stderr.endswith("100000\n")


def test_results_are_frozen_comparable_data() -> None:
    done = command().run("true").unwrap()
    with pytest.raises(dataclasses.FrozenInstanceError):
        done.exit_code = 1  # type: ignore[misc]
    for same in (copy.copy(done), copy.deepcopy(done), pickle.loads(pickle.dumps(done)), dataclasses.replace(done)):
        assert same == done
        assert repr(same) == repr(done)
    assert not hasattr(done, "__dict__")


# ------------------------------------------------------------------ where it runs


def test_the_directory_is_the_tools_and_another_is_relative_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    tool = CommandTool("sub")
    monkeypatch.chdir("/")  # the tool stays where it was rooted
    assert tool.run("pwd").unwrap().stdout == f"{tmp_path}/sub\n"
    assert tool.run("pwd", cwd="..").unwrap().stdout == f"{tmp_path}\n"
    assert tool.run("pwd", cwd="/").unwrap().stdout == "/\n"
    assert tool.shell("pwd", cwd=tmp_path).unwrap().stdout == f"{tmp_path}\n"


def test_a_deleted_current_directory_is_a_failure_of_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    before = CommandTool()
    gone.rmdir()
    for tool in (before, CommandTool(), CommandTool("sub"), command()):
        error = failed(tool.run("true"))
        assert (error.cause, error.effect) == ("bad-cwd", "none")
        assert failed(tool.shell("true")).cause == "bad-cwd"
    assert CommandTool("/").run("true").unwrap().exit_code == 0


# ------------------------------------------------------------------ its environment


def test_variables_are_laid_over_the_inherited_ones_and_none_takes_one_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A", "ours")
    monkeypatch.setenv("B", "ours")
    tool = CommandTool(env={"A": "tool", "B": None, "C": "tool", "D": "tool"})
    script = 'echo "${A-none} ${B-none} ${C-none} ${D-none}"'
    assert command().run("sh", "-c", script).unwrap().stdout == "ours ours none none\n"
    assert tool.run("sh", "-c", script).unwrap().stdout == "tool none tool tool\n"
    assert tool.run("sh", "-c", script, env={"B": "call", "C": None}).unwrap().stdout == "tool call none tool\n"
    monkeypatch.setenv("E", "later")
    assert tool.run("sh", "-c", "echo $E").unwrap().stdout == "later\n"
    assert os.environ["A"] == "ours"


def test_a_value_may_be_any_bytes() -> None:
    assert command().run("printenv", "NAME", env={"NAME": "\udcff"}).unwrap().stdout_raw == b"\xff\n"


def test_the_path_of_the_childs_environment_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "only-here"
    tool.write_text("#!/bin/sh\necho found\n")
    tool.chmod(0o755)
    assert failed(command().run("only-here")).cause == "not-found"
    assert command().run("only-here", env={"PATH": str(tmp_path)}).unwrap().stdout == "found\n"
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert command().run("only-here").unwrap().stdout == "found\n"
    assert failed(command().run("only-here", env={"PATH": "/usr/bin:/bin"})).cause == "not-found"
    assert failed(command().run("only-here", env={"PATH": None})).cause == "not-found"


def test_a_run_is_tagged_after_the_run_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ORCA_RUN", raising=False)
    alone = command().run("printenv", "ORCA_RUN").unwrap().stdout.strip()
    other = command().run("printenv", "ORCA_RUN").unwrap().stdout.strip()
    assert alone
    assert other != alone
    monkeypatch.setenv("ORCA_RUN", "outer:middle")
    inner = command().run("printenv", "ORCA_RUN").unwrap().stdout.strip()
    assert inner.startswith("outer:middle:")
    assert len(inner) == len("outer:middle:") + len(alone)
    assert os.environ["ORCA_RUN"] == "outer:middle"


# ------------------------------------------------------------------ its shell


def test_a_shell_script_stops_at_the_first_failure() -> None:
    assert failed(command().shell("false; echo on")).stdout == ""
    assert failed(command().shell("echo ${no_such_variable}; echo on")).stdout == ""
    assert failed(command().shell("false | cat; echo on")).stdout == ""
    assert command().shell("printf 'a b' | tr a A").unwrap().stdout == "A b"


def test_without_bash_there_is_sh(tmp_path: Path) -> None:
    for name in ("sh", "cat"):
        (tmp_path / name).symlink_to(shutil.which(name) or "")
    path = {"PATH": str(tmp_path)}
    done = CommandTool(env=path).shell("echo on; false | cat").unwrap()
    assert (done.argv[:3], done.stdout) == (("sh", "-eu", "-c"), "on\n")
    assert failed(command().shell("false; echo on", env=path)).stdout == ""
    assert command().shell("true").unwrap().argv[:4] == ("bash", "-euo", "pipefail", "-c")
    assert command().shell("true", env={"PATH": None}).unwrap().exit_code == 0


def test_a_shell_script_takes_what_a_run_takes(tmp_path: Path) -> None:
    lines: list[str] = []
    cancel = threading.Event()
    tool = CommandTool(tmp_path)
    done = tool.shell("cat; echo $NAME; pwd; exit 2", env={"NAME": "value"}, input="in\n", ok_codes=(2,), cwd="/",
                      on_line=lines.append, log="log", limit=6, cancel=cancel, timeout=30).unwrap()  # fmt: skip
    assert lines == ["in", "value", "/"]
    assert (tmp_path / "log").read_text() == "in\nvalue\n/\n"
    assert done.stdout_dropped > 0
    cancel.set()
    assert failed(tool.shell("true", cancel=cancel)).cause == "cancelled"
    started = time.monotonic()
    assert failed(tool.shell("sleep 300", timeout=0.1)).cause == "timeout"
    tool.shell("sleep 0.1 & exit 0", keep_background=True).unwrap()
    assert time.monotonic() - started < 10


# ------------------------------------------------------------------ time and cancellation


@pytest.mark.parametrize("timeout", [0, -1, -0.0, math.nan, math.inf, -math.inf])
def test_a_timeout_that_bounds_nothing_is_misuse(timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout"):
        command().run("true", timeout=timeout)
    with pytest.raises(ValueError, match="timeout"):
        command().shell("true", timeout=timeout)
    with pytest.raises(ValueError, match="timeout"):
        CommandTool(timeout=timeout)


def test_a_call_without_a_timeout_has_the_tools() -> None:
    assert failed(CommandTool(timeout=0.1).run("sleep", "300")).cause == "timeout"
    assert failed(CommandTool(timeout=0.1).run("sleep", "300", timeout=None)).cause == "timeout"
    assert CommandTool(timeout=0.01).run("sleep", "0.1", timeout=30).unwrap().exit_code == 0


def test_a_timeout_may_be_longer_than_any_machine_runs() -> None:
    assert command().run("true", timeout=1e300).unwrap().exit_code == 0


def test_a_cancel_that_came_before_starts_nothing(tmp_path: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    error = failed(command().run("touch", tmp_path / "made", cancel=cancel))
    assert (error.cause, error.effect) == ("cancelled", "none")
    assert not (tmp_path / "made").exists()


def test_a_cancel_after_the_end_changes_nothing() -> None:
    cancel = threading.Event()
    assert command().run("true", cancel=cancel).unwrap().exit_code == 0
    cancel.set()


def test_a_negative_limit_is_misuse() -> None:
    with pytest.raises(ValueError, match="limit"):
        command().run("true", limit=-1)


# ------------------------------------------------------------------ secrets


@pytest.mark.parametrize("where", ["given", "inherited", "tool"])
def test_a_secret_variable_is_in_no_part_of_a_failure(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    env = {"DEPLOY_TOKEN": TOKEN}
    if where == "inherited":
        monkeypatch.setenv("DEPLOY_TOKEN", TOKEN)
    tool = CommandTool(env=env if where == "tool" else None)
    given = env if where == "given" else None
    script = 'echo "out $DEPLOY_TOKEN"; echo "err $DEPLOY_TOKEN" >&2; exit 1'
    error = failed(tool.run("sh", "-c", script, f"--token={TOKEN}", env=given))
    assert error.stdout.startswith("out ")
    assert error.stderr.startswith("err ")
    missing = failed(tool.run(f"no-such-{TOKEN}", env=given))
    nowhere = failed(tool.run("true", cwd=f"/no/{TOKEN}", env=given))
    for one in (error, missing, nowhere):
        assert TOKEN not in f"{one!r} {one}"
        assert not [field for field in dataclasses.fields(one) if TOKEN in str(getattr(one, field.name))]


@pytest.mark.parametrize("where", ["given", "inherited", "tool"])
def test_a_result_is_unchanged_and_shows_no_secret(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    env = {"DEPLOY_TOKEN": TOKEN}
    if where == "inherited":
        monkeypatch.setenv("DEPLOY_TOKEN", TOKEN)
    tool = CommandTool(env=env if where == "tool" else None)
    script = 'echo "out $DEPLOY_TOKEN"; echo "err $DEPLOY_TOKEN" >&2'
    done = tool.run("sh", "-c", script, TOKEN, env=env if where == "given" else None).unwrap()
    assert (done.stdout, done.stderr) == (f"out {TOKEN}\n", f"err {TOKEN}\n")
    assert done.stdout_raw == f"out {TOKEN}\n".encode()
    assert done.argv[-1] == TOKEN
    assert TOKEN not in repr(done)
    assert "exit_code=0" in repr(done)
    assert "raw" not in repr(done)


def test_a_secret_of_a_known_shape_is_in_no_part_of_a_failure() -> None:
    url = f"https://user:{TOKEN}@example.com/r.git"
    error = failed(command().run("sh", "-c", 'echo "$1"; echo "$1" >&2; exit 1', "sh", url))
    assert TOKEN not in f"{error!r} {error}"
    assert "example.com/r.git" in error.stdout


def test_a_tool_shows_no_environment() -> None:
    assert TOKEN not in repr(CommandTool(env={"DEPLOY_TOKEN": TOKEN}))
