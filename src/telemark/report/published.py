"""Published numbers beside ours: the nearest one for every measured column, and all of them as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from telemark.model.case import PublishedValue
from telemark.model.columns import POINTS, Column
from telemark.report.clock_error import error_of, known
from telemark.report.format import MISSING, number, one_line, point_value, published_ratio, value_in
from telemark.report.model import Cell, Published, ScoreRow, Table
from telemark.report.source import RunSource

# What one published unit is in the units of the result tables.
IN_OUR_UNITS: dict[str, float] = {
    "msg/s": 1.0, "conn/s": 1.0, "us": 1.0, "ms": 1000.0, "s": 1e6, "B": 1.0, "KB": 1024.0, "KiB": 1024.0,
    "MB": 1024.0**2, "MiB": 1024.0**2, "messages": 1.0, "msgs": 1.0, "cores": 1.0, "count": 1.0,
    "publishers": 1.0, "connections": 1.0, "files": 1.0, "%": 0.01,
}  # fmt: skip


def pairs(
    values: Sequence[PublishedValue], point: Mapping[str, Any], parameters: Mapping[str, Any], server: str
) -> dict[str, Published]:
    """The published value nearest to this point, for every column of `points` that has one.

    Args:
        values: everything published for the case.
        point: our figures by column; empty when the run was not analysed.
        parameters: of our point.
        server: name of the server under test.
    """
    columns = [column for name in dict.fromkeys(each.metric for each in values) if (column := POINTS.find(name))]
    found = {column.name: nearest(values, column, known(point, column.name), parameters, server) for column in columns}
    return {name: best for name, best in found.items() if best is not None}


def nearest(
    values: Sequence[PublishedValue], column: Column, ours: float | None, parameters: Mapping[str, Any], server: str
) -> Published | None:
    """The published value of one column that is nearest to this point."""
    return next((_beside(each, column, ours) for each in candidates(values, column, parameters, server)), None)


def candidates(
    values: Sequence[PublishedValue], column: Column, parameters: Mapping[str, Any], server: str
) -> list[PublishedValue]:
    """All values of a column for exactly this point (a report may have several systems); else the nearest one."""
    same = [each for each in of_family(values, server) if each.metric == column.name and each.unit in IN_OUR_UNITS]
    exact = [each for each in same if each.exact]
    return exact or sorted(same, key=lambda each: _distance(each, parameters))[:1]


def _beside(value: PublishedValue, column: Column, ours: float | None) -> Published:
    number_ = in_our_unit(value)
    return Published(
        value=number_,
        unit=column.unit,
        ratio=ours / number_ if ours is not None and number_ else None,
        server=value.server,
        source=value.source,
        conditions=point_of(value) or "its one size",
        same_point=value.exact,
    )


def of_family(values: Sequence[PublishedValue], server: str) -> Sequence[PublishedValue]:
    """Those that may stand beside figures of this server.

    A report on several servers says nothing about one that is not among them; a report on one is a yardstick for all.
    """
    several = len({_family(each) for each in values}) > 1
    return [each for each in values if _family(each) == server.lower()] if several else values


def in_our_unit(value: PublishedValue) -> float:
    """The published number in the unit of the result tables."""
    return value.value * IN_OUR_UNITS[value.unit]


def of_runs(runs: Sequence[RunSource]) -> list[PublishedValue]:
    """Everything published for the points of these runs, each once."""
    found: dict[tuple[object, ...], PublishedValue] = {}
    for run in runs:
        for each in run.case.published:
            found.setdefault((each.metric, each.value, each.server, each.source, point_of(each)), each)
    return list(found.values())


def pairs_table(table_id: str, shown: Sequence[tuple[RunSource, ScoreRow]]) -> Table:
    """Every published quantity that was also measured here, one line per run and quantity."""
    columns = ("server", "point", "quantity", "here", "published", "ratio", "published for", "where")
    lines = tuple(
        (
            Cell(row.server),
            Cell(one_line(row.point)),
            Cell(column.meaning, column.name),
            Cell(point_value(column.name, row.values.get(column.name), error_of(row.values, column.name))),
            Cell(value_in(column.unit, found.value), found.value),
            Cell(published_ratio(found.ratio, found.same_point), found.ratio),
            Cell(f"{found.server}, {found.conditions}"),
            Cell(found.source),
        )
        for run, row in shown
        for column in POINTS.columns
        if column.name in row.beside
        for value in candidates(run.case.published, column, row.parameters, row.server)
        for found in (_beside(value, column, known(row.values, column.name)),)
    )
    note = "* published for another size, always on other hardware: a hint, no comparison."
    return Table(table_id, "Here beside the published", columns, lines, frozenset(columns[3:6]), note)


def published_table(table_id: str, runs: Sequence[RunSource]) -> Table:
    """Everything that was published for these points, as it was printed."""
    columns = ("server", "point", "what", "value", "unit", "where", "note")
    rows = tuple(
        (
            Cell(each.server),
            Cell(point_of(each) or MISSING),
            Cell(each.metric),
            Cell(number(each.value), each.value),
            Cell(each.unit),
            Cell(each.source),
            Cell(each.note),
        )
        for each in of_runs(runs)
    )
    return Table(table_id, "Published results", columns, rows, frozenset({"value"}))


def point_of(value: PublishedValue) -> str:
    """The point it was published for."""
    return " ".join(f"{name}={each}" for name, each in value.parameters.items())


def _family(value: PublishedValue) -> str:
    """The server's name without its version."""
    return value.server.lower().split(" ")[0]


def _distance(value: PublishedValue, parameters: Mapping[str, Any]) -> float:
    """How far the published point is from ours: the sum of the ratios of its sizes."""
    total = 0.0
    for name, theirs in value.parameters.items():
        ours = parameters.get(name)
        if isinstance(theirs, int | float) and isinstance(ours, int | float) and theirs > 0 and ours > 0:
            total += max(theirs / ours, ours / theirs)
        elif ours != theirs:
            total += 1.0
    return total
