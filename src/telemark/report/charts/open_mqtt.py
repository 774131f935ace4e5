"""The table of the Open MQTT Benchmark Suite: every use case with its rates, latency and cost, servers side by side."""

from __future__ import annotations

from collections.abc import Sequence

from telemark.report.charts import sweep
from telemark.report.format import cores, milliseconds, short, size_bytes
from telemark.report.model import Cell, Chart, Table
from telemark.report.source import RunSource

COLUMNS = (
    ("in /s", "sent_rate", short),
    ("out /s", "received_rate", short),
    ("connections", "connections", short),
    ("AVG ms", "latency_mean_us", milliseconds),
    ("50P", "latency_p50_us", milliseconds),
    ("99P", "latency_p99_us", milliseconds),
    ("connect AVG ms", "connect_mean_us", milliseconds),
    ("CPU cores", "server_cpu_cores_mean", cores),
    ("memory", "server_rss_bytes_max", size_bytes),
)


def of_suite(prefix: str, runs: Sequence[RunSource]) -> list[Chart | Table]:
    """One line per use case and server, and the average latency of all of them as bars."""
    points = sweep.drawable(runs)
    titles = ("use case", "server", *(title for title, _, _ in COLUMNS))
    rows = tuple(
        (
            Cell(str(point.get("scenario")), str(point.get("scenario"))),
            Cell(sweep.label(point, ()), sweep.label(point, ())),
            *(Cell(write(point.get(column)), point.get(column)) for _, column, write in COLUMNS),
        )
        for point in points
    )
    loaded = [point for point in points if point.get("received_rate")]
    return [
        Table(f"{prefix}-cases", "All use cases", titles, rows, frozenset(titles[2:])),
        sweep.bars(
            sweep.Name(f"{prefix}-latency", "Average latency by use case"), loaded, "scenario", "latency_mean_us"
        ),
        sweep.bars(sweep.Name(f"{prefix}-cpu", "Server CPU by use case"), loaded, "scenario", "server_cpu_cores_mean"),
    ]
