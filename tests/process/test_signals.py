"""No program outlives its deadline, its cancel, or the process that runs it."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from hosts import host, marked, sleeping, until

WAYS = {
    "main": ("answers = [go(**GIVEN)]", 1),
    "thread": ("t = threading.Thread(target=lambda: answers.append(go(**GIVEN))); t.start(); t.join()", 1),
    "daemon": ("t = threading.Thread(target=lambda: answers.append(go(**GIVEN)), daemon=True); t.start(); t.join()", 1),
    "pool": ("with ThreadPoolExecutor(2) as p: answers = list(p.map(lambda _: go(**GIVEN), range(4)))", 2),
    "map": ("with flow() as run: answers = run.map(lambda _: go(**GIVEN), range(4), workers=2)", 2),
    "to_thread": ("answers = [asyncio.run(asyncio.to_thread(go, **GIVEN))]", 1),
}
CODES = {signal.SIGINT: -2, signal.SIGTERM: -15, signal.SIGHUP: -1}
TELL = "\ntell(causes=causes(answers), took=time.monotonic() - START, live=len(live._live))"


@pytest.mark.parametrize("way", WAYS)
def test_after_a_timeout_no_process_is_left_and_the_call_is_back(way: str) -> None:
    code, workers = WAYS[way]
    rounds = 2 if workers > 1 else 1
    with host(f"GIVEN = dict(timeout=0.3)\nanswers = []\nSTART = time.monotonic()\n{code}{TELL}") as running:
        running.sleeps(2 * workers)
        told = json.loads(running.ends(0, within=20))
    assert told["causes"] == [["timeout", None]] * rounds * workers
    assert 0.3 * rounds <= told["took"] < 10 * rounds
    assert told["live"] == 0


@pytest.mark.parametrize("way", WAYS)
def test_after_a_cancel_no_process_is_left_and_the_call_is_back(way: str) -> None:
    code, workers = WAYS[way]
    watch = """
cancel = threading.Event()
def wait():
    global START
    input()
    START = time.monotonic()
    cancel.set()
threading.Thread(target=wait, daemon=True).start()
GIVEN = dict(cancel=cancel)
answers = []
"""
    with host(f"{watch}{code}{TELL}") as running:
        running.sleeps(2 * workers)
        running.hear()
        told = json.loads(running.ends(0))
    assert told["causes"] == [["cancelled", None]] * (2 if workers > 1 else 1) * workers
    assert told["took"] < 15
    assert told["live"] == 0


@pytest.mark.parametrize("way", WAYS)
def test_a_signal_ends_everything_with_the_default_exit_status(way: str) -> None:
    code, workers = WAYS[way]
    with ExitStack() as stack:
        hosts = {signum: stack.enter_context(host(f"GIVEN = {{}}\nanswers = []\n{code}{TELL}")) for signum in CODES}
        for signum, running in hosts.items():
            running.sleeps(2 * workers)
            running.signal(signum)
        for signum, running in hosts.items():
            assert running.ends(CODES[signum]) == ""


def test_interrupted_workers_get_a_cancelled_call_and_start_nothing_of_the_queue() -> None:
    code = """
pool = ThreadPoolExecutor(2)
futures = [pool.submit(go) for _ in range(6)]
try:
    threading.Event().wait()
except KeyboardInterrupt:
    tell(causes=causes([f.result() for f in futures]), effects=[f.result().failure().effect for f in futures])
    tell(again=go(script="exit 0").unwrap().exit_code, worker=pool.submit(go, script=":").result().unwrap().exit_code)
"""
    with host(code) as running:
        running.sleeps(4)
        running.signal(signal.SIGINT)
        first, second = map(json.loads, running.ends(0).splitlines())
    assert first["causes"] == [["cancelled", None]] * 6
    assert first["effects"] == ["unknown"] * 2 + ["none"] * 4
    assert second == {"again": 0, "worker": 0}


def test_map_goes_on_after_an_interrupt_that_the_main_thread_survived() -> None:
    code = """
with flow() as run:
    try:
        run.map(go, range(4), workers=2)
    except KeyboardInterrupt:
        tell(codes=run.map(lambda _: go(script="exit 0").unwrap().exit_code, range(4), workers=2))
"""
    with host(code) as running:
        running.sleeps(4)
        running.signal(signal.SIGINT)
        assert json.loads(running.ends(0)) == {"codes": [0] * 4}


OWN = """
def own(signum, frame):
    cancel_all("own")
    tell(left=len([1 for run in live._live.values() if not run.cancelled]))
    sys.exit(3)
