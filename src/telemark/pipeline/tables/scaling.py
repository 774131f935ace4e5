"""`scaling`: straight lines through the points of a campaign: what one more connection costs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from telemark.pipeline.tables import Row
from telemark.verdicts.fit import fit_line

X: Final = "connections"
YS: Final = (
    "received_rate",
    "server_cpu_cores_mean",
    "server_rss_bytes_max",
    "server_pss_bytes_max",
    "latency_mean_us",
)
# Parameters that make the connections: they are the axis, not the series.
_AXIS: Final = frozenset({"publishers", "subscribers", "devices", "connections", "clients", "consumers", "pairs"})


def series_of(point: Mapping[str, Any]) -> str:
    """The parameters a line is drawn for: all but those that make the number of connections."""
    try:
        parameters = json.loads(point.get("parameters") or "{}")
    except ValueError:
        parameters = {}
    kept = {name: value for name, value in parameters.items() if name not in _AXIS}
    return " ".join(f"{name}={value}" for name, value in sorted(kept.items()))


def scaling_rows(points: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Lines of every measured quantity against the connections, by server, scenario and series."""
    lines: dict[tuple[str, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for point in points:
        if point.get("state") == "complete":
            names = (point.get(name) or "" for name in ("campaign", "server", "suite", "scenario"))
            lines[(*names, series_of(point))].append(point)
    return [row for key, group in sorted(lines.items()) for y in YS for row in _line(key, group, y)]


def _line(key: tuple[str, ...], points: list[Mapping[str, Any]], y: str) -> list[Row]:
    pairs = [(point[X], point[y]) for point in points if point.get(X) is not None and point.get(y) is not None]
    line = fit_line([float(x) for x, _ in pairs], [float(value) for _, value in pairs])
    if line is None:
        return []
    names = dict(zip(("campaign", "server", "suite", "scenario", "series"), key, strict=True))
    return [
        names
        | {"y": y, "x": X, "points": line.points, "intercept": line.intercept, "slope": line.slope}
        | {"slope_low": line.slope_low, "slope_high": line.slope_high, "r_squared": line.r_squared}
    ]
