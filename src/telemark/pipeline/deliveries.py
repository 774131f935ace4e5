"""Deliveries of a batch, summed into blocks of 64 messages: what integrity and order are decided on.

A block is (run, owner, stream, sequence div 64), where the owner is a subscription or, for a shared one, its group.
For each block one pass over the rows finds
    bits   which of the 64 messages arrived,
    n      how many deliveries there were: more than bits means duplicates,
    low, high   the range of received - sequence * period, from which order is proven (see order.py).
Rows that belong to no message of this run (no stamp, or a stamp from before the start) are kept apart under a
stream number that does not exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from telemark.pipeline.keys import Packing, bits_for
from telemark.pipeline.read import Records
from telemark.store.bounds import Bounds
from telemark.store.layout import RunFolder
from telemark.store.schemas import FLAG_FOREIGN

BLOCK_BITS: Final = 6


@dataclass(frozen=True, slots=True)
class Numbering:
    """The largest numbers of a batch and what follows from them."""

    bounds: tuple[Bounds, ...]  # by the run's place in the batch

    @property
    def shared_from(self) -> int:
        """Share group g is owner `shared_from + g`: above every subscription number."""
        return self._most("subscription") + 1

    @property
    def has_shares(self) -> bool:
        """Whether any run of the batch has a shared subscription."""
        return self._most("share") >= 0

    @property
    def foreign_stream(self) -> int:
        """The stream number rows without a message of this run are kept under."""
        return self._most("stream") + 1

    @property
    def periods(self) -> tuple[int, ...]:
        """Typical time between two messages of a stream, in ns, by run. Any number is correct; see order.py."""
        return tuple(
            max(bound.last_intended_ns - bound.first_intended_ns, 0) // max(bound.sequence, 1) for bound in self.bounds
        )

    def packing(self, block_bits: int) -> Packing:
        """Keys for blocks of 2**block_bits messages."""
        return Packing(
            run=bits_for(len(self.bounds) - 1),
            owner=bits_for(self.shared_from + max(self._most("share"), 0) + 1),
            stream=bits_for(self.foreign_stream),
            block=bits_for(max(self._most("sequence"), 0) >> block_bits),
        )

    def _most(self, name: str) -> int:
        return max(int(getattr(bound, name)) for bound in self.bounds)


def valid(run: RunFolder, bound: Bounds) -> Column:
    """Whether a row is a message of this run: stamped, numbered within the run, due after its start."""
    start = run.facts.start_ns or 0
    return (
        (F.col("flags").bitwiseAND(FLAG_FOREIGN) == 0)
        & F.col("stream").between(0, bound.stream)
        & F.col("sequence").between(0, bound.sequence)
        & (F.col("intended_ns") >= F.lit(start))
    )


def rows(records: Records, numbering: Numbering) -> DataFrame:
    """(r, subscription, stream, sequence, received_ns, valid, period) of every delivery."""
    places = {run.folder: place for place, run in records.batch}

    def mark(frame: DataFrame, run: RunFolder) -> DataFrame:
        place = places[run.folder]
        known = F.coalesce(valid(run, numbering.bounds[place]), F.lit(False))
        return frame.select(
            F.greatest("subscription", F.lit(-1)).alias("subscription"),
            F.when(known, F.col("stream")).otherwise(numbering.foreign_stream).alias("stream"),
            F.when(known, F.col("sequence")).otherwise(0).alias("sequence"),
            "received_ns",
            F.lit(numbering.periods[place]).alias("period"),
        )

    return records.marked("deliveries", mark)


def owned(frame: DataFrame, members: DataFrame | None) -> DataFrame:
    """Add `owner`. Only batches with shared subscriptions have `members` (member, owner) and pay for the look-up."""
    if members is None:
        return frame.withColumn("owner", F.col("subscription"))
    member = F.shiftleft(F.col("r").cast("bigint"), 32).bitwiseOR(F.col("subscription").cast("bigint"))
    looked_up = frame.withColumn("member", member).join(F.broadcast(members), "member", "left").drop("member")
    return looked_up.withColumn("owner", F.coalesce("owner", "subscription"))


def blocks(deliveries: DataFrame, packing: Packing) -> DataFrame:
    """(key columns, bits, n, low, high) of every block. `deliveries` is the result of `owned`."""
    keys = packing.pack(F.col("r"), F.col("owner"), F.col("stream"), F.shiftright(F.col("sequence"), BLOCK_BITS))
    drift = F.col("received_ns") - F.col("sequence") * F.col("period")
    bit = F.call_function("shiftleft", F.lit(1).cast("bigint"), F.col("sequence").bitwiseAND(63).cast("int"))
    keyed = deliveries.select(*keys, bit.alias("bit"), drift.alias("drift"))
    return keyed.groupBy(*packing.names).agg(
        F.bit_or("bit").alias("bits"),
        F.count(F.lit(1)).alias("n"),
        F.min("drift").alias("low"),
        F.max("drift").alias("high"),
    )


def unpacked(frame: DataFrame, packing: Packing, others: Sequence[str]) -> DataFrame:
    """A packed DataFrame with r, owner, stream, block in columns of their own."""
    return frame.select(*packing.unpack(), *others)
