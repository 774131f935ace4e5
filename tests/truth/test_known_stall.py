"""A server that stands still for one second of a ten-second run: the worked example of docs/concepts/measuring.md.

The schedule is open loop: message i is due at start + i / rate, whatever the server does. A message that is due while
the server stands still is delivered when it goes on, so its latency is at least the time from its due time to the end
of the stall. That gives the whole distribution without any measurement: see `analytic_us`.
"""

from __future__ import annotations

from math import ceil, floor

import pytest

from telemark.model.plan.shapes.paced import Paced
from telemark.model.plan.shapes.windowed import Windowed
from telemark.store.documents.run import RunFile
from tests.support.truth import Answers, plan, publishers, subscribers

RATE, SECONDS = 200, 10
STALL = "stall=1@4"
CALM = (0, 1, 2, 6, 7, 8)  # seconds far enough from the stall
PUBLISHERS = 10  # of which each keeps one message under way: ten messages meet the stall, 0.5 % of all
QUANTILES = {"p95": 0.95, "p99": 0.99, "p999": 0.999, "max": 1.0}


GROUPS = (subscribers("sub", qos=1), publishers(PUBLISHERS, qos=1, in_flight=1))
LOADS = {
    "open": Paced(rate=float(RATE), max_lateness_s=5.0),
    "closed": Windowed(window=PUBLISHERS, refill=1),  # the same stall, met by a closed loop
}
PLANS = [plan(name, GROUPS, load, faults=STALL, measure_s=float(SECONDS)) for name, load in LOADS.items()]


def analytic_us(answers: Answers) -> list[float]:
    """Latencies of all messages in order of size, from nothing but the schedule and the server's account."""
    (stall,) = answers.account("open")["stalls"]
    start_ns = RunFile.read(answers.folders["open"]).start_ns or 0
    due = [start_ns + i * 1_000_000_000 // RATE for i in range(RATE * SECONDS)]
    until = stall["until_ns"]
    waits = [(until - at) / 1000 if stall["from_ns"] <= at < until else 0.0 for at in due]
    return sorted(waits)


def quantile(ordered: list[float], q: float) -> float:
    """Between two ranks by straight line, as the pipeline does it."""
    place = q * (len(ordered) - 1)
    low, high = ordered[floor(place)], ordered[ceil(place)]
    return low + (place - floor(place)) * (high - low)


@pytest.mark.parametrize("name", QUANTILES)
def test_latency_percentiles_are_the_analytic_ones(answers: Answers, name: str) -> None:
    """Every message that should have been sent during the stall counts, from the time it should have been sent."""
    expected = quantile(analytic_us(answers), QUANTILES[name])
    assert expected == pytest.approx({"p95": 5e5, "p99": 9e5, "p999": 9.9e5, "max": 1e6}[name], rel=0.02)
    assert answers.point("open")[f"latency_{name}_us"] == pytest.approx(expected, rel=0.05)


def test_mean_latency_is_the_analytic_one(answers: Answers) -> None:
    """A tenth of the messages wait half a second on average; the rest is the floor of the seconds without a stall."""
    calm = [row for row in answers.rows("intervals", "open") if row["second"] in CALM]
    floor_us = sum(row["latency_mean_us"] for row in calm) / len(calm)
    expected = sum(analytic_us(answers)) / (RATE * SECONDS) + floor_us
    assert answers.point("open")["latency_mean_us"] == pytest.approx(expected, rel=0.05)


def test_service_time_misses_the_stall(answers: Answers) -> None:
    """Counted from the sending, only the ten messages under way when the server froze were slow: p99 sees none."""
    point = answers.point("open")
    assert point["service_p99_us"] < 0.05 * point["latency_p99_us"]
    assert point["service_p95_us"] < 0.05 * point["latency_p95_us"]
    assert point["service_max_us"] == pytest.approx(1e6, rel=0.05)


def test_a_closed_loop_misses_the_stall(answers: Answers) -> None:
    """A tool that waits for each answer before it sends again hardly asks during the stall: ten messages of many."""
    opened, closed = answers.point("open"), answers.point("closed")
    assert closed["received"] > 10 * PUBLISHERS * 100, "too few messages for the ten to vanish among them"
    assert closed["latency_p99_us"] < 0.05 * opened["latency_p99_us"]
    assert closed["latency_max_us"] == pytest.approx(1e6, rel=0.05)


def test_a_stall_loses_nothing(answers: Answers) -> None:
    """Messages were late, none was dropped by the engine or lost by the server."""
    point = answers.point("open")
    found = [point[name] for name in ("sent", "received", "acked", "dropped", "lost", "duplicate", "reordered")]
    assert [2000, 2000, 2000, 0, 0, 0, 0] == found
    assert point["pushed_back"] > 0, "the engine says that the server held it up"
