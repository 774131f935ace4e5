"""`intervals`: what happened in every second of a run.

Counts come from the engine's own per-second counters, by the time of each thing counted. Latencies are those of the
messages that were *due* in the second, so a stall shows in the seconds that suffered it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from telemark.pipeline.health import SECOND_METRICS
from telemark.pipeline.histogram import MEASURE_BITS, RUN_AT, SECOND_AT, SECOND_BITS, duration_us
from telemark.store.layout import RunFolder
from telemark.store.results import INTERVALS

QUANTILES: Final = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
_MEASURE_NAMES: Final = {0: "latency", 1: "service", 2: "send_delay"}
_SUMS: Final = (
    "intended", "sent", "received", "acked", "dropped", "sent_bytes", "received_bytes", "connected", "pushed_back",
    "disconnects",
)  # fmt: skip

Row = dict[str, Any]


def seconds(histogram: DataFrame) -> DataFrame:
    """(cell, n, total, low, high, quantiles) of the delivery measures in every second of every run."""
    messages = histogram.where(F.col("key").bitwiseAND(F.lit(((1 << MEASURE_BITS) - 1) << 54)) < F.lit(3 << 54))
    cell = F.shiftrightunsigned(F.col("key"), SECOND_AT)
    us = F.col("us")
    quantiles = F.array(*[F.lit(q) for q in QUANTILES.values()])
    return (
        messages.select(cell.alias("cell"), duration_us().alias("us"), "n")
        .groupBy("cell")
        .agg(
            F.sum("n").alias("n"),
            F.sum(us * F.col("n")).alias("total"),
            F.min("us").alias("low"),
            F.max("us").alias("high"),
            F.call_function("percentile", us, quantiles, F.col("n")).alias("quantiles"),
        )
    )


def second_cells(rows: Iterable[Mapping[str, Any]]) -> dict[int, dict[int, Row]]:
    """Rows of `seconds` as columns of `intervals`, by the run's place and second."""
    cells: dict[int, dict[int, Row]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        cell = int(row["cell"])
        place, measure = cell >> (RUN_AT - SECOND_AT), (cell >> SECOND_BITS) & ((1 << MEASURE_BITS) - 1)
        figures = {"min": row["low"], "mean": row["total"] / row["n"], "max": row["high"]}
        figures |= dict(zip(QUANTILES, row["quantiles"], strict=True))
        prefix = _MEASURE_NAMES[measure]
        columns = {f"{prefix}_{name}_us": float(value) for name, value in figures.items()}
        cells[place][cell & ((1 << SECOND_BITS) - 1)] |= {
            name: value for name, value in columns.items() if name in INTERVALS.names
        }
    return {place: dict(found) for place, found in cells.items()}


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


def phase_at(run: RunFolder, second: int) -> str | None:
    """Phase the middle of a second lies in; None outside all of them."""
    if run.facts.start_ns is None:
        return None
    middle = run.facts.start_ns + second * 1_000_000_000 + 500_000_000
    return next((name for name, (begin, end) in run.facts.phases.items() if begin <= middle < end), None)


def interval_rows(run: RunFolder, *sources: Mapping[int, Row]) -> list[Row]:
    """The seconds of one run, in order, with everything known about each. What is not known is null."""
    known = sorted({second for cells in sources for second in cells})
    rows = []
    for second in known:
        row: Row = {"second": second, "phase": phase_at(run, second)}
        for cells in sources:
            row |= cells.get(second, {})
        rows.append(row)
    return rows
