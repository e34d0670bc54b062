"""The user's hooks around a commit: they run, they are heard, and what they do decides what is said afterwards."""

import dataclasses
import json
import time
from pathlib import Path

import psutil
import pytest
from outcomes import changed, failed, message, state
from worlds.repository import git, hook, script, sha, write

from orca.errors import CommandFailed, to_wire
from orca.results import or_raise
from orca.tools import GitTool

LATE_S = 3.0  # how long after its deadline a call may return


@pytest.fixture
def changing(repo: Path) -> Path:
    """The repository with one change staged, of `a.txt`."""
    write(repo / "a.txt", "a\nb\n")
    git(repo, "add", "a.txt")
    return repo


def processes_of(repo: Path) -> list[str]:
    """What still works in the repository, by name: hooks run at its top, and a process can hide from its parents."""
    running = [process.info for process in psutil.process_iter(["cwd", "name"])]
    return [info["name"] for info in running if info["cwd"] is not None and Path(info["cwd"]).is_relative_to(repo)]


def test_a_hook_that_reformats_and_fails_is_heard_and_not_helped(changing: Path) -> None:
    hook(changing, "pre-commit", 'echo "reformatted a.txt"; echo "too long" >&2; echo fixed >> a.txt; exit 3')
    before = state(changing)
    error = failed(GitTool(changing).commit("x"))
    assert (error.cause, error.effect, error.exit_code) == ("hook-failed", "none", 1)
    assert "reformatted a.txt" in error.stderr
    assert "too long" in error.stderr
    after = state(changing)
    assert (after.head, after.refs, after.index) == (before.head, before.refs, before.index)
    assert (changing / "a.txt").read_text() == "a\nb\nfixed\n"  # what the hook did stays, and nothing came on top
    entries = or_raise(GitTool(changing).status()).entries
    assert [(entry.path, entry.index, entry.worktree) for entry in entries] == [("a.txt", "M", "M")]


def test_a_hook_that_edits_and_passes_does_not_change_what_was_staged(changing: Path) -> None:
    hook(changing, "pre-commit", "echo fixed >> a.txt")
    made = or_raise(GitTool(changing).commit("x"))
    assert git(changing, "show", f"{made.sha}:a.txt") == b"a\nb\n"
    assert [entry.path for entry in or_raise(GitTool(changing).status()).unstaged] == ["a.txt"]


def test_a_hook_that_edits_and_stages_has_its_edit_committed(changing: Path) -> None:
    hook(changing, "pre-commit", "echo fixed >> a.txt; git add a.txt")
    assert or_raise(GitTool(changing).commit("x")).insertions == 2
    assert or_raise(GitTool(changing).status()).clean


@pytest.mark.parametrize("name", ["pre-commit", "prepare-commit-msg", "commit-msg"])
@pytest.mark.parametrize("way", ["exit 1", "exit 128", "kill -9 $$", "exec /nonexistent"])
def test_every_hook_before_the_commit_can_stop_it(name: str, way: str, changing: Path) -> None:
    hook(changing, name, way)
    before = state(changing)
    error = failed(GitTool(changing).commit("x"))
    assert (error.cause, error.effect) == ("hook-failed", "none")
    assert state(changing) == before


def test_a_hook_whose_interpreter_is_missing_stops_the_commit(changing: Path) -> None:
    hook(changing, "pre-commit", "#!/nonexistent/python\n")
    before = state(changing)
    error = failed(GitTool(changing).commit("x"))
    assert (error.cause, error.effect) == ("hook-failed", "none"), error.stderr
    assert state(changing) == before


def test_a_hook_that_empties_the_message_stops_the_commit(changing: Path) -> None:
    hook(changing, "commit-msg", ': > "$1"')
    assert failed(GitTool(changing).commit("x")).cause == "hook-failed"


