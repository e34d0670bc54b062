"""What helps to take a `Result` apart, in a program and in a script."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from orca import Failure, OrcaError, Result, Success, collect, or_exit, or_raise, outcome, partition, recovery
from orca.errors import RuntimeError, branch_already_exists, command_failed, nothing_to_commit

ERROR = command_failed("make", 2, "", "\x1b[31mno rule\x1b[0m", cause="exit")


def ok(value: int) -> Result[int, RuntimeError]:
    return Success(value)


def bad(error: RuntimeError = ERROR) -> Result[int, RuntimeError]:
    return Failure(error)


def test_outcome_is_the_same_object() -> None:
    for result in (ok(1), bad()):
        assert outcome(result) is result


def test_outcome_of_anything_else_is_misuse() -> None:
    with pytest.raises(TypeError):
        outcome(None)  # type: ignore[arg-type]


def test_outcome_of_one_case_is_matched_by_its_arm() -> None:
    for result, expected in ((ok(3), 3), (bad(), ERROR)):
        match outcome(result):
            case Success(value):
                assert value == expected
            case Failure(error):
                assert error is expected


def test_or_raise_returns_the_value_or_raises_what_carries_the_error() -> None:
    assert or_raise(ok(0)) == 0
    with pytest.raises(OrcaError) as raised:
        or_raise(bad())
    assert raised.value.error is ERROR
    assert str(raised.value) == str(ERROR)
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


def test_or_exit_returns_the_value_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert or_exit(ok(0)) == 0
    assert capsys.readouterr() == ("", "")


def test_or_exit_says_what_is_wrong_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        or_exit(bad())
    assert left.value.code == 1
    assert capsys.readouterr() == ("", f"{ERROR}\n{recovery(ERROR)}\n")


def test_a_script_that_meets_a_failure_exits_with_1_and_shows_no_traceback() -> None:
    script = (
        "from orca import Failure, or_exit\n"
        "from orca.errors import branch_already_exists\n"
        "or_exit(Failure(branch_already_exists('gr\\u00fcn')))\n"
        "print('not reached')\n"
    )
    for coding in ("utf-8", "ascii"):  # a terminal that cannot show the name is no reason to hide the failure
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, env={"PYTHONIOENCODING": coding}, check=False
        )
        assert (done.returncode, done.stdout) == (1, b"")
        lines = done.stderr.decode(coding).splitlines()
        assert len(lines) == 2
        assert lines[1] == recovery(branch_already_exists("x"))


def test_collect_returns_all_values_or_the_first_failure() -> None:
    assert outcome(collect([ok(1), ok(2)])) == Success([1, 2])
    assert outcome(collect([])) == Success([])
    assert outcome(collect([ok(1), bad(), bad(nothing_to_commit())])) == Failure(ERROR)


def test_collect_asks_for_nothing_after_the_first_failure() -> None:
    asked = []

    def results() -> Iterator[Result[int, RuntimeError]]:
        for result in (ok(1), bad(), ok(3)):
            asked.append(result)
            yield result

    collect(results())
    assert len(asked) == 2


def test_partition_returns_everything_in_its_order() -> None:
    other = nothing_to_commit()
    assert partition([ok(1), bad(), ok(0), bad(other)]) == ([1, 0], [ERROR, other])
    assert partition([]) == ([], [])
