"""Reading campaigns and arranging them for the renderers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from telemark.report.build import build_report, worst
from telemark.report.model import Chart, Report
from tests.support.synthetic import make_campaign
from tests.support.synthetic_tables import FakeRun


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two servers, two points each."""
    runs = [
        FakeRun(server=server, parameters={"publishers": number, "qos": 0}, publishers=number, rate=float(number))
        for server in ("mosquitto", "rabbitmq")
        for number in (1000, 2000)
    ]
    return make_campaign(tmp_path_factory.mktemp("runs") / "campaign", runs)


def all_charts(report: Report) -> list[Chart]:
    """Every chart of the report."""
    charts: list[Chart] = []
    for view in report.campaigns:
        charts += view.charts
        for suite in view.suites:
            charts += suite.charts
            for scenario in suite.scenarios:
                charts += [*scenario.charts, *(chart for run in scenario.runs for chart in run.charts)]
    return charts


def test_every_run_becomes_a_row_with_its_figures(campaign: Path) -> None:
    """The row holds the numbers of the points table, untouched."""
    report = build_report([campaign])

    assert 4 == len(report.rows)
    row = report.rows[0]
    assert ("mosquitto", "publishers=1000 qos=0", "pass") == (row.server, row.point, row.verdict)
    assert 999.0 == row.value
    assert 0 == row.values["lost"]


def test_charts_have_unique_ids_and_no_chart_is_empty(campaign: Path) -> None:
    """An empty pair of axes tells nothing; a doubled id would draw one chart twice and another never."""
    charts = all_charts(build_report([campaign]))

    assert len(charts) == len({chart.id for chart in charts})
    assert all(chart.has_data for chart in charts)


def test_a_damaged_run_is_named_and_the_others_are_shown(tmp_path: Path) -> None:
    """One bad folder must not hide the good ones."""
    folder = make_campaign(tmp_path / "campaign", [FakeRun(), FakeRun(repeat=1)])
    first, second = sorted(child for child in folder.iterdir() if child.name.startswith("0"))
    (first / "run.json").write_text("{ not json")

    report = build_report([folder])

    assert [second.name] == [row.run for row in report.rows]
    assert first.name in report.problems[0].folder
    assert "not JSON" in report.problems[0].message
    assert "no verdict" == report.verdict


def test_a_newer_format_is_refused_with_its_number(tmp_path: Path) -> None:
    """Guessing at a format of the future would show wrong numbers."""
    folder = make_campaign(tmp_path / "campaign", [FakeRun()])
    run = next(child for child in folder.iterdir() if child.name.startswith("0"))
    content = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(content | {"format": 99}))

    report = build_report([folder])

    assert "format 99" in report.problems[0].message
    assert () == report.rows


def test_damaged_results_are_a_problem_of_that_run_only(tmp_path: Path) -> None:
    """A broken Parquet file leaves the other tables and runs alone."""
    folder = make_campaign(tmp_path / "campaign", [FakeRun(), FakeRun(repeat=1)])
    broken = next((folder / "results" / "intervals").iterdir())
    (broken / "part-0.parquet").write_bytes(b"PAR1 nonsense")

    report = build_report([folder])

    assert 2 == len(report.rows)
    assert 1 == len(report.problems)
    assert "damaged" in report.problems[0].message


def test_a_run_that_was_not_analysed_gets_no_verdict_and_says_why(tmp_path: Path) -> None:
    """No data is never a pass."""
    folder = make_campaign(tmp_path / "campaign", [FakeRun()])
    next((folder / "results" / "analysed").iterdir()).unlink()

    (row,) = build_report([folder]).rows

    assert "no verdict" == row.verdict
    assert row.value is None
    assert any("not analysed" in notice.text for notice in row.notices)


def test_an_engine_bound_run_gets_no_verdict_and_is_not_drawn_in_sweeps(tmp_path: Path) -> None:
    """What the engine could not send says nothing about the server."""
    runs = [FakeRun(publishers=n, parameters={"publishers": n}, engine_bound=n == 4000) for n in (1000, 2000, 4000)]
    report = build_report([make_campaign(tmp_path / "campaign", runs)])

    assert ["pass", "pass", "no verdict"] == [row.verdict for row in report.rows]
    sweep = next(chart for chart in report.campaigns[0].suites[0].scenarios[0].charts if "CPU" in chart.title)
    assert (1000, 2000) == tuple(x for x, _ in sweep.series[0].points)


def test_failed_and_interrupted_runs_say_so(tmp_path: Path) -> None:
    """The reason stands first among the notices."""
    run = FakeRun(state="failed", reason="the server died: <signal 9>")
    (row,) = build_report([make_campaign(tmp_path / "campaign", [run])]).rows

    assert "no verdict" == row.verdict
    assert "danger" == row.notices[0].severity
    assert "signal 9" in row.notices[0].text


def test_a_certificate_that_was_not_verified_is_told(tmp_path: Path) -> None:
    """`--insecure` leaves a trace: another server may have answered."""
    folder = make_campaign(tmp_path / "campaign", [FakeRun()])
    (file,) = folder.glob("*/run.json")
    document = json.loads(file.read_text())
    document["server"]["endpoints"] = {"main": {"host": "h", "port": 1, "security": "tls", "verified": False}}
    file.write_text(json.dumps(document))
    (row,) = build_report([folder]).rows

    assert ["the certificate of listener main was not verified (--insecure)"] == [
        notice.text for notice in row.notices if "certificate" in notice.text
    ]


def test_a_path_without_runs_is_a_problem_and_not_a_crash(tmp_path: Path) -> None:
    """A typing mistake in one path must not hide the other campaigns."""
    good = make_campaign(tmp_path / "good", [FakeRun()])

    report = build_report([tmp_path / "nowhere", good])

    assert 1 == len(report.rows)
    assert "no run.json" in report.problems[0].message


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        (["pass", "pass"], "pass"),
        (["pass", "no verdict"], "no verdict"),
        (["no verdict", "fail"], "fail"),
        ([], "no verdict"),
    ],
)
def test_the_verdict_of_many_runs_is_the_worst(outcomes: list[str], expected: str) -> None:
    """Nothing at all is no verdict either."""
    assert expected == worst(outcomes)  # type: ignore[arg-type]
