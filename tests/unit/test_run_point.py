"""One run from plan to closed folder, with stand-ins for server and engine process."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from telemark.errors import ConfigError, ExitCode, RequirementError, ServerError
from telemark.host.guardian import guarded
from telemark.model.plan import Group, Phases, Publish, RunPlan, Subscription
from telemark.model.plan.shapes.paced import Paced
from telemark.model.slicing import HostLimits
from telemark.runner.conductor import RunControl
from telemark.runner.health import HealthSampler
from telemark.runner.progress import Progress, RunOutcome, Silence
from telemark.runner.run_point import PointJob, run_point
from telemark.store.documents.run import RunFile
from telemark.store.reader import read_records
from tests.support import fake_engine
from tests.support.fake_server import FakeServer
from tests.support.waiting import PROMPT_S, eventually

QUICK = Phases(connect_timeout_s=2, warmup_s=0.2, measure_s=0.5, drain_timeout_s=0.5)
GROUPS = (
    Group("subscribers", 1, subscriptions=(Subscription("t/#"),)),
    Group("publishers", 4, first_device=1, publish=Publish("t/{index}")),
)


def plan(mode: int = fake_engine.FINE, phases: Phases = QUICK) -> RunPlan:
    """A small point; the seed tells the stand-in how to behave."""
    return RunPlan(
        suite="s", scenario="c", point="p", size="quick", seed=mode, parameters={"publishers": 4}, groups=GROUPS,
        load=Paced(rate=10), phases=phases, needs=frozenset({"mqtt-3.1.1"}), thresholds=("lost == 0",),
    )  # fmt: skip


def job(folder: Path, mode: int = fake_engine.FINE, phases: Phases = QUICK, **changes: object) -> PointJob:
    """A job that starts the stand-in instead of the engine."""
    made = PointJob(
        plan(mode, phases), folder / "run", "campaign", engine_command=(sys.executable, fake_engine.__file__)
    )
    return replace(made, **changes)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _no_process_is_left() -> Iterator[None]:
    """Every run, however it ends, leaves no process behind; other tests of this program may have children of theirs."""
    guarded()  # the guardian of this program stays as long as it does
    before = set(psutil.Process().children(recursive=True))
    yield

    assert eventually(lambda: set(psutil.Process().children(recursive=True)) <= before)


class SignalAt(Silence):
    """Sends this process a signal when the run reaches a phase."""

    def __init__(self, phase: str, number: int) -> None:
        self._phase = phase
        self._number = number
        self.sent_at = 0.0

    def progress(self, progress: Progress) -> None:
        if progress.phase == self._phase and not self.sent_at:
            self.sent_at = time.monotonic()
            os.kill(os.getpid(), self._number)


def test_a_run_goes_through_its_phases_and_closes_its_folder(tmp_path: Path) -> None:
    """run.json tells everything, who is owed what is written, the server's data is removed, its configuration kept."""
    server = FakeServer()
    outcome = run_point(job(tmp_path), server)
    facts = RunFile.read(outcome.folder)

    assert (outcome.state, outcome.exit_code) == ("complete", ExitCode.PASSED)
    assert facts.state == "complete"
    assert list(facts.phases) == ["connect", "warmup", "measure", "drain", "stop"]
    assert facts.phase_seconds("warmup") == pytest.approx(0.2)
    assert facts.phase_seconds("measure") == pytest.approx(0.5)
    assert facts.phases["warmup"][0] == facts.start_ns
    assert facts.server["version"] == "1.0"
    assert facts.ended_at is not None
    assert server.calls == ["prepare", "start", "stop"]
    assert read_records(outcome.folder, "streams").num_rows == 4
    assert read_records(outcome.folder, "audiences").num_rows == 1
    assert "counters" in read_records(outcome.folder, "health")["source"].to_pylist()
    assert (outcome.folder / "server/fake.conf").exists()
    assert not (outcome.folder / "server/data").exists()
    assert not [path for path in outcome.folder.rglob(".*") if path.is_file()]