def test_a_hook_that_rewrites_the_message_is_believed(changing: Path) -> None:
    hook(changing, "commit-msg", 'echo "other" > "$1"')
    assert or_raise(GitTool(changing).commit("x")).subject == "other"


def test_a_hook_that_is_not_executable_does_not_run(changing: Path) -> None:
    hook(changing, "pre-commit", "exit 1").chmod(0o644)
    assert or_raise(GitTool(changing).commit("x")).sha == sha(changing)


def test_hooks_are_found_where_the_configuration_says(changing: Path) -> None:
    hook(changing, "pre-commit", "exit 0")
    script(changing / "tools/hooks/pre-commit", "echo from hooksPath; exit 1")
    git(changing, "config", "core.hooksPath", "tools/hooks")
    error = failed(GitTool(changing).commit("x"))
    assert (error.cause, "from hooksPath" in error.stderr) == ("hook-failed", True)


def test_without_verify_only_the_hooks_that_git_always_runs_can_stop_a_commit(changing: Path) -> None:
    for name in ("pre-commit", "commit-msg"):
        hook(changing, name, "exit 1")
    tool = GitTool(changing)
    hook(changing, "prepare-commit-msg", "exit 1")
    assert failed(tool.commit("x", verify=False)).cause == "hook-failed"
    (changing / ".git/hooks/prepare-commit-msg").unlink()
    assert or_raise(tool.commit("x", verify=False)).sha == sha(changing)


def test_a_hook_after_the_commit_that_fails_changes_nothing(changing: Path) -> None:
    hook(changing, "post-commit", "echo no >&2; exit 1")
    made = or_raise(GitTool(changing).commit("x"))
    assert (made.sha, changed(changing)) == (sha(changing), {b"a.txt"})


@pytest.mark.parametrize("body", [None, "exit 0"], ids=["no hook", "a hook that passes"])
def test_exit_1_is_no_hook_failure_where_no_hook_failed(body: str | None, changing: Path) -> None:
    git(changing, "update-index", "--add", "--cacheinfo", f"100644,{'1' * 40},nowhere")  # git cannot make a tree of it
    if body is not None:
        hook(changing, "pre-commit", body)
    before = state(changing)
    error = failed(GitTool(changing).commit("x"))
    assert (error.cause, error.effect, error.exit_code) == ("exit", "none", 1)
    assert state(changing) == before


# Text


def test_a_hook_whose_words_are_not_utf_8(changing: Path) -> None:
    hook(changing, "pre-commit", r"printf 'bad \377\376 bytes \033[31m'; printf '\303' >&2; exit 1")
    error = failed(GitTool(changing).commit("x"))
    assert (error.cause, error.exit_code) == ("hook-failed", 1)
    assert "bad \ufffd\ufffd bytes" in error.stderr
    json.dumps(to_wire(error), ensure_ascii=False).encode()
    str(error).encode()


def test_a_hook_that_is_verbose(changing: Path) -> None:
    hook(changing, "pre-commit", "head -c 3000000 /dev/zero | tr '\\0' x; echo the end; exit 1")
    assert failed(GitTool(changing).commit("x")).stderr.rstrip().endswith("the end")


TOKEN = "ghp_" + "0123456789abcdefghij0123456789abcdef"
PLANTED = "correct-horse-battery-staple-4711"


def everything(error: CommandFailed) -> str:
    fields = [repr(getattr(error, field.name)) for field in dataclasses.fields(error)]
    return "".join([*fields, repr(error), str(error), json.dumps(to_wire(error))])


