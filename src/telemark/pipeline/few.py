"""What `latency.buckets`, `latency.inside` and `intervals.seconds` compute in Spark, for histograms of small runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor
from typing import Any

from telemark.pipeline.histogram import BIAS, MEASURE_BITS, SECOND_AT, SECOND_BITS, US_BITS
from telemark.pipeline.intervals import QUANTILES
from telemark.pipeline.latency import bucket_width_bits

Row = dict[str, Any]
Counted = Sequence[tuple[int, int]]  # (key, n) of the histogram

_US_MASK = (1 << US_BITS) - 1
_SECOND_MASK = ((1 << SECOND_BITS) - 1) << SECOND_AT


def bucket_of(key: int) -> int:
    """The histogram key with its second taken out and its duration lowered to the bucket's beginning."""
    us = (key & _US_MASK) - BIAS
    bits = bucket_width_bits(us)
    return (key & ~(_SECOND_MASK | _US_MASK)) | (((us >> bits) << bits) + BIAS)


def buckets(counted: Counted) -> list[Row]:
    """Rows of `latency.buckets`."""
    found: dict[int, Row] = {}
    for key, n in counted:
        us, bucket = (key & _US_MASK) - BIAS, bucket_of(key)
        above = us - ((bucket & _US_MASK) - BIAS)
        row = found.get(bucket)
        if row is None:
            row = found[bucket] = {"bucket": bucket, "n": 0, "moment1": 0.0, "moment2": 0.0, "low": us, "high": us}
        row["n"] += n
        row["moment1"] += above * n
        row["moment2"] += above * above * n
        row["low"], row["high"] = min(row["low"], us), max(row["high"], us)
    return list(found.values())


def inside(counted: Counted, wanted: set[int]) -> dict[int, list[tuple[int, int]]]:
    """Sorted (us, n) of the buckets asked for."""
    found: dict[int, dict[int, int]] = {bucket: defaultdict(int) for bucket in wanted}
    for key, n in counted:
        bucket = bucket_of(key)
        if bucket in found:
            found[bucket][(key & _US_MASK) - BIAS] += n
    return {bucket: sorted(values.items()) for bucket, values in found.items()}


def seconds(counted: Counted) -> list[Row]:
    """Rows of `intervals.seconds`."""
    cells: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for key, n in counted:
        cell = key >> SECOND_AT
        if (cell >> SECOND_BITS) & ((1 << MEASURE_BITS) - 1) < 3:
            cells[cell][(key & _US_MASK) - BIAS] += n
    return [_second(cell, values) for cell, values in cells.items()]


def _second(cell: int, values: Mapping[int, int]) -> Row:
    ordered = sorted(values.items())
    n = sum(values.values())
    return {
        "cell": cell,
        "n": n,
        "total": sum(us * times for us, times in ordered),
        "low": ordered[0][0],
        "high": ordered[-1][0],
        "quantiles": [_between(ordered, q * (n - 1)) for q in QUANTILES.values()],
    }


def _between(ordered: Iterable[tuple[int, int]], position: float) -> float:
    """The value at a place in sorted order, between two ranks by straight line."""
    low: int | None = None
    before = 0
    for us, n in ordered:
        if low is None and floor(position) < before + n:
            low = us
        if low is not None and ceil(position) < before + n:
            return low + (position - floor(position)) * (us - low)
        before += n
    raise ValueError("position beyond the values")