@pytest.mark.parametrize("mode", [fake_engine.FINE, fake_engine.DIES])
def test_health_records_that_cannot_be_closed_never_leave_a_run_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    """As on a full disk. A run that went well lacks them and has failed; one that failed keeps its own reason."""
    stop = HealthSampler.stop

    def without_room(self: HealthSampler, *, wait_s: float = 2.0) -> None:
        stop(self, wait_s=wait_s)
        raise RequirementError("no space left for health")

    monkeypatch.setattr(HealthSampler, "stop", without_room)
    server = FakeServer()
    outcome = run_point(job(tmp_path, mode), server)
    facts = RunFile.read(outcome.folder)

    assert (outcome.state, facts.state) == ("failed", "failed")
    assert ("no space left" in str(facts.reason)) == (mode == fake_engine.FINE)
    assert facts.reason
    assert server.calls[-1] == "stop"


def test_devices_are_spread_over_processes_with_one_start(tmp_path: Path) -> None:
    """A low file limit forces several engine processes; all streams are still played, each by one of them."""
    outcome = run_point(job(tmp_path, limits=HostLimits(open_files=102)), FakeServer())
    facts = RunFile.read(outcome.folder)

    assert outcome.state == "complete"
    assert facts.processes == 3
    assert len(set(read_records(outcome.folder, "streams")["process"].to_pylist())) == 3


@pytest.mark.parametrize(
    ("mode", "code", "words"),
    [
        (fake_engine.DIES, ExitCode.ENGINE_FAILED, "engine process 0 was killed by signal 9"),
        (fake_engine.CRASHES, ExitCode.ENGINE_FAILED, "status 3: boom"),
        (fake_engine.REFUSES, ExitCode.BAD_CONFIG, "load.rate: -1"),
        (fake_engine.FULL, ExitCode.MISSING_REQUIREMENT, "no space left"),
        (
            fake_engine.REFUSED,
            ExitCode.SERVER_FAILED,
            "1 of 5 devices could not connect and subscribe; first: connect_r",
        ),
        (fake_engine.SLOW, ExitCode.SERVER_FAILED, "1 of 5 devices were not connected and subscribed within 2 s"),
    ],
    ids=["killed", "crash", "plan", "disk-full", "refused", "timeout"],
)
def test_a_failure_ends_the_run_with_its_reason_and_code(tmp_path: Path, mode: int, code: ExitCode, words: str) -> None:
    """The folder is closed as failed, the reason is in run.json and in the events, nothing is left running."""
    server = FakeServer()
    outcome = run_point(job(tmp_path, mode), server)
    facts = RunFile.read(outcome.folder)

    assert (outcome.state, outcome.exit_code) == ("failed", code)
    assert words in (facts.reason or "")
    assert facts.state == "failed"
    assert facts.reason in read_records(outcome.folder, "events")["detail"].to_pylist()
    assert server.calls[-2:] == ["kill", "stop"]


def test_a_server_that_dies_ends_the_run_within_five_seconds(tmp_path: Path) -> None:
    """The reason names the server and the phase; its last log line is the hint."""
    server = FakeServer()
    died: list[float] = []

    class Assassin(Silence):
        def progress(self, progress: Progress) -> None:
            if progress.phase == "measure" and not server.dead:
                server.dead = True
                died.append(time.monotonic())

    outcome = run_point(job(tmp_path, phases=replace(QUICK, measure_s=30)), server, listener=Assassin())

    assert time.monotonic() - died[0] < 5
    assert outcome.reason == "server fake died in phase measure"
    assert outcome.hint == "segmentation fault"
    assert outcome.exit_code == ExitCode.SERVER_FAILED


def test_a_server_that_does_not_start_is_a_closed_folder_too(tmp_path: Path) -> None:
    """No phase was reached; the reason is the adapter's."""

    def fail() -> None:
        raise ServerError("fake: port 1 is in use", hint="stop the other one")

    outcome = run_point(job(tmp_path), FakeServer(on_start=fail))

    assert (outcome.state, outcome.reason) == ("failed", "fake: port 1 is in use")
    assert RunFile.read(outcome.folder).phases == {}


