"""One batch of runs becomes its result tables: the place where all the table functions are put together.

Three strands run side by side, each waiting for Spark most of its time: durations, integrity, and the small tables.
The rows are read twice, once for each of the first two; everything else works on their small results.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from telemark.pipeline import deliveries, health, integrity, intervals, latency, offenders, order, summaries
from telemark.pipeline.batch import Batch
from telemark.pipeline.deliveries import Numbering
from telemark.pipeline.histogram import histogram
from telemark.pipeline.points import Parts, rows_of
from telemark.pipeline.read import Records
from telemark.store.results import TABLES

Row = dict[str, Any]
Tables = dict[str, pa.Table]

FEW_DELIVERIES: Final = 2_000_000  # below this, order is decided on all rows at once: proving it first costs more
MANY_BLOCKS: Final = 300_000  # above this, picking out doubtful blocks costs more than looking at all


def _rows(frame: DataFrame) -> list[Row]:
    rows: list[Row] = frame.toArrow().to_pylist()
    return rows


@dataclass(frozen=True, slots=True)
class Durations:
    """Of every run of the batch, by its place."""

    latency: dict[int, list[Row]]
    distribution: dict[int, list[Row]]
    seconds: intervals.Cells


def durations(records: Records) -> Durations:
    """The first strand: everything that is a time between two moments."""
    counted = histogram(records).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        spreads = latency.spreads(_rows(latency.buckets(counted)))
        resolved = _resolve(records, counted, spreads)
        seconds = intervals.second_cells(_rows(intervals.seconds(counted)))
    finally:
        counted.unpersist()
    found = Durations({}, {}, seconds)
    for name, spread in spreads.items():
        found.latency.setdefault(name[0], []).append(latency.latency_row(name, spread, resolved))
        found.distribution.setdefault(name[0], []).extend(latency.distribution_rows(name, spread))
    return found


def _resolve(
    records: Records, counted: DataFrame, spreads: dict[latency.Name, latency.Spread]
) -> dict[int, list[tuple[int, int]]]:
    """Full resolution of the buckets that hold a percentile."""
    wanted = sorted({key for spread in spreads.values() for key in spread.unresolved()})
    if not wanted:
        return {}
    listed = records.spark.createDataFrame(pa.table({"bucket": pa.array(wanted, pa.int64())}))
    found: dict[int, list[tuple[int, int]]] = {}
    for row in _rows(latency.inside(counted, listed)):
        found.setdefault(row["bucket"], []).append((row["us"], row["n"]))
    return {bucket: sorted(values) for bucket, values in found.items()}


@dataclass(frozen=True, slots=True)
class Integrity:
    """Of every run of the batch, by its place."""

    tables: dict[int, pa.Table]
    totals: dict[int, Row]
    offenders: dict[int, list[Row]]


class IntegrityStrand:
    """The second strand: who got what, once, in order."""

    def __init__(self, records: Records, numbering: Numbering) -> None:
        self._records = records
        self._numbering = numbering
        self._packing = numbering.packing(deliveries.BLOCK_BITS)
        self._sent = integrity.sent_by_stream(records)
        self._audiences = integrity.audience_owners(records, numbering)
        self._deliveries = deliveries.rows(records, numbering)
        self._rows = deliveries.owned(self._deliveries, records, numbering)
        packed = deliveries.blocks(self._rows, self._packing).persist(StorageLevel.MEMORY_AND_DISK)
        self._persisted = [packed]
        period = F.element_at(F.array(*[F.lit(value).cast("bigint") for value in numbering.periods]), F.col("r") + 1)
        unpacked = deliveries.unpacked(packed, self._packing, ["bits", "n", "low", "high"])
        self._blocks = unpacked.withColumn("period", period)

    def run(self) -> Integrity:
        """All tables of the strand."""
        try:
            return self._run()
        finally:
            for frame in self._persisted:
                frame.unpersist()

    def _run(self) -> Integrity:
        pairs = integrity.pairs(self._blocks)
        late = self._late()
        counts = [
            integrity.owed(self._sent, self._audiences),
            integrity.received(pairs, self._sent, self._audiences),
        ]
        if late is not None:
            counts.append(integrity.reordered(late, self._records, self._numbering))
        facts = integrity.owner_facts(self._records, self._numbering)
        whole = integrity.integrity(facts, *counts).toArrow()
        tables = {place: whole.filter(pc.equal(whole["r"], place)) for place, _ in self._records.batch}
        totals = {place: _totals(table) for place, table in tables.items()}
        named = {place: self._offenders(place, tables[place], totals[place], pairs, late) for place in tables}
        return Integrity(tables, totals, named)

    def _late(self) -> DataFrame | None:
        """Late messages; None when order is proven."""
        total = sum(bound.deliveries for bound in self._numbering.bounds)
        if total == 0:
            return None
        rows = self._deliveries.where(F.col("stream") != self._numbering.foreign_stream)
        if total > FEW_DELIVERIES:
            pairs = order.doubtful_pairs(self._blocks, self._numbering.foreign_stream)
            doubtful = order.doubtful_blocks(self._blocks, pairs).persist(StorageLevel.MEMORY_AND_DISK)
            self._persisted.append(doubtful)
            found = doubtful.count()
            if found == 0:
                return None
            if found <= MANY_BLOCKS:
                rows = self._within(doubtful)
        late = order.late_rows(rows, self._numbering.packing(order.WIDE_BITS)).persist(StorageLevel.MEMORY_AND_DISK)
        self._persisted.append(late)
        return late

    def _within(self, doubtful: DataFrame) -> DataFrame:
        """Deliveries of some blocks, found by their packed key."""
        block = F.shiftright("sequence", deliveries.BLOCK_BITS)
        wanted = doubtful.select(*self._packing.pack(F.col("r"), F.col("owner"), F.col("stream"), F.col("block")))
        keys = self._packing.pack(F.col("r"), F.col("owner"), F.col("stream"), block)
        keyed = self._rows.select("*", *keys)
        return keyed.join(F.broadcast(wanted), self._packing.names)

    def _offenders(
        self, place: int, table: pa.Table, totals: Row, pairs: DataFrame, late: DataFrame | None
    ) -> list[Row]:
        """The offending messages of one run, by name. Looks only for kinds that were counted."""

        def of_run(frame: DataFrame) -> DataFrame:
            return frame.where(F.col("r") == place)

        kinds: list[list[Row]] = []
        if totals.get("lost"):
            blocks = of_run(self._blocks)
            lost = offenders.lost_blocks(of_run(pairs), blocks, of_run(self._sent), of_run(self._audiences))
            kinds.append(offenders.lost_rows(_rows(lost)))
        if totals.get("duplicate"):
            doubled = offenders.doubled(of_run(self._rows), of_run(self._own(self._blocks)))
            kinds.append(offenders.doubled_rows(_rows(doubled)))
        if totals.get("reordered") and late is not None:
            listed = offenders.first(of_run(late), "owner", "stream", "block")
            kinds.append(offenders.late_rows(_rows(listed)))
        if totals.get("foreign"):
            strangers = offenders.strangers(of_run(self._deliveries), self._numbering.foreign_stream)
            kinds.append(offenders.foreign_rows(_rows(strangers)))
        chosen = offenders.thousand(kinds)
        members = _members(table, self._numbering.shared_from) if chosen else {}
        return [row | {"subscription": members.get(row["subscription"], row["subscription"])} for row in chosen]

    def _own(self, blocks: DataFrame) -> DataFrame:
        return blocks.where(F.col("stream") != self._numbering.foreign_stream)


def _members(table: pa.Table, shared_from: int) -> dict[int, int]:
    """Owner -> subscription that names it, for share groups."""
    groups = table.filter(pc.greater_equal(table["owner"], shared_from))
    return dict(zip(groups["owner"].to_pylist(), groups["subscription"].to_pylist(), strict=True))


def _totals(table: pa.Table) -> Row:
    """Sums over the subscriptions of a run; a sum with an unknown part is unknown."""
    if table.num_rows == 0:
        return {}
    names = ("owed", "delivered", "lost", "duplicate", "reordered", "foreign", "violations")
    sums = {name: None if table[name].null_count else pc.sum(table[name]).as_py() for name in names}
    return sums | {"integrity_exact": pc.all(table["exact"]).as_py()}


@dataclass(frozen=True, slots=True)
class Small:
    """The third strand: tables that are small from the beginning."""

    counters: intervals.Cells
    health_seconds: intervals.Cells
    health_phases: dict[int, list[Row]]
    cores: dict[int, list[Row]]
    connections: dict[int, Row]
    refusals: dict[int, int]


def small(records: Records) -> Small:
    """Counters, health, connections and events."""
    seconds = health.by_second(records)
    counted = _rows(intervals.counters(records.table("counters"))) if records.has("counters") else []
    health_seconds = _rows(health.for_intervals(seconds)) if records.has("health") else []
    health_phases = _rows(health.by_phase(records, seconds)) if records.has("health") else []
    cores = _rows(health.cores(records)) if records.has("health") else []
    connected = _rows(summaries.connections(records)) if records.has("connections") else []
    refused = _rows(summaries.refusals(records)) if records.has("events") else []
    return Small(
        intervals.counter_cells(counted),
        intervals.health_cells(health_seconds),
        _by_place(health_phases),
        _by_place(sorted(cores, key=lambda row: (row["second"], row["core"]))),
        {row["r"]: row for row in connected},
        {row["r"]: row["refusals"] for row in refused},
    )


def _by_place(rows: list[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row["r"], []).append(row)
    return found


def analyse_batch(records: Records, numbering: Numbering) -> dict[str, Tables]:
    """Result tables of every run of the batch, by run folder."""
    with ThreadPoolExecutor(3, thread_name_prefix="telemark-strand") as pool:
        first = pool.submit(durations, records)
        second = pool.submit(lambda: IntegrityStrand(records, numbering).run())
        third = pool.submit(small, records)
        return _assemble(records.batch, first.result(), second.result(), third.result())


def _assemble(batch: Batch, times: Durations, kept: Integrity, rest: Small) -> dict[str, Tables]:
    found: dict[str, Tables] = {}
    for place, run in batch:
        seconds = intervals.interval_rows(place, run, rest.counters, times.seconds, rest.health_seconds)
        latencies = times.latency.get(place, [])
        parts = Parts(
            run=run,
            intervals=seconds,
            latency=latencies,
            integrity=kept.totals[place],
            connections=rest.connections.get(place, {}),
            refusals=rest.refusals.get(place, 0),
            health=rest.health_phases.get(place, []),
        )
        point, resources = rows_of(parts)
        rows = {
            "points": [point],
            "latency": latencies,
            "distribution": times.distribution.get(place, []),
            "intervals": seconds,
            "cores": [{name: row[name] for name in ("second", "core", "busy")} for row in rest.cores.get(place, [])],
            "offenders": kept.offenders[place],
            "resources": [resources],
        }
        tables = {name: named_table(name, lines, run.campaign, run.name) for name, lines in rows.items()}
        tables["integrity"] = _integrity_table(kept.tables[place], run.campaign, run.name)
        found[run.folder] = tables
    return found


def named_table(name: str, rows: list[Row], campaign: str, run: str) -> pa.Table:
    """Rows of a result table with the names of campaign and run."""
    named = [row | {"campaign": campaign, "run": run} for row in rows]
    return pa.Table.from_pylist(named, schema=TABLES[name])


def _integrity_table(table: pa.Table, campaign: str, run: str) -> pa.Table:
    schema = TABLES["integrity"]
    names = {"campaign": campaign, "run": run}
    columns = [
        pa.repeat(names[field.name], table.num_rows) if field.name in names else table[field.name].cast(field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema).sort_by("subscription")
