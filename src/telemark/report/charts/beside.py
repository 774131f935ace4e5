"""Published curves, bars and columns in our figures: dotted or named "published", so that nobody takes them for ours.

A figure shows what its report shows: the same quantity over the same parameter, one curve per server and setting.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from telemark.model.case import PublishedValue
from telemark.report import format as fmt
from telemark.report.charts import sweep
from telemark.report.model import Axis, Cell, Chart, Series, Table
from telemark.report.published import IN_OUR_UNITS, in_our_unit, of_runs, point_of
from telemark.report.source import RunSource

MOST_CURVES = 6  # of published ones in one figure: more cannot be told apart
FAR = 20  # times: an axis that reaches this far is logarithmic, or ours would be squeezed into its corner
# Parameters of published points that are the columns of ours, the first that is there.
PARAMETERS = {
    "publishers": ("publishers",),
    "subscribers": ("subscribers",),
    "connections": ("publishers", "devices"),
    "payload_bytes": ("payload",),
    "qos": ("qos",),
}

Curves = dict[str, list[tuple[Any, float]]]


def with_lines(chart: Chart, runs: Sequence[RunSource], x: str, y: str, metric: str = "") -> Chart:
    """The chart of column y over column x with the published curves of that column, or of another metric."""
    found = _by_place(_values(runs, metric or y), x)
    curves = {name: sorted(points) for name, points in found.items()}
    ours = [at for line in chart.series for at, _ in line.points if isinstance(at, int | float) and at > 0]
    if not ours or not curves:
        return chart
    theirs = [at for points in curves.values() for at, _ in points if at > 0]
    far = max(*ours, *theirs) / min(*ours, *theirs) >= FAR
    drawn = tuple(_line(name, points, far) for name, points in list(curves.items())[:MOST_CURVES])
    axis = replace(chart.x, scale="log") if far else chart.x
    return replace(chart, x=axis, series=(*chart.series, *drawn))


def with_bars(chart: Chart, runs: Sequence[RunSource], category: str, y: str, metric: str = "") -> Chart:
    """The bars of column y by category with those published; one that names no such category has its own."""
    values = [each for each in _values(runs, metric or y) if _place(each, category) is not None]
    if values:
        write = sweep.WRITTEN.get(category, str)
        found = {
            name: [(fmt.one_line(write(at), 60), value) for at, value in sorted(points)]
            for name, points in _by_place(values, category).items()
        }
    else:
        found = _by_setting(_values(runs, metric or y))
    return replace(chart, series=(*chart.series, *_bars(found)))


def with_scenario_bars(chart: Chart, runs: Sequence[RunSource], y: str) -> Chart:
    """Bars by scenario with those published for each scenario, one bar per server and setting."""
    found: Curves = {}
    for scenario in dict.fromkeys(str(run.facts.get("scenario", "")) for run in runs):
        values = _values([run for run in runs if run.facts.get("scenario") == scenario], y)
        for name, each in _named(values, ()):
            found.setdefault(name, []).append((fmt.one_line(scenario, 60), in_our_unit(each)))
    return replace(chart, series=(*chart.series, *_bars(found)))


def with_columns(table: Table, runs: Sequence[RunSource], row: str, y: str) -> Table:
    """The table of column y by `row` with a column for each published curve, as the report prints them."""
    curves = {name: dict(points) for name, points in _by_place(_values(runs, y), row).items()}
    if not curves or not table.rows:
        return table
    ours = {line[0].sort: line for line in table.rows}
    unit, gaps = sweep.axis_of(y).unit, (Cell(fmt.MISSING),) * (len(table.columns) - 1)
    places = sorted({*ours, *(at for points in curves.values() for at in points)}, key=sweep.sortable)
    lines = tuple(
        (
            *ours.get(at, (Cell(fmt.count(at), at), *gaps)),
            *(Cell(fmt.value_in(unit, points.get(at)), points.get(at)) for points in curves.values()),
        )
        for at in places
    )
    columns = (*table.columns, *curves)
    return replace(table, columns=columns, rows=lines, numeric=frozenset(columns))


def with_percentiles(chart: Chart, runs: Sequence[RunSource], measure: str) -> Chart:
    """The chart of times by percentile with the percentiles that were published.

    Of several scenarios in one chart, each has the curve of its last setting: the largest machine of the report.
    """
    if not chart.series:
        return chart
    by_scenario: dict[str, list[RunSource]] = {}
    for run in runs:
        by_scenario.setdefault(str(run.facts.get("scenario", "")), []).append(run)
    several = len(by_scenario) > 1
    drawn: list[Series] = []
    for scenario, own in by_scenario.items():
        curves = _percentiles(own, measure)
        kept = curves[-1:] if several else curves
        drawn += [replace(line, name=f"{line.name} {fmt.one_line(scenario, 60)}") if several else line for line in kept]
    return replace(chart, series=(*chart.series, *drawn[:MOST_CURVES]))


def _percentiles(runs: Sequence[RunSource], measure: str) -> list[Series]:
    """One published curve per server and setting."""
    found: Curves = {}
    for percentile in (50, 75, 90, 95, 99):
        for name, each in _named(_values(runs, f"{measure}_p{percentile}_us"), ()):
            found.setdefault(name, []).append((percentile, in_our_unit(each)))
    return [Series(name, tuple(points), "dotted") for name, points in found.items()]


def connections_by_memory(name: sweep.Name, points: Sequence[sweep.PointRow], runs: Sequence[RunSource]) -> Chart:
    """Connections against the memory they took: ours by the server's memory, published by that of the machine."""
    values = [each for each in _values(runs, "connections_max") if "memory_gb" in each.parameters]
    limit = tuple(sorted((float(each.parameters["memory_gb"]) * 1024**3, in_our_unit(each)) for each in values))
    ours = sweep.lines(points, "server_rss_bytes_max", "connections", ("scenario",))
    published = (Series("published: most connections by the machine's memory", limit, "dotted"),) if limit else ()
    axes = Axis("memory of the server", "bytes", "log"), Axis("connections", "count", "log")
    return Chart(name.id, name.title, *axes, (*ours, *published))


