"""When the engine was the limit, and when the server was."""

from __future__ import annotations

from typing import Any

import pytest

from telemark.verdicts.engine import engine_bound

FINE: dict[str, Any] = {
    "sent": 100_000, "pushed_back": 0, "dropped": 0, "send_delay_p99_us": 300.0, "host_cpu_busy_mean": 0.6,
    "server_cpu_cores_mean": 0.5, "engine_cpu_cores_mean": 0.4, "engine_busiest_thread_cores": 0.4,
}  # fmt: skip
LAGS = [500.0] * 20


def test_an_engine_on_time_is_not_the_limit() -> None:
    """Also when nothing at all was sampled."""
    assert engine_bound(FINE, LAGS, 2) is None
    assert engine_bound({}, [], None) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"send_delay_p99_us": 9_000.0}, "late"),
        ({"dropped": 7}, "never sent"),
        ({"engine_busiest_thread_cores": 0.97}, "engine thread"),
        ({"host_cpu_busy_mean": 0.99}, "other programs"),
    ],
)
def test_an_engine_that_is_late_or_starved_is_the_limit(changes: dict[str, Any], words: str) -> None:
    """With the evidence in words."""
    assert words in (engine_bound(FINE | changes, LAGS, 2) or "")


def test_a_server_that_pushes_back_is_to_blame_for_the_delay() -> None:
    """Its sockets were full, so messages left late or not at all."""
    assert engine_bound(FINE | {"send_delay_p99_us": 90_000.0, "dropped": 500, "pushed_back": 4_000}, LAGS, 2) is None


def test_a_host_that_server_and_engine_fill_themselves_is_no_excuse() -> None:
    """That is what a full load looks like."""
    full = FINE | {"host_cpu_busy_mean": 0.99, "server_cpu_cores_mean": 1.1, "engine_cpu_cores_mean": 0.8}

    assert engine_bound(full, LAGS, 2) is None


@pytest.mark.parametrize("lags", [[500.0] * 19 + [150_000.0], [500.0] * 15 + [30_000.0] * 5], ids=["once", "often"])
def test_a_reactor_that_was_away_missed_what_happened(lags: list[float]) -> None:
    """Once for long, or often for shorter."""
    assert "reactor" in (engine_bound(FINE, lags, 2) or "")


def test_one_short_absence_is_no_matter() -> None:
    """Any operating system does that."""
    assert engine_bound(FINE, [*LAGS, 30_000.0], 2) is None
