"""Figures from the distribution table: percentiles up to 99.999, the shape of the distribution, and its tail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from telemark.report.clock_error import error_of, noted
from telemark.report.model import Axis, Chart, Series
from telemark.report.source import RunSource

Buckets = list[tuple[float, float, int]]
PHASE_OF = {"latency": "measure", "service_time": "measure", "connect": "connect"}
LONGEST_TAIL = 99.999
BINS_PER_DECADE = 20


def buckets_of(run: RunSource, measure: str) -> Buckets:
    """The run's buckets of one measure in its phase, in order."""
    rows = run.rows("distribution")
    mine = [row for row in rows if row["measure"] == measure and row["phase"] == PHASE_OF[measure]]
    least = error_of(run.point, measure) or -math.inf
    return sorted((max(row["lower_us"], least), max(row["upper_us"], least), row["count"]) for row in mine)


def percentile_chart(runs: Sequence[tuple[str, RunSource]], chart_id: str, measures: Sequence[str]) -> Chart:
    """Value at each percentile, the axis stretched towards 99.999. One line per run and measure."""
    lines = []
    for label, run in runs:
        for measure in measures:
            points = percentile_points(buckets_of(run, measure))
            if points:
                name = " ".join(part for part in (label, _word(measure) if len(measures) > 1 else "") if part)
                lines.append(Series(name, points, "dashed" if measure == "service_time" else "solid"))
    what = "Connection time" if "connect" in measures else "Latency"
    chart = Chart(
        chart_id,
        f"{what} by percentile",
        Axis("percentile", "count", "percentile"),
        Axis("time", "us", "log"),
        tuple(lines),
        note="A line ends where the run has too few samples to say more." if lines else "",
    )
    return noted(chart, [run.point for _, run in runs], measures[0])


def percentile_points(buckets: Buckets) -> tuple[tuple[float, float], ...]:
    """(percentile, upper end of its bucket) at evenly spaced places of the stretched axis."""
    total = sum(count for _, _, count in buckets)
    if not total:
        return ()
    wanted = [100 * (1 - 10 ** (-step / 16)) for step in range(0, 81)]
    points: list[tuple[float, float]] = []
    seen, position = 0, 0
    for _, upper, count in buckets:
        seen += count
        while position < len(wanted) and wanted[position] <= 100 * seen / total:
            points.append((round(wanted[position], 5), round(upper, 3)))
            position += 1
    # A percentile needs at least one sample above it, or it would only repeat the maximum.
    most = 100 * (1 - 1 / total)
    return tuple(point for point in points if point[0] <= min(most, LONGEST_TAIL) + 1e-9)


def distribution_chart(runs: Sequence[tuple[str, RunSource]], chart_id: str, measure: str) -> Chart:
    """Share of the samples in each of equally wide (logarithmic) bins."""
    lines = [(label, binned(buckets_of(run, measure))) for label, run in runs]
    chart = Chart(
        chart_id,
        f"{_title(measure)} distribution",
        Axis("time", "us", "log"),
        Axis("share of all", "share"),
        tuple(Series(label, points) for label, points in lines if points),
    )
    return noted(chart, [run.point for _, run in runs], measure)


def tail_chart(runs: Sequence[tuple[str, RunSource]], chart_id: str, measure: str) -> Chart:
    """Share of the samples slower than a time: the tail of the distribution, both axes logarithmic."""
    lines = [(label, slower_than(buckets_of(run, measure))) for label, run in runs]
    chart = Chart(
        chart_id,
        f"{_title(measure)}: the tail",
        Axis("time", "us", "log"),
        Axis("share slower than this", "share", "log"),
        tuple(Series(label, points) for label, points in lines if points),
    )
    return noted(chart, [run.point for _, run in runs], measure)


def binned(buckets: Buckets) -> tuple[tuple[float, float], ...]:
    """Shares by bin; bins without samples between the first and the last are zero."""
    total = sum(count for _, _, count in buckets)
    if not total:
        return ()
    bins: dict[int, int] = {}
    for lower, upper, count in buckets:
        middle = math.sqrt(max(lower, 0.5) * max(upper, 0.5))
        number = math.floor(math.log10(middle) * BINS_PER_DECADE)
        bins[number] = bins.get(number, 0) + count
    span = range(min(bins), max(bins) + 1)
    return tuple((_center(number), round(bins.get(number, 0) / total, 7)) for number in span)


def slower_than(buckets: Buckets) -> tuple[tuple[float, float], ...]:
    """(time, share of samples above it), at most one point per bin."""
    total = left = sum(count for _, _, count in buckets)
    points: dict[Any, tuple[float, float]] = {}
    for _, upper, count in buckets:
        left -= count
        if left > 0:
            points[math.floor(math.log10(max(upper, 0.5)) * BINS_PER_DECADE)] = (
                round(upper, 3),
                round(left / total, 9),
            )
    return tuple(points.values())


def _center(number: int) -> float:
    return round(float(10 ** ((number + 0.5) / BINS_PER_DECADE)), 3)


def _title(measure: str) -> str:
    return {"connect": "Connection time"}.get(measure, "Latency")


def _word(measure: str) -> str:
    return {"service_time": "service time (from sending)", "latency": "latency (from the due time)"}.get(
        measure, measure
    )
