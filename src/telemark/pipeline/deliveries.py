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

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from telemark.pipeline.batch import Batch, per_run
from telemark.pipeline.keys import Packing, bits_for
from telemark.pipeline.read import Records
from telemark.store.bounds import Bounds
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


def valid(batch: Batch, bounds: Sequence[Bounds]) -> str:
    """Whether a row is a message of its run: stamped, numbered within the run, due after its start."""
    streams, sequences = per_run([each.stream for each in bounds]), per_run([each.sequence for each in bounds])
    return (
        f"coalesce((flags & {FLAG_FOREIGN}) = 0 and stream between 0 and {streams} and sequence between 0 and "
        f"{sequences} and intended_ns >= {batch.starts}, false)"
    )


def rows(records: Records, numbering: Numbering) -> DataFrame:
    """(r, subscription, stream, sequence, received_ns, period) of every delivery."""
    known = valid(records.batch, numbering.bounds)
    return records.table("deliveries").selectExpr(
        "r",
        "greatest(subscription, -1) as subscription",
        f"if({known}, stream, {numbering.foreign_stream}) as stream",
        f"if({known}, sequence, 0L) as sequence",
        "received_ns",
        f"{per_run(numbering.periods)} as period",
    )


def owned(frame: DataFrame, members: DataFrame | None) -> DataFrame:
    """Add `owner`. Only batches with shared subscriptions have `members` (member, owner) and pay for the look-up."""
    if members is None:
        return frame.selectExpr("*", "subscription as owner")
    with_member = frame.selectExpr("*", "shiftleft(cast(r as bigint), 32) | cast(subscription as bigint) as member")
    looked_up = with_member.join(F.broadcast(members), "member", "left").drop("member")
    return looked_up.withColumn("owner", F.coalesce("owner", "subscription"))


def blocks(deliveries: DataFrame, packing: Packing) -> DataFrame:
    """(key columns, bits, n, low, high) of every block. `deliveries` is the result of `owned`."""
    keyed = deliveries.selectExpr(
        *packing.pack("owner", f"shiftright(sequence, {BLOCK_BITS})"),
        "shiftleft(1L, cast(sequence & 63 as int)) as bit",
        "received_ns - sequence * period as drift",
    )
    sums = ("bit_or(bit) as bits", "count(1) as n", "min(drift) as low", "max(drift) as high")
    return keyed.groupBy(*packing.names).agg(*[F.expr(text) for text in sums])


def unpacked(frame: DataFrame, packing: Packing, others: Sequence[str]) -> DataFrame:
    """A packed DataFrame with r, owner, stream, block in columns of their own."""
    return frame.selectExpr(*packing.unpack(), *others)
