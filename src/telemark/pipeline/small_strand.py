"""The third strand of a batch: tables that are small from the beginning."""

from __future__ import annotations

from dataclasses import dataclass

from telemark.pipeline import health, intervals, summaries
from telemark.pipeline.read import Records
from telemark.pipeline.rows import Row, by_place, plain_rows


@dataclass(frozen=True, slots=True)
class Small:
    """By the place of the run in the batch."""

    counters: intervals.Cells
    health_seconds: intervals.Cells
    health_phases: dict[int, list[Row]]
    cores: dict[int, list[Row]]
    connections: dict[int, Row]
    refusals: dict[int, int]


def small(records: Records) -> Small:
    """Counters, health, connections and events."""
    seconds = health.by_second(records)
    counted = plain_rows(intervals.counters(records.table("counters"))) if records.has("counters") else []
    health_seconds = plain_rows(health.for_intervals(seconds)) if records.has("health") else []
    health_phases = plain_rows(health.by_phase(records, seconds)) if records.has("health") else []
    cores = plain_rows(health.cores(records)) if records.has("health") else []
    connected = plain_rows(summaries.connections(records)) if records.has("connections") else []
    refused = plain_rows(summaries.refusals(records)) if records.has("events") else []
    return Small(
        intervals.counter_cells(counted),
        intervals.health_cells(health_seconds),
        by_place(health_phases),
        by_place(sorted(cores, key=lambda row: (row["second"], row["core"]))),
        {row["r"]: row for row in connected},
        {row["r"]: row["refusals"] for row in refused},
    )
