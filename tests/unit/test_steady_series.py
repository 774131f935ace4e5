"""Steady or not: series with the answer a careful engineer would give."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest

from telemark.verdicts.steady import Steadiness, decide, latency_trend

RATE = 1000.0
SECONDS = 60


def noisy(level: float, share: float, seed: int = 1, seconds: int = SECONDS) -> list[float]:
    """A level with normal noise of the given share."""
    chance = random.Random(seed)
    return [max(level * chance.gauss(1.0, share), 0.0) for _ in range(seconds)]


def judged(
    latency: list[float | None], backlog: list[float] | None = None, delivered: list[float] | None = None
) -> Steadiness:
    """The decision on a paced load."""
    seconds = len(latency)
    if delivered is None:
        before = [0.0, *(backlog or [0.0] * seconds)]
        delivered = [RATE - (after - earlier) for earlier, after in pairwise(before)]
    return decide([RATE] * seconds, delivered, latency, backlog)


def test_a_quiet_server_is_steady() -> None:
    """Everything arrives, nothing changes."""
    found = judged([500.0] * SECONDS)
    assert (True, "steady") == (found.steady, found.latency_trend)


@pytest.mark.parametrize("seed", range(20))
def test_noise_is_steady(seed: int) -> None:
    """Latency that scatters by 20 % and a backlog that scatters around a level are no trend."""
    backlog = noisy(40.0, 0.5, seed + 100)
    assert judged(noisy(800.0, 0.2, seed), backlog).steady is True


@pytest.mark.parametrize("seed", range(20))
def test_a_rising_backlog_is_not_steady(seed: int) -> None:
    """One percent more in than out, below the noise of a single second: in a minute it shows."""
    chance = random.Random(seed)
    backlog = [10.0 * second + chance.gauss(0, 15) for second in range(SECONDS)]
    found = judged(noisy(800.0, 0.1, seed), backlog)
    assert found.steady is False
    assert "backlog grows" in found.reason


@pytest.mark.parametrize("seed", range(20))
def test_rising_latency_is_not_steady(seed: int) -> None:
    """It doubles within the phase, under 10 % of noise."""
    chance = random.Random(seed)
    latency = [1000.0 * (1 + second / SECONDS) * chance.gauss(1, 0.1) for second in range(SECONDS)]
    found = judged(latency)
    assert (False, "rising") == (found.steady, found.latency_trend)


def test_falling_latency_is_not_steady_either() -> None:
    """The warm-up was too short: the figures mix two states."""
    found = judged([4000.0 - 50 * second for second in range(SECONDS)])
    assert (False, "falling") == (found.steady, found.latency_trend)


@pytest.mark.parametrize("period", [2, 4, 8, 15])
def test_a_sawtooth_is_steady(period: int) -> None:
    """Batches, garbage collections: up and down again all the time, without a trend."""
    tooth = [(second % period) / period for second in range(SECONDS)]
    found = judged([800.0 + 400.0 * part for part in tooth], [50.0 * part for part in tooth])
    assert found.steady is True, found.reason


def test_one_long_tooth_is_not_steady() -> None:
    """Half a period is seen: nobody knows whether it will come down again."""
    found = judged([800.0 + 40.0 * second for second in range(SECONDS)])
    assert found.steady is False


@pytest.mark.parametrize("at", [15, 30, 45])
def test_a_step_in_latency_is_not_steady(at: int) -> None:
    """Two states, each steady, are not one state."""
    found = judged([500.0 if second < at else 5000.0 for second in range(SECONDS)])
    assert (False, "rising") == (found.steady, found.latency_trend)


def test_a_spike_is_steady() -> None:
    """Three bad seconds that are made up for: percentiles tell them, the state is the same before and after."""
    latency = [500.0] * SECONDS
    latency[30:33] = [40_000.0, 90_000.0, 20_000.0]
    backlog = [0.0] * SECONDS
    backlog[30:33] = [300.0, 900.0, 200.0]
    assert judged(latency, backlog).steady is True


def test_a_small_change_in_a_fast_server_is_no_trend() -> None:
    """A tenth of a millisecond more is within what an operating system does by itself."""
    assert latency_trend([100.0 + second for second in range(SECONDS)]) == "steady"


@pytest.mark.parametrize("share", [0.5, 0.95, 0.985, 1.02])
def test_delivered_must_be_what_was_offered(share: float) -> None:
    """A server that sheds load, or delivers old messages, is in another state than the one asked about."""
    found = judged([500.0] * SECONDS, delivered=[RATE * share] * SECONDS)
    assert found.steady is False
    assert "delivered" in found.reason


def test_messages_under_way_at_the_edges_are_no_loss() -> None:
    """What was sent in the first second and came in the next ones: within 1 % of the phase."""
    delivered = [0.6 * RATE, *[RATE] * (SECONDS - 1)]
    assert judged([500.0] * SECONDS, delivered=delivered).steady is True


def test_a_steady_shortfall_is_a_growing_backlog() -> None:
    """Half a percent less than offered in every second is within 1 %, but it adds up for ever."""
    found = judged([500.0] * SECONDS, delivered=[0.995 * RATE] * SECONDS)
    assert found.steady is False
    assert "backlog grows" in found.reason


def test_a_few_seconds_decide_nothing() -> None:
    """No data is never a pass."""
    found = judged([500.0] * 4)
    assert (None, "unknown") == (found.steady, found.latency_trend)


def test_nothing_offered_decides_nothing() -> None:
    """An idle server was not tested, and nothing is divided by zero."""
    found = decide([0.0] * SECONDS, [0.0] * SECONDS, [None] * SECONDS)
    assert found.steady is None
    assert "nothing was offered" in found.reason


def test_seconds_without_latency_decide_nothing() -> None:
    """Messages were counted, but not one told its time."""
    assert judged([None] * SECONDS).steady is None


def test_the_answer_does_not_depend_on_the_level() -> None:
    """The same shape at a hundred times the latency gets the same answer."""
    shape = [math.sin(second / 3) for second in range(SECONDS)]
    answers = {judged([level * (1 + 0.2 * part) for part in shape]).steady for level in (1e3, 1e4, 1e5)}
    assert answers == {True}
