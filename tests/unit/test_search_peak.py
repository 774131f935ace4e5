"""The search's decisions, with tries whose outcome is known instead of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from telemark.campaigns.peak.bracket import Limits, Stage, Try
from telemark.campaigns.peak.find import Peak, SearchResult, TryResult, find_peak
from telemark.campaigns.peak.probe import Probe
from telemark.campaigns.peak.scale import SearchCase, search_cases
from telemark.campaigns.search import SearchOptions, SearchOutcome, search
from telemark.catalog import load, plan_points
from telemark.cli.search import exit_code, next_step
from telemark.errors import ConfigError, ExitCode
from telemark.runner.progress import Silence
from telemark.verdicts.repeats import summarize

LIMITS = Limits(start=500, ceiling=1e6)
BUSY_THREAD = {"engine_bound": False, "server_busiest_thread_cores": 0.99, "server_cpu_cores_mean": 1.0, "run": "r"}


def server_with_peak(peak: float) -> Any:
    def attempt(tried: Try, number: int) -> TryResult:
        holds = tried.rate <= peak
        return TryResult(holds, () if holds else ("backlog rises",), BUSY_THREAD)

    return attempt


def test_the_peak_comes_with_the_side_that_gave_out() -> None:
    peak = find_peak(LIMITS, server_with_peak(12_345), tell=lambda text: None)

    assert peak.rate is not None
    assert 12_345 * 0.95 <= peak.rate <= 12_345
    assert peak.bottleneck is not None
    assert ("server", "one thread") == (peak.bottleneck.side, peak.bottleneck.part)


def test_an_engine_that_gives_out_first_leaves_no_verdict_about_the_server() -> None:
    def attempt(tried: Try, number: int) -> TryResult:
        holds = tried.rate < 5_000
        point = {"engine_bound": not holds, "engine_bound_reason": "send delay"}
        return TryResult(holds, () if holds else ("engine-bound",), point)

    peak = find_peak(LIMITS, attempt, tell=lambda text: None)

    assert peak.rate is None
    assert peak.at_least is not None
    assert 5_000 * 0.95 <= peak.at_least < 5_000
    assert peak.bottleneck is not None
    assert peak.bottleneck.side == "engine"


def test_a_server_that_fails_below_the_engine_s_limit_has_a_peak() -> None:
    """The ramp doubles: from a rate that holds to one where the engine, on the same small host, gives out as well."""

    def attempt(tried: Try, number: int) -> TryResult:
        if tried.rate > 15_000:
            return TryResult(False, ("engine-bound",), {"engine_bound": True, "engine_bound_reason": "busy"})
        return server_with_peak(12_345)(tried, number)

    peak = find_peak(LIMITS, attempt, tell=lambda text: None)

    assert peak.rate is not None
    assert 12_345 * 0.95 <= peak.rate <= 12_345
    assert peak.bottleneck is not None
    assert peak.bottleneck.side == "server"


def test_an_engine_that_idles_has_not_reached_its_limit() -> None:
    """It was late because the host stood still for moments: that says nothing about the rate, five times or once."""
    held_up = {"engine_bound": True, "engine_bound_reason": "away", "load_host_busy_mean": 0.2}

    def attempt(tried: Try, number: int) -> TryResult:
        if 3 <= number < 8:
            return TryResult(False, ("engine-bound",), held_up)
        return server_with_peak(12_345)(tried, number)

    peak = find_peak(LIMITS, attempt, tell=lambda text: None)
    undisturbed = find_peak(LIMITS, server_with_peak(12_345), tell=lambda text: None)

    assert peak.rate == undisturbed.rate


def test_a_failure_on_a_robbed_host_is_made_again() -> None:
    """A rate that failed while the hypervisor took the processor away may hold a moment later."""
    robbed = {3, 4, 9}

    def attempt(tried: Try, number: int) -> TryResult:
        if number in robbed:
            return TryResult(False, ("backlog rises",), BUSY_THREAD | {"host_steal_mean": 0.1})
        return server_with_peak(12_345)(tried, number)

    peak = find_peak(LIMITS, attempt, tell=lambda text: None)
    undisturbed = find_peak(LIMITS, server_with_peak(12_345), tell=lambda text: None)

    assert peak.rate == undisturbed.rate


def test_on_a_host_that_is_always_robbed_failures_count() -> None:
    """Otherwise the search would not end; and what holds there, holds."""

    def attempt(tried: Try, number: int) -> TryResult:
        holds = tried.rate <= 12_345
        return TryResult(holds, () if holds else ("backlog rises",), BUSY_THREAD | {"host_steal_mean": 0.1})

    peak = find_peak(Limits(start=500, ceiling=1e6, tries=200), attempt, tell=lambda text: None)

    assert peak.rate is not None
    assert 12_345 * 0.95 <= peak.rate <= 12_345


def test_a_try_that_other_programs_disturbed_is_made_again() -> None:
    """An engine-bound try says nothing about the server: the search goes on as if it had not been."""
    disturbed = {3, 4, 9}

    def attempt(tried: Try, number: int) -> TryResult:
        if number in disturbed:
            return TryResult(False, ("engine-bound",), {"engine_bound": True, "engine_bound_reason": "starved"})
        return TryResult(tried.rate <= 12_345, ("backlog rises",) if tried.rate > 12_345 else (), BUSY_THREAD)

    peak = find_peak(LIMITS, attempt, tell=lambda text: None)
    undisturbed = find_peak(LIMITS, server_with_peak(12_345), tell=lambda text: None)

    assert peak.rate == undisturbed.rate
    assert len(peak.tries) == len(undisturbed.tries) + len(disturbed)


def test_a_try_whose_run_failed_counts_as_not_holding() -> None:
    def attempt(tried: Try, number: int) -> TryResult:
        return TryResult(False, ("the server died",), None)

    peak = find_peak(LIMITS, attempt, tell=lambda text: None)

    assert (peak.rate, peak.ending) == (None, "nothing held")


def paced_case() -> Probe:
    (plan, *_) = plan_points(load().find("messagesight/FANIN.Q0.SHARED"), "quick", {})
    return Probe(SearchCase(plan))


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
        Probe(SearchCase(closed)).check()


def test_a_search_over_publishers_plans_the_case_with_other_numbers_of_them() -> None:
    """ScalAgent's question: partitions stay whole, the rate of a publisher stays, the sweep over publishers is gone."""
    cases = search_cases(load().find("scalagent/multi-publisher"), "laptop", {"duration": 12})
    probes = [Probe(case) for case in cases]
    plan = probes[1].plan(Try(7000, Stage.CONFIRM), 3)

    assert [(probe.case.parameters["qos"], probe.quantity, probe.step) for probe in probes] == [
        (0, "publishers", 1000),
        (1, "publishers", 1000),
    ]
    assert plan.parameters["publishers"] == 7000
    assert plan.parameters["qos"] == 1
    assert plan.load.offered_rate() == 7000
    assert {group.name: group.count for group in plan.groups} == {"subscribers": 7, "publishers": 7000}
    assert plan.phases.measure_s == 15
    assert probes[0].ceiling(50_000.0) == 50_000


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


