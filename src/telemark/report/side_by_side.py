"""Tables and figures over a whole campaign: servers beside each other, repeats and their spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from telemark.model.columns import POINTS, Unit
from telemark.report import card
from telemark.report import format as fmt
from telemark.report.charts import sweep
from telemark.report.model import Cell, Chart, ScoreRow, Table
from telemark.report.source import RunSource
from telemark.verdicts import limits

# Of the many metrics the comparison table has, those that people ask for.
SHOWN = frozenset({
    "received_rate", "latency_mean_us", "latency_p99_us", "connect_rate", "connect_mean_us", "server_cpu_cores_mean",
    "server_rss_bytes_max", "lost",
})  # fmt: skip
BESIDE = (card.VALUE, "AVG ms", "CPU")  # headings of the card that each server shows
TONES = {"pass": "pass", "fail": "fail", "no verdict": "none"}


def servers_table(prefix: str, rows: Sequence[ScoreRow]) -> Table:
    """One line per point and profile, per server its value, average latency and CPU. Empty with a single server."""
    servers = list(dict.fromkeys(row.server for row in rows))
    if len(servers) < 2:
        return Table(f"{prefix}-servers", "", (), ())
    found: dict[tuple[str, str, str, str], dict[str, ScoreRow]] = {}
    for row in rows:
        found.setdefault((row.suite, row.name, row.point, row.profile), {}).setdefault(row.server, row)
    lines = tuple(
        (Cell(_point_label(key)), *(cell for server in servers for cell in _server_cells(by.get(server))))
        for key, by in found.items()
    )
    columns = ("point", *BESIDE * len(servers))
    groups = (("", 1), *((server, len(BESIDE)) for server in servers))
    note = "Of repeated runs the first is shown. Colours are verdicts."
    title = "Servers side by side"
    return Table(f"{prefix}-servers", title, columns, lines, frozenset(columns[1:]), note, groups)


def _point_label(key: tuple[str, str, str, str]) -> str:
    _, name, point, profile = key
    return " ".join(part for part in (name, fmt.one_line(point), f"({profile})" if profile else "") if part)


def _server_cells(row: ScoreRow | None) -> list[Cell]:
    if row is None:
        return [Cell(fmt.MISSING)] * len(BESIDE)
    value, *others = (card.cells(row)[heading] for heading in BESIDE)
    return [replace(value, tone=TONES[row.verdict], title=row.verdict), *others]


def repeats_table(prefix: str, comparison: Sequence[Mapping[str, Any]]) -> Table:
    """Points that ran more than once: median, confidence interval and spread of each metric."""
    columns = ("point", "server", "metric", "repeats", "median", "from", "to", "spread")
    errors = {_side(row): row.get("mean") or 0.0 for row in comparison if row.get("metric") == card.ERROR}
    rows = []
    for row in comparison:
        if (row.get("repeats") or 0) < 2 or row.get("metric") not in SHOWN:
            continue
        metric = str(row.get("metric"))
        spread = row.get("spread")
        rows.append((
            Cell(fmt.one_line(f"{row.get('scenario')} {row.get('point')}")), Cell(fmt.one_line(row.get("server"))),
            Cell(fmt.one_line(row.get("metric"))), Cell(fmt.count(row.get("repeats")), row.get("repeats")),
            *(Cell(fmt.point_value(metric, row.get(key), errors.get(_side(row), 0.0)), row.get(key))
              for key in ("median", "low", "high")),
            Cell(fmt.percent(spread), spread, "caution" if spread and spread > limits.DISAGREE else ""),
        ))  # fmt: skip
    note = f"From and to: 95 % confidence interval over the repeats. A spread above {limits.DISAGREE:.0%} is marked."
    return Table(f"{prefix}-repeats", "Repeats and their spread", columns, tuple(rows), frozenset(columns[3:]), note)


def _side(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in ("suite", "scenario", "point", "size", "campaign", "server", "profile"))


def scaling_table(prefix: str, scaling: Sequence[Mapping[str, Any]]) -> Table:
    """Straight lines through the points: what each further connection costs, with its confidence interval."""
    columns = ("server", "scenario", "quantity", "per", "slope", "from", "to", "at zero", "fit (r²)", "points")
    rows = []
    for row in scaling:
        column = POINTS.find(str(row.get("y")))
        unit: Unit = column.unit if column else "count"
        rows.append((
            Cell(fmt.one_line(row.get("server"))),
            Cell(fmt.one_line(f"{row.get('scenario')} {row.get('series') or ''}")),
            Cell(fmt.one_line(row.get("y"))), Cell(fmt.one_line(row.get("x"))),
            *(Cell(_per(unit, row.get(key)), row.get(key)) for key in ("slope", "slope_low", "slope_high")),
            Cell(fmt.value_in(unit, row.get("intercept")), row.get("intercept")),
            Cell(fmt.number(row.get("r_squared")), row.get("r_squared")),
            Cell(fmt.count(row.get("points")), row.get("points")),
        ))  # fmt: skip
    note = "From and to: 95 % confidence interval of the slope."
    return Table(
        f"{prefix}-scaling", "What one more connection costs", columns, tuple(rows), frozenset(columns[4:]), note
    )


def _per(unit: Unit, value: float | None) -> str:
    """A slope: small parts of a core or of a message a second need more digits than the quantity itself."""
    return fmt.number(value) if unit in ("cores", "messages_per_second", "count") else fmt.value_in(unit, value)


def server_charts(prefix: str, runs: Sequence[RunSource]) -> list[Chart]:
    """Bars of value, latency and CPU by scenario, one bar per server. None with a single server or one point."""
    points = sweep.drawable(runs)
    if len({point.get("server") for point in points}) < 2 or not runs:
        return []
    metrics = {run.headline.column.name for run in runs}
    if len(metrics) != 1:
        return []  # a rate of messages and a rate of connections do not belong on one axis
    largest = _largest_common(points)
    over = ((metrics.pop(), "Value"), ("latency_mean_us", "Average latency"), ("server_cpu_cores_mean", "Server CPU"))
    return [sweep.bars(sweep.Name(f"{prefix}-{y}", f"{title} by server"), largest, "scenario", y) for y, title in over]


def _largest_common(points: Sequence[sweep.PointRow]) -> list[sweep.PointRow]:
    """Of each scenario and QoS the last point of the sweep that every server has: what they can be compared at.

    The point's label becomes part of the scenario's name, so that the figure says what it compares.
    """
    chosen: list[sweep.PointRow] = []
    for scenario, qos in dict.fromkeys((point.get("scenario"), point.get("qos")) for point in points):
        mine = [point for point in points if (point.get("scenario"), point.get("qos")) == (scenario, qos)]
        servers = {point.get("server") for point in mine}
        by_label: dict[Any, list[sweep.PointRow]] = {}
        for point in mine:
            by_label.setdefault(point.get("point"), []).append(point)
        common = [name for name, found in by_label.items() if {point.get("server") for point in found} == servers]
        if common:
            name = " ".join(str(part) for part in (scenario, common[-1]) if part)
            chosen += [{**point, "scenario": name} for point in by_label[common[-1]]]
    return chosen
