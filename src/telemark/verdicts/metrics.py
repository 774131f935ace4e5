"""The metrics a threshold may name: columns of the `points` table that hold a number or yes and no, and short names."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final

from telemark.model.columns import POINTS, Column

COLUMNS: Final[dict[str, Column]] = {column.name: column for column in POINTS.columns if column.is_number}
FLAGS: Final[dict[str, Column]] = {column.name: column for column in POINTS.columns if column.type == "bool"}
METRICS: Final[dict[str, Column]] = (
    COLUMNS | FLAGS | {short: column for column in COLUMNS.values() for short in column.short}
)

# Named in messages; the whole list is docs/reference/result-tables.md.
COMMON: Final = (
    "p50", "p95", "p99", "mean_latency", "max_latency", "rate", "lost", "duplicate", "reordered", "violations",
    "dropped", "connect_mean", "connect_failures", "disconnects", "cpu", "memory",
)  # fmt: skip

# Without exact integrity these are bounds, not figures.
NEED_EXACT_INTEGRITY: Final = frozenset({"owed", "lost", "violations"})


def similar(name: str) -> list[str]:
    """Metric names that look like this one."""
    return get_close_matches(name, METRICS, n=3, cutoff=0.5)
