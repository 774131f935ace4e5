"""What is shown over a whole campaign: servers side by side, repeats, costs per connection."""

from __future__ import annotations

from pathlib import Path

import pytest

from telemark.report import side_by_side
from telemark.report.build import build_report
from tests.support.synthetic import make_campaign
from tests.support.synthetic_tables import FakeRun


@pytest.mark.parametrize("content", ["", "{}", "[1, 2]", '[{"format": 99}]', '[{"format": 1, "peaks": [3]}]'])
def test_a_strange_search_file_is_named_and_the_runs_are_shown(tmp_path: Path, content: str) -> None:
    """It comes from a stranger like everything else."""
    folder = make_campaign(tmp_path / "campaign", [FakeRun()])
    (folder / "search.json").write_text(content)

    report = build_report([folder])

    assert 1 == len(report.rows)
    assert "search.json" in report.problems[0].message


def test_servers_stand_side_by_side_with_one_line_per_point(tmp_path: Path) -> None:
    """A server that lacks a point has dashes there."""
    runs = [FakeRun(server="a"), FakeRun(server="b"), FakeRun(server="a", parameters={"publishers": 9}, publishers=9)]
    view = build_report([make_campaign(tmp_path / "campaign", runs)]).campaigns[0]
    table = next(table for table in view.tables if table.title == "Servers side by side")

    assert (("", 1), ("a", 3), ("b", 3)) == table.groups
    assert 2 == len(table.rows)
    assert ["–"] * 3 == [cell.text for cell in table.rows[1][4:]]  # noqa: RUF001


def test_side_by_side_charts_keep_every_qos(tmp_path: Path) -> None:
    """A sweep over QoS must not show only its last level."""
    runs = [
        FakeRun(server=server, qos=qos, publishers=number, parameters={"publishers": number, "qos": qos})
        for server in ("a", "b") for qos in (0, 1) for number in (1000, 2000)
    ]  # fmt: skip
    view = build_report([make_campaign(tmp_path / "campaign", runs)]).campaigns[0]
    chart = next(chart for chart in view.charts if chart.title.startswith("Value"))
    shown = {str(x) for line in chart.series for x, _ in line.points}

    assert {"multi-publisher publishers=2000 qos=0", "multi-publisher publishers=2000 qos=1"} == shown


def test_repeats_show_their_interval_and_mark_a_large_spread(tmp_path: Path) -> None:
    """Runs that disagree must not look like one number."""
    runs = [FakeRun(repeat=n, seed=n, latency_us=latency) for n, latency in enumerate((500.0, 1000.0, 1500.0))]
    view = build_report([make_campaign(tmp_path / "campaign", runs)]).campaigns[0]
    table = next(table for table in view.tables if table.title.startswith("Repeats"))
    latency = next(row for row in table.rows if row[2].text == "latency_mean_us")

    assert "3" == latency[3].text
    assert "caution" == latency[7].tone


def test_the_cost_of_a_connection_is_a_slope_with_its_interval() -> None:
    """As the MQ Telemetry report's memory per connection."""
    row = {
        "server": "mosquitto", "scenario": "memory-per-connection", "series": "", "y": "server_rss_bytes_max",
        "x": "connections", "points": 3, "intercept": 5_000_000.0, "slope": 3072.0, "slope_low": 3000.0,
        "slope_high": 3144.0, "r_squared": 0.999,
    }  # fmt: skip
    table = side_by_side.scaling_table("x", [row])

    assert ["3 KiB", "2.93 KiB", "3.07 KiB", "4.77 MiB", "0.999", "3"] == [cell.text for cell in table.rows[0][4:]]
