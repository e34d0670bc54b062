"""GitPython through `with_repo`: where it runs, what it gets to see, how long, and what it leaves behind."""

import contextlib
import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import git as gitpython
import psutil
import pytest
from outcomes import error_of, failed, state
from worlds.disk import Disk
from worlds.remote import Remote
from worlds.repository import GIT, PATH, commit, copy, git, hook, script, seed, sha, write

from orca import cancel_all
from orca.errors import UnsupportedFeature
from orca.results import Failure, Success, or_raise
from orca.tools import GitTool

LATE_S = 3.0


def children() -> list[str]:
    """What this process has started and not ended; the server of the tests that go by ssh is not meant."""
    found: list[str] = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile
            if "sshd" not in " ".join(child.cmdline()):
                found += [
                    " ".join(one.cmdline()) for one in (child, *child.children(recursive=True)) if one.is_running()
                ]
    return found


def sleeping_in(folder: Path) -> list[psutil.Process]:
    """What sleeps there, with its parents gone or not."""
    processes = psutil.process_iter(["cmdline", "cwd"])
    return [one for one in processes if one.info["cmdline"] == ["sleep", "1000"] and one.info["cwd"] == str(folder)]


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """After each of these tests no program runs, and no thread watches."""
    yield
    assert children() == []
    assert [thread.name for thread in threading.enumerate() if thread.name == "orca-with-repo"] == []


# What it is.


def test_it_is_the_callers_value_and_a_result_stays_one(repo: Path) -> None:
    tool = GitTool(repo)
    assert or_raise(tool.with_repo(lambda repo: repo.head.commit.hexsha)) == sha(repo)
    assert or_raise(tool.with_repo(lambda repo: None)) is None
    inner = or_raise(tool.with_repo(lambda repo: tool.status()))
    assert or_raise(inner).clean
    assert isinstance(or_raise(tool.with_repo(lambda repo: Failure("mine"))), Failure)


@pytest.mark.parametrize(
    "error", [ValueError("mine"), OSError(errno.ENOENT, "mine"), KeyError("x"), KeyboardInterrupt()]
)
def test_what_the_caller_raises_passes_through(error: BaseException, repo: Path) -> None:
    def code(repo: gitpython.Repo) -> None:
        repo.head.commit.tree  # noqa: B018 starts a helper
        raise error

    with pytest.raises(type(error)) as raised:
        GitTool(repo).with_repo(code)
    assert raised.value is error
    assert children() == []


def test_what_the_callers_own_code_raises_below_gitpython_passes_through(repo: Path) -> None:
    def predicate(item: Any, depth: int) -> bool:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        GitTool(repo).with_repo(lambda repo: list(repo.head.commit.tree.traverse(predicate)))


def test_a_mistake_is_the_callers(repo: Path) -> None:
    with pytest.raises(TypeError):
        GitTool(repo).with_repo(lambda repo: repo.index.add(1))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        GitTool(repo).with_repo(lambda repo: repo.git.execute(["git", "version"], close_fds=True))
    with pytest.raises(ValueError, match="attempt"):  # of a tool that the code calls
        GitTool(repo).with_repo(lambda _: GitTool(repo).push(attempts=0))
    with pytest.raises(ValueError, match="timeout"):
        GitTool(repo).with_repo(lambda repo: None, timeout=0)


class Progress(gitpython.RemoteProgress):
    """Listens to a push."""

    def __init__(self, seen: list[str]) -> None:
        super().__init__()
        self.seen = seen

    def update(self, *args: object, **kwargs: object) -> None:
        self.seen.append("progress")


