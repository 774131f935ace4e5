"""The second strand of a batch: who got what, once, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from telemark.pipeline import deliveries, integrity, offenders, order
from telemark.pipeline.deliveries import Numbering
from telemark.pipeline.read import Records
from telemark.pipeline.rows import Row, plain_rows

FEW_DELIVERIES: Final = 2_000_000  # below this, order is decided on all rows at once: proving it first costs more
MANY_BLOCKS: Final = 300_000  # above this, picking out doubtful blocks costs more than looking at all


@dataclass(frozen=True, slots=True)
class Integrity:
    """Of every run of the batch, by its place."""

    tables: dict[int, pa.Table]
    totals: dict[int, Row]
    offenders: dict[int, list[Row]]


class IntegrityStrand:
    """Counts and offenders of one batch."""

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
            kinds.append(offenders.lost_rows(plain_rows(lost)))
        if totals.get("duplicate"):
            doubled = offenders.doubled(of_run(self._rows), of_run(self._own(self._blocks)))
            kinds.append(offenders.doubled_rows(plain_rows(doubled)))
        if totals.get("reordered") and late is not None:
            listed = offenders.first(of_run(late), "owner", "stream", "block")
            kinds.append(offenders.late_rows(plain_rows(listed)))
        if totals.get("foreign"):
            strangers = offenders.strangers(of_run(self._deliveries), self._numbering.foreign_stream)
            kinds.append(offenders.foreign_rows(plain_rows(strangers)))
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
