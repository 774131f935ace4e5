"""The figures of the MQ Telemetry report: rate against connections by QoS and by size, memory by connections."""

from __future__ import annotations

from collections.abc import Sequence

from telemark.model.columns import POINTS
from telemark.report.charts import beside, general, sweep
from telemark.report.format import MISSING, count, value_in
from telemark.report.model import Cell, Chart, Table
from telemark.report.published import nearest
from telemark.report.source import RunSource

BY = ("qos", "payload_bytes")
MEMORY_CHARTS = {
    "server_rss_bytes_max": "Memory of the server for N connections",
    "host_memory_used_bytes_max": "Memory in use on the host for N connections (Tables 8 and 9)",
    "server_heap_bytes_max": "JVM heap of the server for N connections (Tables 8 and 9)",
    "server_open_files_max": "Open files for N connections (Table 8)",
}
RATE_CHARTS = {
    "received_rate": "Rate against connections (Figures 3 to 7)",
    "host_cpu_not_idle_mean": "CPU of the host against connections (Tables 1 to 4)",
    "server_cpu_cores_mean": "Server CPU against connections",
}


def of_scenario(prefix: str, runs: Sequence[RunSource]) -> list[Chart | Table]:
    """Rates and CPU against connections, one line per QoS and size; for the memory cases memory and open files."""
    points = sweep.drawable(runs)
    if points and runs[0].headline.kind == "Memory":
        charts = [
            _over(sweep.Name(f"{prefix}-{y}", title), runs, "connections", y) for y, title in MEMORY_CHARTS.items()
        ]
        return [*charts, memory_table(prefix, runs)]
    charts = [_over(sweep.Name(f"{prefix}-{y}", title), runs, "publishers", y) for y, title in RATE_CHARTS.items()]
    rates = sweep.Name(f"{prefix}-rates", "Message rates (msg/s)")
    table = sweep.cross_table(rates, points, "publishers", "received_rate", BY)
    return [
        *charts,
        beside.with_columns(table, runs, "publishers", "received_rate"),
        *general.spread_charts(prefix, runs, "latency"),
    ]


def _over(name: sweep.Name, runs: Sequence[RunSource], x: str, y: str) -> Chart:
    """Column y against column x with the report's curves."""
    chart = sweep.against(name, sweep.drawable(runs), x, y, BY)
    return beside.with_lines(chart, runs, x, y)


def of_suite(prefix: str, runs: Sequence[RunSource]) -> list[Chart | Table]:
    """The effect of QoS, of message size and of a connection's memory over all cases of the suite."""
    points = sweep.drawable(runs)
    loaded = [point for point in points if point.get("received_rate")]
    idle = [point for point in points if str(point.get("scenario", "")).startswith("memory")]
    qos = sweep.Name(f"{prefix}-qos", "Rate by QoS")
    sizes = sweep.Name(f"{prefix}-sizes", "Rate against message size")
    memory = sweep.Name(f"{prefix}-memory", "Memory per connection")
    drawn: list[Chart | Table] = []
    if sweep.varying(loaded, ("qos",)):
        drawn.append(sweep.bars(qos, loaded, "qos", "received_rate", ("scenario", "connections")))
    if sweep.varying(loaded, ("payload_bytes",)):
        swept = [run for run in runs if run.facts.get("scenario") == "message-sizes"]
        chart = sweep.against(sizes, loaded, "payload_bytes", "received_rate", ("scenario", "qos"))
        drawn.append(beside.with_lines(chart, swept, "payload_bytes", "received_rate"))
    if idle:
        column = "server_bytes_per_connection"
        bars = sweep.bars(memory, idle, "scenario", column, ("connections",))
        drawn.append(beside.with_scenario_bars(bars, runs, column))
    return drawn


MEMORY = (
    ("peak memory (RSS)", "server_rss_bytes_max"),
    ("before the first device", "server_rss_bytes_idle"),
    ("per connection", "server_bytes_per_connection"),
    ("JVM heap", "server_heap_bytes_max"),
    ("heap per connection", "server_heap_bytes_per_connection"),
    ("host memory", "host_memory_used_bytes_max"),
    ("open files", "server_open_files_max"),
)


def memory_table(prefix: str, runs: Sequence[RunSource]) -> Table:
    """Peak memory and open files for N connections, as Tables 6 to 9 print them, with their values."""
    points = sorted(
        ((point, run) for run in runs if (point := run.point) in sweep.drawable([run])),
        key=lambda found: found[0].get("connections") or 0,
    )
    rows = tuple(
        (
            Cell(count(point.get("connections")), point.get("connections")),
            Cell(sweep.label(point, ()), sweep.label(point, ())),
            *(_memory_cell(run, point, column) for _, column in MEMORY),
        )
        for point, run in points
    )
    columns = ("connections", "server", *(title for title, _ in MEMORY))
    return Table(f"{prefix}-memory-table", "Memory for N connections", columns, rows, frozenset(columns) - {"server"})


def _memory_cell(run: RunSource, point: sweep.PointRow, name: str) -> Cell:
    column, value = POINTS.find(name), point.get(name)
    if column is None:
        return Cell(MISSING)
    found = nearest(run.case.published, column, value, run.facts.get("parameters") or {}, str(point.get("server")))
    beside_it = value_in(column.unit, found.value) if found else ""
    return Cell(value_in(column.unit, value), value, title=found.conditions if found else "", beside=beside_it)
