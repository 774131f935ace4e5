"""The fleet against a stand-in for the engine process."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from telemark.errors import ConfigError, EngineError
from telemark.model.plan import Endpoint, EnginePlan, Group, Publish
from telemark.model.plan.shapes.windowed import Windowed
from telemark.model.slicing import PlacedPlan
from telemark.runner.engine_link import EngineLink
from telemark.runner.fleet import Fleet
from tests.support import fake_engine
from tests.support.waiting import eventually

FAKE = (sys.executable, fake_engine.__file__)
Make = Callable[..., Fleet]


def plan(process: int, mode: int, publishers: int = 5, refill: int = 1) -> EnginePlan:
    """A slice with some publishers; `mode` tells the stand-in how to behave."""
    group = Group("publishers", publishers, publish=Publish("t/{index}"))
    return EnginePlan("run", process, mode + process, (Endpoint("plain"),), (group,), Windowed(window=1, refill=refill))


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Fleets that are ended whatever the test did."""
    fleets: list[Fleet] = []

    def make_fleet(*plans: EnginePlan) -> Fleet:
        placed = [PlacedPlan("", plan) for plan in plans]
        fleet = Fleet(placed, lambda each: EngineLink(each.plan, tmp_path, FAKE, ()))
        fleets.append(fleet)
        fleet.start()
        return fleet

    yield make_fleet
    for fleet in fleets:
        fleet.stop(0.1)


def poll_until(fleet: Fleet, condition: Callable[[], bool]) -> None:
    """Listen until something is true."""

    def reached() -> bool:
        fleet.poll(0.05)
        return condition()

    assert condition() or eventually(reached)


def test_totals_add_up_over_the_processes_and_all_end_in_order(make: Make) -> None:
    """Two processes connect, get the same start, and finish."""
    fleet = make(plan(0, fake_engine.FINE, 5), plan(1, fake_engine.FINE, 3))
    devices_before_any_word = fleet.totals().devices
    poll_until(fleet, lambda: fleet.totals().settled)
    fleet.begin(123)
    poll_until(fleet, lambda: fleet.totals().sent == 20)
    begun = {link.status["begun_ns"] for link in fleet._links}
    fleet.finish()
    poll_until(fleet, lambda: fleet.finished)

    assert devices_before_any_word == 8
    assert begun == {123}
    assert fleet.stop(1) == []
    assert fleet.pids() == []


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        (fake_engine.DIES, "process 1 was killed by signal 9"),
        (fake_engine.CRASHES, "process 1 ended with status 3: boom"),
    ],
)
def test_a_process_that_dies_is_noticed_within_a_second(make: Make, mode: int, message: str) -> None:
    """The error names the process and its last words."""
    fleet = make(plan(0, fake_engine.FINE), plan(1, mode))
    poll_until(fleet, lambda: fleet.totals().settled)
    started = time.monotonic()
    fleet.begin(1)
    with pytest.raises(EngineError) as caught:
        poll_until(fleet, lambda: False)

    assert message in caught.value.message
    assert time.monotonic() - started < 1


def test_a_plan_the_engine_cannot_use_is_a_wrong_configuration(make: Make) -> None:
    """The engine's own words reach the user with the right exit code."""
    fleet = make(plan(0, fake_engine.REFUSES))
    with pytest.raises(ConfigError, match=r"load\.rate: -1"):
        poll_until(fleet, lambda: False)


def test_a_process_that_does_not_end_is_killed(make: Make) -> None:
    """Stopping is bounded in time and says what it had to do."""
    fleet = make(plan(0, fake_engine.DEAF))
    poll_until(fleet, lambda: fleet.totals().settled)
    started = time.monotonic()
    problems = fleet.stop(0.3)

    assert time.monotonic() - started < 2
    assert problems == ["engine process 0 did not end in 0.3 s and was killed"]
    assert fleet.pids() == []


def test_credits_are_relayed_in_whole_refills_by_publishers(make: Make) -> None:
    """Twenty received by two processes, refills of eight: sixteen may be sent, three quarters by the larger process."""
    fleet = make(plan(0, fake_engine.CREDITS, 6, refill=8), plan(1, fake_engine.CREDITS, 2, refill=8))
    poll_until(fleet, lambda: fleet.totals().settled)
    fleet.begin(1)
    poll_until(fleet, lambda: fleet.totals().sent == 20 + 16)

    assert [link.status["sent"] - 10 for link in fleet._links] == [12, 4]


def test_a_rate_is_shared_out_by_publishers(make: Make) -> None:
    """The aggregate rate stays the aggregate rate."""
    fleet = make(plan(0, fake_engine.FINE, 6), plan(1, fake_engine.FINE, 2))
    poll_until(fleet, lambda: fleet.totals().settled)
    fleet.set_rate(1000.0, 7)
    poll_until(fleet, lambda: all("rate" in link.status for link in fleet._links))

    assert [link.status["rate"] for link in fleet._links] == [750.0, 250.0]
