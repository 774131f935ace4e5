"""Whether a try shows that its rate holds."""

from __future__ import annotations

from typing import Any

import pytest

from telemark.campaigns.peak.rule import judge_try, rule_for

POINT: dict[str, Any] = {
    "state": "complete",
    "engine_bound": False,
    "sustained": True,
    "steady": True,
    "lost": 0,
    "integrity_exact": True,
    "latency_p99_us": 4_000.0,
    "connect_rate": 990.0,
}


def test_a_rate_holds_when_the_rule_is_kept_and_nothing_falls_behind() -> None:
    assert judge_try(POINT, ("lost == 0",), "messages", 1_000).holds


def test_latency_that_falls_is_no_objection() -> None:
    point = POINT | {"steady": False, "steady_reason": "latency is falling", "latency_trend": "falling"}

    assert judge_try(point, (), "messages", 1_000).holds


@pytest.mark.parametrize("sustained", [False, None])
def test_a_rate_that_is_not_sustained_does_not_hold(sustained: bool | None) -> None:
    judged = judge_try(POINT | {"sustained": sustained, "steady_reason": "the backlog grows"}, (), "messages", 1_000)

    assert (judged.holds, judged.reasons) == (False, ("the backlog grows",))


def test_a_threshold_without_data_is_not_kept_unless_it_speaks_of_buffers() -> None:
    """No data is no pass; what a server has buffered is known from what is under way."""
    assert not judge_try(POINT, ("connect_mean < 500 ms",), "messages", 1_000).holds
    assert judge_try(POINT, ("buffered_slope_per_s <= 0",), "messages", 1_000).holds


def test_connections_must_come_at_the_rate_asked_for() -> None:
    assert judge_try(POINT, (), "connections", 1_000).holds
    assert not judge_try(POINT, (), "connections", 1_100).holds


def test_the_user_s_thresholds_replace_those_of_the_case() -> None:
    assert rule_for(("lost == 0",), "messages", ("p99 < 10ms",)) == ("p99 < 10ms",)
    assert "connect_mean < 500 ms" in rule_for(("lost == 0",), "connections", ())
