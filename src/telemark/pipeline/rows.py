"""From a small DataFrame to plain rows on the driver."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

Row = dict[str, Any]


def plain_rows(frame: DataFrame) -> list[Row]:
    """All rows. Only for results that are small by their nature."""
    rows: list[Row] = frame.toArrow().to_pylist()
    return rows


def by_place(rows: list[Row]) -> dict[int, list[Row]]:
    """Rows of each run of a batch."""
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row["r"], []).append(row)
    return found
