"""The search's decisions, with tries whose outcome is known instead of runs."""

from __future__ import annotations

from typing import Any

import pytest

from telemark.catalog import load, plan_points
from telemark.errors import ConfigError
from telemark.runner.search.bracket import Limits, Stage, Try
from telemark.runner.search.peak import Judged, Peak, SearchResult, find_peak
from telemark.runner.search.probe import Probe
from telemark.verdicts.repeats import summarize

LIMITS = Limits(start=500, ceiling=1e6)
BUSY_THREAD = {"engine_bound": False, "server_busiest_thread_cores": 0.99, "server_cpu_cores_mean": 1.0, "run": "r"}


def server_with_peak(peak: float) -> Any:
    def attempt(tried: Try, number: int) -> Judged:
        holds = tried.rate <= peak
        return Judged(holds, () if holds else ("backlog rises",), BUSY_THREAD)

    return attempt


def test_the_peak_comes_with_the_side_that_gave_out() -> None:
    peak = find_peak(LIMITS, server_with_peak(12_345), cores=2, tell=lambda text: None)

    assert peak.rate is not None
    assert 12_345 * 0.95 <= peak.rate <= 12_345
    assert peak.bottleneck is not None
    assert ("server", "one thread") == (peak.bottleneck.side, peak.bottleneck.part)


def test_an_engine_that_gives_out_first_leaves_no_verdict_about_the_server() -> None:
    def attempt(tried: Try, number: int) -> Judged:
        holds = tried.rate < 5_000
        point = {"engine_bound": not holds, "engine_bound_reason": "send delay"}
        return Judged(holds, () if holds else ("engine-bound",), point)

    peak = find_peak(LIMITS, attempt, cores=2, tell=lambda text: None)

    assert peak.rate is None
    assert peak.at_least is not None
    assert 5_000 * 0.95 <= peak.at_least < 5_000
    assert peak.bottleneck is not None
    assert peak.bottleneck.side == "engine"


def test_a_server_that_fails_below_the_engine_s_limit_has_a_peak() -> None:
    """The ramp doubles: from a rate that holds to one where the engine, on the same small host, gives out as well."""

    def attempt(tried: Try, number: int) -> Judged:
        if tried.rate > 15_000:
            return Judged(False, ("engine-bound",), {"engine_bound": True, "engine_bound_reason": "busy"})
        return server_with_peak(12_345)(tried, number)

    peak = find_peak(LIMITS, attempt, cores=2, tell=lambda text: None)

    assert peak.rate is not None
    assert 12_345 * 0.95 <= peak.rate <= 12_345
    assert peak.bottleneck is not None
    assert peak.bottleneck.side == "server"


def test_an_engine_that_idles_has_not_reached_its_limit() -> None:
    """It was late because the host stood still for moments: that says nothing about the rate, five times or once."""
    held_up = {"engine_bound": True, "engine_bound_reason": "away", "host_cpu_busy_mean": 0.2}

    def attempt(tried: Try, number: int) -> Judged:
        if 3 <= number < 8:
            return Judged(False, ("engine-bound",), held_up)
        return server_with_peak(12_345)(tried, number)

    peak = find_peak(LIMITS, attempt, cores=2, tell=lambda text: None)
    undisturbed = find_peak(LIMITS, server_with_peak(12_345), cores=2, tell=lambda text: None)

    assert peak.rate == undisturbed.rate


def test_a_failure_on_a_robbed_host_is_made_again() -> None:
    """A rate that failed while the hypervisor took the processor away may hold a moment later."""
    robbed = {3, 4, 9}

    def attempt(tried: Try, number: int) -> Judged:
        if number in robbed:
            return Judged(False, ("backlog rises",), BUSY_THREAD | {"host_steal_mean": 0.1})
        return server_with_peak(12_345)(tried, number)

    peak = find_peak(LIMITS, attempt, cores=2, tell=lambda text: None)
    undisturbed = find_peak(LIMITS, server_with_peak(12_345), cores=2, tell=lambda text: None)

    assert peak.rate == undisturbed.rate


