"""Latencies between two hosts carry the error of the hosts' clocks, wherever they are shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from telemark.report import card, console, html, json_card, junit, markdown
from telemark.report import format as fmt
from telemark.report.build import build_report
from telemark.report.compare.judge import Line, Wanted, compare
from telemark.report.compare.render import as_table
from telemark.report.compare.sides import open_side
from telemark.report.model import Chart, Report
from tests.support.synthetic import make_campaign
from tests.support.synthetic_tables import FakeRun

ERROR_US = 430.0
BELOW = {"clock_error_us": ERROR_US, "latency_p50_us": -12.0, "latency_mean_us": 5_123.0}
FAKE = FakeRun(figures=BELOW, thresholds=("p50 < 100 us", "mean_latency < 500 ms"))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """One run on two hosts whose median is below the error of their clocks."""
    return build_report([make_campaign(tmp_path_factory.mktemp("runs") / "bed", [FAKE])])


@pytest.fixture(scope="module")
def on_one_host(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The same run with one clock."""
    fake = replace(FAKE, figures=BELOW | {"clock_error_us": 0.0, "latency_p50_us": 480.0})
    return build_report([make_campaign(tmp_path_factory.mktemp("runs") / "host", [fake])])


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (5_123.0, 0.0, "5.12 ms"),
        (5_123.0, 43.0, "5.12 ms"),
        (5_123.0, 430.0, "5.1 ms"),
        (430.0, 430.0, "< 430 µs"),
        (-12.0, 431.7, "< 440 µs"),
        (None, 430.0, fmt.MISSING),
    ],
)
def test_a_figure_has_no_more_digits_than_its_error_allows(value: float | None, error: float, text: str) -> None:
    """Below its error only a bound is known."""
    assert text == fmt.uncertain(fmt.time_us, value, error)


@pytest.mark.parametrize("name", ["connect_p50_us", "send_delay_p50_us", "received_rate"])
def test_times_of_one_host_carry_no_error(name: str) -> None:
    """A connection begins and ends on one clock."""
    assert fmt.point_value(name, 5.0) == fmt.point_value(name, 5.0, ERROR_US)


def test_the_card_has_a_column_of_the_error(report: Report) -> None:
    """Value and error side by side; a median below the error is a bound."""
    cells = card.cells(report.rows[0])

    assert ("0.43", "< 0.43", "5.1") == tuple(cells[head].text for head in ("± ms", "50P", "AVG ms"))
    assert "± ms" in card.headings(report.rows)


@pytest.mark.parametrize("renderer", [console, markdown, html, junit])
def test_every_form_of_the_card_shows_the_error(renderer: object, report: Report, on_one_host: Report) -> None:
    """And no form says anything new about a run on one host."""
    shown, alone = (renderer.render(each) for each in (report, on_one_host))  # type: ignore[attr-defined]
    bound = "<" if renderer is console else "&lt;"

    assert "± ms" in shown
    assert f"{bound} 0.43" in shown
    assert "-12.0" not in shown
    assert "±" not in alone.replace("±$", "")


def test_json_has_null_and_the_name_of_a_column_below_its_error(report: Report, on_one_host: Report) -> None:
    """A program must not compute with a number that means nothing."""
    row, alone = (json.loads(json_card.render(each))["campaigns"][0]["rows"][0] for each in (report, on_one_host))

    assert (ERROR_US, None) == (row["values"]["clock_error_us"], row["values"]["latency_p50_us"])
    assert ["latency_p50_us"] == row["below_error"]
    assert [] == alone["below_error"]
    assert [None, 5_123.0] == [judgement["value"] for judgement in row["judgements"]]


def test_a_limit_nearer_than_the_error_gives_no_verdict_and_names_no_false_figure(report: Report) -> None:
    """100 us cannot be judged by clocks that agree within 430 us."""
    judgement = report.rows[0].judgements[0]

    assert "no verdict" == judgement.outcome
    assert "430 us" in judgement.reason
    assert "-12" not in judgement.reason


def charts_of_latency(report: Report) -> list[Chart]:
    """Those of the report that draw times between hosts."""
    return [chart for chart in html.charts_of(report) if "atency" in chart.title]


def test_charts_of_latency_name_the_error_and_draw_nothing_below_it(report: Report, on_one_host: Report) -> None:
    """A line on a logarithmic axis would otherwise look exact down to nothing."""
    charts = charts_of_latency(report)

    assert charts
    assert all("± 430 µs" in chart.note for chart in charts)
    drawn = [y for chart in charts for line in chart.series for _, y in line.points if y is not None]
    assert min(drawn) >= ERROR_US
    assert not any("±" in chart.note for chart in html.charts_of(on_one_host))


def test_the_table_of_times_shows_bounds(report: Report) -> None:
    """All percentiles of latency and service time; connecting needs one clock only."""
    tables = report.campaigns[0].suites[0].scenarios[0].runs[0].tables
    times = next(table for table in tables if table.title == "Times")
    smallest = {row[0].text: row[3].text for row in times.rows}

    assert "< 430 µs" == smallest["latency"] == smallest["service_time"]
    assert not smallest["connect"].startswith("<")
    assert "± 430 µs" in times.note


def compared(tmp_path: Path, error_us: float) -> tuple[Line, str]:
    """The line of the mean latency, 800 us against 1,000 us, with a tolerance of 10 %; and its cell of A."""
    for name, mean in (("a", 800.0), ("b", 1_000.0)):
        make_campaign(tmp_path / name, [FakeRun(figures={"latency_mean_us": mean, "clock_error_us": error_us})])
    sides = [open_side(str(tmp_path / name)) for name in ("a", "b")]
    found = compare(*sides, Wanted(metrics=("latency_mean_us",), tolerance=0.1))
    return found.lines[0], as_table(found).rows[0][2].text


@pytest.mark.parametrize(("error_us", "verdict", "cell"), [(0.0, "worse", "800 µs"), (300.0, "no verdict", "800 µs")])
def test_two_sides_that_differ_by_less_than_their_errors_get_no_verdict(
    tmp_path: Path, error_us: float, verdict: str, cell: str
) -> None:
    """200 us more is worse on one clock, and nothing when each side may be off by 300 us."""
    line, shown = compared(tmp_path, error_us)

    assert (verdict, cell) == (line.verdict, shown)
