"""`latency` and `distribution`: statistics of every duration by run, measure and phase, exact to a microsecond.

The histogram is first summed into buckets (at most 1 % wide): small enough to leave Spark, and the table to plot.
They tell which bucket every percentile lies in; only those buckets are then read at full resolution. So a run whose
sixty million latencies all differ needs no more memory than a calm one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import ceil, floor, sqrt
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from telemark.pipeline.batch import PHASES
from telemark.pipeline.histogram import (
    BIAS,
    MEASURE_AT,
    MEASURE_BITS,
    MEASURES,
    PHASE_AT,
    PHASE_BITS,
    RUN_AT,
    SECOND_AT,
    SECOND_BITS,
    US_BITS,
    duration_us,
)  # fmt: skip

QUANTILES: Final = {
    "p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p9999": 0.9999,
}  # fmt: skip
EXACT_BITS: Final = 8  # buckets are 1 us wide below 256 us, then at most a 128th of their value

_SECOND_MASK: Final = ((1 << SECOND_BITS) - 1) << SECOND_AT
_US_MASK: Final = (1 << US_BITS) - 1


def bucket_width_bits(us: int) -> int:
    """Bits of the width of the bucket a duration falls into."""
    return max(us.bit_length() - EXACT_BITS, 0) if us > 0 else 0


def _width_bits(us: Column) -> Column:
    """`bucket_width_bits` for a column: a chain of comparisons, since logarithms err at powers of two."""
    steps = range(1, US_BITS - EXACT_BITS + 1)
    return reduce(
        lambda rest, bits: F.when(us >= F.lit(1 << (EXACT_BITS + bits - 1)), bits).otherwise(rest), steps, F.lit(0)
    )


def _bucket_key() -> Column:
    """The histogram key with its second taken out and its duration lowered to the bucket's beginning."""
    us = duration_us()
    bits = _width_bits(us)
    lower = F.call_function("shiftleft", F.call_function("shiftright", us, bits), bits)
    rest = F.col("key").bitwiseAND(F.lit(~(_SECOND_MASK | _US_MASK)))
    return rest.bitwiseOR(lower + F.lit(BIAS))


def buckets(histogram: DataFrame) -> DataFrame:
    """(bucket, n, first and second moment above the bucket's beginning, smallest, largest) per run, measure, phase."""
    us = duration_us()
    keyed = histogram.select(_bucket_key().alias("bucket"), us.alias("us"), "n")
    above = F.col("us") - (F.col("bucket").bitwiseAND(F.lit(_US_MASK)) - F.lit(BIAS))
    weight = F.col("n").cast("double")
    return keyed.groupBy("bucket").agg(
        F.sum("n").alias("n"),
        F.sum(above * weight).alias("moment1"),
        F.sum(above * above * weight).alias("moment2"),
        F.min("us").alias("low"),
        F.max("us").alias("high"),
    )


def inside(histogram: DataFrame, wanted: DataFrame) -> DataFrame:
    """(bucket, us, n): full resolution of the buckets listed in `wanted`."""
    keyed = histogram.select(_bucket_key().alias("bucket"), duration_us().alias("us"), "n")
    return keyed.join(F.broadcast(wanted), "bucket").groupBy("bucket", "us").agg(F.sum("n").alias("n"))


@dataclass(frozen=True, slots=True)
class Bucket:
    """One row of `buckets`."""

    key: int
    lower: int
    n: int
    moment1: float
    moment2: float
    low: int
    high: int

    @property
    def upper(self) -> int:
        """Where the next bucket begins."""
        return self.lower + (1 << bucket_width_bits(self.lower))


