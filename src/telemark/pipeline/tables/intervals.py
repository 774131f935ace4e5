"""`intervals`: what happened in every second of a run.

Counts come from the engine's own per-second counters, by the time of each thing counted. Latencies are those of the
messages that were *due* in the second, so a stall shows in the seconds that suffered it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from telemark.pipeline.messages.keys import groups, message_measure, microseconds, second_group, second_keys
from telemark.pipeline.tables import Row
from telemark.pipeline.tables.health import SECOND_METRICS
from telemark.pipeline.tables.statistics import numbers, quantiles, starts_of, summed
from telemark.store.layout import RunFolder
from telemark.store.results import INTERVALS

QUANTILES: Final = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
# measure -> beginning of its columns
_PREFIXES: Final = {"latency": "latency", "service_time": "service", "send_delay": "send_delay"}
_SUMS: Final = (
    "intended", "sent", "received", "acked", "dropped", "sent_bytes", "received_bytes", "connected", "pushed_back",
    "disconnects",
)  # fmt: skip


# One row per run, measure and second; group: that of second keys.
SECONDS: Final = pa.schema(
    [("group", pa.int64()), *((name, pa.float64()) for name in ("min", "mean", "max", *QUANTILES))]
)


def second_statistics(durations: pa.Table) -> pa.Table:
    """SECONDS of counted durations (key, n) of deliveries."""
    keys, n = numbers(durations, "key"), numbers(durations, "n")
    chosen = message_measure(keys)
    keys, n = summed(second_keys(keys[chosen]), n[chosen])
    if not keys.size:
        return SECONDS.empty_table()
    starts = starts_of(groups(keys))
    us = microseconds(keys)
    mean = np.add.reduceat(us * n, starts) / np.add.reduceat(n, starts)
    extremes = [np.minimum.reduceat(us, starts), mean, np.maximum.reduceat(us, starts)]
    columns = [groups(keys)[starts], *extremes, *quantiles(keys, n, list(QUANTILES.values())).T]
    return pa.Table.from_arrays(
        [pa.array(column).cast(field.type) for column, field in zip(columns, SECONDS, strict=True)], schema=SECONDS
    )


def latency_cells(seconds: pa.Table) -> dict[int, dict[int, Row]]:
    """SECONDS as columns of `intervals`, by run and second."""
    cells: dict[int, dict[int, Row]] = defaultdict(lambda: defaultdict(dict))
    for row in seconds.to_pylist():
        run, measure, second = second_group(row.pop("group"))
        columns = {f"{_PREFIXES[measure]}_{name}_us": value for name, value in row.items()}
        cells[run][second] |= {name: value for name, value in columns.items() if name in INTERVALS.names}
    return {run: dict(found) for run, found in cells.items()}


def counter_cells(counters: pa.Table) -> dict[int, Row]:
    """Counts of all processes of a run as columns of `intervals`, by second."""
    together = counters.group_by("second").aggregate([(name, "sum") for name in _SUMS] + [("loop_lag_max_ns", "max")])
    return {
        row["second"]: {name: row[f"{name}_sum"] for name in _SUMS}
        | {"loop_lag_max_us": row["loop_lag_max_ns_max"] / 1e3}
        for row in together.to_pylist()
    }


def health_cells(rows: Iterable[Mapping[str, Any]]) -> dict[int, Row]:
    """Rows of health per second as columns of `intervals`, by second."""
    cells: dict[int, Row] = defaultdict(dict)
    for row in rows:
        column, how = SECOND_METRICS[row["source"], row["metric"]]
        whole = column.endswith("_bytes")
        cells[row["second"]][column] = round(row[how]) if whole else row[how]
    return dict(cells)


def _middle(run: RunFolder, second: int) -> int | None:
    start_ns = run.facts.start_ns
    return None if start_ns is None else start_ns + second * 1_000_000_000 + 500_000_000


def rate_stretch(run: RunFolder, second: int) -> int | None:
    """How often the rate was changed before the middle of a second; null when nobody knows when that was."""
    middle = _middle(run, second)
    return None if middle is None else sum(change["at_ns"] <= middle for change in run.facts.rate_changes)


def phase_at(run: RunFolder, second: int) -> str | None:
    """Phase the middle of a second lies in; None outside all of them."""
    middle = _middle(run, second)
    if middle is None:
        return None
    return next((name for name, (begin, end) in run.facts.phases.items() if begin <= middle < end), None)


def interval_rows(run: RunFolder, *sources: Mapping[int, Row]) -> list[Row]:
    """The seconds of one run, in order, with everything known about each. What is not known is null."""
    known = sorted({second for cells in sources for second in cells})
    rows = []
    for second in known:
        row: Row = {"second": second, "phase": phase_at(run, second), "rate_stretch": rate_stretch(run, second)}
        for cells in sources:
            row |= cells.get(second, {})
        rows.append(row)
    return rows
