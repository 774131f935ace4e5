"""Thresholds become verdicts: pass, fail, or no verdict with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from telemark.errors import ConfigError
from telemark.verdicts import judge, overall, parse_threshold, parse_thresholds

GOOD: dict[str, Any] = {
    "state": "complete", "engine_bound": False, "integrity_exact": True, "lost": 0, "violations": 0,
    "latency_p99_us": 9_000.0, "latency_mean_us": 700.0, "received_rate": 21_000.0, "host_core_busy_max": 0.84,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "column", "limit"),
    [
        ("p99 < 10 ms", "latency_p99_us", 10_000.0),
        ("p99<10ms", "latency_p99_us", 10_000.0),
        ("mean_latency <= 0.5 s", "latency_mean_us", 500_000.0),
        ("latency_p99_us < 5000", "latency_p99_us", 5_000.0),
        ("rate >= 20 K/s", "received_rate", 20_000.0),
        ("rate >= 20K", "received_rate", 20_000.0),
        ("host_core_busy_max <= 85 %", "host_core_busy_max", 0.85),
        ("lost == 0", "lost", 0.0),
        ("sustained == yes", "sustained", 1.0),
        ("memory < 2 GB", "server_rss_bytes_max", 2e9),
        ("buffered_slope_low <= -1.5e1", "buffered_slope_low", -15.0),
        ("connect_mean < 500 us", "connect_mean_us", 500.0),
    ],
)
def test_a_threshold_is_read_in_the_metrics_own_unit(text: str, column: str, limit: float) -> None:
    """Friendly names, columns, units."""
    rule = parse_threshold(text)

    assert (column, pytest.approx(limit)) == (rule.metric.name, rule.limit)


def test_every_problem_of_a_list_is_reported_at_once() -> None:
    """With names that were probably meant."""
    with pytest.raises(ConfigError) as caught:
        parse_thresholds("p99 < 10, losst == 0, lost = 0, lost < 3 ms, rate > 5/s")

    problems = "\n".join(caught.value.problems)
    assert 4 == len(caught.value.problems)
    assert "needs a unit" in problems
    assert "did you mean lost" in problems
    assert "metric op value" in problems
    assert "does not fit lost" in problems


def test_figures_are_compared_with_their_limits() -> None:
    """Each verdict carries the figure, the limit and the words."""
    verdicts = judge(GOOD, ["p99 < 10 ms, lost == 0", "host_core_busy_max <= 80 %"])

    assert ["pass", "pass", "fail"] == [verdict.outcome for verdict in verdicts]
    assert (0.84, 0.8) == (verdicts[2].value, verdicts[2].limit)
    assert "breaks" in verdicts[2].reason
    assert "fail" == overall(verdicts)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"state": "interrupted", "reason": "Ctrl-C"}, "the run is interrupted: Ctrl-C"),
        ({"state": None}, "not analysed"),
        ({"engine_bound": True, "engine_bound_reason": "late"}, "the engine was the limit"),
        ({"integrity_exact": False}, "only a bound"),
        ({"integrity_exact": None}, "only a bound"),
        ({"lost": None}, "was not measured"),
        ({"lost": float("nan")}, "was not measured"),
    ],
)
def test_what_cannot_be_concluded_is_no_verdict(changes: dict[str, Any], reason: str) -> None:
    """No data is never a pass."""
    verdict = judge(GOOD | changes, ["lost == 0"])[0]

    assert "no verdict" == verdict.outcome
    assert reason in verdict.reason


def test_a_rule_nobody_understands_is_no_verdict_and_stops_no_other() -> None:
    """It may come from somebody else's run folder."""
    assert ["no verdict", "pass"] == [v.outcome for v in judge(GOOD, ["colour == red", "lost == 0"])]


@pytest.mark.parametrize(
    ("rules", "outcome"),
    [([], "no verdict"), (["lost == 0"], "pass"), (["lost == 0", "dropped == 0"], "no verdict"),
     (["lost > 0", "dropped == 0"], "fail")],
)  # fmt: skip
def test_the_overall_verdict_is_the_worst_that_is_known(rules: list[str], outcome: str) -> None:
    """Pass needs every rule to pass."""
    assert outcome == overall(judge(GOOD, rules))


def test_a_run_that_falls_behind_breaks_the_rule_of_the_steady_state() -> None:
    """Although everything arrived in the end; the verdict says what was not steady."""
    piled_up = GOOD | {"sustained": False, "steady_reason": "the backlog grows by 300 messages/s"}
    (verdict,) = judge(piled_up, ["sustained == yes"])

    assert verdict.outcome == "fail"
    assert "backlog grows" in verdict.reason
    assert overall(judge(GOOD | {"sustained": True}, ["sustained == yes"])) == "pass"
    assert overall(judge(GOOD | {"sustained": None, "steady_reason": "2 full seconds"}, ["sustained == yes"])) == (
        "no verdict"
    )


def test_judging_an_empty_point_passes_nothing() -> None:
    """A run that was never analysed."""
    assert "no verdict" == overall(judge({}, ["lost == 0"]))


@pytest.mark.parametrize("deviation", ["violations", "lost", "dropped"])
def test_integrity_decides_although_no_rule_names_it(deviation: str) -> None:
    """A server that loses or doubles messages does not pass because nobody asked."""
    verdicts = judge(GOOD | {deviation: 50}, ["p99 < 10 ms"])

    assert [("pass", "latency_p99_us"), ("fail", deviation)] == [(each.outcome, each.metric) for each in verdicts]


def test_what_the_user_allows_fails_no_run() -> None:
    """`--allow lost`; a rule of the case still decides."""
    point = GOOD | {"lost": 50}

    assert "pass" == overall(judge(point, ["p99 < 10 ms"], allow=("lost",)))
    assert "fail" == overall(judge(point, ["lost < 5"], allow=("lost",)))


@pytest.mark.parametrize(("error_us", "outcome"), [(0.0, "pass"), (999.0, "pass"), (1_001.0, "no verdict")])
def test_a_latency_nearer_to_its_limit_than_the_clocks_agree_gets_no_verdict(error_us: float, outcome: str) -> None:
    """9 ms against 10 ms, from hosts whose clocks may be apart."""
    verdict = judge(GOOD | {"clock_error_us": error_us}, ["p99 < 10 ms"])[0]

    assert outcome == verdict.outcome
