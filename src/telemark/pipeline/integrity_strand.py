"""The second strand of a batch: who got what, once, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from telemark.pipeline import deliveries, integrity, offenders, order
from telemark.pipeline.batch import per_run
from telemark.pipeline.debts import Debts, audience_table, member_table, stream_table
from telemark.pipeline.deliveries import Numbering
from telemark.pipeline.read import Records
from telemark.pipeline.rows import Row, by_place, plain_rows

FEW_DELIVERIES: Final = 2_000_000  # below this, order is decided on all rows at once: proving it first costs more
MANY_BLOCKS: Final = 300_000  # above this, picking out doubtful blocks costs more than looking at all
FEW_BLOCKS_BITS: Final = 2  # and so it does when they are more than a quarter of all


@dataclass(frozen=True, slots=True)
class Integrity:
    """Of every run of the batch, by its place."""

    rows: dict[int, dict[int, Row]]  # by owner
    totals: dict[int, Row]
    offenders: dict[int, list[Row]]


class IntegrityStrand:
    """Counts and offenders of one batch."""

    def __init__(self, records: Records, numbering: Numbering, debts: list[Debts]) -> None:
        self._numbering = numbering
        self._debts = debts
        self._packing = numbering.packing(deliveries.BLOCK_BITS)
        spark = records.spark
        self._streams = spark.createDataFrame(stream_table(debts))
        self._audiences = spark.createDataFrame(audience_table(debts))
        members = spark.createDataFrame(member_table(debts)) if numbering.has_shares else None
        self._deliveries = deliveries.rows(records, numbering)
        self._rows = deliveries.owned(self._deliveries, members)
        packed = deliveries.blocks(self._rows, self._packing).persist(StorageLevel.MEMORY_AND_DISK)
        self._persisted = [packed]
        unpacked = deliveries.unpacked(packed, self._packing, ["bits", "n", "low", "high"])
        self._blocks = unpacked.selectExpr("*", f"{per_run(numbering.periods)} as period")

    def run(self) -> Integrity:
        """All tables of the strand."""
        try:
            return self._run()
        finally:
            for frame in self._persisted:
                frame.unpersist()

    def _run(self) -> Integrity:
        pairs = integrity.pairs(self._blocks)
        got = by_place(plain_rows(integrity.received(pairs, self._streams, self._audiences)))
        late = self._late()
        late_counts = by_place(plain_rows(integrity.late_counts(late))) if late is not None else {}
        rows, totals, named = {}, {}, {}
        for place, debts in enumerate(self._debts):
            rows[place] = integrity.integrity_rows(debts, got.get(place, []), late_counts.get(place, []))
            totals[place] = integrity.totals(rows[place].values())
            named[place] = self._offenders(place, rows[place], totals[place], pairs, late)
        return Integrity(rows, totals, named)

    def _late(self) -> DataFrame | None:
        """Late messages; None when order is proven."""
        total = sum(bound.deliveries for bound in self._numbering.bounds)
        if total == 0:
            return None
        if total > FEW_DELIVERIES and not self._narrowed(total):
            return None
        rows = self._rows.where(F.col("stream") != self._numbering.foreign_stream)
        return self._kept(order.late_rows(rows, self._numbering.packing(order.WIDE_BITS)))

    def _narrowed(self, total: int) -> bool:
        """Leave only deliveries of blocks with a doubt in `_rows`; False when there is none about order.

        Blocks with duplicates are kept, too, since those will be asked for by name: one more pass over the rows serves
        both. Where too many blocks are doubtful, all rows stay.
        """
        own = self._own(self._blocks)
        doubtful = self._kept(order.doubtful_blocks(own, order.doubtful_pairs(own)))
        found = doubtful.count()
        crowded = own.where("n > bit_count(bits)").select("r", "owner", "stream", "block").limit(MANY_BLOCKS)
        if found <= min(MANY_BLOCKS, total >> (deliveries.BLOCK_BITS + FEW_BLOCKS_BITS)):
            wanted = doubtful.union(crowded).selectExpr(*self._packing.pack("owner", "block")).distinct()
            keys = self._packing.pack("owner", f"shiftright(sequence, {deliveries.BLOCK_BITS})")
            near = self._rows.selectExpr("*", *keys).join(F.broadcast(wanted), self._packing.names)
            self._rows = self._kept(near.drop(*self._packing.names))
        return found > 0

    def _kept(self, frame: DataFrame) -> DataFrame:
        """Persist until the end of the strand."""
        self._persisted.append(frame.persist(StorageLevel.MEMORY_AND_DISK))
        return frame

    def _offenders(
        self, place: int, owners: dict[int, Row], totals: Row, pairs: DataFrame, late: DataFrame | None
    ) -> list[Row]:
        """The offending messages of one run, by name. Looks only for kinds that were counted."""

        def of_run(frame: DataFrame) -> DataFrame:
            return frame.where(F.col("r") == place)

        kinds: list[list[Row]] = []
        if totals.get("lost"):
            blocks = of_run(self._blocks)
            lost = offenders.lost_blocks(of_run(pairs), blocks, of_run(self._streams), of_run(self._audiences))
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
        named = {owner: row["subscription"] for owner, row in owners.items()}
        return [row | {"subscription": named.get(row["subscription"], row["subscription"])} for row in chosen]

    def _own(self, blocks: DataFrame) -> DataFrame:
        return blocks.where(F.col("stream") != self._numbering.foreign_stream)