def test_all_that_gitpython_does_works(remote: Remote, tmp_path: Path) -> None:
    """Reading, staging, committing, branches, tags, remotes, patches, archives, streams: with the caller's options."""
    seen: list[str] = []

    def code(repo: gitpython.Repo) -> None:
        assert not repo.bare
        assert not repo.is_dirty()
        assert [commit.message for commit in repo.iter_commits()] == ["seed\n"]
        write(remote.work / "new.txt", "new\n")
        assert repo.untracked_files == ["new.txt"]
        repo.index.add(["new.txt"])
        assert [change.a_path for change in repo.index.diff("HEAD")] == ["new.txt"]
        made = repo.index.commit("new", author=gitpython.Actor("A", "a@b"))
        assert (made.author.name, made.committer.name) == ("A", "T")
        assert next(iter(repo.blame("HEAD", "new.txt") or []))[1] == ["new"]
        repo.create_tag("v1", message="one")
        repo.create_head("side").checkout()
        (remote.work / "new.txt").unlink()
        repo.index.checkout(["new.txt"], force=True)
        assert repo.git.show("HEAD:new.txt", strip_newline_in_stdout=False) == "new\n"
        assert repo.git.show("HEAD:new.txt", stdout_as_string=False) == b"new"
        assert repo.git.version(with_extended_output=True)[0] == 0
        assert repo.git.rev_parse("--verify", "x", with_exceptions=False, with_extended_output=True)[0] == 128
        with (tmp_path / "patch").open("wb") as patch:
            repo.git.diff("HEAD~1", "HEAD", output_stream=patch)
        repo.git.checkout("main~1")
        with (tmp_path / "patch").open("rb") as patch:
            repo.git.apply("-", istream=patch)
        repo.git.checkout("main", force=True)
        with (tmp_path / "tar").open("wb") as tar:
            repo.archive(tar)
        infos = repo.remote().push(["main", "v1"], progress=Progress(seen))
        assert [info.flags & info.ERROR for info in infos] == [0, 0]
        assert repo.remote().fetch()[0].name == "origin/main"
        assert repo.git.execute(["echo", "hello"]) == "hello"
        with repo.git.custom_environment(GREETING="hello"):
            assert repo.git.execute("echo $GREETING", shell=True) == "hello"

    or_raise(GitTool(remote.work).with_repo(code))
    assert seen
    assert remote.head() == sha(remote.work, "main")
    assert (tmp_path / "patch").read_text().startswith("diff --git")
    assert (tmp_path / "tar").stat().st_size > 1000


def test_helpers_are_closed_and_the_lock_is_free_afterwards(repo: Path) -> None:
    tool = GitTool(repo)
    kept: list[gitpython.Repo] = []

    def code(repo: gitpython.Repo) -> None:
        repo.head.commit.tree.traverse()
        kept.append(repo)
        assert any("cat-file" in child for child in children())

    for _ in range(3):
        or_raise(tool.with_repo(code))
        assert children() == []
    for misuse in (lambda: kept[0].head.commit.message, kept[0].git.status):
        with pytest.raises(ValueError, match="after the call"):
            misuse()
    or_raise(tool.commit("free", allow_empty=True))


def test_a_program_that_was_left_unread_is_ended(repo: Path) -> None:
    kept: list[object] = []
    or_raise(GitTool(repo).with_repo(lambda repo: kept.append(repo.git.execute(["sleep", "1000"], as_process=True))))
    assert children() == []


# Where it runs.


def test_a_subdirectory_a_linked_worktree_and_a_bare_repository(remote: Remote, tmp_path: Path) -> None:
    write(remote.work / "deep/file", "")
    git(remote.work, "worktree", "add", "--quiet", "-b", "linked", tmp_path / "linked")
    for root, top, git_dir, bare in (
        (remote.work / "deep", remote.work, remote.work / ".git", False),
        (tmp_path / "linked", tmp_path / "linked", remote.work / ".git/worktrees/linked", False),
        (remote.bare, None, remote.bare, True),
    ):
        found = or_raise(
            GitTool(root).with_repo(
                lambda repo: (repo.working_tree_dir, repo.git_dir, repo.bare, repo.head.commit.hexsha)
            )
        )
        assert found == (None if top is None else str(top), str(git_dir), bare, sha(remote.work))
    or_raise(GitTool(tmp_path / "linked").with_repo(lambda repo: repo.index.commit("in the linked one")))
    assert git(tmp_path / "linked", "log", "-1", "--format=%s") == b"in the linked one\n"