@dataclass(slots=True)
class Spread:
    """The durations of one run, measure and phase, as buckets in order."""

    buckets: list[Bucket] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many durations."""
        return sum(bucket.n for bucket in self.buckets)

    def mean(self) -> float:
        """Exact mean of the whole microseconds."""
        return sum(bucket.lower * bucket.n + bucket.moment1 for bucket in self.buckets) / self.count

    def stdev(self) -> float:
        """Standard deviation of all of them (not of a sample)."""
        mean = self.mean()
        total = 0.0
        for bucket in self.buckets:
            away = bucket.lower - mean
            total += bucket.moment2 + 2 * away * bucket.moment1 + bucket.n * away * away
        return sqrt(max(total, 0.0) / self.count)

    def ranks(self) -> set[int]:
        """Places in sorted order that the percentiles need."""
        last = self.count - 1
        return {place for q in QUANTILES.values() for place in (floor(q * last), ceil(q * last))}

    def unresolved(self) -> set[int]:
        """Keys of the buckets that hold a needed rank and more than one value."""
        return {bucket.key for bucket in self._holding().values() if bucket.low != bucket.high}

    def _holding(self) -> dict[int, Bucket]:
        """The bucket of each needed rank."""
        found: dict[int, Bucket] = {}
        wanted = iter(sorted(self.ranks()))
        rank = next(wanted, None)
        before = 0
        for bucket in self.buckets:
            while rank is not None and rank < before + bucket.n:
                found[rank] = bucket
                rank = next(wanted, None)
            before += bucket.n
        return found

    def percentiles(self, resolved: Mapping[int, Sequence[tuple[int, int]]]) -> dict[str, float]:
        """Every quantile, between two ranks by straight line. `resolved`: bucket key -> (us, n) in order."""
        starts = self._starts()
        values = {
            rank: bucket.low if bucket.low == bucket.high else _at(resolved[bucket.key], rank - starts[bucket.key])
            for rank, bucket in self._holding().items()
        }
        last = self.count - 1
        return {name: _between(values, q * last) for name, q in QUANTILES.items()}

    def _starts(self) -> dict[int, int]:
        starts, before = {}, 0
        for bucket in self.buckets:
            starts[bucket.key] = before
            before += bucket.n
        return starts


def _at(values: Sequence[tuple[int, int]], rank: int) -> int:
    """The value at a rank among sorted (value, count)."""
    for value, n in values:
        if rank < n:
            return value
        rank -= n
    raise ValueError("rank beyond the bucket: histogram and buckets disagree")


def _between(values: Mapping[int, int], position: float) -> float:
    low, high = values[floor(position)], values[ceil(position)]
    return low + (position - floor(position)) * (high - low)


Name = tuple[int, str, str]  # place of the run in the batch, measure, phase


def spreads(rows: Iterable[Mapping[str, Any]]) -> dict[Name, Spread]:
    """Rows of `buckets`, by run, measure and phase, in order."""
    found: dict[Name, Spread] = defaultdict(Spread)
    for row in sorted(rows, key=lambda row: int(row["bucket"])):
        key = int(row["bucket"])
        bucket = Bucket(
            key=key,
            lower=(key & _US_MASK) - BIAS,
            n=row["n"],
            moment1=row["moment1"],
            moment2=row["moment2"],
            low=row["low"],
            high=row["high"],
        )
        found[_name(key)].buckets.append(bucket)
    return dict(found)


def _name(key: int) -> Name:
    measure = (key >> MEASURE_AT) & ((1 << MEASURE_BITS) - 1)
    phase = (key >> PHASE_AT) & ((1 << PHASE_BITS) - 1)
    return key >> RUN_AT, MEASURES[measure], PHASES[phase]


def latency_row(name: Name, spread: Spread, resolved: Mapping[int, Sequence[tuple[int, int]]]) -> dict[str, Any]:
    """One row of the `latency` table, but for the names of campaign and run."""
    figures: dict[str, float] = {
        "min": float(spread.buckets[0].low),
        "mean": spread.mean(),
        "stdev": spread.stdev(),
        **spread.percentiles(resolved),
        "max": float(spread.buckets[-1].high),
    }
    row = {f"{figure}_us": float(value) for figure, value in figures.items()}
    return {"measure": name[1], "phase": name[2], "count": spread.count} | row


def distribution_rows(name: Name, spread: Spread) -> list[dict[str, Any]]:
    """Rows of the `distribution` table of one run, measure and phase."""
    return [
        {
            "measure": name[1], "phase": name[2], "lower_us": float(bucket.lower),
            "upper_us": float(bucket.upper), "count": bucket.n,
        }
        for bucket in spread.buckets
    ]  # fmt: skip
