"""The figures TPUT.FANIN.JMS asks for: rate and latency percentiles by message size and by subscribers."""

from __future__ import annotations

from collections.abc import Sequence

from telemark.report.charts import general, sweep
from telemark.report.clock_error import error_of
from telemark.report.format import count, milliseconds, short, size_bytes, uncertain
from telemark.report.model import Cell, Chart, Table
from telemark.report.source import RunSource

PERCENTILES = ("min", "mean", "p50", "p75", "p90", "p95", "p99")


def of_scenario(prefix: str, runs: Sequence[RunSource]) -> list[Chart | Table]:
    """Rate by size and by subscribers; average, median and 99P by size; the percentile table."""
    points = sweep.drawable(runs)
    by = ("subscribers", "publishers", "qos")
    measured = (
        ("received_rate", "Rate"),
        ("latency_mean_us", "Average latency"),
        ("latency_p50_us", "50P latency"),
        ("latency_p99_us", "99P latency"),
    )
    sizes = [
        sweep.against(sweep.Name(f"{prefix}-{y}", f"{title} by message size"), points, "payload_bytes", y, by)
        for y, title in measured
    ]
    others = ("payload_bytes", "publishers", "qos")
    subscribers = sweep.bars(
        sweep.Name(f"{prefix}-subscribers", "Rate by subscribers"), points, "subscribers", "received_rate", others
    )
    return [*sizes, subscribers, percentile_table(prefix, points), *general.spread_charts(prefix, runs, "latency")]


def percentile_table(prefix: str, points: Sequence[sweep.PointRow]) -> Table:
    """The metrics the benchmark collects, one line per point."""
    titles = (
        "publishers",
        "subscribers",
        "size",
        "server",
        "msg/s",
        "min ms",
        "AVG",
        "50P",
        "75P",
        "90P",
        "95P",
        "99P",
    )
    rows = tuple(
        (
            Cell(count(point.get("publishers")), point.get("publishers")),
            Cell(count(point.get("subscribers")), point.get("subscribers")),
            Cell(size_bytes(point.get("payload_bytes")), point.get("payload_bytes")),
            Cell(sweep.label(point, ()), sweep.label(point, ())),
            Cell(short(point.get("received_rate")), point.get("received_rate")),
            *(_time(point, f"latency_{name}_us") for name in PERCENTILES),
        )
        for point in points
    )
    title = "Rate and end-to-end latency (ms)"
    return Table(f"{prefix}-percentile-table", title, titles, rows, frozenset(titles) - {"server"})


def _time(point: sweep.PointRow, column: str) -> Cell:
    value = point.get(column)
    return Cell(uncertain(milliseconds, value, error_of(point, column)), value)
