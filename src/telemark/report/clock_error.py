"""Latencies between two hosts are as good as the agreement of their clocks: what reports do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from telemark.model.columns import between_hosts
from telemark.report import format as fmt
from telemark.report.model import Chart

Point = Mapping[str, Any]  # a row of `points`


def error_of(point: Point | None, column: str) -> float:
    """By how much this column of the point may be off, in microseconds; 0 where one clock was read."""
    error = (point or {}).get("clock_error_us") if between_hosts(column) else None
    return float(error) if isinstance(error, int | float) and not fmt.is_missing(error) else 0.0


def known(point: Point, column: str) -> Any:
    """The value; None when it is below its error: then only an upper bound is known."""
    value, error = point.get(column), error_of(point, column)
    return None if error and value is not None and value <= error else value


def raised(value: float | None, error: float) -> float | None:
    """The value as a chart draws it: at its upper bound where only that is known."""
    return max(value, error) if error and value is not None else value


def noted(chart: Chart, points: Sequence[Point | None], column: str) -> Chart:
    """The chart, with a note about the error of what it draws; the chart itself when there is none."""
    error = max((error_of(point, column) for point in points), default=0.0)
    if not error or not chart.has_data:
        return chart
    size = fmt.time_us(error)
    note = f"The hosts' clocks agree within ± {size}: so much may each time be off. What is below is drawn at {size}."
    return replace(chart, note=f"{chart.note} {note}".strip())
