"""The figures of the MQ Telemetry report: rate against connections by QoS and by size, memory by connections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from telemark.report.cases import case_facts
from telemark.report.charts import general, sweep
from telemark.report.format import count, size_bytes
from telemark.report.headline import headline_of
from telemark.report.model import Cell, Chart, Table
from telemark.report.published import published_lines
from telemark.report.source import RunSource


def of_scenario(prefix: str, runs: Sequence[RunSource]) -> list[Chart | Table]:
    """Rates and CPU against connections, one line per QoS and size; for the memory cases memory and open files."""
    points = sweep.drawable(runs)
    by = ("qos", "payload_bytes")
    if points and headline_of(runs[0].facts).kind == "Memory":
        memory = sweep.Name(f"{prefix}-rss", "Memory for N connections")
        return [
            sweep.against(memory, points, "connections", "server_rss_bytes_max", by),
            memory_table(prefix, points),
        ]
    rate = sweep.Name(f"{prefix}-rate", "Rate against connections")
    cpu = sweep.Name(f"{prefix}-cpu", "Server CPU against connections")
    rates = sweep.Name(f"{prefix}-rates", "Message rates (msg/s)")
    return [
        with_published(sweep.against(rate, points, "publishers", "received_rate", by), runs),
        sweep.against(cpu, points, "publishers", "server_cpu_cores_mean", by),
        sweep.cross_table(rates, points, "publishers", "received_rate", by),
        *general.spread_charts(prefix, runs, "latency"),
    ]


def with_published(chart: Chart, runs: Sequence[RunSource]) -> Chart:
    """The same chart with the report's curves, where they overlap with ours."""
    ours = [x for line in chart.series for x, _ in line.points if isinstance(x, int | float)]
    if not ours:
        return chart
    case = case_facts(str(runs[0].facts.get("suite")), str(runs[0].facts.get("scenario")))
    return replace(chart, series=(*chart.series, *published_lines(case, "received_rate", "publishers", max(ours))))


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
        drawn.append(sweep.against(sizes, loaded, "payload_bytes", "received_rate", ("scenario", "qos")))
    if idle:
        drawn.append(sweep.bars(memory, idle, "scenario", "server_bytes_per_connection", ("connections",)))
    return drawn


def memory_table(prefix: str, points: Sequence[sweep.Point]) -> Table:
    """Peak memory and open files for N connections, as Tables 8 and 9 print them."""
    columns = ("connections", "server", "peak memory (RSS)", "before the first device", "per connection", "open files")
    rows = tuple(
        (
            Cell(count(point.get("connections")), point.get("connections")),
            Cell(sweep.label(point, ()), sweep.label(point, ())),
            *(Cell(size_bytes(point.get(column)), point.get(column)) for column in (
                "server_rss_bytes_max", "server_rss_bytes_idle", "server_bytes_per_connection")),
            Cell(count(point.get("server_open_files_max")), point.get("server_open_files_max")),
        )
        for point in sorted(points, key=lambda point: point.get("connections") or 0)
    )  # fmt: skip
    return Table(f"{prefix}-memory-table", "Memory for N connections", columns, rows, frozenset(columns) - {"server"})
