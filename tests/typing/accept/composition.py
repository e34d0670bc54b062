"""Results composed without a match: chains, do-notation, many at once."""

from typing import assert_type

from orca import Failure, Result, Success, collect, command, flow, git, or_exit, or_raise, outcome, partition
from orca.errors import RuntimeError
from orca.tools import CommandResult, GitTool


def name(path: str) -> Result[str, RuntimeError]:
    return Success(path)


def size(text: str) -> Result[int, RuntimeError]:
    return Success(len(text))


assert_type(name("x").bind(size), Result[int, RuntimeError])
assert_type(name("x").map(len), Result[int, RuntimeError])
done: Result[int, RuntimeError] = Result.do(count + len(text) for text in name("x") for count in size(text))
assert_type(outcome(size("x")), Success[int] | Failure[RuntimeError])
assert_type(or_exit(size("x")), int)
assert_type(or_raise(size("x")), int)
assert_type(collect([size("x"), size("y")]), Result[list[int], RuntimeError])
assert_type(partition([size("x"), size("y")]), tuple[list[int], list[RuntimeError]])

committed = git().commit("docs: typos", add=["README.md"])
assert_type(committed.map(lambda commit: commit.sha), Result[str, RuntimeError])
pushed = committed.bind(lambda _: git().push(on_rejected="rebase"))
assert_type(pushed.map(lambda push: push.rebased), Result[bool, RuntimeError])
assert_type(command().run("make", "check"), Result[CommandResult, RuntimeError])

with flow(".") as run:
    assert_type(run.git, GitTool)
    assert_type(run.map(size, ["x", "y"], workers=2), list[Result[int, RuntimeError]])
    assert_type(run.bind(size)("x"), Result[int, RuntimeError])