"""
SET = "signal.signal(signal.SIGTERM, own); signal.signal(signal.SIGINT, own)\n"


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("way", ["main", "daemon"])
def test_a_programs_own_handler_is_left_alone_and_cancel_all_works_inside_it(signum: signal.Signals, way: str) -> None:
    with host(f"{OWN}{SET}GIVEN = {{}}\nanswers = []\n{WAYS[way][0]}") as running:
        running.sleeps(2)
        running.signal(signum)
        assert json.loads(running.ends(3)) == {"left": 0}


def _loaded_after(setting: str, then: str) -> str:
    """Code that sets dispositions before orca is loaded, in a Python that the prelude has not touched."""
    code = f"import signal, sys\n{setting}\nfrom orca import command\n{then}"
    return f"os.execv(sys.executable, [sys.executable, '-c', {code!r}])"


def test_handlers_that_were_there_before_stay() -> None:
    setting = """
def own(signum, frame):
    sys.exit(5)
signal.signal(signal.SIGTERM, own)
signal.signal(signal.SIGHUP, signal.default_int_handler)
signal.signal(signal.SIGINT, signal.SIG_IGN)
"""
    then = """
command().run("true")
assert signal.getsignal(signal.SIGTERM) is own
assert signal.getsignal(signal.SIGHUP) is signal.default_int_handler
assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
print("kept", flush=True)
import time
while True:
    time.sleep(0.05)
"""
    with host(_loaded_after(setting, then)) as running:
        running.says("kept")
        running.signal(signal.SIGTERM)
        running.ends(5)


def test_a_default_sigint_that_kills_without_a_traceback_still_does_and_leaves_nothing() -> None:
    then = "import os; mark = os.environ['MARK']; command().run('sh', '-c', f'setsid sleep {mark} & sleep {mark}')"
    with host(_loaded_after("signal.signal(signal.SIGINT, signal.SIG_DFL)", then)) as running:
        running.sleeps(2)
        running.signal(signal.SIGINT)
        running.process.wait(15)
        assert running.process.stderr is not None
        assert running.process.stderr.read() == b""
        running.ends(-2)


def test_a_hang_up_that_nohup_ignores_stays_ignored() -> None:
    with host("tell(code=go(script='echo up; read line', input=None, timeout=20).unwrap().exit_code)", "nohup") as deaf:
        deaf.ends(1, within=20)  # `read` finds no input: the world of this test is in order
    code = """
def line(_):
    tell(up=True)
    input()
tell(code=go(script='echo up', on_line=line).unwrap().exit_code)
"""
    with host(code, "nohup") as running:
        running.says('{"up": true}')
        running.signal(signal.SIGHUP)
        running.hear()
        assert json.loads(running.ends(0, within=20)) == {"code": 0}


def test_loading_in_a_worker_raises_nothing_and_a_run_of_the_main_thread_is_covered() -> None:
    code = """
import sys
for name in [name for name in sys.modules if name.partition(".")[0] == "orca"]:
    del sys.modules[name]
signal.signal(signal.SIGTERM, signal.SIG_DFL)
codes = []
def work():
    from orca import command
    codes.append(command().run("true").unwrap().exit_code)
t = threading.Thread(target=work); t.start(); t.join()
tell(codes=codes)
from orca import command
go()
"""
    with host(code) as running:
        running.says('{"codes": [0]}')
        running.sleeps(2)
        running.signal(signal.SIGTERM)
        running.ends(-15)


FORKS = {
    "exits": """
pid = os.fork()
if pid == 0:
    sys.exit(0)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
""",
    "terminated": """
pid = os.fork()
if pid == 0:
    signal.pause()
    os._exit(1)
os.kill(pid, signal.SIGTERM)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
""",
    "multiprocessing": """
import multiprocessing
child = multiprocessing.get_context("fork").Process(target=signal.pause)
child.start()
child.terminate()
child.join()
status = child.exitcode
""",
    "runs": """
pid = os.fork()
if pid == 0:
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    code = go(script="exit 6", ok_codes=(6,)).unwrap().exit_code
    assert callable(signal.getsignal(signal.SIGTERM))
    os._exit(code)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
""",
}


@pytest.mark.parametrize("fork", FORKS)
def test_a_forked_child_does_not_end_what_its_parent_runs(fork: str) -> None:
    code = f"""
