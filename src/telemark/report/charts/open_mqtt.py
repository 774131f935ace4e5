"""The table of the Open MQTT Benchmark Suite: every use case with its rates, latency and cost, servers side by side."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from telemark.report.charts import beside, sweep
from telemark.report.clock_error import error_of
from telemark.report.format import in_column, uncertain
from telemark.report.model import Cell, Chart, Table
from telemark.report.source import RunSource

COLUMNS = (
    ("in", "sent_rate"),
    ("out", "received_rate"),
    ("connections", "connections"),
    ("AVG ms", "latency_mean_us"),
    ("50P", "latency_p50_us"),
    ("99P", "latency_p99_us"),
    ("connect AVG ms", "connect_mean_us"),
    ("CPU cores", "server_cpu_cores_mean"),
    ("memory", "server_rss_bytes_max"),
)


def of_suite(prefix: str, runs: Sequence[RunSource]) -> list[Chart | Table]:
    """One line per use case and server, and the average latency of all of them as bars."""
    points = sweep.drawable(runs)
    titles = ("use case", "server", *(title for title, _ in COLUMNS))
    rows = tuple(
        (
            Cell(str(point.get("scenario")), str(point.get("scenario"))),
            Cell(sweep.label(point, ()), sweep.label(point, ())),
            *(_cell(point, column) for _, column in COLUMNS),
        )
        for point in points
    )
    loaded = [point for point in points if point.get("received_rate")]
    return [
        Table(f"{prefix}-cases", "All use cases", titles, rows, frozenset(titles[2:])),
        beside.with_scenario_bars(
            sweep.bars(
                sweep.Name(f"{prefix}-latency", "Average latency by use case"), loaded, "scenario", "latency_mean_us"
            ),
            runs,
            "latency_mean_us",
        ),
        sweep.bars(sweep.Name(f"{prefix}-cpu", "Server CPU by use case"), loaded, "scenario", "server_cpu_cores_mean"),
    ]


def _cell(point: sweep.PointRow, column: str) -> Cell:
    value, write = point.get(column), partial(in_column, sweep.axis_of(column).unit)
    return Cell(uncertain(write, value, error_of(point, column)), value)
