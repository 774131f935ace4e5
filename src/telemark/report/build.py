"""Arranges what was read from campaign folders into the structure that every renderer is handed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from telemark import __version__
from telemark.report import facts, searches, side_by_side
from telemark.report.charts import beside, figures, spread
from telemark.report.charts.over_time import time_charts
from telemark.report.flame import profile_of
from telemark.report.format import one_line
from telemark.report.model import (
    CampaignView,
    Chart,
    Judgement,
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
from telemark.report.published import pairs_table, published_table
from telemark.report.rows import score_row
from telemark.report.run_tables import run_tables
from telemark.report.source import CampaignSource, RunSource, open_campaigns, problem_of
from telemark.store.documents import reading as store_reading
from telemark.store.documents.search import SearchRecord, read_searches

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
    records = _searches(source, problems)
    points = {run.name: run.point for run in source.runs if run.point is not None}
    tried = searches.judge_tries(records, points)
    shown = [(run, row) for run in source.runs if (row := _row_of(run, tried.get(run.name), problems))]
    runs = [run for run, _ in shown]
    rows = [row for _, row in shown]
    published = {run.name: run.case.published for run in source.runs if records}
    found = tuple(
        searches.search_view(f"{prefix}p{number}", each, points, published) for number, each in enumerate(records)
    )
    suites = tuple(
        _suite(f"{prefix}s{number}", suite, [item for item in shown if item[1].suite == suite])
        for number, suite in enumerate(dict.fromkeys(row.suite for row in rows))
    )
    return CampaignView(
        id=prefix,
        name=source.name,
        # A search is meant to find rates that fail: its verdict is whether it found the peak.
        verdict=worst(search.verdict for search in found) if found else worst(row.verdict for row in rows),
        counts={outcome: sum(row.verdict == outcome for row in rows) for outcome in ("pass", "fail", "no verdict")},
        searches=found,
        host=facts.host_facts(runs),
        trust=facts.trust_facts(runs, rows),
        notices=_common_notices(rows),
        suites=suites,
        tables=_campaign_tables(prefix, source, rows),
        charts=tuple(
            chart
            for chart in (*map(searches.tries_chart, found), *side_by_side.server_charts(prefix, runs))
            if chart.has_data and not figures.is_single_number(chart)
        ),
    )


def _searches(source: CampaignSource, problems: list[Problem]) -> Sequence[SearchRecord]:
    found = read_searches(source.folder)
    if isinstance(found, store_reading.Problem):
        problems.append(problem_of(source.folder, found.error()))
        return ()
    return found


def _campaign_tables(prefix: str, source: CampaignSource, rows: Sequence[ScoreRow]) -> tuple[Table, ...]:
    tables = (
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


def _row_of(run: RunSource, tried: Judgement | None, problems: list[Problem]) -> ScoreRow | None:
    """The run's row; a run.json whose fields have unexpected forms becomes a problem."""
    try:
        return score_row(run, tried)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        message = f"a field of run.json or of its results has an unexpected form: {one_line(error)}"
        problems.append(Problem(run.name, message, "was it written by another program?"))
        return None


def _suite(prefix: str, suite: str, shown: Sequence[Shown]) -> SuiteView:
    scenarios = tuple(
        _scenario(f"{prefix}n{number}", name, [item for item in shown if item[1].name == name])
        for number, name in enumerate(dict.fromkeys(row.name for _, row in shown))
    )
    drawn = figures.suite_figures(suite, prefix, [run for run, _ in shown])
    title = next((run.case.suite_title for run, _ in shown if run.case.suite_title), suite)
    return SuiteView(prefix, suite, title, scenarios, drawn.charts, drawn.tables)


def _scenario(prefix: str, name: str, shown: Sequence[Shown]) -> ScenarioView:
    runs = [run for run, _ in shown]
    case = runs[0].case
    drawn = figures.scenario_figures(shown[0][1].suite, prefix, runs)
    rows = tuple(row for _, row in shown)
    beside = (pairs_table(f"{prefix}-beside", shown), published_table(f"{prefix}-published", runs))
    return ScenarioView(
        id=prefix,
        name=name,
        title=case.title,
        description=case.about or case.title,
        source=case.source,
        rows=rows,
        charts=drawn.charts,
        tables=(*drawn.tables, *(table for table in beside if table.rows)),
        runs=tuple(_run(f"{prefix}r{number}", run, row) for number, (run, row) in enumerate(shown)),
    )


def _run(prefix: str, run: RunSource, row: ScoreRow) -> RunView:
    measures = ("connect",) if row.statistics == "connect" else ("latency", "service_time")
    percentiles = beside.with_percentiles(
        spread.percentile_chart([("", run)], f"{prefix}-percentiles", measures), [run], row.statistics
    )
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
        profile=profile_of(run),
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
