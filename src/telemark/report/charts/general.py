"""Figures for any scenario: its results against whatever its sweep varies, and the spread of its latencies."""

from __future__ import annotations

from collections.abc import Sequence

from telemark.report.charts import beside, spread, sweep
from telemark.report.model import Chart, Table
from telemark.report.source import RunSource

SWEPT = ("publishers", "subscribers", "payload_bytes", "qos")
MOST_LINES = 8  # more lines than this in one figure cannot be told apart


def of_scenario(prefix: str, runs: Sequence[RunSource]) -> list[Chart | Table]:
    """Value, latency, CPU and memory against the swept quantity; distributions when there are few runs."""
    points = sweep.drawable(runs)
    if not points:
        return []
    headline = runs[0].headline
    drawn: list[Chart | Table] = [*spread_charts(prefix, runs, headline.statistics)]
    x = swept_column(points)
    if x is None:
        return drawn
    by = [column for column in SWEPT if column != x]
    over = [
        (headline.column.name, headline.kind),
        (f"{headline.statistics}_mean_us", "Average latency"),
        (f"{headline.statistics}_p99_us", "99P latency"),
        ("server_cpu_cores_mean", "Server CPU"),
        ("server_rss_bytes_max", "Server memory"),
    ]
    name = sweep.axis_of(x).name
    return [
        *(sweep.against(sweep.Name(f"{prefix}-{y}", f"{title} against {name}"), points, x, y, by) for y, title in over),
        *drawn,
    ]


def swept_column(points: Sequence[sweep.PointRow]) -> str | None:
    """The quantity with the most values: the x axis. None when nothing varies."""
    counts = {column: len({point.get(column) for point in points}) for column in SWEPT}
    best = max(SWEPT, key=lambda column: counts[column])
    return best if counts[best] > 1 else None


def spread_charts(prefix: str, runs: Sequence[RunSource], measure: str) -> list[Chart]:
    """Distribution, tail and percentiles over the runs of a scenario, named so that they can be told apart."""
    good = [run for run in runs if run.point is not None and not run.point.get("engine_bound")]
    everyone = named_runs(good)
    named = everyone if len(everyone) <= MOST_LINES else last_of_each_server(everyone)
    if len(named) < 2:
        return []  # the run's own section has the same figures
    charts = spread_over(prefix, named, measure)
    if len(named) < len(everyone):
        charts = [_with_note(chart, "Only the last point of each server's sweep is drawn.") for chart in charts]
    return charts


def spread_over(prefix: str, named: Sequence[tuple[str, RunSource]], measure: str) -> list[Chart]:
    """Percentiles with the published ones, distribution and tail of these runs."""
    percentiles = spread.percentile_chart(named, f"{prefix}-percentiles", (measure,))
    return [
        beside.with_percentiles(percentiles, [run for _, run in named], measure),
        spread.distribution_chart(named, f"{prefix}-distribution", measure),
        spread.tail_chart(named, f"{prefix}-tail", measure),
    ]


def last_of_each_server(named: Sequence[tuple[str, RunSource]]) -> list[tuple[str, RunSource]]:
    """The end of each server's sweep, where it worked hardest."""
    last = {(run.point or {}).get("server"): (name, run) for name, run in named}
    return list(last.values())[:MOST_LINES]


def named_runs(runs: Sequence[RunSource]) -> list[tuple[str, RunSource]]:
    """Each run with the shortest name that tells it from the others; of repeats only the first."""
    first = [run for run in runs if run.point is not None and not run.point.get("repeat")]
    points = [run.point or {} for run in first]
    by = sweep.varying(points, (*SWEPT, "profile"))
    return [(sweep.label(point, by), run) for point, run in zip(points, first, strict=True)]


def _with_note(chart: Chart, note: str) -> Chart:
    return Chart(
        chart.id, chart.title, chart.x, chart.y, chart.series, chart.y2, chart.bands, f"{chart.note} {note}".strip()
    )