def test_on_a_host_that_is_always_robbed_failures_count() -> None:
    """Otherwise the search would not end; and what holds there, holds."""

    def attempt(tried: Try, number: int) -> Judged:
        holds = tried.rate <= 12_345
        return Judged(holds, () if holds else ("backlog rises",), BUSY_THREAD | {"host_steal_mean": 0.1})

    peak = find_peak(Limits(start=500, ceiling=1e6, tries=200), attempt, cores=2, tell=lambda text: None)

    assert peak.rate is not None
    assert 12_345 * 0.95 <= peak.rate <= 12_345


def test_a_try_that_other_programs_disturbed_is_made_again() -> None:
    """An engine-bound try says nothing about the server: the search goes on as if it had not been."""
    disturbed = {3, 4, 9}

    def attempt(tried: Try, number: int) -> Judged:
        if number in disturbed:
            return Judged(False, ("engine-bound",), {"engine_bound": True, "engine_bound_reason": "starved"})
        return Judged(tried.rate <= 12_345, ("backlog rises",) if tried.rate > 12_345 else (), BUSY_THREAD)

    peak = find_peak(LIMITS, attempt, cores=2, tell=lambda text: None)
    undisturbed = find_peak(LIMITS, server_with_peak(12_345), cores=2, tell=lambda text: None)

    assert peak.rate == undisturbed.rate
    assert len(peak.tries) == len(undisturbed.tries) + len(disturbed)


def test_a_try_whose_run_failed_counts_as_not_holding() -> None:
    def attempt(tried: Try, number: int) -> Judged:
        return Judged(False, ("the server died",), None)

    peak = find_peak(LIMITS, attempt, cores=2, tell=lambda text: None)

    assert (peak.rate, peak.ending) == (None, "nothing held")


def paced_case() -> Probe:
    (plan, *_) = plan_points(load().find("messagesight/FANIN.Q0.SHARED"), "quick", {})
    return Probe(plan)


@pytest.mark.parametrize("stage", list(Stage))
def test_the_load_of_a_try_rises_from_below_and_never_above_its_rate(stage: Stage) -> None:
    """Load generators that overshoot at the start fill queues that the rule then finds."""
    load_shape = paced_case().plan(Try(1_000, stage), 0).load

    rates = [step.rate for step in load_shape.steps]
    assert rates == sorted(rates)
    assert rates[0] < rates[-1] == 1_000


def test_only_the_steady_stretch_of_a_try_is_measured() -> None:
    plan = paced_case().plan(Try(1_000, Stage.BISECT), 0)

    before_full_rate = sum(step.seconds for step in plan.load.steps[:-1])
    assert plan.phases.warmup_s > before_full_rate
    assert sum(step.seconds for step in plan.load.steps) == pytest.approx(plan.phases.warmup_s + plan.phases.measure_s)


def test_the_confirming_try_has_the_full_length_of_the_case() -> None:
    probe = paced_case()

    assert probe.plan(Try(1, Stage.CONFIRM), 0).phases.measure_s >= probe.case.phases.measure_s


def test_a_closed_loop_is_refused() -> None:
    """Its rate is a result, not a parameter."""
    catalog = load()
    closed = next(
        plan
        for scenario in catalog.suites["mq-telemetry"].scenarios
        for plan in plan_points(scenario, "quick", {})
        if plan.load.shape == "windowed"
    )

    with pytest.raises(ConfigError, match="needs a paced load"):
        Probe(closed).check()


def test_repeats_that_disagree_allow_no_conclusion() -> None:
    def result(*rates: float) -> SearchResult:
        peaks = tuple(Peak(rate, rate, "confirmed", None, ()) for rate in rates)
        return SearchResult("s", "c", "", "quick", "x", "messages", (), peaks)

    agreeing, disagreeing = result(100, 104, 98).summary, result(100, 160, 80).summary

    assert agreeing is not None
    assert agreeing.conclusive
    assert disagreeing is not None
    assert not disagreeing.conclusive


def test_one_measurement_has_no_confidence_interval() -> None:
    summary = summarize([5.0])

    assert summary is not None
    assert (summary.low, summary.high, summary.conclusive) == (None, None, False)


def test_the_interval_of_equal_measurements_is_a_point() -> None:
    summary = summarize([5.0, 5.0, 5.0])

    assert summary is not None
    assert (5.0, 5.0, 0.0) == (summary.low, summary.high, summary.spread)
