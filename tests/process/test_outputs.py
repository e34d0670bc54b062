"""What a program writes and reads: kept up to a limit, handed on line by line, copied to a file, fed."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
import time
from pathlib import Path

import pytest
from hosts import host
from hypothesis import given
from hypothesis import strategies as st
from worlds.disk import Disk

from orca import CommandFailed, command
from orca.process.capture import Capture
from orca.redaction import trim_cut
from orca.tools import CommandResult


def run_python(code: str, **given: object) -> CommandResult:
    return command().run(sys.executable, "-c", code, **given).unwrap()  # type: ignore[arg-type]


# ------------------------------------------------------------------ what is kept


def test_text_that_is_not_utf8_is_replaced_and_the_bytes_are_kept() -> None:
    done = command().run("printf", r"ok\377\n").unwrap()
    assert done.stdout == "ok\ufffd\n"
    assert done.stdout_raw == b"ok\xff\n"
    assert json.dumps(done.stdout, ensure_ascii=False).encode()
    error = command().run("sh", "-c", r"printf 'bad \377\376'; printf '\355\240\275' >&2; exit 1").failure()
    assert isinstance(error, CommandFailed)
    assert json.dumps([error.stdout, error.stderr], ensure_ascii=False).encode()


def test_newlines_stay_as_they_were() -> None:
    assert command().run("printf", r"a\r\nb\rc\n\n").unwrap().stdout == "a\r\nb\rc\n\n"


chunks = st.lists(st.binary(max_size=40) | st.integers(0, 300).map(os.urandom), max_size=12)


@given(chunks, st.none() | st.integers(0, 120))
def test_what_is_kept_is_the_head_and_the_tail_to_the_byte(chunks: list[bytes], limit: int | None) -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    capture = Capture(reading, limit)
    for chunk in chunks:
        os.write(writing, chunk)
        assert capture.read()
    os.close(writing)
    assert not capture.read()
    os.close(reading)
    everything = b"".join(chunks)
    kept, dropped = capture.data()
    assert capture.size == len(everything) == len(kept) + dropped
    if limit is None or len(everything) <= limit:
        assert (kept, dropped) == (everything, 0)
    else:
        head = limit // 2
        assert kept == b"".join(trim_cut(everything[:head], everything[len(everything) - (limit - head) :]))


@pytest.mark.parametrize("limit", [0, 1, 2, 1001, 1 << 20])
def test_the_limit_holds_for_each_stream(limit: int) -> None:
    code = "import sys; sys.stdout.write('line\\n' * 500_000); sys.stderr.write('other\\n' * 400_000)"
    done = run_python(code, limit=limit)
    assert (done.stdout_size, done.stderr_size) == (2_500_000, 2_400_000)
    for raw, size, dropped in (
        (done.stdout_raw, done.stdout_size, done.stdout_dropped),
        (done.stderr_raw, done.stderr_size, done.stderr_dropped),
    ):
        assert len(raw) <= limit
        assert size == len(raw) + dropped
    if limit > 1000:
        assert done.stdout.startswith("line\n")
        assert done.stderr.endswith("other\n")


def test_without_a_limit_everything_is_kept() -> None:
    done = command().run("head", "-c", "5000000", "/dev/zero", limit=None).unwrap()
    assert (done.stdout_raw, done.stdout_dropped) == (bytes(5_000_000), 0)


@pytest.mark.parametrize("shift", range(0, 40, 7))
def test_a_token_across_a_cut_is_nowhere(shift: int) -> None:
    token = "tok_Zq8Lm3Xv9Rt2Wk5Yh7Bn4Cd6Fg1Js0P"  # of no known shape
    limit = 20_000
    line = "a line of output\n"
    lead = (line * 1000)[: limit // 2 - shift]
    trail = (line * 1000)[-(limit // 2) + len(token) - shift :]
    code = f"import sys; sys.stdout.write({lead!r} + {token!r} + {line!r} * 5000 + {token!r} + {trail!r})"
    done = run_python(code, limit=limit)
    assert done.stdout_dropped > 0
    pieces = {token[at : at + 5] for at in range(len(token) - 4)}
    assert not [piece for piece in pieces if piece in done.stdout]
    assert done.stdout_size == len(done.stdout_raw) + done.stdout_dropped
    assert len(done.stdout) > limit // 4


MEMORY = """
def peak():
    return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) * 1024
