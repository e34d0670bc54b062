"""A signal that comes in a block that must be whole waits for its end, and none is lost."""

from __future__ import annotations

import signal

import pytest
from hosts import host

from orca.process import interrupts

BLOCK = """
from orca.process.interrupts import deferred
live.GRACE_S = 0.0
def wait():
    with deferred():
        tell(inside=True)
        for _ in range(SIGNALS):
            sys.stdin.readline()
        tell(whole=True)
    tell(after=True)
try:
    WAY
except KeyboardInterrupt:
    tell(interrupted=True)
    awake()
"""


def test_a_signal_waits_for_the_end_of_the_block() -> None:
    with host(BLOCK.replace("WAY", "wait()").replace("SIGNALS", "1")) as running:
        running.says('{"inside": true}')
        running.signal(signal.SIGTERM)
        running.hear()
        running.says('{"whole": true}')
        assert running.ends(-15) == ""


def test_a_second_signal_is_not_lost_to_the_first() -> None:
    with host(BLOCK.replace("WAY", "wait()").replace("SIGNALS", "2")) as running:
        running.says('{"inside": true}')
        running.signal(signal.SIGINT)
        running.hear()
        running.signal(signal.SIGTERM)
        running.hear()
        running.says('{"whole": true}')
        assert running.ends(-15) == ""


def test_a_block_of_another_thread_holds_nothing_back() -> None:
    way = "t = threading.Thread(target=wait, daemon=True); t.start(); awake(lambda: not t.is_alive())"
    with host(BLOCK.replace("WAY", way).replace("SIGNALS", "1")) as running:
        running.says('{"inside": true}')
        running.signal(signal.SIGTERM)
        assert running.process.wait(15) == -15
        assert running.ends(-15) == ""


def test_a_child_forked_inside_a_block_is_in_none() -> None:
    code = """
from orca.process.interrupts import deferred
with deferred():
    pid = os.fork()
    if pid == 0:
        command().run("true")
        tell(child=True)
        awake()
    sys.stdin.readline()
    os.kill(pid, signal.SIGTERM)
    tell(status=os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    with host(code) as running:
        running.says('{"child": true}')
        running.hear()
        running.says('{"status": -15}')
        running.ends(0)


def test_blocks_nest_and_an_exception_leaves_them() -> None:
    with pytest.raises(LookupError), interrupts.deferred(), interrupts.deferred():
        raise LookupError
    assert not interrupts.postponed(signal.SIGTERM)
