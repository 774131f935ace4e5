"""`comparison`: the same point on several servers or in several campaigns, summed up over its repeats."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from telemark.pipeline.tables import Row
from telemark.verdicts.judge import no_verdict_reason
from telemark.verdicts.metrics import COLUMNS
from telemark.verdicts.repeats import summarize

_SIDE: Final = ("suite", "scenario", "point", "size", "campaign", "server", "profile")
_PLAN: Final = frozenset({"repeat", "publishers", "subscribers", "qos", "payload_bytes"})  # chosen, not measured


def comparison_rows(points: Iterable[Mapping[str, Any]]) -> list[Row]:
    """One row per point, side and metric. Runs that allow no verdict take no part."""
    sides: dict[tuple[str, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for point in points:
        if no_verdict_reason(point) is None:
            sides[tuple(point.get(name) or "" for name in _SIDE)].append(point)
    return [row for side, group in sorted(sides.items()) for row in _metrics(side, group)]


def _metrics(side: tuple[str, ...], points: list[Mapping[str, Any]]) -> list[Row]:
    found = []
    for metric in COLUMNS:
        values = [float(point[metric]) for point in points if point.get(metric) is not None]
        summary = summarize(values) if metric not in _PLAN else None
        if summary is not None:
            names = dict(zip(_SIDE, side, strict=True))
            figures = {"mean": summary.mean, "median": summary.median, "low": summary.low, "high": summary.high}
            spread = summary.spread if summary.spread != float("inf") else None
            found.append(names | {"metric": metric, "repeats": summary.repeats} | figures | {"spread": spread})
    return found
