"""What a program started ends with it, however it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from telemark.host import guardian

# Starts an orderly child, one that ignores SIGTERM, and a family that left session and parent; then says their numbers.
PROGRAM = """
import json, os, signal, subprocess, sys, threading, time
from pathlib import Path
from telemark.host.lines import LineProcess
from telemark.servers.process import ServerProcess

folder = Path(sys.argv[1])
deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
gone = "import os, time\\nif os.fork(): os._exit(0)\\nos.setsid()\\nprint(os.getpid(), flush=True)\\ntime.sleep(600)"
server = ServerProcess("server", [sys.executable, "-c", deaf], folder / "server.log")
orphan = ServerProcess("orphan", [sys.executable, "-c", gone], folder / "orphan.log")
thread = threading.Thread(target=server.start)  # a thread that ends must not take its children with it
thread.start()
thread.join()
orphan.start()
engine = LineProcess(["cat"], folder / "engine.log")
for process in (server, orphan):
    while not process.log_tail():
        time.sleep(0.01)
print(json.dumps([server.pid, int(orphan.log_tail()), engine.pid]), flush=True)
time.sleep(600) if sys.argv[2] == "stay" else sys.exit(3)
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], tuple[subprocess.Popen[bytes], list[psutil.Process]]]]:
    """Starts the program; returns it and its children. Whatever the test finds, nothing is left."""
    started: list[psutil.Process] = []

    def start_program(what: str) -> tuple[subprocess.Popen[bytes], list[psutil.Process]]:
        program = subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path), what], stdout=subprocess.PIPE)
        assert program.stdout is not None
        with program.stdout as output:
            children = [psutil.Process(pid) for pid in json.loads(output.readline())]
        started.extend(children)
        return program, children

    yield start_program
    for child in started:
        if child.is_running():
            child.kill()


@pytest.mark.parametrize("way", ["kill -9", "exit"])
def test_all_children_end_with_the_program(
    start: Callable[[str], tuple[subprocess.Popen[bytes], list[psutil.Process]]], way: str
) -> None:
    """Those that ignore SIGTERM, that have no parent any more and that left their session included."""
    program, children = start("stay" if way == "kill -9" else "exit")
    if way == "kill -9":
        program.kill()
    program.wait()

    _, alive = psutil.wait_procs(children, timeout=30)
    assert [] == alive


def test_children_live_while_the_program_does(
    start: Callable[[str], tuple[subprocess.Popen[bytes], list[psutil.Process]]],
) -> None:
    """Also those that a thread started which has ended since."""
    program, children = start("stay")

    assert all(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children)
    program.kill()
    program.wait()


def test_a_guardian_that_was_ended_is_replaced() -> None:
    """The mark stays: the new one guards earlier children too."""
    mark = guardian.guarded()[guardian.MARK]
    first = guardian_pid()
    os.kill(first, signal.SIGKILL)
    while psutil.Process(first).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)

    assert mark == guardian.guarded({"A": "b"})[guardian.MARK]
    assert first != guardian_pid()
    assert psutil.pid_exists(guardian_pid())


def test_a_guardian_takes_no_notice_of_signals_meant_for_the_program() -> None:
    """Ctrl-C and SIGTERM end the program first; its children are ended after it."""
    guardian.guarded()
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    while not all(ignores(guardian_pid(), number) for number in signals):  # it has not set itself up yet
        time.sleep(0.01)
    for number in signals:
        os.kill(guardian_pid(), number)

    assert psutil.Process(guardian_pid()).status() != psutil.STATUS_ZOMBIE


def guardian_pid() -> int:
    assert guardian._guardian is not None
    return guardian._guardian[0]


def ignores(pid: int, number: signal.Signals) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    ignored = next(int(line.split()[1], 16) for line in lines if line.startswith("SigIgn"))
    return bool(ignored >> (number - 1) & 1)
