"""Figures over the points of a sweep: one quantity against another, one line per server and setting.

Repeats of a point are drawn as their median. A run that failed, or whose engine was the bottleneck, is not drawn:
its figure says nothing about the server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from telemark.report import format as fmt
from telemark.report.format import Unit
from telemark.report.model import Axis, Cell, Chart, Series, Table
from telemark.report.source import RunSource

Point = Mapping[str, Any]

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
AXES: dict[str, Axis] = {
    "publishers": Axis("publishers", "count"),
    "subscribers": Axis("subscribers", "count"),
    "connections": Axis("connections", "count"),
    "payload_bytes": Axis("message size", "bytes", "log"),
    "received_rate": Axis("messages a second", "rate"),
    "peak_received_rate": Axis("messages a second", "rate"),
    "connect_rate": Axis("connections a second", "per_second"),
    "server_cpu_cores_mean": Axis("CPU of the server, cores", "cores"),
    "server_rss_bytes_max": Axis("memory of the server", "bytes"),
    "server_bytes_per_connection": Axis("memory per connection", "bytes"),
    "buffered_hwm": Axis("most messages waiting", "count"),
}


ROW_TITLES = {"subscribers": "# of consumers"}


@dataclass(frozen=True, slots=True)
class Name:
    """Id and title of a figure or table."""

    id: str
    title: str


def axis_of(column: str) -> Axis:
    """The axis a column of the points table is drawn against."""
    if column.endswith("_us"):
        return Axis("connection time" if column.startswith("connect_") else "latency", "us")
    return AXES.get(column) or Axis(column, "count")


def drawable(runs: Sequence[RunSource]) -> list[Point]:
    """The points of the runs that say something about the server."""
    points = [run.point for run in runs if run.facts.get("state") == "complete"]
    return [point for point in points if point is not None and not point.get("engine_bound")]


def varying(points: Sequence[Point], columns: Sequence[str]) -> list[str]:
    """Those of the columns that have more than one value."""
    return [column for column in columns if len({point.get(column) for point in points}) > 1]


def label(point: Point, by: Sequence[str]) -> str:
    """Name of the line a point belongs to."""
    parts = [fmt.one_line(point.get("server") or "server", 40)]
    parts += [WRITTEN[column](point.get(column)) for column in by if point.get(column) is not None]
    return " · ".join(parts)


def lines(points: Sequence[Point], x: str, y: str, by: Sequence[str], kind: str = "line") -> tuple[Series, ...]:
    """One series per server and combination of `by`; the y of each x is the median of its repeats."""
    grouped: dict[str, dict[float, list[float]]] = {}
    for point in points:
        if point.get(x) is not None and point.get(y) is not None:
            grouped.setdefault(label(point, by), {}).setdefault(point[x], []).append(point[y])
    return tuple(
        Series(name, tuple((at, median(found)) for at, found in sorted(values.items())), kind=kind)  # type: ignore[arg-type]
        for name, values in grouped.items()
    )


def against(name: Name, points: Sequence[Point], x: str, y: str, by: Sequence[str] = ()) -> Chart:
    """Column y of the points against column x."""
    others = varying(points, [column for column in (*by, "profile") if column != x])
    return Chart(name.id, name.title, axis_of(x), axis_of(y), lines(points, x, y, others))


def bars(name: Name, points: Sequence[Point], category: str, y: str, by: Sequence[str] = ()) -> Chart:
    """Column y as bars: one group per value of `category`, one bar per server and combination of `by`."""
    write = WRITTEN.get(category, str)
    others = varying(points, [column for column in by if column != category])
    grouped: dict[str, dict[str, list[float]]] = {}
    for point in sorted(points, key=lambda point: _sortable(point.get(category))):
        if point.get(y) is not None:
            group = grouped.setdefault(label(point, others), {})
            group.setdefault(fmt.one_line(write(point.get(category)), 60), []).append(point[y])
    found = tuple(
        Series(line, tuple((at, median(values)) for at, values in group.items()), kind="bar")
        for line, group in grouped.items()
    )
    return Chart(name.id, name.title, Axis("", "text", "category"), axis_of(y), found)


def cross_table(name: Name, points: Sequence[Point], row: str, y: str, by: Sequence[str]) -> Table:
    """A table as the reports print them: one line per value of `row`, one column per server and setting."""
    others = varying(points, by)
    found: dict[Any, dict[str, list[float]]] = {}
    columns: dict[str, None] = {}
    for point in points:
        if point.get(y) is not None:
            columns[label(point, others)] = None
            found.setdefault(point.get(row), {}).setdefault(label(point, others), []).append(point[y])
    unit = axis_of(y).unit
    rows = tuple(_cross_row(at, found[at], columns, unit) for at in sorted(found, key=_sortable))
    titles = (ROW_TITLES.get(row, row), *columns)
    return Table(name.id, name.title, titles, rows, frozenset(titles))


def _cross_row(at: Any, values: Mapping[str, list[float]], columns: Iterable[str], unit: Unit) -> tuple[Cell, ...]:
    cells = [Cell(fmt.count(at) if isinstance(at, int | float) else str(at), at)]
    for column in columns:
        value = median(values[column]) if column in values else None
        cells.append(Cell(fmt.value_in(unit, value), value))
    return tuple(cells)


def _sortable(value: Any) -> tuple[bool, float, str]:
    """Numbers by size, then words; what is missing comes last."""
    if isinstance(value, int | float):
        return (False, float(value), "")
    return (value is None, float("inf"), str(value))