def test_a_name_with_everything_in_it(tmp_path: Path) -> None:
    root = seed(tmp_path / "a $HOME\n:'* ~")
    assert or_raise(GitTool(root).with_repo(lambda repo: repo.git.rev_parse("HEAD"))) == sha(root)


def test_what_is_gone_is_no_other_repository(repo: Path, tmp_path: Path) -> None:
    """GitPython by itself runs git in the current directory then, or git looks for a repository further up."""
    inner = seed(repo / "inner")
    tool = GitTool(inner)

    def code(repo: gitpython.Repo) -> str:
        shutil.rmtree(inner / ".git")
        return str(repo.git.rev_parse("--show-toplevel"))

    assert failed(tool.with_repo(code)).cause == "not-a-repository"
    assert failed(tool.with_repo(code)).cause == "not-a-repository"
    shutil.rmtree(inner)
    assert failed(tool.with_repo(code)).cause == "bad-cwd"

    def folder(repo: gitpython.Repo) -> str:
        shutil.rmtree(repo.working_dir)
        return str(repo.git.rev_parse("--show-toplevel"))

    assert failed(GitTool(seed(tmp_path / "other")).with_repo(folder)).cause in ("bad-cwd", "not-a-repository")


def test_dubious_ownership_is_refused_as_by_git(repo: Path) -> None:
    for path in (repo, repo / ".git"):
        os.chown(path, 12345, 12345)
    assert failed(GitTool(repo).with_repo(lambda repo: repo.head.commit.hexsha)).cause == "dubious-ownership"


def test_what_gitpython_cannot_read_is_an_unsupported_feature(tmp_path: Path, repo: Path) -> None:
    sha256 = tmp_path / "sha256"
    git(tmp_path, "init", "--quiet", "--object-format=sha256", sha256)
    commit(sha256)
    error = error_of(GitTool(sha256).with_repo(lambda repo: repo.head.commit.message))
    assert isinstance(error, UnsupportedFeature)
    assert error.feature == "SHA-256"
    assert or_raise(GitTool(sha256).with_repo(lambda repo: repo.git.rev_parse("HEAD"))) == sha(sha256)
    new_index = copy(repo, tmp_path / "new-index")
    git(new_index, "update-index", "--index-version=4")
    error = error_of(GitTool(new_index).with_repo(lambda repo: len(repo.index.entries)))
    assert isinstance(error, UnsupportedFeature)
    write(repo / os.fsdecode(b"caf\xe9"), "")
    error = error_of(
        GitTool(repo).with_repo(lambda repo: repo.untracked_files and repo.index.add(repo.untracked_files))
    )
    assert isinstance(error, UnsupportedFeature)
    assert "UTF-8" in error.feature


# What it gets to see.


