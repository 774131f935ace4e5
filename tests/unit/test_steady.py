"""Synthetic series, each with the verdict a careful engineer would give."""

from __future__ import annotations

from random import Random

import pytest

from telemark.verdicts.fit import fit_line
from telemark.verdicts.steady import decide, latency_trend, mann_kendall_z, slope_of

SECONDS = 60
RATE = 10_000.0


def noisy(value: float, share: float, random: Random) -> float:
    return value * (1 + random.uniform(-share, share))


@pytest.mark.parametrize("seed", range(5))
def test_a_steady_run_is_steady(seed: int) -> None:
    """Ordinary jitter of everything."""
    random = Random(seed)
    offered = [RATE] * SECONDS
    delivered = [noisy(RATE, 0.002, random) for _ in range(SECONDS)]
    latency = [noisy(800.0, 0.3, random) for _ in range(SECONDS)]

    answer = decide(offered, delivered, latency)

    assert answer.steady is True, answer.reason
    assert "steady" == answer.latency_trend


@pytest.mark.parametrize("seed", range(5))
def test_very_noisy_latency_without_direction_is_steady(seed: int) -> None:
    """A factor of three from second to second is noise, not a trend."""
    random = Random(seed)
    latency = [800.0 * random.choice([1, 2, 3]) for _ in range(SECONDS)]

    assert "steady" == latency_trend(latency)


def test_a_server_that_falls_behind_is_not_steady() -> None:
    """It takes 2 % less than offered: the backlog grows and latency with it."""
    delivered = [RATE * 0.98] * SECONDS
    latency = [1_000.0 + 20_000.0 * second for second in range(SECONDS)]

    answer = decide([RATE] * SECONDS, delivered, latency)

    assert (answer.steady, answer.sustained) == (False, False)
    assert "rising" == answer.latency_trend
    assert answer.backlog is not None
    assert answer.backlog.slope == pytest.approx(200, rel=0.01)
    assert all(word in answer.reason for word in ("98.0%", "backlog grows", "latency is rising"))


def test_a_slowly_growing_backlog_is_found_before_delivery_shows_it() -> None:
    """Half a percent less than offered is within tolerance, its backlog is not."""
    random = Random(1)
    delivered = [noisy(RATE * 0.995, 0.001, random) for _ in range(SECONDS)]

    answer = decide([RATE] * SECONDS, delivered, [900.0] * SECONDS)

    assert answer.steady is False
    assert "backlog grows" in answer.reason


def test_a_saw_tooth_is_steady_when_the_phase_holds_several_teeth() -> None:
    """A server that flushes every five seconds: up and down, but going nowhere."""
    latency = [500.0 + 400.0 * (second % 5) for second in range(SECONDS)]
    delivered = [RATE * (1.02 if second % 5 == 0 else 0.995) for second in range(SECONDS)]

    answer = decide([RATE] * SECONDS, delivered, latency)

    assert answer.steady is True, answer.reason


def test_half_a_saw_tooth_is_rising() -> None:
    """Nobody can tell it from a queue that fills."""
    assert "rising" == latency_trend([500.0 + 50.0 * second for second in range(SECONDS)])


@pytest.mark.parametrize("at", [20, 30, 45])
def test_a_step_to_another_level_is_not_steady(at: int) -> None:
    """Two regimes have no common latency."""
    random = Random(at)
    latency = [noisy(800.0 if second < at else 6_000.0, 0.2, random) for second in range(SECONDS)]

    assert "rising" == latency_trend(latency)


def test_a_server_that_is_still_warming_up_is_falling() -> None:
    """A just-in-time compiler at work: measure later."""
    latency = [max(5_000.0 - 150.0 * second, 800.0) for second in range(SECONDS)]

    answer = decide([RATE] * SECONDS, [RATE] * SECONDS, latency)

    assert "falling" == answer.latency_trend
    assert answer.steady is False


def test_a_change_too_small_to_matter_is_no_trend() -> None:
    """From 100 to 180 us, however surely."""
    assert "steady" == latency_trend([100.0 + 80.0 * second / SECONDS for second in range(SECONDS)])


def test_the_servers_own_count_of_waiting_messages_counts() -> None:
    """Where it tells, its backlog is judged."""
    waiting = [1_000.0 * second for second in range(SECONDS)]

    answer = decide([RATE] * SECONDS, [RATE] * SECONDS, [900.0] * SECONDS, waiting)

    assert answer.steady is False
    assert answer.backlog is not None
    assert answer.backlog.slope == pytest.approx(1_000)


@pytest.mark.parametrize(
    ("offered", "latency"),
    [([RATE] * 4, [1.0] * 4), ([0.0] * 10, [None] * 10), ([], []), ([RATE] * 10, [None] * 10)],
    ids=["short", "nothing offered", "empty", "no latency"],
)
def test_too_little_data_gives_no_answer(offered: list[float], latency: list[float | None]) -> None:
    """Neither steady nor unsteady."""
    answer = decide(offered, offered, latency)

    assert answer.steady is None
    assert "unknown" == answer.latency_trend


def test_a_line_has_the_slope_of_its_points_and_an_honest_interval() -> None:
    """Exact points give a tight interval; two points give none; one gives no line."""
    line = fit_line([0, 1, 2, 3], [1, 3, 5, 7])

    assert line is not None
    assert (pytest.approx(1), pytest.approx(2)) == (line.intercept, line.slope)
    assert line.slope_low == pytest.approx(2)
    two = fit_line([0, 1], [0, 1])
    assert two is not None
    assert two.slope_low is None
    assert fit_line([1, 1], [0, 5]) is None
    assert slope_of([5.0]) is None


def test_kendalls_score_of_a_sorted_series_is_large() -> None:
    """And of a constant one nothing."""
    assert mann_kendall_z(list(range(12))) > 4
    assert 0 == mann_kendall_z([1.0] * 12)


def test_working_off_a_slow_start_is_not_steady_but_sustained() -> None:
    """More is delivered than offered and latency falls: the rate could go on."""
    delivered = [RATE * 1.02] * 20 + [RATE] * 40
    latency = [60_000.0 - 2_900.0 * second for second in range(20)] + [800.0] * 40

    answer = decide([RATE] * SECONDS, delivered, latency)

    assert "falling" == answer.latency_trend
    assert (answer.steady, answer.sustained) == (False, True)


def test_nothing_is_sustained_that_cannot_be_judged() -> None:
    assert decide([RATE] * 3, [RATE] * 3, [800.0] * 3).sustained is None
