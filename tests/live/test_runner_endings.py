"""How real runs end: in every phase, by every kind of accident."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from telemark.store.documents.run import RunFile
from telemark.store.reader import damaged_files, read_records
from tests.support.requirements import require
from tests.support.telemark_program import TelemarkProgram, runs
from tests.support.waiting import PROMPT_S, eventually

pytestmark = pytest.mark.live

SCENARIO = """
format = 1
[suite]
name = "endings"
title = "Runs that are cut short"
source = "tests"
date = "2026"
hardware = []
notes = []

[[family]]
name = "fan-in"
title = "A few devices"
about = "Publishers to one subscriber."
where = "here"
measures = "throughput"
connect_rate = "<connect_rate>"
thresholds = ["lost == 0"]

[family.parameters]
publishers = "devices"
rate = "messages a second"
connect_rate = "devices a second"

[family.groups.subscribers]
count = 1
subscriptions = [{ filter = "t/#", qos = 1 }]

[family.groups.publishers]
count = "<publishers>"
publish = { topic = "t/{index}", qos = 1, size = 32 }

[family.load]
shape = "paced"
rate = "<rate>"

[family.sizes.quick]
set = { publishers = 20, rate = 500, connect_rate = CONNECT_RATE }
phases = { PHASES }
"""


def scenario(folder: Path, phases: str, connect_rate: float = 500) -> str:
    """A scenario file with the phases a test wants; its path."""
    path = folder / "endings.toml"
    path.write_text(SCENARIO.replace("PHASES", phases).replace("CONNECT_RATE", str(connect_rate)))
    return str(path)


def start(folder: Path, phases: str, connect_rate: float = 500, faults: str = "") -> TelemarkProgram:
    """`telemark run` of that scenario on the built-in server."""
    file = scenario(folder, phases, connect_rate)
    arguments = ("run", file, "--server", "loopback", "--out", str(folder / "runs"), "--campaign", "c")
    return TelemarkProgram(*arguments, "--option", f"faults={faults}")


def run_folder(folder: Path) -> Path:
    """The only run of the campaign."""
    return next(path.parent for path in (folder / "runs/c").glob("*/run.json"))


def assert_readable(folder: Path) -> RunFile:
    """No damaged file, no half-written one, a closed run.json."""
    facts = RunFile.read(folder)

    assert damaged_files(folder) == {}
    assert [path for path in folder.rglob(".*") if path.is_file()] == []
    assert facts.ended_at is not None
    return facts


PHASES = [
    ("connect", "measure_s = 60", 1, ""),
    ("hold", "measure_s = 60, hold_s = 60", 500, ""),
    ("warmup", "measure_s = 60, warmup_s = 60", 500, ""),
    ("measure", "measure_s = 60", 500, ""),
    ("drain", "measure_s = 0.5, drain_timeout_s = 60", 500, "drop=10"),  # what was dropped is waited for
]


@pytest.mark.parametrize(("phase", "phases", "connect_rate", "faults"), PHASES, ids=[row[0] for row in PHASES])
def test_an_interruption_leaves_no_process_and_a_readable_folder(
    tmp_path: Path, phase: str, phases: str, connect_rate: float, faults: str
) -> None:
    """Exit code 130, state interrupted, promptly, in every phase."""
    with start(tmp_path, phases, connect_rate, faults) as program:
        program.wait_for_phase(phase)
        started = time.monotonic()
        program.child.send_signal(signal.SIGTERM if phase == "hold" else signal.SIGINT)
        code = program.wait()
        took = time.monotonic() - started
        facts = assert_readable(run_folder(tmp_path))

        assert code == 130
        assert took < PROMPT_S
        assert facts.state == "interrupted"
        assert phase in facts.phases
        assert program.survivors() == []


def test_a_server_killed_in_the_middle_fails_the_run_promptly(tmp_path: Path) -> None:
    """Exit code 5; the reason names the server; what was received before is there."""
    with start(tmp_path, "measure_s = 60") as program:
        program.wait_for_phase("measure")
        time_of_records(program)
        server = program.children_named("loopback")[0]
        started = time.monotonic()
        server.kill()
        code = program.wait()
        facts = assert_readable(run_folder(tmp_path))

        assert time.monotonic() - started < PROMPT_S
        assert code == 5
        assert facts.state == "failed"
        assert "server loopback died in phase measure" in (facts.reason or "")
        assert read_records(run_folder(tmp_path), "deliveries").num_rows > 0
        assert "server_died" in read_records(run_folder(tmp_path), "events")["kind"].to_pylist()
        assert program.survivors() == []


def test_an_engine_process_killed_in_the_middle_fails_the_run(tmp_path: Path) -> None:
    """Exit code 6, the instrument's own fault; rows written before stay readable."""
    with start(tmp_path, "measure_s = 60") as program:
        program.wait_for_phase("measure")
        time_of_records(program, seconds=7)
        program.children_named("telemark.runner.engine_process")[0].kill()
        code = program.wait()
        facts = assert_readable(run_folder(tmp_path))

        assert code == 6
        assert facts.reason == "engine process 0 was killed by signal 9"
        assert read_records(run_folder(tmp_path), "deliveries").num_rows > 0
        assert program.survivors() == []


def test_nothing_outlives_a_runner_that_is_killed(tmp_path: Path) -> None:
    """`kill -9` of the runner: engine processes close their records, and the server goes too."""
    with start(tmp_path, "measure_s = 60") as program:
        program.wait_for_phase("measure")
        engines = program.children_named("telemark.runner.engine_process")
        program.child.kill()
        program.child.wait()

        assert eventually(lambda: not any(map(runs, engines)))
        assert eventually(lambda: program.survivors(0) == [])
        assert RunFile.read(run_folder(tmp_path)).state == "running"  # nobody was left to close it
        assert read_records(run_folder(tmp_path), "senders").num_rows == 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB; only root can make one."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "telemark-test", str(folder)], capture_output=True, check=False
    )
    require(mounted.returncode == 0, "mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_fails_the_run_and_what_was_recorded_stays_readable(small_disk: Path) -> None:
    """Exit code 4: the host lacks something; run.json is closed although the disk is full."""
    file = scenario(small_disk, "measure_s = 60")
    arguments = ("run", file, "--server", "loopback", "--out", str(small_disk / "runs"), "--campaign", "c")
    with TelemarkProgram(*arguments, "--rate", "20000") as program:
        code = program.wait()
        facts = RunFile.read(run_folder(small_disk))

        assert code == 4
        assert facts.state == "failed"
        assert "no space left" in (facts.reason or "")
        assert damaged_files(run_folder(small_disk)) == {}
        assert program.survivors() == []


def time_of_records(program: TelemarkProgram, seconds: float = 1.0) -> None:
    """Let the run go on until it has received for a while."""
    for message in program.messages():
        if message["is"] == "progress" and message["totals"]["received"] > 500 * seconds:
            return
    raise AssertionError(os.fspath(program.errors))