import warnings; warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads is what is tested
threading.Thread(target=go).start()
input()
{FORKS[fork]}
tell(status=status, live=len(live._live))
threading.Event().wait()
"""
    expected = {"exits": 0, "terminated": -15, "multiprocessing": -15, "runs": 6}[fork]
    with host(code) as running:
        running.sleeps(2)
        running.hear()
        running.says(json.dumps({"status": expected, "live": 1}))
        assert sleeping(running.mark) == 2
        running.signal(signal.SIGTERM)
        running.ends(-15)


STUBBORN = "live.GRACE_S = 60.0; go(script='trap \"echo asked >$FILE\" TERM; sleep $MARK & while :; do wait; done')"


def test_a_second_interrupt_does_not_wait_for_the_grace(tmp_path: Path) -> None:
    file = tmp_path / "asked"
    with host(f"os.environ['FILE'] = {str(file)!r}; {STUBBORN}") as running:
        running.sleeps(1)
        running.signal(signal.SIGINT)
        assert until(file.exists)
        running.signal(signal.SIGINT)
        running.ends(-2)


def test_a_sigterm_after_an_interrupt_ends_the_process_as_sigterm_does(tmp_path: Path) -> None:
    file = tmp_path / "asked"
    with host(f"os.environ['FILE'] = {str(file)!r}; {STUBBORN}") as running:
        running.sleeps(1)
        running.signal(signal.SIGINT)
        assert until(file.exists)
        running.signal(signal.SIGTERM)
        running.ends(-15)


def test_an_interrupt_while_the_program_is_being_started_leaves_nothing() -> None:
    code = """
start = subprocess.Popen.__init__
def interrupted(self, *args, **kwargs):
    start(self, *args, **kwargs)
    os.kill(os.getpid(), signal.SIGINT)
subprocess.Popen.__init__ = interrupted
go()
"""
    with host(code) as running:
        running.ends(-2)


@pytest.mark.slow
def test_interrupts_at_random_moments_leave_nothing() -> None:
    code = """
script = f"sleep {MARK} >/dev/null 2>&1 & exec true"
go(script=script)
go(timeout=0.1)  # an interrupt in the first import of a module would be of the module
while True:
    try:
        tell(go=True)
        while True:
            go(script=script)
    except KeyboardInterrupt:
        tell(live=len(live._live))
        input()
"""
    moments = random.Random()  # the moment is the point; nothing is waited for
    with host(code) as running:
        for _ in range(20):
            running.says('{"go": true}')
            time.sleep(moments.uniform(0, 0.03))
            running.signal(signal.SIGINT)
            running.says('{"live": 0}')
            assert until(lambda: not marked(running.mark, running.process.pid)), marked(running.mark)
            running.hear()


@pytest.mark.slow
def test_signals_at_random_moments_of_busy_workers_leave_nothing() -> None:
    code = """
go(script=":")
go(timeout=0.1)
def work(number):
    if number == 0:
        tell(go=True)
    while go(script=f"sleep {MARK} & kill $!; wait $!; true").value_or(None):
        pass
with flow() as run: run.map(work, range(8))
"""
    for signum in list(CODES) * 3:
        with host(code) as running:
            running.says('{"go": true}')
            time.sleep(random.uniform(0, 0.05))
            running.signal(signum)
            running.ends(CODES[signum], within=20)


def test_a_run_that_starts_while_all_is_stopped_is_seen_by_one_or_the_other() -> None:
    code = """
go(script="true")
real = os.urandom  # asked for a run's token
def late(size):
    token = real(size)
    if threading.current_thread() is not threading.main_thread():
        tell(starting=True)
        input()
    return token
os.urandom = late
def own(signum, frame):
    cancel_all("own")
    tell(cancelled=True)
signal.signal(signal.SIGTERM, own)
worker = threading.Thread(target=lambda: tell(causes=causes([go()])))
worker.start()
awake(lambda: not worker.is_alive())
"""
    with host(code) as running:
        running.says('{"starting": true}')
        running.signal(signal.SIGTERM)
        running.says('{"cancelled": true}')
        running.hear()
        assert json.loads(running.ends(0)) == {"causes": [["cancelled", None]]}


def test_a_worker_whose_program_is_between_fork_and_exec_is_waited_for() -> None:
    code = """
start, out = subprocess.Popen.__init__, os.dup(1)
def slow(self, *args, **kwargs):
    def before_exec():  # where the child still shows our environment
        os.write(out, b"forked\\n")
        time.sleep(0.2)
    start(self, *args, **kwargs, preexec_fn=before_exec)
subprocess.Popen.__init__ = slow
threading.Thread(target=go).start()
threading.Event().wait()
"""
    with host(code) as running:
        running.says("forked")
        running.signal(signal.SIGTERM)
        running.ends(-15)


def test_daemon_threads_runs_end_with_the_process() -> None:
    with host("threading.Thread(target=go, daemon=True).start()\ninput()") as running:
        running.sleeps(2)
        running.hear()
        running.ends(0)


def test_the_hosts_of_these_tests_would_leave_a_tree_behind() -> None:
    code = "subprocess.Popen(['sh', '-c', TREE]); tell(up=True); signal.pause()"
    with host(code) as running:
        running.sleeps(2)
        running.signal(signal.SIGTERM)
        assert running.process.wait(15) == -15
        assert len(marked(running.mark)) >= 2
        assert os.getpid() not in marked(running.mark)
