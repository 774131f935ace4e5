"""A server that delays every message by a known time."""

from __future__ import annotations

import pytest

from telemark.model.plan.shapes.paced import Paced
from tests.support.truth import Answers, light_fan_in, plan

DELAYS_MS = (1, 5, 20)
WITHIN_US = 300.0


PLANS = [
    plan(f"delay-{ms}", light_fan_in(), Paced(rate=200.0), faults=f"delay={ms}ms", measure_s=2.0)
    for ms in (0, *DELAYS_MS)
]


@pytest.mark.parametrize("delay_ms", DELAYS_MS)
def test_median_latency_is_the_delay_above_the_measured_floor(answers: Answers, delay_ms: int) -> None:
    """The floor is measured in the same campaign: what is above it is the server's delay, within 0.3 ms."""
    floor_us = answers.point("delay-0")["latency_p50_us"]
    above_us = answers.point(f"delay-{delay_ms}")["latency_p50_us"] - floor_us
    assert above_us == pytest.approx(1000 * delay_ms, abs=WITHIN_US)


@pytest.mark.parametrize("delay_ms", [0, *DELAYS_MS])
def test_service_time_and_latency_agree_at_light_load(answers: Answers, delay_ms: int) -> None:
    """Nothing waits to be sent, so it does not matter from which of the two times one counts."""
    point = answers.point(f"delay-{delay_ms}")
    assert point["latency_p50_us"] == pytest.approx(point["service_p50_us"], abs=WITHIN_US)
    assert point["latency_p50_us"] >= point["service_p50_us"], "nothing is sent before its time"


@pytest.mark.parametrize("delay_ms", [0, *DELAYS_MS])
def test_a_delay_loses_nothing(answers: Answers, delay_ms: int) -> None:
    """All 400 messages are there once, in order."""
    point = answers.point(f"delay-{delay_ms}")
    found = {name: point[name] for name in ("sent", "received", "lost", "duplicate", "reordered", "dropped")}
    assert {"sent": 400, "received": 400, "lost": 0, "duplicate": 0, "reordered": 0, "dropped": 0} == found
