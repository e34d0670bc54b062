"""How a program ended is told as it was, and never guessed."""

from __future__ import annotations

import json

import pytest
from hosts import host

from orca import CommandFailed, command


@pytest.mark.parametrize("code", [1, 2, 7, 126, 127, 128, 137, 255])
def test_an_exit_code_is_told_as_it_is(code: int) -> None:
    error = command().run("sh", "-c", f"exit {code}").failure()
    assert isinstance(error, CommandFailed)
    assert (error.cause, error.exit_code, error.signal, error.effect) == ("exit", code, None, "unknown")


@pytest.mark.parametrize(("script", "code"), [("no-such-command", 127), ("/etc/passwd", 126), ("./no/such", 127)])
def test_what_a_shell_could_not_start_is_the_shells_exit(script: str, code: int) -> None:
    for result in (command().run("sh", "-c", script), command().shell(script)):
        error = result.failure()
        assert isinstance(error, CommandFailed)
        assert (error.cause, error.exit_code) == ("exit", code)
        assert error.stderr


@pytest.mark.parametrize("name", ["KILL", "SEGV", "TERM", "INT", "HUP", "PIPE", "ABRT", "USR1"])
def test_death_by_a_signal_names_it_and_is_no_exit_code(name: str) -> None:
    error = command().run("sh", "-c", f"ulimit -c 0; kill -{name} $$").failure()
    assert isinstance(error, CommandFailed)
    assert (error.cause, error.exit_code, error.signal, error.effect) == ("signal", None, f"SIG{name}", "unknown")


def test_death_by_a_signal_without_a_name() -> None:
    error = command().run("sh", "-c", "kill -40 $$").failure()
    assert isinstance(error, CommandFailed)
    assert (error.cause, error.exit_code, error.signal) == ("signal", None, "SIG40")


def test_a_shell_that_passes_its_childs_death_on_exited_by_itself() -> None:
    error = command().run("sh", "-c", 'sh -c "kill -9 \\$\\$"; exit $?').failure()
    assert isinstance(error, CommandFailed)
    assert (error.cause, error.exit_code, error.signal) == ("exit", 137, None)


def test_codes_that_are_fine_are_the_callers_to_say() -> None:
    assert command().run("sh", "-c", "exit 1", ok_codes=(0, 1)).unwrap().exit_code == 1
    assert command().run("sh", "-c", "exit 3", ok_codes={3}).unwrap().exit_code == 3
    error = command().run("true", ok_codes=(1,)).failure()
    assert isinstance(error, CommandFailed)
    assert (error.cause, error.exit_code) == ("exit", 0)


LOSSES = {
    "SIGCHLD ignored": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\nreaped = lambda _: None",
    # The program says a word before it ends; it is then reaped by the host before orca may look.
    "a thread that reaps everything": """
done, asked = [], []
def reap():
    while True:
        try:
            done.append(os.waitpid(-1, 0))
        except ChildProcessError:
            time.sleep(0.001)
threading.Thread(target=reap, daemon=True).start()
def reaped(_):
    asked.append(None)
    while len(done) < len(asked):
        time.sleep(0.001)
""",
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_status_that_the_host_took_is_never_success(loss: str) -> None:
    code = f"""
{LOSSES[loss]}
answers = [go(script=f"echo; exit {{code}}", ok_codes=(0, 7), on_line=reaped) for code in (0, 7, 0, 7)]
tell(causes=causes(answers), effects=[answer.failure().effect for answer in answers], live=len(live._live))
tell(timeout=causes([go(timeout=0.3)]))
"""
    with host(code) as running:
        first, second = map(json.loads, running.ends(0, within=20).splitlines())
    assert first == {"causes": [["other", None]] * 4, "effects": ["unknown"] * 4, "live": 0}
    assert second == {"timeout": [["timeout", None]]}


def test_a_status_that_the_host_takes_after_the_end_was_seen_is_never_success() -> None:
    code = """
answer = go(script="(sleep 0.2; echo) & exit 7", ok_codes=(0, 7), on_line=lambda _: os.waitpid(-1, 0))
tell(causes=causes([answer]))
"""
    with host(code) as running:
        assert json.loads(running.ends(0, within=20)) == {"causes": [["other", None]]}


def test_a_program_that_reads_to_the_end_ends_though_our_own_input_stays_open() -> None:
    code = "tell(out=go(script='echo >&2 reading; cat; echo answer').unwrap().stdout)"
    with host(code) as running:  # nobody writes to its input, nobody closes it
        running.says('{"out": "answer\\n"}'.replace("\n", "\\n"))
