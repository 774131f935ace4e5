"""The metrics a threshold may name: numeric columns of the `points` table, and short names for the common ones."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

import pyarrow as pa

from telemark.store.results import POINTS

_SHARES: Final = frozenset(
    {"host_core_busy_max", "host_cpu_busy_mean", "host_steal_mean", "disk_busy_max", "engine_headroom"}
)
_STATISTICS: Final = ("min", "mean", "stdev", "p50", "p75", "p90", "p95", "p99", "p999", "p9999", "max")


@dataclass(frozen=True, slots=True)
class Metric:
    """A column of `points` and the kind of its unit: time (us), rate (1/s), share (0 to 1), bytes, cores or count."""

    column: str
    kind: str


def _kind(column: str) -> str:
    if column.endswith("_us") or column.endswith("_us_per_message"):
        return "time"
    if "bytes" in column:
        return "bytes"
    if column.endswith("_rate") or column.endswith("_per_s"):
        return "rate"
    if column in _SHARES:
        return "share"
    return "cores" if "cores" in column else "count"


COLUMNS: Final[dict[str, Metric]] = {
    field.name: Metric(field.name, _kind(field.name))
    for field in POINTS
    if pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
}

# Short names. Percentiles and the like without a subject mean latency.
_SHORT: Final[dict[str, str]] = {
    **{name: f"latency_{name}_us" for name in _STATISTICS if name.startswith("p")},
    **{f"{name}_latency": f"latency_{name}_us" for name in _STATISTICS},
    **{
        f"{subject}_{name}": f"{subject}_{name}_us"
        for subject in ("latency", "service", "send_delay", "ack", "connect")
        for name in _STATISTICS
    },
    **{f"{name}_connect": f"connect_{name}_us" for name in _STATISTICS},
    "rate": "received_rate",
    "duplicates": "duplicate",
    "cpu": "server_cpu_cores_mean",
    "memory": "server_rss_bytes_max",
    "headroom": "engine_headroom",
}
SHORT_NAMES: Final[dict[str, Metric]] = {name: COLUMNS[column] for name, column in _SHORT.items() if column in COLUMNS}

METRICS: Final[dict[str, Metric]] = COLUMNS | SHORT_NAMES

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