def _values(runs: Sequence[RunSource], metric: str) -> list[PublishedValue]:
    return [each for each in of_runs(runs) if each.metric == metric and each.unit in IN_OUR_UNITS]


def _place(value: PublishedValue, column: str) -> Any:
    return next((value.parameters[name] for name in PARAMETERS.get(column, ()) if name in value.parameters), None)


def _by_place(values: Iterable[PublishedValue], column: str) -> Curves:
    """Points by the name of their curve; values without a number on the axis are left out."""
    placed = [each for each in values if isinstance(_place(each, column), int | float)]
    found: Curves = {}
    for name, each in _named(placed, PARAMETERS.get(column, ())):
        found.setdefault(name, []).append((_place(each, column), in_our_unit(each)))
    return found


def _by_setting(values: Sequence[PublishedValue]) -> Curves:
    """One curve per server, its settings as categories."""
    found: Curves = {}
    for each in values:
        place = fmt.one_line(point_of(each), 60)
        found.setdefault(_name(each.server, ""), []).append((place, in_our_unit(each)))
    return found


def _named(values: Sequence[PublishedValue], without: Sequence[str]) -> list[tuple[str, PublishedValue]]:
    """Each value with the name of its curve: the server, and the parameters in which the curves differ."""
    names = dict.fromkeys(name for each in values for name in each.parameters if name not in without)
    differing = [name for name in names if len({each.parameters.get(name) for each in values}) > 1]
    return [(_name(each.server, setting(each, differing)), each) for each in values]


def setting(value: PublishedValue, names: Iterable[str]) -> str:
    """Those of the parameters that the value has."""
    return " ".join(f"{name}={value.parameters[name]}" for name in names if name in value.parameters)


def _name(server: str, setting: str) -> str:
    return fmt.one_line(" ".join(part for part in ("published:", server, setting) if part))


def _line(name: str, points: Sequence[tuple[float, float]], positive: bool) -> Series:
    """A dotted line; a single point is drawn as a dot."""
    kept = tuple(point for point in points if point[0] > 0 or not positive)
    return Series(name, kept, "dotted", "line" if len(kept) > 1 else "scatter")


def _bars(found: Curves) -> list[Series]:
    return [Series(name, tuple(points), "dotted", "bar") for name, points in list(found.items())[:MOST_CURVES]]
