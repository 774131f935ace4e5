"""The first strand of a batch: everything that is a time between two moments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame

from telemark.pipeline import few, intervals, latency
from telemark.pipeline.histogram import histogram
from telemark.pipeline.read import Records
from telemark.pipeline.rows import Row, plain_rows

FEW_ROWS: Final = 500_000  # up to here the driver sums up the histogram faster than Spark can plan it


@dataclass(frozen=True, slots=True)
class Durations:
    """Of every run of the batch, by its place."""

    latency: dict[int, list[Row]]
    distribution: dict[int, list[Row]]
    seconds: dict[int, dict[int, Row]]


def durations(records: Records, rows: int) -> Durations:
    """Statistics, distribution and seconds of every duration of a batch that has so many record rows."""
    spreads, resolved, seconds = _collected(records) if rows <= FEW_ROWS else _in_spark(records)
    found = Durations({}, {}, intervals.second_cells(seconds))
    for name, spread in spreads.items():
        found.latency.setdefault(name[0], []).append(latency.latency_row(name, spread, resolved))
        found.distribution.setdefault(name[0], []).extend(latency.distribution_rows(name, spread))
    return found


Found = tuple[dict[latency.Name, latency.Spread], dict[int, list[tuple[int, int]]], list[Row]]


def _collected(records: Records) -> Found:
    """The whole histogram of a small batch comes to the driver: one Spark job instead of four."""
    table = histogram(records).toArrow()
    counted = list(zip(table["key"].to_pylist(), table["n"].to_pylist(), strict=True))
    spreads = latency.spreads(few.buckets(counted))
    wanted = {key for spread in spreads.values() for key in spread.unresolved()}
    return spreads, few.inside(counted, wanted), few.seconds(counted)


def _in_spark(records: Records) -> Found:
    counted = histogram(records).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        spreads = latency.spreads(plain_rows(latency.buckets(counted)))
        resolved = _resolve(records, counted, spreads)
        return spreads, resolved, plain_rows(intervals.seconds(counted))
    finally:
        counted.unpersist()


def _resolve(
    records: Records, counted: DataFrame, spreads: dict[latency.Name, latency.Spread]
) -> dict[int, list[tuple[int, int]]]:
    """Full resolution of the buckets that hold a percentile."""
    wanted = sorted({key for spread in spreads.values() for key in spread.unresolved()})
    if not wanted:
        return {}
    listed = records.spark.createDataFrame(pa.table({"bucket": pa.array(wanted, pa.int64())}))
    found: dict[int, list[tuple[int, int]]] = {}
    for row in plain_rows(latency.inside(counted, listed)):
        found.setdefault(row["bucket"], []).append((row["us"], row["n"]))
    return {bucket: sorted(values) for bucket, values in found.items()}
