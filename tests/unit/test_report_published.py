"""Published beside measured: every published value with a measured column is shown with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from telemark.catalog import load, plan_points
from telemark.catalog.published import PublishedResult
from telemark.catalog.scenario import Scenario
from telemark.model.columns import POINTS
from telemark.model.plan import RunPlan
from telemark.report import card, console, markdown
from telemark.report.build import build_report
from telemark.report.model import ScenarioView, SuiteView
from telemark.report.published import IN_OUR_UNITS, candidates, pairs
from tests.support.synthetic import make_campaign
from tests.support.synthetic_suites import RUNS_OF_SUITE
from tests.support.synthetic_tables import FakeRun

CASES = [case for case in load().scenarios() if case.published]


def family(server: str) -> str:
    return server.lower().split(" ")[0]


def is_shown(value: PublishedResult, plans: list[RunPlan]) -> bool:
    """Whether a run of one of the plans, on the server of that value, has it in its table of pairs."""
    column = POINTS.find(value.metric)
    return column is not None and any(
        (each.value, each.source) == (value.value, value.source)
        for plan in plans
        for each in candidates(plan.case.published, column, plan.parameters, family(value.server))
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_published_value_with_a_measured_column_stands_beside_a_run(case: Scenario) -> None:
    """At the published size, on a server of the same family; values for no connections belong to no run."""
    plans = plan_points(case, "published")
    values = [each for each in case.published if POINTS.find(each.metric) and not each.note.startswith("another test")]
    measured = [each for each in values if each.parameters.get("publishers") != 0]

    missing = [value for value in measured if not is_shown(value, plans)]

    assert missing == []


def test_every_published_unit_is_known_where_its_quantity_is_measured() -> None:
    """A unit that nobody converts would hide the value."""
    values = [each for case in CASES for each in case.published if POINTS.find(each.metric)]

    assert {each.unit for each in values} - set(IN_OUR_UNITS) == set()


def test_columns_with_published_values_have_a_place_on_the_card() -> None:
    """Either always, or beside a published value; the number of publishers is a headline and a parameter."""
    names = {each.metric for case in CASES for each in case.published}
    columns = [column for name in names if (column := POINTS.find(name))]

    homeless = {column.name for column in columns if not (column.card or column.beside)}
    assert homeless == {"publishers"}


def test_a_report_on_several_servers_stands_only_beside_those_it_names() -> None:
    """RabbitMQ's maximum says nothing about Mosquitto, and none of them about a server that was not tried."""
    (plan, *_) = plan_points(load().find("scalagent/multi-publisher"), "quick")
    found = {name: pairs(plan.case.published, {}, plan.parameters, name) for name in ("mosquitto", "rabbitmq", "emqx")}

    assert 60_000 == found["mosquitto"]["publishers"].value
    assert 8_000 == found["rabbitmq"]["publishers"].value
    assert "latency_mean_us" not in found["mosquitto"]  # published for JoramMQ alone
    assert found["emqx"] == {}


@pytest.fixture(scope="module")
def suites(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SuiteView]:
    root = tmp_path_factory.mktemp("runs")
    made = {name: build_report([make_campaign(root / name, runs)]) for name, runs in RUNS_OF_SUITE.items()}
    return {name: report.campaigns[0].suites[0] for name, report in made.items()}


def published_in(view: ScenarioView | SuiteView, title: str) -> list[str]:
    """Names of the published series of the chart with that title."""
    chart = next(chart for chart in view.charts if title in chart.title)
    return [line.name for line in chart.series if line.name.startswith("published") and line.style == "dotted"]


def scenario(suite: SuiteView, name: str) -> ScenarioView:
    return next(each for each in suite.scenarios if each.name == name)


