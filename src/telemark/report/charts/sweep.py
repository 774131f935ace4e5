"""Figures over the points of a sweep: one quantity against another, one line per server and setting.

Repeats of a point are drawn as their median. A run that failed, or whose engine was the bottleneck, is not drawn:
its figure says nothing about the server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from telemark.model.columns import POINTS, Unit
from telemark.report import format as fmt
from telemark.report.clock_error import error_of, noted
from telemark.report.model import Axis, Cell, Chart, Series, Table
from telemark.report.source import RunSource

PointRow = Mapping[str, Any]  # a row of `points`

# What may set the lines of a figure apart, and how each is written.
WRITTEN: dict[str, Callable[[Any], str]] = {
    "qos": lambda value: f"QoS {value}",
    "payload_bytes": fmt.size_bytes,
    "publishers": lambda value: f"{fmt.short(value)} publishers",
    "subscribers": lambda value: f"{fmt.short(value)} subscriber{'' if value == 1 else 's'}",
    "connections": lambda value: f"{fmt.short(value)} connections",
    "scenario": str,
    "profile": str,
}
AXIS_NAMES: dict[str, str] = {
    "publishers": "publishers",
    "subscribers": "subscribers",
    "connections": "connections",
    "payload_bytes": "message size",
    "received_rate": "messages a second",
    "peak_received_rate": "messages a second",
    "connect_rate": "connections a second",
    "peak_egress_rate": "messages a second",
    "server_cpu_cores_mean": "CPU of the server, cores",
    "server_cpu_share_mean": "CPU of the server, share of all cores",
    "host_cpu_not_idle_mean": "CPU of the host, not idle",
    "host_memory_used_bytes_max": "memory in use on the host",
    "server_heap_bytes_max": "heap of the server",
    "server_open_files_max": "open files",
    "server_rss_bytes_max": "memory of the server",
    "server_bytes_per_connection": "memory per connection",
    "buffered_hwm": "most messages waiting in one queue",
}
SUBJECT_NAMES = {"latency": "latency", "connect": "connection time"}
LOGARITHMIC = frozenset({"payload_bytes"})
ROW_TITLES = {"subscribers": "# of consumers"}


@dataclass(frozen=True, slots=True)
class Name:
    """Id and title of a figure or table."""

    id: str
    title: str


def axis_of(column: str) -> Axis:
    """The axis a column of the points table is drawn against."""
    known = POINTS.find(column)
    if known is None:
        return Axis(column)
    name = AXIS_NAMES.get(column) or SUBJECT_NAMES.get(known.subject) or known.meaning
    return Axis(name, known.unit, "log" if column in LOGARITHMIC else "linear")


def drawable(runs: Sequence[RunSource]) -> list[PointRow]:
    """The points of the runs that say something about the server."""
    points = [run.point for run in runs if run.facts.get("state") == "complete"]
    return [point for point in points if point is not None and not point.get("engine_bound")]


def varying(points: Sequence[PointRow], columns: Sequence[str]) -> list[str]:
    """Those of the columns that have more than one value."""
    return [column for column in columns if len({point.get(column) for point in points}) > 1]


def label(point: PointRow, by: Sequence[str]) -> str:
    """Name of the line a point belongs to."""
    parts = [fmt.one_line(point.get("server") or "server", 40)]
    parts += [WRITTEN[column](point.get(column)) for column in by if point.get(column) is not None]
    return " · ".join(parts)


def drawn(point: PointRow, y: str) -> float:
    """The value of a column that is not null, as a figure shows it."""
    value: float = point[y]
    return max(value, error_of(point, y) or value)


def lines(points: Sequence[PointRow], x: str, y: str, by: Sequence[str], kind: str = "line") -> tuple[Series, ...]:
    """One series per server and combination of `by`; the y of each x is the median of its repeats."""
    grouped: dict[str, dict[float, list[float]]] = {}
    for point in points:
        if point.get(x) is not None and point.get(y) is not None:
            grouped.setdefault(label(point, by), {}).setdefault(point[x], []).append(drawn(point, y))
    return tuple(
        Series(name, tuple((at, median(found)) for at, found in sorted(values.items())), kind=kind)  # type: ignore[arg-type]
        for name, values in grouped.items()
    )


def against(name: Name, points: Sequence[PointRow], x: str, y: str, by: Sequence[str] = ()) -> Chart:
    """Column y of the points against column x."""
    others = varying(points, [column for column in (*by, "profile") if column != x])
    return noted(Chart(name.id, name.title, axis_of(x), axis_of(y), lines(points, x, y, others)), points, y)


def bars(name: Name, points: Sequence[PointRow], category: str, y: str, by: Sequence[str] = ()) -> Chart:
    """Column y as bars: one group per value of `category`, one bar per server and combination of `by`."""
    write = WRITTEN.get(category, str)
    others = varying(points, [column for column in by if column != category])
    grouped: dict[str, dict[str, list[float]]] = {}
    for point in sorted(points, key=lambda point: sortable(point.get(category))):
        if point.get(y) is not None:
            group = grouped.setdefault(label(point, others), {})
            group.setdefault(fmt.one_line(write(point.get(category)), 60), []).append(drawn(point, y))
    found = tuple(
        Series(line, tuple((at, median(values)) for at, values in group.items()), kind="bar")
        for line, group in grouped.items()
    )
    return noted(Chart(name.id, name.title, Axis("", "text", "category"), axis_of(y), found), points, y)


def cross_table(name: Name, points: Sequence[PointRow], row: str, y: str, by: Sequence[str]) -> Table:
    """A table as the reports print them: one line per value of `row`, one column per server and setting."""
    others = varying(points, by)
    found: dict[Any, dict[str, list[float]]] = {}
    columns: dict[str, None] = {}
    for point in points:
        if point.get(y) is not None:
            columns[label(point, others)] = None
            found.setdefault(point.get(row), {}).setdefault(label(point, others), []).append(point[y])
    unit = axis_of(y).unit
    rows = tuple(_cross_row(at, found[at], columns, unit) for at in sorted(found, key=sortable))
    titles = (ROW_TITLES.get(row, row), *columns)
    return Table(name.id, name.title, titles, rows, frozenset(titles))


def _cross_row(at: Any, values: Mapping[str, list[float]], columns: Iterable[str], unit: Unit) -> tuple[Cell, ...]:
    cells = [Cell(fmt.count(at) if isinstance(at, int | float) else str(at), at)]
    for column in columns:
        value = median(values[column]) if column in values else None
        cells.append(Cell(fmt.value_in(unit, value), value))
    return tuple(cells)


def sortable(value: Any) -> tuple[bool, float, str]:
    """Numbers by size, then words; what is missing comes last."""
    if isinstance(value, int | float):
        return (False, float(value), "")
    return (value is None, float("inf"), str(value))