command().run("sh", "-c", "echo warm; exit 0").unwrap()
before = peak()
done = command().run("sh", "-c", SCRIPT).unwrap()
tell(grown=peak() - before, sizes=[done.stdout_size, done.stderr_size])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "sizes"),
    [
        ("head -c 400000000 /dev/zero", [400_000_000, 0]),
        ("yes '\N{ROCKET}' | head -c 20000000 | tee /dev/stderr", [20_000_000, 20_000_000]),
    ],
)
def test_huge_output_takes_little_memory(script: str, sizes: list[int]) -> None:
    with host(f"SCRIPT = {script!r}{MEMORY}") as running:
        told = json.loads(running.ends(0, within=60))
    assert told["sizes"] == sizes
    assert told["grown"] < 32 << 20


def test_a_flood_on_stderr_does_not_hold_stdout_up() -> None:
    done = run_python("import sys; sys.stderr.write('e' * 2_000_000); print('x')")
    assert (done.stdout, done.stderr_size) == ("x\n", 2_000_000)


# ------------------------------------------------------------------ line by line


def lines_of(code: str) -> list[str]:
    lines: list[str] = []
    run_python(code, on_line=lines.append)
    return lines


def test_lines_come_in_order_without_their_ends() -> None:
    assert lines_of("print(*range(50_000), sep='\\n')") == [str(number) for number in range(50_000)]
    assert lines_of("print('a\\r\\nb\\n\\nc\\r\\r')") == ["a", "b", "", "c\r"]
    assert lines_of("pass") == []


def test_the_last_line_needs_no_end() -> None:
    assert lines_of("import os; os.write(1, b'one\\nlast')") == ["one", "last"]
    assert lines_of("import os; os.write(1, b'last\\r')") == ["last"]


def test_both_outputs_are_handed_on() -> None:
    assert sorted(lines_of("import os; os.write(2, b'err\\n'); os.write(1, b'out\\n')")) == ["err", "out"]


def test_a_line_comes_when_it_is_written_and_characters_cut_by_a_read_are_whole() -> None:
    text = "\N{ROCKET}é"
    heard: list[str] = []
    step = threading.Semaphore(0)
    reading, writing = os.pipe()

    def write() -> None:
        for byte in f"{text}\n".encode() * 3:
            os.write(writing, bytes([byte]))
            if byte == 10:
                assert step.acquire(timeout=10)  # the line is heard before the next one is written
        os.close(writing)

    writer = threading.Thread(target=write)
    writer.start()
    path = f"/proc/{os.getpid()}/fd/{reading}"

    def hear(line: str) -> None:
        heard.append(line)
        step.release()

    command().run("cat", path, on_line=hear, timeout=20).unwrap()
    writer.join()
    os.close(reading)
    assert heard == [text] * 3


def test_a_line_of_megabytes_is_one_line() -> None:
    lines = lines_of("print('x' * (3 << 20)); print('short')")
    assert [len(line) for line in lines] == [3 << 20, 5]


def test_a_line_without_end_comes_in_pieces_of_whole_characters() -> None:
    lines = lines_of("import sys; sys.stdout.buffer.write('xé'.encode() * (14 << 20)); print('\\nshort')")
    assert len(lines) > 2
    assert "".join(lines[:-1]) == "xé" * (14 << 20)
    assert lines[-1] == "short"
    assert max(map(len, lines)) <= 16 << 20


def test_a_listener_that_looks_empty_is_called() -> None:
    class Lines(list[str]):
        __call__ = list.append

    lines = Lines()
    command().run("echo", "heard", on_line=lines).unwrap()
    assert lines == ["heard"]


@pytest.mark.parametrize("at", ["first", "last"])
def test_an_exception_of_the_listener_passes_through(at: str) -> None:
    def fail(line: str) -> None:
        if line == at:
            raise ZeroDivisionError(line)

    script = "echo first; printf last" if at == "last" else "echo first; exec sleep 300"
    with pytest.raises(ZeroDivisionError, match=at):
        command().run("sh", "-c", script, on_line=fail)


def test_a_slow_listener_loses_nothing_and_is_bounded_by_nobody() -> None:
    heard: list[str] = []

    def slow(line: str) -> None:
        end = time.monotonic() + 0.02
        while time.monotonic() < end:
            pass
        heard.append(line)

    result = command().run("sh", "-c", "seq 30", on_line=slow, timeout=0.3)
    assert heard == [str(number) for number in range(1, 31)]
    assert result.unwrap().exit_code == 0  # it had ended in time; only the listener had not


