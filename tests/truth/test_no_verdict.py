"""Runs from which nothing may be concluded: no verdict, never a pass, never a division by zero."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from telemark.model.plan import Idle
from telemark.model.plan.shapes.paced import Paced
from telemark.runner.conductor import RunControl
from telemark.runner.phases import Phase
from telemark.runner.run_point import PointJob, run_point
from telemark.servers import registry
from telemark.verdicts import judge, overall
from tests.support.truth import Answers, light_fan_in, plan, publishers, subscribers

LIGHT = Paced(rate=100.0)
FEW = (subscribers("sub"), publishers(1))
REFUSES_FIRST = 3  # seed with which the built-in server refuses the first of two devices
STARVED_S = 0.3  # of every pulse the engine processes stand still
EDGE_CASES = {
    "empty": plan("empty", FEW, Idle()),
    "one-message": plan("one-message", FEW, Paced(rate=10.0, limit=1)),
    "nobody-listens": plan("nobody-listens", (publishers(1),), LIGHT),
    "subscriber-refused": plan("subscriber-refused", FEW, LIGHT, faults="refuse-subscribe=1"),
    "all-refused": plan("all-refused", light_fan_in(), LIGHT, faults="refuse-connect=1"),
}


class Starvation:
    """Takes the processor away from the engine processes again and again while they measure."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._thread: threading.Thread | None = None
        self._measuring = False

    def __call__(self, control: RunControl) -> None:
        """Steering of a run: from when it measures until it does no more."""
        mine = control.progress.run.endswith(self._run)
        self._measuring = mine and control.progress.phase is Phase.MEASURE
        if self._measuring and self._thread is None:
            self._thread = threading.Thread(target=self._pulse, daemon=True)
            self._thread.start()

    def _pulse(self) -> None:
        while self._measuring:
            engines = engine_processes()
            for each in (signal.SIGSTOP, signal.SIGCONT):
                for pid in engines:
                    with suppress(ProcessLookupError):
                        os.kill(pid, each)
                time.sleep(STARVED_S)


def engine_processes() -> list[int]:
    """Those this test started."""
    children = psutil.Process().children()
    return [child.pid for child in children if "telemark.runner.engine_process" in child.cmdline()]


def without_subscriber(campaign: Path) -> Path:
    """A run in which the subscriber is refused and the publishers go on alone, which campaigns do not do."""
    absent = plan("absent", FEW, LIGHT, faults="refuse-connect=2", seed=REFUSES_FIRST, drain_timeout_s=0.5)
    absent = replace(absent, connect_rate=4.0)  # one after the other: the subscriber is the first device
    job = PointJob(absent, campaign / "absent", campaign.name, allow_connect_failures=True)
    outcome = run_point(job, registry.make("loopback", None))
    assert outcome.state == "complete", outcome.reason
    return outcome.folder


STEERING = Starvation("starved")
STARVED = plan("starved", light_fan_in(), Paced(rate=500.0), measure_s=3.0)
PLANS = [*EDGE_CASES.values(), STARVED]
MORE = [without_subscriber]


@pytest.mark.parametrize("name", EDGE_CASES)
def test_a_run_that_shows_nothing_does_not_pass(answers: Answers, name: str) -> None:
    """Whatever could not be measured has no verdict; the run as a whole has none."""
    assert overall(answers.verdicts(name)) == "no verdict"


@pytest.mark.parametrize("name", EDGE_CASES)
def test_figures_without_data_are_missing_not_zero(answers: Answers, name: str) -> None:
    """A latency of zero would be the best server in the world."""
    point = answers.point(name)
    if not point["received"]:
        assert point["latency_p50_us"] is None
        assert point["latency_mean_us"] is None
    assert point["steady"] is None
    assert point["engine_headroom"] is None or point["engine_headroom"] > 0


def test_one_message_is_measured(answers: Answers) -> None:
    """Its latency is the smallest, the median and the largest; one message says nothing about a rate that holds."""
    point = answers.point("one-message")
    assert (1, 1, 0) == (point["sent"], point["received"], point["lost"])
    assert point["latency_min_us"] == point["latency_p50_us"] == point["latency_max_us"] > 0


def test_refused_devices_fail_the_run_by_name(answers: Answers) -> None:
    """The run ends before anything is measured, and says why."""
    point = answers.point("all-refused")
    assert (point["state"], point["connect_failures"]) == ("failed", 6)
    assert "could not connect" in point["reason"]


def test_a_subscriber_that_never_connects_gives_no_verdict(answers: Answers) -> None:
    """The publishers went on alone: what was owed is only a bound, and nothing was received."""
    assert ["sub-0"] == [entry["client"] for entry in answers.account("absent")["affected"]]
    point = answers.point("absent")
    assert (100, 0, False) == (point["sent"], point["received"], point["integrity_exact"])
    verdicts = judge(point, ["lost == 0", "p99 < 1 s", "violations == 0"])
    assert {"no verdict"} == {verdict.outcome for verdict in verdicts}


def test_a_starved_engine_gets_no_verdict(answers: Answers) -> None:
    """The run is complete and its numbers look like a slow server: it must say that it was the engine."""
    point = answers.point("starved")
    assert (point["state"], point["engine_bound"]) == ("complete", True)
    assert "of the messages left" in point["engine_bound_reason"], "late, although nobody held it up"
    assert {"no verdict"} == {verdict.outcome for verdict in answers.verdicts("starved")}
    assert all("the engine was the limit" in verdict.reason for verdict in answers.verdicts("starved"))


def test_a_starved_engine_hides_no_message(answers: Answers) -> None:
    """What became due while it stood still is sent late or counted as dropped, never forgotten."""
    point = answers.point("starved")
    assert point["intended"] == point["sent"] + point["dropped"] == 1500
    assert point["send_delay_p99_us"] > 100_000, "the delay is blamed on the engine, where it arose"
