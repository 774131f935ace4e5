"""Published numbers beside ours: the nearest one for a score-card row, curves for charts, all of them as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from telemark.catalog import PublishedResult
from telemark.catalog.published import match
from telemark.report.cases import CaseFacts
from telemark.report.format import MISSING, number, one_line
from telemark.report.headline import Headline
from telemark.report.model import Cell, Published, Series, Table

# What one published unit is in the units of the result tables.
IN_OUR_UNITS: dict[str, float] = {
    "msg/s": 1.0, "conn/s": 1.0, "us": 1.0, "ms": 1000.0, "s": 1e6, "B": 1.0, "KB": 1024.0, "KiB": 1024.0,
    "MB": 1024.0**2, "MiB": 1024.0**2, "messages": 1.0, "msgs": 1.0, "cores": 1.0, "count": 1.0,
}  # fmt: skip
MOST_CURVES = 6


def beside(
    case: CaseFacts, headline: Headline, value: float | None, parameters: Mapping[str, Any], server: str
) -> Published | None:
    """The published value nearest to this point, of the same server where it was among those published."""
    same_metric = [
        result for result in case.results if result.metric == headline.metric and result.unit in IN_OUR_UNITS
    ]
    same_server = [result for result in same_metric if _same_server(result, server)]
    matches = match(same_server or same_metric, parameters)
    if not matches:
        return None
    best = min(matches, key=lambda entry: (not entry.exact, _distance(entry.result, parameters)))
    result = best.result
    published = result.value * IN_OUR_UNITS[result.unit]
    conditions = " ".join(f"{name}={value}" for name, value in result.parameters.items())
    return Published(
        value=published,
        unit=headline.unit,
        ratio=value / published if value is not None and published else None,
        server=result.server,
        source=result.source,
        conditions=conditions or "its one size",
        same_point=best.exact,
    )


def published_lines(case: CaseFacts, metric: str, x: str, farthest: float) -> tuple[Series, ...]:
    """Published curves of a metric over parameter x, dotted, one per server and remaining parameters.

    None when ours ends before the published one begins: drawn on one axis, ours would be squeezed into its corner.
    """
    groups: dict[str, list[tuple[float, float]]] = {}
    for result in case.results:
        at = result.parameters.get(x)
        if result.metric == metric and isinstance(at, int | float) and result.unit in IN_OUR_UNITS:
            others = " ".join(f"{name}={value}" for name, value in result.parameters.items() if name != x)
            name = one_line(" ".join(part for part in ("published:", result.server, others) if part))
            groups.setdefault(name, []).append((at, result.value * IN_OUR_UNITS[result.unit]))
    near = {name: points for name, points in groups.items() if min(at for at, _ in points) <= farthest}
    return tuple(Series(name, tuple(sorted(points)), "dotted") for name, points in list(near.items())[:MOST_CURVES])


def published_table(table_id: str, case: CaseFacts) -> Table:
    """Everything that was published for the scenario, as it was printed."""
    columns = ("server", "point", "what", "value", "unit", "where", "note")
    rows = tuple(
        (
            Cell(result.server),
            Cell(" ".join(f"{name}={value}" for name, value in result.parameters.items()) or MISSING),
            Cell(result.metric),
            Cell(number(result.value), result.value),
            Cell(result.unit),
            Cell(result.source),
            Cell(result.note),
        )
        for result in case.results
    )
    return Table(table_id, "Published results", columns, rows, frozenset({"value"}))


def _same_server(result: PublishedResult, server: str) -> bool:
    return result.server.lower().split(" ")[0] == server.lower()


def _distance(result: PublishedResult, parameters: Mapping[str, Any]) -> float:
    """How far the published point is from ours, as the sum of the logarithm-like ratios of its sizes."""
    total = 0.0
    for name, value in result.parameters.items():
        ours = parameters.get(name)
        if isinstance(value, int | float) and isinstance(ours, int | float) and value > 0 and ours > 0:
            total += max(value / ours, ours / value)
        elif ours != value:
            total += 1.0
    return total
