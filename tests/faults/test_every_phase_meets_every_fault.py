"""Every phase of a run meets every kind of accident: the run ends with the right state, code and reason, no process is
left, the records are readable, and `--resume` completes the campaign without repeating or losing a run.

docs/faults.md has the outcome of every cell; `TELEMARK_FAULT_TABLE=FILE` writes it.
"""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from telemark.errors import ExitCode
from telemark.store.reader import damaged_files
from tests.support.accidents import ENGINE, Bench
from tests.support.telemark_program import TelemarkProgram
from tests.support.waiting import PATIENCE_S

pytestmark = pytest.mark.live

SCENARIO = Path(__file__).with_name("two_points.toml")
JMS_SCENARIO = Path(__file__).with_name("two_points_jms.toml")
PHASES = ("connect", "hold", "warmup", "measure", "drain", "stop")
ENDED_BY_THE_ENGINE = ("drain", "stop")  # over in no time, unless the engine is held


@dataclass(frozen=True)
class Expected:
    """How a run that meets the accident must end."""

    code: int  # of the program
    state: str | None  # of the run; None: nobody was left, or able, to write it down
    reason: str = ""  # part of the reason, or of what the program printed


ENDINGS = {
    "runner_killed": Expected(-signal.SIGKILL, None),
    "engine_killed": Expected(ExitCode.ENGINE_FAILED, "failed", "killed by signal 9"),
    "server_killed": Expected(ExitCode.SERVER_FAILED, "failed", "server loopback died"),
    "consumer_killed": Expected(ExitCode.CONSUMER_FAILED, "failed", "signal 9"),
    "disk_full": Expected(ExitCode.MISSING_REQUIREMENT, "failed", "no space left"),
    "folder_read_only": Expected(ExitCode.MISSING_REQUIREMENT, None, "Read-only file system"),
    "out_of_memory": Expected(ExitCode.ENGINE_FAILED, "failed", "killed by signal 9"),
    "engine_frozen": Expected(ExitCode.PASSED, "complete"),
    "wall_clock_stepped": Expected(ExitCode.PASSED, "complete"),
}
# With `make test` every accident happens once, each in another phase; the whole table takes `make test-long`.
USUAL = {
    ("runner_killed", "drain"), ("engine_killed", "hold"), ("server_killed", "connect"),
    ("consumer_killed", "measure"), ("disk_full", "measure"), ("folder_read_only", "warmup"),
    ("out_of_memory", "measure"), ("engine_frozen", "warmup"), ("wall_clock_stepped", "stop"),
}  # fmt: skip
CELLS = [
    pytest.param(fault, phase, marks=() if (fault, phase) in USUAL else pytest.mark.long, id=f"{fault}-{phase}")
    for fault in ENDINGS
    for phase in PHASES
]


def command(bench: Bench, fault: str) -> tuple[str, ...]:
    """`telemark run` of two short points."""
    scenario, server = (JMS_SCENARIO, "artemis") if fault == "consumer_killed" else (SCENARIO, "loopback")
    return (
        "run", str(scenario), "--server", server, "--out", str(bench.out / "runs"), "--campaign", "c", "--no-analyze",
    )  # fmt: skip


def reach(program: TelemarkProgram, phase: str) -> None:
    """Wait until the run is in the phase. The engine is held before a phase that it ends, so that it cannot be missed.

    The runner begins both of them by its own clock, and then waits for the engine: 8 s to drain, 30 s to stop.
    """
    if phase in ENDED_BY_THE_ENGINE:
        program.wait_for_phase("measure")
        program.children_named(ENGINE)[0].suspend()
    program.wait_for_phase(phase)


def release(program: TelemarkProgram, phase: str) -> None:
    """Let the held engine go on, if it is still there."""
    for engine in program.children_named(ENGINE) if phase in ENDED_BY_THE_ENGINE else ():
        with suppress(psutil.NoSuchProcess):
            engine.resume()


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("fault", "phase"), CELLS)
def test_a_run_that_meets_an_accident_ends_well(tmp_path: Path, fault: str, phase: str) -> None:
    """State, exit code, reason, processes, records; then the campaign is completed."""
    expected = ENDINGS[fault]
    with Bench(tmp_path) as bench:
        clock = bench.settable_clock() if fault == "wall_clock_stepped" else {}
        with TelemarkProgram(*command(bench, fault), environment=clock) as program:
            reach(program, phase)
            struck_ns = time.monotonic_ns()
            getattr(bench, fault)(program)
            release(program, phase)
            code = program.wait(4 * PATIENCE_S)

            assert program.survivors() == []
            assert code == expected.code, (program.errors, program.lines[-3:])
        bench.mend()
        first = min((bench.out / "runs/c").glob("*/run.json"))
        facts = json.loads(first.read_text())

        assert facts["state"] == (expected.state or "running")
        assert expected.reason in (facts["reason"] or "") + program.errors
        assert_records_readable(first.parent)
        assert_resume_completes(bench, fault)
    note_outcome(fault, phase, code, facts, struck_ns)


def assert_records_readable(run: Path) -> None:
    """Files that are complete can be read; none is half-written under a final name."""
    assert damaged_files(run) == {}


def assert_resume_completes(bench: Bench, fault: str) -> None:
    """The campaign ends with both runs complete, each once; a run that was complete is left as it was."""
    before = complete_runs(bench)
    with TelemarkProgram(*command(bench, fault), "--resume") as program:
        code = program.wait(4 * PATIENCE_S)
        assert code == ExitCode.PASSED, program.errors
    campaign = json.loads((bench.out / "runs/c/campaign.json").read_text())
    after = complete_runs(bench)

    assert campaign["state"] == "complete"
    assert ["complete", "complete"] == [run["state"] for run in campaign["runs"]]
    assert 2 == len({run["key"] for run in campaign["runs"]}) == len(after)
    assert before.items() <= after.items()


def complete_runs(bench: Bench) -> dict[str, str]:
    """run.json of every complete run, by folder name."""
    texts = {path.parent.name: path.read_text() for path in (bench.out / "runs/c").glob("*/run.json")}
    return {name: text for name, text in texts.items() if json.loads(text)["state"] == "complete"}


def note_outcome(fault: str, phase: str, code: int, facts: dict[str, Any], struck_ns: int) -> None:
    """One line of the table in docs/faults.md, for whoever renews it."""
    if target := os.environ.get("TELEMARK_FAULT_TABLE"):
        row = {"fault": fault, "phase": phase, "code": code, "state": facts["state"], "reason": facts["reason"]}
        row["struck_in"] = phase_at(facts, struck_ns)
        with Path(target).open("a") as file:
            file.write(json.dumps(row) + "\n")


def phase_at(facts: dict[str, Any], at_ns: int) -> str | None:
    """The phase that a run was in; None when nobody could write the times of its phases down."""
    begun = [name for name, (begin_ns, _) in facts["phases"].items() if begin_ns <= at_ns]
    return begun[-1] if begun else None