@pytest.mark.parametrize(
    ("suite", "case", "title"),
    [
        ("scalagent", "multi-publisher", "(Figure 4)"),
        ("scalagent", "multi-publisher", "(Figure 5)"),
        ("scalagent", "multi-publisher", "(Figure 6)"),
        ("messagesight", "FANIN.Q0.PARTITIONS", "Throughput by consumers"),
        ("messagesight", "BROADCAST", "Peak egress rate"),
        ("messagesight", "CONNBURST", "Connection rate by devices"),
        ("messagesight", "CONNBURST", "Connection time by percentile"),
        ("messagesight", "", "Connection rate by cipher"),
        ("messagesight", "", "Average connection time by cipher"),
        ("messagesight", "", "Connections against memory"),
        ("mq-telemetry", "multi-publisher-single-subscriber", "Rate against connections"),
        ("mq-telemetry", "multi-publisher-single-subscriber", "(Tables 1 to 4)"),
        ("mq-telemetry", "message-sizes", "Rate against connections"),
        ("mq-telemetry", "", "Rate against message size"),
        ("mq-telemetry", "memory-for-connections", "Memory in use on the host"),
        ("mq-telemetry", "memory-for-connections", "JVM heap"),
        ("mq-telemetry", "memory-for-connections", "Open files"),
        ("mq-telemetry", "", "Memory per connection"),
        ("open-mqtt", "", "Average latency by use case"),
    ],
)
def test_the_charts_of_a_report_have_its_published_curves(
    suites: dict[str, SuiteView], suite: str, case: str, title: str
) -> None:
    """Every figure of the reports for which numbers were published."""
    view = scenario(suites[suite], case) if case else suites[suite]

    assert published_in(view, title) != []


def test_the_distributions_of_all_ciphers_are_in_one_chart(suites: dict[str, SuiteView]) -> None:
    """As the report compares them."""
    chart = next(chart for chart in suites["messagesight"].charts if "Connection time distribution" in chart.title)

    assert {"CONNBURST", "CONNBURST.SEC", "CONNBURST.SEC.ECDHE", "CONNBURST.SEC.PSK"} == {
        line.name.split(" · ")[1] for line in chart.series
    }


def test_published_percentiles_of_several_ciphers_are_curves_of_their_own(suites: dict[str, SuiteView]) -> None:
    """One for each case, on the largest machine as the report compares them; a percentile is on it once."""
    chart = next(chart for chart in suites["messagesight"].charts if "Connection time by percentile" in chart.title)
    published = {line.name: line.points for line in chart.series if line.style == "dotted"}

    assert 4 == len(published)
    assert ((50, 4_900.0), (95, 7_200.0), (99, 11_400.0)) == tuple(
        (at, pytest.approx(value))
        for at, value in published["published: MessageSight 1.2.0.2 vm=L CONNBURST.SEC.ECDHE"]
    )


def test_the_table_of_high_water_marks_has_the_published_ones(suites: dict[str, SuiteView]) -> None:
    """By consumers, one column per virtual machine."""
    tables = scenario(suites["messagesight"], "FANIN.Q0.PARTITIONS").tables
    table = next(table for table in tables if "(HWM)" in table.title)
    line = next(row for row in table.rows if row[0].sort == 10)

    assert [f"published: MessageSight 1.2.0.2 vm={size}" for size in "SML"] == list(table.columns[-3:])
    assert all(cell.sort for cell in line)


def test_the_card_shows_published_statistics_beside_ours(tmp_path: Path) -> None:
    """Console and Markdown in brackets, the page below the value; never where nothing was published."""
    run = FakeRun(suite="messagesight", scenario="CONNBURST", shape="idle", parameters={"devices": 500}, publishers=500)
    report = build_report([make_campaign(tmp_path / "campaign", [run])])
    cells = card.cells(report.rows[0])

    assert {"AVG ms": "0.7", "50P": "0.4", "95P": "0.7", "99P": "0.8", "STDV": "14.8", "conn/s": "33.9K conn/s"} == {
        heading: cell.beside for heading, cell in cells.items() if cell.beside
    }
    assert "(14.8)" in console.render(report, 200)
    assert "in brackets: published" in console.render(report, 200)
    assert r"\(14.8\)" in markdown.render(report)


def test_a_high_water_mark_is_on_the_card_only_where_one_was_published(tmp_path: Path) -> None:
    """It sizes the queues of the report's fan-in cases."""
    fanin = FakeRun(suite="messagesight", scenario="FANIN.Q0.PARTITIONS", parameters={"subscribers": 10})
    rows = build_report([make_campaign(tmp_path / "campaign", [fanin, replace(fanin, suite="own")])]).rows

    assert "HWM" in card.headings(rows[:1])
    assert "HWM" not in card.headings(rows[1:])
