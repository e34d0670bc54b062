"""GitPython code through the bridge: what it returns is inferred, and its failures are orca's."""

from typing import assert_type

from git import Repo

from orca import Failure, PushRejected, Result, Success, git, outcome
from orca.errors import RuntimeError


def branch_names(repo: Repo) -> list[str]:
    return [head.name for head in repo.heads]


def attempted(repo: Repo) -> Result[int, RuntimeError]:
    return Success(len(repo.heads))


assert_type(git().with_repo(branch_names), Result[list[str], RuntimeError])
assert_type(git().with_repo(lambda repo: repo.head.commit.hexsha), Result[str, RuntimeError])
assert_type(git().with_repo(lambda repo: repo.is_dirty(), timeout=5.0), Result[bool, RuntimeError])
assert_type(git().with_repo(attempted), Result[Result[int, RuntimeError], RuntimeError])
assert_type(git().with_repo(attempted).bind(lambda result: result), Result[int, RuntimeError])

match outcome(git().with_repo(lambda repo: repo.remote().push())):
    case Success(infos):
        print(len(infos))
    case Failure(PushRejected() as rejected):
        print(rejected.refs)
    case Failure(error):
        print(error)
