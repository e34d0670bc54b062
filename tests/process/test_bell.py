"""A signal reaches a main thread that sleeps, and what others use of the same machinery stays theirs."""

from __future__ import annotations

import json
import signal

import pytest
from hosts import host

CODES = {signal.SIGINT: -2, signal.SIGTERM: -15, signal.SIGHUP: -1}
# Another thread is given the signal: the main thread, which sleeps on a lock, sleeps on.
GIVE = """
def give():
    signum = int(sys.stdin.readline())
    signal.pthread_kill(threading.get_ident(), signum)
def later():
    thread = threading.Thread(target=give, daemon=True)
    thread.start()
later()
"""
WAYS = {
    "thread": "t = threading.Thread(target=go, daemon=True); t.start(); t.join()",
    "pool": "with ThreadPoolExecutor(2) as p: list(p.map(go, range(2)))",
    "lock": "threading.Thread(target=go, daemon=True).start(); threading.Event().wait()",
    "to_thread": "asyncio.run(asyncio.to_thread(go))",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("signum", CODES)
def test_a_signal_that_another_thread_is_given_ends_everything(signum: signal.Signals, way: str) -> None:
    with host(GIVE + WAYS[way]) as running:
        running.sleeps(4 if way == "pool" else 2)
        running.hear(str(int(signum)))
        running.ends(CODES[signum])


def test_one_signal_is_one_signal_and_the_next_one_another() -> None:
    code = """
def start():
    go(script=":")  # the main thread goes on
    threading.Thread(target=go, daemon=True).start()
for number in range(3):
    start()
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        tell(interrupted=number)
    start()
    woken = threading.Event().wait(0.5)  # a second interrupt would come in this time
    cancel_all()
    later()
    tell(still=woken)
"""
    with host(GIVE + code) as running:
        for number in range(3):
            running.sleeps(2)
            running.hear(str(int(signal.SIGINT)))
            running.says(json.dumps({"interrupted": number}))
            running.says('{"still": false}')
        running.ends(0, within=20)


def test_a_main_thread_that_does_not_answer_is_rung_again() -> None:
    code = """
from orca.process import bell
real, rings = bell._ring, []
def lost():  # as where it comes while the main thread falls asleep
    rings.append(1)
    if len(rings) not in (2, 3):  # the first has Python write to the pipe
        real()
bell._ring = lost
"""
    with host(GIVE + code + WAYS["lock"]) as running:
        running.sleeps(2)
        running.hear(str(int(signal.SIGTERM)))
        running.ends(-15)


def test_a_programs_own_handler_is_called_once() -> None:
    code = """
def own(signum, frame):
    tell(own=signum)
signal.signal(signal.SIGTERM, own)
threading.Thread(target=go, daemon=True).start()
tell(woken=threading.Event().wait(1.5))
"""
    with host(GIVE + code) as running:
        running.sleeps(2)
        running.hear(str(int(signal.SIGTERM)))
        running.says('{"own": 15}')
        running.says('{"woken": false}')
        running.ends(0)


THEIRS = {
    "a pipe": ("r, w = os.pipe(); os.set_blocking(w, False); signal.set_wakeup_fd(w)", "w"),
    "trio": ("import types; sys.modules['trio'] = types.ModuleType('trio')", "-1"),
}


@pytest.mark.parametrize("whose", THEIRS)
def test_what_another_library_uses_stays_its_own(whose: str) -> None:
    before, expected = THEIRS[whose]
    code = f"""
{before}
with ThreadPoolExecutor(1) as pool:
    pool.submit(go, script=":").result()
    pool.submit(go, script=":").result()
go(script=":")
tell(theirs=signal.set_wakeup_fd(-1) == {expected})
"""
    with host(code) as running:
        running.says('{"theirs": true}')
        running.ends(0)


def test_nothing_is_set_before_another_thread_runs_something() -> None:
    code = 'go(script=":"); tell(fd=signal.set_wakeup_fd(-1))'
    with host(code) as running:
        running.says('{"fd": -1}')
        running.ends(0)


def test_a_handler_of_an_event_loop_is_called() -> None:
    code = """
async def main():
    for _ in range(2):
        go(script=":")
        work = asyncio.create_task(asyncio.to_thread(go))
        await asyncio.sleep(0)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, cancel_all)
        tell(ready=True)
        tell(causes=causes([await work]))
asyncio.run(main())
"""
    with host(code) as running:
        for _ in range(2):
            running.says('{"ready": true}')
            running.sleeps(2)
            running.signal(signal.SIGTERM)
            running.says('{"causes": [["cancelled", null]]}')
        running.ends(0)


def test_a_handler_of_the_ring_that_was_there_stays() -> None:
    code = """
del sys.modules["orca.process.live"], sys.modules["orca.process.bell"]
own = lambda *_: tell(urgent=True)
signal.signal(signal.SIGURG, own)
import orca.process.live
threading.Thread(target=go, args=(), kwargs={"script": ":"}).start()
tell(own=signal.getsignal(signal.SIGURG) is own)
"""
    with host(code) as running:
        running.says('{"own": true}')
        assert running.ends(0) == ""


def test_a_forked_child_has_no_part_in_it() -> None:
    code = """
import warnings; warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads is what is tested
threading.Thread(target=go, daemon=True).start()
input()
pid = os.fork()
if pid == 0:
    from orca.process import bell
    fd = signal.set_wakeup_fd(-1)
    tell(fd=fd, default=signal.getsignal(signal.SIGURG) is signal.SIG_DFL)
    with ThreadPoolExecutor(1) as pool:
        tell(code=pool.submit(go, script="exit 0").result().unwrap().exit_code)
    os._exit(0)
os.waitpid(pid, 0)
tell(parent=signal.set_wakeup_fd(-1) != -1)
"""
    with host(code) as running:
        running.sleeps(2)
        running.hear()
        running.says('{"fd": -1, "default": true}')
        running.says('{"code": 0}')
        running.says('{"parent": true}')
        running.ends(0)


def test_a_host_that_closes_every_descriptor_keeps_its_runs() -> None:
    code = """
from orca.process import bell
with ThreadPoolExecutor(1) as pool:
    pool.submit(go, script=":").result()
    run = pool.submit(go, script="echo up; sleep 2", on_line=lambda _: os.close(bell._Bell.reader))
    before = sum(os.times()[:2])
    tell(code=run.result().unwrap().exit_code, busy=sum(os.times()[:2]) - before > 1)
    theirs = os.dup2(os.open("/dev/null", os.O_RDONLY), bell._Bell.reader)
    tell(another=pool.submit(bell.reader).result() != theirs)
"""
    with host(code) as running:
        running.says('{"code": 0, "busy": false}')
        running.says('{"another": true}')
        running.ends(0)