def interrupted_after(tries: int) -> Any:
    def attempt(tried: Try, number: int) -> TryResult:
        if number == tries:
            raise KeyboardInterrupt
        return server_with_peak(600)(tried, number)

    return attempt


def outcome_of(peak: Peak) -> SearchOutcome:
    result = SearchResult("s", "c", "", "quick", "loopback", "messages", (), (peak,))
    return SearchOutcome(Path("runs/x"), (result,))


def test_an_interrupted_search_keeps_its_tries_and_says_where_they_are() -> None:
    """They cost minutes, and a report without them would judge their runs by another rule."""
    peak = find_peak(LIMITS, interrupted_after(2), tell=lambda text: None)
    outcome = outcome_of(peak)

    assert (None, 500) == (peak.rate, peak.at_least)
    assert [True, False] == [entry.holds for entry in peak.record().tries]
    assert exit_code(outcome) is ExitCode.INTERRUPTED
    assert next_step(outcome, named=False) == (
        "next: telemark report runs/x shows the tries made; the same command begins the search anew"
    )


def test_an_interrupted_search_without_a_try_has_nothing_to_report() -> None:
    outcome = outcome_of(find_peak(LIMITS, interrupted_after(0), tell=lambda text: None))

    assert next_step(outcome, named=True) == (
        "next: the same command with another --campaign begins the search anew; runs/x has no finished try"
    )


def test_a_search_does_not_mix_with_a_campaign_that_exists(tmp_path: Path) -> None:
    """Its tries have the names of the former ones, which would not be repeated."""
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "campaign.json").write_text("{}", encoding="utf-8")
    cases = search_cases(load().find("messagesight/FANIN.Q0.SHARED"), "quick", {})

    with pytest.raises(ConfigError, match="campaign x exists"):
        search(
            cases, "loopback", tmp_path, campaign="x", options=SearchOptions(), listener=Silence(), tell=lambda _: None
        )  # fmt: skip
