"""Arranges what was read from campaign folders into the structure that every renderer is handed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from telemark import __version__
from telemark.report import facts, searches, side_by_side
from telemark.report.cases import CaseFacts, case_facts, suite_title
from telemark.report.charts import figures, spread
from telemark.report.charts.over_time import time_charts
from telemark.report.format import one_line
from telemark.report.model import (
    CampaignView,
    Chart,
    Notice,
    Outcome,
    Problem,
    Report,
    RunView,
    ScenarioView,
    ScoreRow,
    SuiteView,
    Table,
)
from telemark.report.published import published_table
from telemark.report.rows import score_row
from telemark.report.run_tables import run_tables
from telemark.report.source import CampaignSource, RunSource, open_campaigns

Shown = tuple[RunSource, ScoreRow]


def build_report(paths: Iterable[Path], title: str = "") -> Report:
    """Read the campaigns and arrange them. Folders that cannot be read are listed as problems."""
    sources, problems = open_campaigns(paths)
    views: list[CampaignView] = []
    for number, source in enumerate(sources):
        views.append(_campaign(f"c{number}", source, problems))
        problems += source.problems
    few = len(sources) <= 2
    names = ", ".join(one_line(source.name, 80) for source in sources) if few else f"{len(sources)} campaigns"
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    doubts: list[Outcome] = ["no verdict"] if problems else []
    verdict = worst([*(view.verdict for view in views), *doubts])
    return Report(title or names or "no campaign", now, __version__, tuple(views), tuple(problems), verdict)


def _campaign(prefix: str, source: CampaignSource, problems: list[Problem]) -> CampaignView:
    shown = [(run, row) for run in source.runs if (row := _try_row(run, problems))]
    runs = [run for run, _ in shown]
    rows = [row for _, row in shown]
    found = searches.read_searches(source.folder)
    suites = tuple(
        _suite(f"{prefix}s{number}", suite, [item for item in shown if item[1].suite == suite])
        for number, suite in enumerate(dict.fromkeys(row.suite for row in rows))
    )
    return CampaignView(
        id=prefix,
        name=source.name,
        verdict=worst(row.verdict for row in rows),
        counts={outcome: sum(row.verdict == outcome for row in rows) for outcome in ("pass", "fail", "no verdict")},
        host=facts.host_facts(runs),
        trust=facts.trust_facts(runs, rows),
        notices=_common_notices(rows),
        suites=suites,
        tables=_campaign_tables(prefix, source, rows, found),
        charts=tuple(
            chart
            for chart in (*searches.tries_charts(prefix, found), *side_by_side.server_charts(prefix, runs))
            if chart.has_data
        ),
    )


def _campaign_tables(
    prefix: str, source: CampaignSource, rows: Sequence[ScoreRow], found: Sequence[searches.Result]
) -> tuple[Table, ...]:
    tables = (
        searches.peaks_table(prefix, found),
        side_by_side.servers_table(prefix, rows),
        side_by_side.repeats_table(prefix, source.comparison),
        side_by_side.scaling_table(prefix, source.scaling),
    )
    return tuple(table for table in tables if table.rows)


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """One word for many runs: any failure fails, any doubt (and no run at all) is no verdict."""
    found = set(outcomes)
    if "fail" in found:
        return "fail"
    return "pass" if found == {"pass"} else "no verdict"


def _try_row(run: RunSource, problems: list[Problem]) -> ScoreRow | None:
    """The run's row; a run.json whose fields have unexpected forms becomes a problem."""
    try:
        return score_row(run, case_facts(str(run.facts.get("suite")), str(run.facts.get("scenario"))))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        message = f"a field of run.json or of its results has an unexpected form: {one_line(error)}"
        problems.append(Problem(run.name, message, "was it written by another program?"))
        return None


def _suite(prefix: str, suite: str, shown: Sequence[Shown]) -> SuiteView:
    cases = {row.name: case_facts(suite, row.name) for _, row in shown}
    scenarios = tuple(
        _scenario(f"{prefix}n{number}", name, case, [item for item in shown if item[1].name == name])
        for number, (name, case) in enumerate(cases.items())
    )
    drawn = figures.suite_figures(suite, prefix, [run for run, _ in shown])
    title = suite_title(list(cases.values()), suite)
    return SuiteView(prefix, suite, title, scenarios, drawn.charts, drawn.tables)


def _scenario(prefix: str, name: str, case: CaseFacts, shown: Sequence[Shown]) -> ScenarioView:
    drawn = figures.scenario_figures(shown[0][1].suite, prefix, [run for run, _ in shown])
    published = published_table(f"{prefix}-published", case)
    return ScenarioView(
        id=prefix,
        name=name,
        title=case.title,
        description=case.description,
        source=case.source,
        rows=tuple(row for _, row in shown),
        charts=drawn.charts,
        tables=(*drawn.tables, *([published] if published.rows else [])),
        runs=tuple(_run(f"{prefix}r{number}", run, row) for number, (run, row) in enumerate(shown)),
    )


def _run(prefix: str, run: RunSource, row: ScoreRow) -> RunView:
    measures = ("connect",) if row.measured == "connect" else ("latency", "service_time")
    percentiles = spread.percentile_chart([("", run)], f"{prefix}-percentiles", measures)
    over_time = time_charts(run, prefix)
    charts: tuple[Chart, ...] = (*over_time[:2], percentiles, *over_time[2:])
    title = " ".join(part for part in (row.server, row.server_version, one_line(row.point)) if part)
    return RunView(
        id=prefix,
        title=title + (f", repeat {row.repeat + 1}" if row.repeat else ""),
        row=row,
        facts=facts.run_facts(run),
        charts=tuple(chart for chart in charts if chart.has_data),
        tables=run_tables(prefix, run),
    )


def _common_notices(rows: Sequence[ScoreRow]) -> tuple[Notice, ...]:
    """Every notice of the campaign once, with the number of runs it concerns."""
    runs: dict[tuple[str, str], list[str]] = {}
    first: dict[tuple[str, str], Notice] = {}
    for row in rows:
        for notice in row.notices:
            key = (notice.severity, notice.text)
            runs.setdefault(key, []).append(row.run)
            first.setdefault(key, notice)
    order = {"danger": 0, "caution": 1, "note": 2}
    return tuple(
        Notice(first[key].severity, first[key].text, runs[key][0] if len(runs[key]) == 1 else f"{len(runs[key])} runs")
        for key in sorted(first, key=lambda key: order[key[0]])
    )
