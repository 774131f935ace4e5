"""The third strand of a batch: tables that are small from the beginning."""

from __future__ import annotations

from dataclasses import dataclass

from telemark.pipeline import health, intervals, summaries
from telemark.pipeline.batch import Batch
from telemark.pipeline.rows import Row
from telemark.pipeline.small import SmallTables
from telemark.store.layout import RunFolder


@dataclass(frozen=True, slots=True)
class Small:
    """Of one run."""

    counters: dict[int, Row]  # by second
    health_seconds: dict[int, Row]  # by second
    health_phases: list[Row]
    cores: list[Row]
    connections: Row
    refusals: int


def small(tables: SmallTables, batch: Batch) -> list[Small]:
    """Counters, health, connections and events of every run, by its place."""
    return [_of_run(tables, place, run) for place, run in batch]


def _of_run(tables: SmallTables, place: int, run: RunFolder) -> Small:
    samples = health.timed(tables.table(place, "health"), run)
    seconds = health.by_second(samples)
    return Small(
        intervals.counter_cells(tables.table(place, "counters")),
        intervals.health_cells(health.second_rows(seconds)),
        health.phase_rows(samples, seconds),
        health.core_rows(samples),
        summaries.connections(tables.table(place, "connections")),
        summaries.refusals(tables.table(place, "events")),
    )
