"""Child processes of servers: started apart, watched, and ended without leftovers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import psutil
import pytest

from telemark.errors import RequirementError, ServerError
from telemark.servers.process import ServerProcess, tail
from tests.support.waiting import PATIENCE_S, eventually

FAMILY = """
import os, signal, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print("child", child.pid, flush=True)
if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(60)
"""


def family(folder: Path, *arguments: str) -> tuple[ServerProcess, int]:
    """A process with a child of its own; returns the child's pid too."""
    process = ServerProcess("family", [sys.executable, "-c", FAMILY, *arguments], folder / "log")
    process.start()
    process.wait_until(lambda: len(process.log_tail().split()) > 1, PATIENCE_S, "its first words")
    return process, int(process.log_tail().split()[1])


def runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("arguments", [(), ("deaf",)], ids=["obeys", "ignores SIGTERM"])
def test_stop_ends_the_process_and_its_children(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Whether it listens to SIGTERM or not, nobody of its session is left; stopping again does no harm."""
    process, child = family(tmp_path, *arguments)
    assert set(process.pids()) == {process.pid, child}

    process.stop(grace_s=0.3)

    assert not process.alive()
    assert not runs(child)
    process.stop()


def test_kill_also_ends_children_whose_parent_is_gone(tmp_path: Path) -> None:
    """Orphans belong to init, but still to the group that was started."""
    process, child = family(tmp_path)
    os.kill(process.pid or 0, 9)
    assert eventually(lambda: not process.alive())
    assert runs(child)

    process.kill()

    assert not runs(child)


def test_it_has_a_process_group_of_its_own_in_our_session(tmp_path: Path) -> None:
    """Ctrl-C must reach us only; and the kernel shares the processor out by sessions before it looks at slices."""
    process, _ = family(tmp_path)
    try:
        assert os.getpgid(process.pid or 0) == process.pid
        assert os.getsid(process.pid or 0) == os.getsid(0)
    finally:
        process.kill()


def test_a_process_that_dies_early_gives_its_last_words(tmp_path: Path) -> None:
    """Waiting ends as soon as the process does, with its status and its output."""
    process = ServerProcess("short", ["sh", "-c", "echo cannot go on; exit 7"], tmp_path / "log")
    process.start()

    with pytest.raises(ServerError, match="ended with status 7 before a listener") as caught:
        process.wait_for_port("127.0.0.1", 1, timeout_s=PATIENCE_S)

    assert "cannot go on" in (caught.value.hint or "")


def test_waiting_is_bounded(tmp_path: Path) -> None:
    """A process that never becomes ready is given up."""
    process = ServerProcess("slow", ["sleep", "60"], tmp_path / "log")
    process.start()
    try:
        with pytest.raises(ServerError, match="expected within 0 s"):
            process.wait_until(lambda: False, 0.1, "an answer")
    finally:
        process.kill()


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    """The program that was not found is part of the message."""
    with pytest.raises(RequirementError, match="no-such-program"):
        ServerProcess("nothing", ["/no-such-program"], tmp_path / "log").start()


def test_it_runs_only_on_the_cpus_it_was_given(tmp_path: Path) -> None:
    """The CPU set is in force before the first instruction, and ours is as it was."""
    own = os.sched_getaffinity(0)
    cpu = max(own)
    process = ServerProcess("pinned", ["sleep", "60"], tmp_path / "log", cpus=(cpu,))

    process.start()
    try:
        assert os.sched_getaffinity(process.pid or 0) == {cpu}
        assert os.sched_getaffinity(0) == own
    finally:
        process.kill()


def test_cpus_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    """The message lists the CPUs there are."""
    with pytest.raises(RequirementError, match="cannot be used"):
        ServerProcess("pinned", ["sleep", "60"], tmp_path / "log", cpus=(4000,)).start()


def test_the_tail_of_a_log_is_its_last_lines(tmp_path: Path) -> None:
    """Long logs are not read whole, missing ones are empty."""
    log = tmp_path / "log"
    log.write_text("".join(f"line {number}\n" for number in range(10_000)))

    assert "line 9998\nline 9999" == tail(log, 2)
    assert "" == tail(tmp_path / "none", 2)
