"""The figures: which suites have which, and that nothing is invented."""

from __future__ import annotations

from itertools import pairwise

import pytest

from telemark.report.build import build_report
from telemark.report.charts.spread import binned, percentile_points, slower_than
from telemark.report.charts.thin import DRAWN, stretch_note, thin
from telemark.report.model import ScenarioView, SuiteView
from tests.support.synthetic import make_campaign
from tests.support.synthetic_suites import RUNS_OF_SUITE


@pytest.fixture(scope="module")
def suites(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SuiteView]:
    """Every suite's part of a report over its synthetic runs."""
    root = tmp_path_factory.mktemp("runs")
    made = {name: build_report([make_campaign(root / name, runs)]) for name, runs in RUNS_OF_SUITE.items()}
    return {name: report.campaigns[0].suites[0] for name, report in made.items()}


def titles(view: ScenarioView | SuiteView) -> str:
    """All titles of charts and tables, as one text."""
    return " | ".join(item.title for item in (*view.charts, *view.tables))


def test_scalagent_has_its_four_figures(suites: dict[str, SuiteView]) -> None:
    """CPU and latency against publishers, at QoS 0 and at QoS 1, all servers in one figure."""
    scenario = suites["scalagent"].scenarios[0]

    for number in (4, 5, 6, 7):
        assert f"(Figure {number})" in titles(scenario)
    cpu = next(chart for chart in scenario.charts if "Figure 4" in chart.title)
    assert ["mosquitto", "rabbitmq"] == [line.name for line in cpu.series if line.style == "solid"]
    assert 3 == len(cpu.series[0].points)


def test_messagesight_has_throughput_marks_tails_and_ciphers(suites: dict[str, SuiteView]) -> None:
    """By consumers, as the report prints them."""
    suite = suites["messagesight"]
    by_name = {scenario.name: titles(scenario) for scenario in suite.scenarios}

    assert "Connection rate by cipher" in titles(suite)
    assert "Throughput by consumers" in by_name["FANIN.Q0.PARTITIONS"]
    assert "(HWM)" in by_name["FANIN.Q0.PARTITIONS"]
    assert "Latency distribution" in by_name["BROADCAST"]
    assert "Latency: the tail" in by_name["BROADCAST"]
    assert "Connection time distribution" in by_name["CONNBURST"]


def test_mq_telemetry_has_rates_by_qos_sizes_and_memory(suites: dict[str, SuiteView]) -> None:
    """Rate against connections, one line per QoS."""
    suite = suites["mq-telemetry"]
    single = suite.scenarios[0]
    rate = next(chart for chart in single.charts if "Rate against" in chart.title)

    assert {"mosquitto · QoS 0", "mosquitto · QoS 1", "mosquitto · QoS 2"} <= {line.name for line in rate.series}
    assert "Rate against message size" in titles(suite)
    assert "Memory per connection" in titles(suite)


def test_the_published_curve_is_drawn_where_it_overlaps_with_ours(suites: dict[str, SuiteView]) -> None:
    """Dotted, so that nobody takes it for a measurement of today."""
    single = suites["mq-telemetry"].scenarios[0]
    rate = next(chart for chart in single.charts if "Rate against" in chart.title)

    assert any(line.name.startswith("published") and line.style == "dotted" for line in rate.series)


def test_fanin_jms_has_rate_and_percentiles_by_size_and_subscribers(suites: dict[str, SuiteView]) -> None:
    """The metrics its description asks for."""
    found = titles(suites["fanin-jms"].scenarios[0])

    for title in ("Rate by message size", "99P latency by message size", "Rate by subscribers", "end-to-end latency"):
        assert title in found


def test_open_mqtt_has_one_table_of_all_use_cases(suites: dict[str, SuiteView]) -> None:
    """Servers side by side."""
    suite = suites["open-mqtt"]

    assert "All use cases" in titles(suite)
    assert 4 == len(suite.tables[0].rows)


@pytest.mark.parametrize("suite", RUNS_OF_SUITE)
def test_no_suite_has_an_empty_chart_or_table(suites: dict[str, SuiteView], suite: str) -> None:
    """Left out is better than empty."""
    view = suites[suite]

    for part in (view, *view.scenarios):
        assert all(chart.has_data for chart in part.charts)
        assert all(table.rows for table in part.tables)


def test_thinning_keeps_extremes_and_only_measured_points() -> None:
    """Every spike survives, no value is made up."""
    points = [(second, 10.0) for second in range(5000)]
    points[1234] = (1234, 999.0)
    points[4321] = (4321, 1.0)

    thinned = thin(points)

    assert len(thinned) <= DRAWN + 2
    assert {(1234, 999.0), (4321, 1.0)} <= set(thinned)
    assert set(thinned) <= set(points)
    assert "every 42 seconds" in stretch_note(5000)
    assert "" == stretch_note(100)


def test_thinning_keeps_gaps_as_gaps() -> None:
    """Seconds in which nothing was measured are not bridged by zero."""
    points: list[tuple[float | str, float | None]] = [(second, None) for second in range(1000)]

    assert {None} == {y for _, y in thin(points)}


def test_percentiles_end_where_the_samples_end() -> None:
    """A thousand samples cannot tell the 99.99th percentile."""
    points = percentile_points([(1.0, 2.0, 990), (2.0, 4.0, 9), (100.0, 101.0, 1)])

    assert 0.0 == points[0][0]
    assert 99.9 >= points[-1][0] > 99
    assert all(x < y for (x, _), (y, _) in pairwise(points))
    assert 2.0 == dict(points)[90.0]


def test_shares_of_a_distribution_sum_to_one_and_its_tail_falls() -> None:
    """Both are made of the same buckets."""
    buckets = [(1.0, 1.01, 50), (10.0, 10.1, 30), (1000.0, 1010.0, 20)]

    assert 1.0 == pytest.approx(sum(share for _, share in binned(buckets)))
    tail = [share for _, share in slower_than(buckets)]
    assert tail == sorted(tail, reverse=True)
    assert () == binned([])
    assert () == slower_than([])
