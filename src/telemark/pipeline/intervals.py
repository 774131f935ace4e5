"""`intervals`: what happened in every second of a run.

Counts come from the engine's own per-second counters, by the time of each thing counted. Latencies are those of the
messages that were *due* in the second, so a stall shows in the seconds that suffered it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from telemark.pipeline.health import SECOND_METRICS
from telemark.pipeline.histogram import MEASURE_BITS, RUN_AT, SECOND_AT, SECOND_BITS, duration_us
from telemark.store.layout import RunFolder
from telemark.store.results import INTERVALS

_QUANTILES: Final = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
_MEASURE_NAMES: Final = {0: "latency", 1: "service", 2: "send_delay"}
_SUMS: Final = (
    "intended", "sent", "received", "acked", "dropped", "sent_bytes", "received_bytes", "connected", "pushed_back",
    "disconnects",
)  # fmt: skip

Row = dict[str, Any]
Cells = dict[tuple[int, int], Row]  # (run's place, second) -> columns


def seconds(histogram: DataFrame) -> DataFrame:
    """(cell, n, total, low, high, quantiles) of the delivery measures in every second of every run."""
    messages = histogram.where(F.col("key").bitwiseAND(F.lit(((1 << MEASURE_BITS) - 1) << 54)) < F.lit(3 << 54))
    cell = F.shiftrightunsigned(F.col("key"), SECOND_AT)
    us = F.col("us")
    quantiles = F.array(*[F.lit(q) for q in _QUANTILES.values()])
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


def counters(table: DataFrame) -> DataFrame:
    """Counts of all processes of a run, by second."""
    sums = [F.sum(name).alias(name) for name in _SUMS]
    return table.groupBy("r", "second").agg(*sums, F.max("loop_lag_max_ns").alias("loop_lag_max_ns"))


def second_cells(rows: Iterable[Mapping[str, Any]]) -> Cells:
    """Rows of `seconds` as columns of `intervals`."""
    cells: Cells = defaultdict(dict)
    for row in rows:
        cell = int(row["cell"])
        place, measure = cell >> (RUN_AT - SECOND_AT), (cell >> SECOND_BITS) & ((1 << MEASURE_BITS) - 1)
        figures = {"min": row["low"], "mean": row["total"] / row["n"], "max": row["high"]}
        figures |= dict(zip(_QUANTILES, row["quantiles"], strict=True))
        prefix = _MEASURE_NAMES[measure]
        columns = {f"{prefix}_{name}_us": float(value) for name, value in figures.items()}
        cells[place, cell & ((1 << SECOND_BITS) - 1)] |= {
            name: value for name, value in columns.items() if name in INTERVALS.names
        }
    return dict(cells)


def counter_cells(rows: Iterable[Mapping[str, Any]]) -> Cells:
    """Rows of `counters` as columns of `intervals`."""
    return {
        (row["r"], row["second"]): {name: row[name] for name in _SUMS}
        | {"loop_lag_max_us": row["loop_lag_max_ns"] / 1e3}
        for row in rows
    }


def health_cells(rows: Iterable[Mapping[str, Any]]) -> Cells:
    """Rows of health per second as columns of `intervals`."""
    cells: Cells = defaultdict(dict)
    for row in rows:
        column, how = SECOND_METRICS[row["source"], row["metric"]]
        whole = column.endswith("_bytes")
        cells[row["r"], row["second"]][column] = round(row[how]) if whole else row[how]
    return dict(cells)


def phase_at(run: RunFolder, second: int) -> str | None:
    """Phase the middle of a second lies in; None outside all of them."""
    if run.facts.start_ns is None:
        return None
    middle = run.facts.start_ns + second * 1_000_000_000 + 500_000_000
    return next((name for name, (begin, end) in run.facts.phases.items() if begin <= middle < end), None)


def interval_rows(place: int, run: RunFolder, *sources: Cells) -> list[Row]:
    """The seconds of one run, in order, with everything known about each. What is not known is null."""
    known = sorted({second for cells in sources for where, second in cells if where == place})
    rows = []
    for second in known:
        row: Row = {"second": second, "phase": phase_at(run, second)}
        for cells in sources:
            row |= cells.get((place, second), {})
        rows.append(row)
    return rows