def test_the_environment_is_that_of_every_git(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = seed(tmp_path / "other")
    for name, value in {
        "GIT_TRACE": str(tmp_path / "trace"),
        "GIT_EXTERNAL_DIFF": "false",
        "GIT_LITERAL_PATHSPECS": "1",
        "DISPLAY": ":0",
    }.items():
        monkeypatch.setenv(name, value)
    git(repo, "config", "core.fsmonitor", f"touch {tmp_path}/fsmonitor; false")
    git(repo, "config", "color.ui", "always")
    git(repo, "config", "alias.seen", "!env")

    def code(repo: gitpython.Repo) -> str:
        write(other.parent / "repo/a.txt", "changed\n")
        assert repo.git.diff().startswith("diff --git")
        assert repo.is_dirty()
        assert "\x1b" not in repo.git.branch("-v")
        return str(repo.git.seen())

    seen = or_raise(GitTool(repo).with_repo(code))
    assert "GIT_TERMINAL_PROMPT=0" in seen
    assert "LC_ALL=C" in seen
    assert not [line for line in seen.splitlines() if line.startswith(("GIT_EXTERNAL_DIFF", "GIT_LITERAL", "DISPLAY"))]
    assert not (tmp_path / "trace").exists()
    assert not (tmp_path / "fsmonitor").exists()


FOREIGN = """
from orca.tools import GitTool
result = GitTool({other!r}).with_repo(lambda repo: (repo.index.add(["new"]), repo.index.commit("inside").author.name))
assert result.unwrap()[1] == "T", result
own = GitTool(".").with_repo(lambda repo: repo.head)
assert own.failure().cause == "refused", own
"""


def test_inside_a_hook_another_repository_is_worked_on_and_its_own_is_refused(repo: Path, tmp_path: Path) -> None:
    other = seed(tmp_path / "other")
    write(other / "new", "new\n")
    before = state(repo)
    code = script(tmp_path / "inside.py", FOREIGN.format(other=str(other)))
    python_path = os.pathsep.join(filter(None, (str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH"))))
    hook(repo, "pre-commit", f"PYTHONPATH='{python_path}' GIT_COMMON_DIR=.git '{sys.executable}' '{code}' && exit 3")
    write(repo / "a.txt", "changed\n")
    git(repo, "add", "a.txt")
    env = {**os.environ, "GIT_AUTHOR_NAME": "Outer", "GIT_AUTHOR_DATE": "1970-01-01T00:00:00Z"}
    done = subprocess.run([GIT, "-C", repo, "commit", "-qm", "x"], env=env, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert git(other, "log", "-1", "--format=%an %s") == b"T inside\n"
    assert git(other, "log", "-1", "--format=%ad", "--date=format:%Y") != b"1970\n"
    assert git(other, "show", "--name-only", "--format=") == b"new\n"
    assert state(repo).head == before.head


def test_hooks_of_a_commit_run_where_git_finds_them(repo: Path) -> None:
    git(repo, "config", "core.hooksPath", "my hooks")
    for name in ("pre-commit", "post-commit"):
        script(repo / "my hooks" / name, f"echo {name} $GIT_INDEX_FILE >> ran")
    script(repo / "my hooks/commit-msg", 'echo edited > "$1"')
    made = or_raise(GitTool(repo).with_repo(lambda repo: repo.index.commit("x").message))
    assert made == "edited\n"
    assert (repo / "ran").read_text().split() == [
        "pre-commit", str(repo / ".git/index"), "post-commit", str(repo / ".git/index")
    ]  # fmt: skip
    or_raise(GitTool(repo).with_repo(lambda repo: repo.index.commit("y", skip_hooks=True)))
    assert len((repo / "ran").read_text().split()) == 4


def test_threads_have_a_repository_each_and_wait_for_each_other(repo: Path) -> None:
    def code(repo: gitpython.Repo, name: str) -> None:
        write(Path(repo.working_dir) / name, name)
        repo.index.add([name])
        repo.index.commit(name)

    def work(number: int) -> None:
        for turn in range(3):
            or_raise(GitTool(repo).with_repo(partial(code, name=f"{number}-{turn}")))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert git(repo, "rev-list", "--count", "HEAD") == b"19\n"
    assert len(git(repo, "ls-files").split()) == 19


def test_a_tool_that_is_called_meanwhile_is_refused_at_once(repo: Path) -> None:
    tool = GitTool(repo)
    started = time.monotonic()
    for result in (
        or_raise(tool.with_repo(lambda repo: tool.commit("x", allow_empty=True))),
        or_raise(tool.with_repo(lambda repo: tool.with_repo(lambda repo: repo.head))),
    ):
        assert failed(result).cause == "locked"
    assert time.monotonic() - started < 60


# How it is loaded.

LOADS = """
import os, sys
from orca.tools import GitTool
assert "git" not in sys.modules  # orca by itself does not load it
before = dict(os.environ)
{first}
result = GitTool({repo!r}).with_repo(lambda repo: repo.head.commit.hexsha, timeout={timeout})
assert dict(os.environ) == before
try:
    print(result.unwrap())
except Exception:
    error = result.failure()
    print(error.tag, getattr(error, "cause", error))
"""


def loaded(repo: Path, first: str = "", timeout: float = 60.0, **env: str) -> str:
    code = LOADS.format(repo=str(repo), first=first, timeout=timeout)
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_gitpython_is_loaded_by_the_first_call(repo: Path) -> None:
    assert loaded(repo) == sha(repo)


def test_without_gitpython_it_is_an_unsupported_feature(repo: Path) -> None:
    for name in ("git", "gitdb"):
        found = loaded(repo, f"sys.modules[{name!r}] = None")
        assert found.startswith("UnsupportedFeature Not supported: GitPython")


def test_loading_it_with_no_git_or_one_that_sleeps_fails_in_time(repo: Path, tmp_path: Path) -> None:
    assert loaded(repo, PATH=str(tmp_path)) == "CommandFailed not-found"
    asleep = script(tmp_path / "asleep/git", "exec sleep 1000")
    assert loaded(repo, timeout=1.0, PATH=f"{asleep.parent}:{PATH}") == "CommandFailed timeout"
    # Only GitPython looks at this one.
    assert loaded(repo, timeout=1.0, GIT_PYTHON_GIT_EXECUTABLE=str(asleep)) == "CommandFailed timeout"
    assert loaded(repo, GIT_PYTHON_GIT_EXECUTABLE="/nonexistent/git") == "CommandFailed not-found"


def test_git_that_goes_missing_later_is_not_found(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = GitTool(repo)
    or_raise(tool.status())
    monkeypatch.setenv("PATH", "/nonexistent")
    assert failed(tool.with_repo(lambda repo: repo.git.status())).cause == "not-found"
    assert failed(tool.with_repo(lambda repo: repo.head.commit.tree)).cause == "not-found"
    assert failed(GitTool(repo).with_repo(lambda repo: None)).cause == "not-found"


@pytest.mark.parametrize("way", ["git add", "index.add", "index.commit", "git commit"])
def test_a_full_disk_has_the_cause_that_it_has_for_git(tmpfs: Disk, way: str) -> None:
    root = seed(tmpfs.path / "repo")
    write(root / "new", "new\n")
    git(root, "add", "new")
    write(root / "newer", "newer\n")
    or_raise(GitTool(root).status())
    or_raise(GitTool(root).with_repo(lambda repo: None))
    tmpfs.fill()
    tool = GitTool(root)
    same = tool.add("newer") if "add" in way else tool.commit("x")
    code: dict[str, Callable[[gitpython.Repo], object]] = {
        "git add": lambda repo: repo.git.add("newer"),
        "index.add": lambda repo: repo.index.add(["newer"]),
        "index.commit": lambda repo: repo.index.commit("x"),
        "git commit": lambda repo: repo.git.commit("-m", "x"),
    }
    error = failed(tool.with_repo(code[way]))
    assert error.cause == failed(same).cause == "exit", error
    assert error.stderr


# How long, and what is left.

HANGS = 'for word; do case $word in {words}) exec sleep 1000;; esac; done; exec {git} "$@"'

ENDLESS: Mapping[str, Callable[[gitpython.Repo], object]] = {
    "gc": lambda repo: repo.git.gc(),
    "fetch": lambda repo: repo.remote().fetch(),
    "push": lambda repo: repo.remote().push(),
    "rev-list": lambda repo: list(repo.iter_commits()),
    "cat-file": lambda repo: repo.head.commit.message,
    "hook": lambda repo: repo.index.commit("x"),
    "diff-tree diff": lambda repo: repo.head.commit.diff("HEAD~0"),
}


@pytest.mark.slow
@pytest.mark.parametrize("words", ENDLESS, ids=lambda words: words.split()[0])
def test_a_git_that_hangs_is_ended_at_the_deadline(
    words: str, remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = GitTool(remote.work)
    or_raise(tool.with_repo(lambda repo: None))
    body = HANGS.format(words=words.replace(" ", "|"), git=GIT)
    monkeypatch.setenv("PATH", f"{script(tmp_path / 'bin' / 'git', body).parent}:{PATH}")
    started = time.monotonic()
    error = failed(tool.with_repo(ENDLESS[words], timeout=1.5))
    assert time.monotonic() - started < 1.5 + LATE_S
    assert (error.cause, error.effect, error.exit_code) == ("timeout", "unknown", None)
    assert children() == []


@pytest.mark.slow
def test_a_program_that_will_not_end_is_killed_with_what_it_started(repo: Path, tmp_path: Path) -> None:
    git(repo, "config", "alias.stubborn", "!trap '' TERM; setsid sleep 1000 & sleep 1000; sleep 1000")

    def code(repo: gitpython.Repo, as_process: bool) -> object:
        return _waited_if(repo.git.stubborn(as_process=as_process))

    for as_process in (False, True):
        error = failed(GitTool(repo).with_repo(partial(code, as_process=as_process), timeout=1.5))
        assert error.cause == "timeout"
        assert sleeping_in(repo) == []


@pytest.mark.slow
def test_a_caller_who_catches_the_timeout_still_has_one(repo: Path) -> None:
    git(repo, "config", "alias.endless", "!sleep 1000")

    def code(repo: gitpython.Repo) -> str:
        for _ in range(2):
            try:
                repo.git.endless()
            except gitpython.GitCommandError:
                continue
        return "done"

    assert failed(GitTool(repo).with_repo(code, timeout=1.0)).cause == "timeout"


def test_a_time_that_the_caller_gives_one_program_is_its_own(repo: Path) -> None:
    git(repo, "config", "alias.endless", "!sleep 1000")

    def code(repo: gitpython.Repo) -> str:
        with pytest.raises(gitpython.GitCommandError):
            repo.git.endless(kill_after_timeout=0.3)
        return str(repo.git.rev_parse("HEAD"))

    assert or_raise(GitTool(repo).with_repo(code)) == sha(repo)
    error = failed(GitTool(repo).with_repo(lambda repo: repo.git.endless(kill_after_timeout=0.3)))
    assert error.cause == "timeout"


@pytest.mark.slow
def test_a_computation_beyond_the_deadline_is_not_taken_back(repo: Path) -> None:
    def code(repo: gitpython.Repo) -> str:
        message = str(repo.head.commit.message)
        while time.monotonic() < started + 3.2:
            time.sleep(0.05)
        return message

    started = time.monotonic()
    assert or_raise(GitTool(repo).with_repo(code, timeout=3.0)) == "seed\n"


@pytest.mark.parametrize("as_process", [False, True])
def test_cancel_all_ends_it(as_process: bool, repo: Path) -> None:
    git(repo, "config", "alias.endless", "!touch started; sleep 1000")
    found: list[Any] = []
    worker = threading.Thread(
        target=lambda: found.append(
            GitTool(repo).with_repo(lambda repo: [_waited_if(repo.git.endless(as_process=as_process))])
        )
    )
    worker.start()
    until = time.monotonic() + 30
    while not (repo / "started").exists() and time.monotonic() < until:
        time.sleep(0.01)
    cancel_all("enough")
    worker.join(30)
    assert failed(found[0]).cause == "cancelled"
    assert isinstance(GitTool(repo).with_repo(lambda repo: None), Success)


def _waited_if(process: Any) -> object:
    return process.wait() if hasattr(process, "wait") else process


SIGNALLED = """
import os, sys
from orca.tools import GitTool
GitTool({repo!r}).with_repo(lambda repo: {code})
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("way", ["repo.git.endless()", "repo.git.endless(as_process=True).wait()"])
def test_a_signal_leaves_nothing_running(number: signal.Signals, way: str, repo: Path) -> None:
    git(repo, "config", "alias.endless", "!touch started; setsid sleep 1000 & sleep 1000")
    with subprocess.Popen(
        [sys.executable, "-c", SIGNALLED.format(repo=str(repo), code=way)], stderr=subprocess.DEVNULL
    ) as process:
        until = time.monotonic() + 60
        while not (repo / "started").exists() and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(number)
        process.wait(60)
    assert process.returncode in (-number, 1)
    assert sleeping_in(repo) == []