def test_a_server_nobody_saw_die_is_lost_when_all_devices_are_gone(tmp_path: Path) -> None:
    """A remote server has no process to watch; its silence ends the run within five seconds."""
    started = time.monotonic()
    outcome = run_point(job(tmp_path, fake_engine.LOST, replace(QUICK, measure_s=30)), FakeServer())

    assert outcome.reason == (
        "server fake disconnected all 5 devices in phase measure; first: disconnected: device 0: connection reset"
    )
    assert outcome.exit_code == ExitCode.SERVER_FAILED
    assert time.monotonic() - started < 10


LONG = Phases(connect_timeout_s=60, warmup_s=60, measure_s=60, drain_timeout_s=60, hold_s=60)


@pytest.mark.parametrize(
    ("phase", "mode", "phases", "number"),
    [
        ("connect", fake_engine.SLOW, LONG, signal.SIGINT),
        ("hold", fake_engine.FINE, LONG, signal.SIGHUP),
        ("warmup", fake_engine.FINE, replace(LONG, hold_s=0), signal.SIGINT),
        ("measure", fake_engine.FINE, replace(LONG, hold_s=0, warmup_s=0), signal.SIGTERM),
        ("drain", fake_engine.LOSES, Phases(measure_s=0.2, drain_timeout_s=60), signal.SIGINT),
        ("stop", fake_engine.DEAF, Phases(measure_s=0.2, drain_timeout_s=0.1), signal.SIGINT),
    ],
    ids=["connect", "hold", "warmup", "measure", "drain", "stop"],
)
def test_an_interruption_in_any_phase_ends_in_order(
    tmp_path: Path, phase: str, mode: int, phases: Phases, number: signal.Signals
) -> None:
    """Interrupted, not failed; promptly; nothing left running; the folder is readable."""
    listener = SignalAt(phase, number)
    outcome = run_point(job(tmp_path, mode, phases), FakeServer(), listener=listener)

    assert time.monotonic() - listener.sent_at < PROMPT_S
    assert (outcome.state, outcome.exit_code) == ("interrupted", ExitCode.INTERRUPTED)
    assert RunFile.read(outcome.folder).reason == f"interrupted by {number.name}"
    assert phase in RunFile.read(outcome.folder).phases


def test_an_interruption_while_the_server_starts_does_not_wait_for_it(tmp_path: Path) -> None:
    """A server may take a minute to start; Ctrl-C does not."""

    def wait() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)

    started = time.monotonic()
    outcome = run_point(job(tmp_path), FakeServer(on_start=wait))

    assert time.monotonic() - started < PROMPT_S
    assert outcome.state == "interrupted"


def test_a_plan_the_server_cannot_run_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    """The message names what is missing, in words."""
    wanted = replace(plan(), needs=frozenset({"mqtt-3.1.1", "psk", "jms"}))
    with pytest.raises(ConfigError) as caught:
        run_point(replace(job(tmp_path), plan=wanted), FakeServer())

    expected = "s/c on fake: the server lacks TLS with pre-shared keys (psk); JMS consumers (jms)"

    assert expected == caught.value.message
    assert list(tmp_path.iterdir()) == []


def test_whoever_steers_may_change_the_rate_and_end_the_measuring(tmp_path: Path) -> None:
    """The peak search needs both."""
    rates: list[float] = []

    def steer(control: RunControl) -> None:
        if control.progress.phase == "measure":
            control.set_rate(500.0)
            rates.append(control.progress.totals.sent)
            control.end_measuring()

    started = time.monotonic()
    outcome: RunOutcome = run_point(job(tmp_path, phases=replace(QUICK, measure_s=60)), FakeServer(), steering=steer)

    assert outcome.state == "complete"
    assert rates
    assert time.monotonic() - started < PROMPT_S


def test_a_run_folder_is_never_used_twice(tmp_path: Path) -> None:
    """What a run recorded is not changed by another."""
    run_point(job(tmp_path), FakeServer())
    again: Callable[[], RunOutcome] = lambda: run_point(job(tmp_path), FakeServer())  # noqa: E731

    with pytest.raises(ConfigError, match="exists already"):
        again()