# ------------------------------------------------------------------ the log file


def test_the_log_holds_both_outputs_whole_for_its_owner_only(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"older and longer than what comes" * 100_000)
    log.chmod(0o666)
    code = r"import sys; sys.stdout.buffer.write(b'\xff\r\n' * 300_000); sys.stderr.write('e\n' * 300_000)"
    done = run_python(code, log=log, limit=10)
    assert done.log_error is None
    assert sorted(log.read_bytes()) == sorted(b"\xff\r\n" * 300_000 + b"e\n" * 300_000)
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_a_log_is_relative_to_the_tools_directory(tmp_path: Path) -> None:
    from orca import CommandTool

    assert CommandTool(tmp_path).run("echo", "x", cwd="/", log="log").unwrap().log_error is None
    assert (tmp_path / "log").read_text() == "x\n"


@pytest.mark.parametrize("kind", ["a directory", "a FIFO", "in no directory", "a device", "a NUL"])
def test_a_log_that_cannot_be_written_is_told_and_does_no_harm(kind: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    path = {
        "a directory": str(tmp_path),
        "a FIFO": f"{tmp_path}/fifo",
        "in no directory": f"{tmp_path}/no/log",
        "a device": "/dev/full",
        "a NUL": "x\0y",
    }[kind]
    done = command().run("echo", "unharmed", log=path, timeout=20).unwrap()
    assert done.stdout == "unharmed\n"
    assert done.log_error


def test_a_log_into_a_fifo_that_is_read_is_refused_too(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    done = command().run("echo", "unharmed", log=tmp_path / "fifo", timeout=20).unwrap()
    os.close(reader)
    assert done.stdout == "unharmed\n"
    assert done.log_error


def test_a_log_on_a_full_disk_is_told_and_does_no_harm(tmpfs: Disk) -> None:
    log = tmpfs.path / "log"
    tmpfs.fill()
    done = command().run("sh", "-c", "yes | head -c 3000000", log=log).unwrap()
    assert done.stdout_size == 3_000_000
    assert done.log_error
    assert log.stat().st_size < 3_000_000


# ------------------------------------------------------------------ what it reads


def test_what_is_fed_arrives() -> None:
    assert command().run("cat", input="\N{ROCKET}\r\n\udcff").unwrap().stdout_raw == "\N{ROCKET}\r\n".encode() + b"\xff"
    assert command().run("cat", input=b"\0\xff").unwrap().stdout_raw == b"\0\xff"
    assert command().run("cat", input=b"").unwrap().stdout_raw == b""
    assert command().run("cat").unwrap().stdout_raw == b""
    megabytes = os.urandom(3_000_000)
    assert command().run("cat", input=megabytes, limit=None).unwrap().stdout_raw == megabytes


def test_input_that_is_no_text_does_not_start_the_program() -> None:
    error = command().run("cat", input="\ud83d").failure()
    assert isinstance(error, CommandFailed)
    assert (error.cause, error.effect) == ("bad-argument", "none")


def test_a_program_that_writes_before_it_reads() -> None:
    code = "import sys; sys.stdout.write('o' * 200_000); sys.stdout.flush(); print(len(sys.stdin.read()))"
    assert run_python(code, input="i" * 300_000).stdout == "o" * 200_000 + "300000\n"


def test_input_that_is_not_wanted_is_no_failure() -> None:
    assert command().run("true", input="i" * 1_000_000).unwrap().exit_code == 0
    done = (
        command().run("sh", "-c", "exec <&-; echo closed; sleep 0.05; echo still here", input="i" * 1_000_000).unwrap()
    )
    assert done.stdout == "closed\nstill here\n"
    error = command().run("sh", "-c", "head -c 10 >/dev/null; exit 4", input="i" * 1_000_000).failure()
    assert isinstance(error, CommandFailed)
    assert (error.cause, error.exit_code) == ("exit", 4)


def test_a_program_that_does_not_read_its_input_is_bounded_by_the_deadline() -> None:
    error = command().run("sleep", "300", input="i" * 1_000_000, timeout=0.3).failure()
    assert isinstance(error, CommandFailed)
    assert error.cause == "timeout"