def test_no_secret_that_a_hook_prints_is_in_the_failure(changing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", PLANTED)
    body = f'echo "token is $DEPLOY_TOKEN" >&2; echo "url is https://user:{TOKEN}@example.invalid/x"; exit 1'
    hook(changing, "pre-commit", body)
    error = failed(GitTool(changing).commit("x"))
    assert error.cause == "hook-failed"
    assert "token is" in error.stderr
    assert "url is" in error.stderr
    assert PLANTED not in everything(error)
    assert TOKEN not in everything(error)


# Time


HANG = "sleep 1000 & setsid sleep 1000 & touch hanging; sleep 1000"


def times_out(repo: Path) -> CommandFailed:
    """The failure of a commit whose hook never ends; soon after its deadline, and with nothing left of it."""
    began = time.monotonic()
    error = failed(GitTool(repo).commit("x", timeout=0.7))
    assert time.monotonic() - began < 0.7 + LATE_S
    assert (repo / "hanging").exists()
    assert (error.cause, error.exit_code) == ("timeout", None)
    assert processes_of(repo) == []
    assert [path for path in (repo / ".git").rglob("*.lock") if path.name != "orca-index.lock"] == []
    (repo / "hanging").unlink()
    return error


@pytest.mark.parametrize("name", ["pre-commit", "commit-msg"])
def test_a_hook_that_hangs_before_the_commit_is_ended_and_nothing_landed(name: str, changing: Path) -> None:
    hook(changing, name, HANG)
    before = state(changing)
    assert times_out(changing).effect == "none"
    assert state(changing) == before
    (changing / ".git/hooks" / name).unlink()
    assert or_raise(GitTool(changing).commit("x")).sha == sha(changing)


def test_a_hook_that_hangs_after_the_commit_is_ended_and_the_commit_landed(changing: Path) -> None:
    hook(changing, "post-commit", HANG)
    before = sha(changing)
    assert times_out(changing).effect == "landed"
    assert sha(changing, "HEAD~1") == before
    assert message(changing) == b"x\n"
    assert or_raise(GitTool(changing).status()).clean


def test_a_commit_of_paths_that_ran_out_of_time_after_it_landed_is_in_the_index_too(changing: Path) -> None:
    write(changing / "new", "new\n")
    hook(changing, "post-commit", HANG)
    error = failed(GitTool(changing).commit("x", only=["new"], timeout=0.7))
    assert (error.cause, error.effect) == ("timeout", "landed")
    (changing / "hanging").unlink()
    assert changed(changing) == {b"new"}
    entries = or_raise(GitTool(changing).status()).entries
    assert [(entry.path, entry.index, entry.worktree) for entry in entries] == [("a.txt", "M", ".")]


def test_a_commit_of_paths_whose_index_is_locked_in_the_end_has_landed(changing: Path) -> None:
    write(changing / "new", "new\n")
    hook(changing, "post-commit", "touch .git/index.lock")
    error = failed(GitTool(changing).commit("x", only=["new"]))
    assert (error.cause, error.effect, changed(changing)) == ("locked", "landed", {b"new"})


def test_a_hook_that_leaves_a_program_behind_does_not_hold_up_the_commit(changing: Path) -> None:
    hook(changing, "post-commit", "sleep 100 & echo $! > ../pid")
    began = time.monotonic()
    assert or_raise(GitTool(changing).commit("x")).sha == sha(changing)
    assert time.monotonic() - began < LATE_S
    psutil.Process(int((changing.parent / "pid").read_text())).kill()


# What happened although git failed


def test_a_git_that_dies_after_the_commit_has_landed_it(changing: Path) -> None:
    hook(changing, "post-commit", "kill -KILL $PPID")
    before = sha(changing)
    error = failed(GitTool(changing).commit("x"))
    assert (error.cause, error.signal, error.exit_code, error.effect) == ("signal", "SIGKILL", None, "landed")
    assert sha(changing, "HEAD~1") == before


def test_a_commit_that_cannot_be_read_back_has_landed(changing: Path) -> None:
    head = (changing / ".git/HEAD").read_text()
    hook(changing, "post-commit", "echo nonsense > .git/HEAD")
    error = failed(GitTool(changing).commit("x"))
    assert error.effect == "landed"
    write(changing / ".git/HEAD", head)
    assert message(changing) == b"x\n"


def test_a_git_that_dies_before_the_commit_has_not_landed_it(changing: Path) -> None:
    hook(changing, "pre-commit", "kill -TERM $PPID")
    before = state(changing)
    error = failed(GitTool(changing).commit("x"))
    assert (error.cause, error.signal, error.exit_code, error.effect) == ("signal", "SIGTERM", None, "none")
    assert state(changing) == before


def test_a_hook_that_moves_head_makes_the_commit_a_conflict_of_refs_that_did_not_land(changing: Path) -> None:
    hook(changing, "pre-commit", "git update-ref HEAD $(git commit-tree -p HEAD -m other HEAD^{tree})")
    error = failed(GitTool(changing).commit("x"))
    assert (error.cause, error.effect) == ("ref-conflict", "none"), error.stderr
    assert message(changing) == b"other\n"
    assert git(changing, "diff", "--cached", "--name-only") == b"a.txt\n"


def test_a_hook_that_moves_head_and_fails_has_not_made_the_commit_land(changing: Path) -> None:
    hook(changing, "pre-commit", "git update-ref HEAD $(git commit-tree -p HEAD -m other HEAD^{tree}); exit 1")
    error = failed(GitTool(changing).commit("x"))
    assert (error.cause, error.effect) == ("hook-failed", "none")


def test_hooks_of_other_operations_run_and_are_told_apart(repo: Path) -> None:
    git(repo, "branch", "other")
    hook(repo, "post-checkout", "echo no >&2; exit 1")
    tool = GitTool(repo)
    for name in ("other", "main", "new"):
        error = failed(tool.create_branch(name) if name == "new" else tool.switch(name))
        assert (error.cause, error.effect) == ("hook-failed", "landed")
        assert or_raise(tool.current_branch()) == name
    assert or_raise(tool.create_branch("unswitched", switch=False)).name == "unswitched"


def test_a_hook_after_a_switch_that_hangs_is_ended_and_the_switch_landed(repo: Path) -> None:
    git(repo, "branch", "other")
    hook(repo, "post-checkout", "sleep 1000")
    error = failed(GitTool(repo).switch("other", timeout=0.5))
    assert (error.cause, error.effect) == ("timeout", "landed")
    assert processes_of(repo) == []


def test_a_reference_transaction_that_is_refused_makes_no_branch(repo: Path) -> None:
    hook(repo, "reference-transaction", 'test "$1" != prepared')
    before = state(repo)
    tool = GitTool(repo)
    for result in (tool.create_branch("new"), tool.create_branch("new", switch=False)):
        assert (failed(result).cause, failed(result).effect) == ("hook-failed", "none")
    assert state(repo) == before


@pytest.mark.parametrize("add", ["all", "tracked", ("a.txt", "new.txt")], ids=str)
def test_a_commit_that_a_hook_stops_takes_back_what_it_had_staged(changing: Path, add: str | tuple[str, ...]) -> None:
    write(changing / "a.txt", "a\nb\nc\n")
    write(changing / "new.txt", "new\n")
    staged = git(changing, "ls-files", "--stage")
    hook(changing, "pre-commit", "exit 1")
    error = failed(GitTool(changing).commit("stopped", add=add))
    assert (error.cause, error.effect) == ("hook-failed", "none")
    assert git(changing, "ls-files", "--stage") == staged
    assert (changing / "new.txt").read_text() == "new\n"


def test_a_first_commit_that_a_hook_stops_leaves_no_index(tmp_path: Path) -> None:
    tool = or_raise(GitTool.init(tmp_path / "fresh"))
    write(tmp_path / "fresh" / "a.txt", "a\n")
    hook(tmp_path / "fresh", "pre-commit", "exit 1")
    assert failed(tool.commit("stopped", add="all")).effect == "none"
    assert [entry.path for entry in or_raise(tool.status()).untracked] == ["a.txt"]
