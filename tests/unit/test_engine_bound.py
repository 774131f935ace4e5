"""When the engine was the limit, and when the server was."""

from __future__ import annotations

from typing import Any

import pytest

from telemark.verdicts.engine import LoadHost, engine_bound

FINE: dict[str, Any] = {
    "sent": 100_000, "pushed_back": 0, "dropped": 0, "send_delay_p99_us": 300.0,
    "engine_busiest_thread_cores": 0.4,
}  # fmt: skip
LAGS = [500.0] * 20
CALM = [LoadHost("", cores=2, busy=0.6, ours=0.9)]


def test_an_engine_on_time_is_not_the_limit() -> None:
    """Also when nothing at all was sampled."""
    assert engine_bound(FINE, LAGS, CALM) is None
    assert engine_bound({}, [], []) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"send_delay_p99_us": 9_000.0}, "late"),
        ({"dropped": 7}, "never sent"),
        ({"engine_busiest_thread_cores": 0.97}, "engine thread"),
    ],
)
def test_an_engine_that_is_late_or_starved_is_the_limit(changes: dict[str, Any], words: str) -> None:
    """With the evidence in words."""
    assert words in (engine_bound(FINE | changes, LAGS, CALM) or "")


def test_a_server_that_pushes_back_is_to_blame_for_the_delay() -> None:
    """Its sockets were full, so messages left late or not at all."""
    assert (
        engine_bound(FINE | {"send_delay_p99_us": 90_000.0, "dropped": 500, "pushed_back": 4_000}, LAGS, CALM) is None
    )


def test_a_host_that_server_and_engine_fill_themselves_is_no_excuse() -> None:
    """That is what a full load looks like."""
    assert engine_bound(FINE, LAGS, [LoadHost("", cores=2, busy=0.99, ours=1.9)]) is None


def test_the_worst_of_the_hosts_with_devices_counts() -> None:
    """One of three load hosts is full of other programs: its devices were starved."""
    hosts = [*CALM, LoadHost("b", cores=4, busy=0.98, ours=1.0), LoadHost("c", cores=2, busy=0.97, ours=1.5)]

    assert "the host b was 98% busy and other programs used 2.9 cores" in (engine_bound(FINE, LAGS, hosts) or "")


@pytest.mark.parametrize("lags", [[500.0] * 19 + [150_000.0], [500.0] * 15 + [30_000.0] * 5], ids=["once", "often"])
def test_a_reactor_that_was_away_missed_what_happened(lags: list[float]) -> None:
    """Once for long, or often for shorter."""
    assert "reactor" in (engine_bound(FINE, lags, CALM) or "")


def test_one_short_absence_is_no_matter() -> None:
    """Any operating system does that."""
    assert engine_bound(FINE, [*LAGS, 30_000.0], CALM) is None
