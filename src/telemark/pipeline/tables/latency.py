"""`latency`: statistics of every duration by run, measure and phase, exact to a microsecond.

Counted durations are first summed into buckets (at most 1 % wide), which are also the table to plot. They tell which
bucket every percentile lies in; only those buckets are then looked at in full resolution. So a run whose sixty million
latencies all differ needs no more memory than a calm one.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from telemark.pipeline.messages.keys import Numbers, bucket_keys, groups, microseconds, phase_group, phase_keys
from telemark.pipeline.tables.counted import Counted, Question
from telemark.pipeline.tables.statistics import COUNTED, numbers, quantiles, starts_of, summed

QUANTILES: Final = {
    "p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p9999": 0.9999,
}  # fmt: skip
# key: a phase key at the bucket's beginning. moment1, moment2: sums of what durations are above that, and its squares.
BUCKETS: Final = pa.schema(
    [("key", pa.int64()), ("n", pa.int64()), ("moment1", pa.float64()), ("moment2", pa.float64()),
     ("low", pa.int64()), ("high", pa.int64())]
)  # fmt: skip


def buckets(durations: pa.Table) -> pa.Table:
    """Rows of (key, n) as BUCKETS."""
    keys, n = phase_keys(numbers(durations, "key")), numbers(durations, "n")
    lower = bucket_keys(keys)
    above, us = (keys - lower).astype(np.float64), microseconds(keys)
    columns = [lower, n, above * n, above * above * n, us, us]
    return merge_buckets(pa.Table.from_arrays([pa.array(column) for column in columns], schema=BUCKETS))


def merge_buckets(table: pa.Table) -> pa.Table:
    """BUCKETS of several parts as those of the whole, in order."""
    how = {"n": "sum", "moment1": "sum", "moment2": "sum", "low": "min", "high": "max"}
    merged = table.group_by("key").aggregate(list(how.items())).rename_columns(BUCKETS.names)
    return merged.sort_by("key").cast(BUCKETS)


def latency_rows(durations: Counted, in_buckets: pa.Table) -> dict[int, list[dict[str, Any]]]:
    """Rows of the table by run, but for the names of campaign and run."""
    if not in_buckets.num_rows:
        return {}
    keys, n = _resolved(durations, in_buckets)
    figures = _moments(in_buckets) | dict(zip(QUANTILES, quantiles(keys, n, list(QUANTILES.values())).T, strict=True))
    counts = figures.pop("count")
    rows: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for place, group in enumerate(_groups(in_buckets).tolist()):
        run, measure, phase = phase_group(group)
        statistics = {f"{name}_us": float(values[place]) for name, values in figures.items()}
        rows[run].append({"measure": measure, "phase": phase, "count": int(counts[place])} | statistics)
    return dict(rows)


def _groups(in_buckets: pa.Table) -> Numbers:
    all_groups = groups(numbers(in_buckets, "key"))
    return all_groups[starts_of(all_groups)]


def _moments(in_buckets: pa.Table) -> dict[str, npt.NDArray[Any]]:
    """Count, mean, standard deviation (of all, not of a sample), smallest and largest of every group."""
    keys, n = numbers(in_buckets, "key"), numbers(in_buckets, "n")
    starts = starts_of(groups(keys))
    lower, count = microseconds(keys), np.add.reduceat(n, starts)
    moment1, moment2 = (in_buckets[name].to_numpy() for name in ("moment1", "moment2"))
    mean = np.add.reduceat(lower * n + moment1, starts) / count
    away = lower - np.repeat(mean, np.diff([*starts, keys.size]))
    squares = np.add.reduceat(moment2 + 2 * away * moment1 + n * away * away, starts)
    return {
        "count": count,
        "min": np.minimum.reduceat(numbers(in_buckets, "low"), starts),
        "mean": mean,
        "stdev": np.sqrt(np.maximum(squares, 0.0) / count),
        "max": np.maximum.reduceat(numbers(in_buckets, "high"), starts),
    }


def _resolved(durations: Counted, in_buckets: pa.Table) -> tuple[Numbers, Numbers]:
    """Counted durations: in full resolution where a bucket holds a percentile, else as its lowest value."""
    keys, low = numbers(in_buckets, "key"), numbers(in_buckets, "low")
    unresolved = _holding_a_rank(in_buckets) & (low != numbers(in_buckets, "high"))
    plain = ~unresolved
    found = keys[plain] - microseconds(keys[plain]) + low[plain], numbers(in_buckets, "n")[plain]
    if not unresolved.any():
        return found
    look = Question(partial(durations_inside, buckets=keys[unresolved]), COUNTED)
    (inside,) = durations.answer([look], "key")
    return summed(np.concatenate([found[0], numbers(inside, "key")]), np.concatenate([found[1], numbers(inside, "n")]))


def _holding_a_rank(in_buckets: pa.Table) -> npt.NDArray[np.bool_]:
    """Whether a percentile needs a value of the bucket."""
    n = numbers(in_buckets, "n")
    starts = starts_of(groups(numbers(in_buckets, "key")))
    upto, totals = np.cumsum(n), np.add.reduceat(n, starts)
    positions = np.outer(totals - 1, list(QUANTILES.values()))
    before = (upto[starts] - n[starts])[:, None]
    holding = np.zeros(n.size, dtype=bool)
    for edge in (np.floor(positions), np.ceil(positions)):
        holding[np.searchsorted(upto, before + edge.astype(np.int64), side="right")] = True
    return holding


def durations_inside(durations: pa.Table, buckets: Numbers) -> pa.Table:
    """(phase key, n) of the durations that fall into one of the buckets."""
    keys = phase_keys(numbers(durations, "key"))
    chosen = np.isin(bucket_keys(keys), buckets)
    return pa.Table.from_arrays([*map(pa.array, summed(keys[chosen], numbers(durations, "n")[chosen]))], schema=COUNTED)
