"""Which messages arrived after a later one of their stream: exactly, and cheaply when nothing did.

Let p be any number and d = received - sequence * p. If message s arrived after a later message t > s, then
d(s) - d(t) = (received(s) - received(t)) + (t - s) * p > p. So a block whose d spans less than p is in order, and so
are two neighbouring blocks if the highest d of the first is less than p above the lowest of the second. With p near
the sending period of a stream, that clears nearly everything by the sums `blocks` has made anyway.

What remains, at worst everything, is decided message by message: eight first receipts side by side in one row, each
compared with the earliest of all later ones.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from telemark.pipeline.deliveries import BLOCK_BITS
from telemark.pipeline.keys import Packing

WIDE_BITS: Final = 3
WIDE: Final = 1 << WIDE_BITS
SLOTS: Final = [f"first{place}" for place in range(WIDE)]


def doubtful_pairs(blocks: DataFrame, foreign_stream: int) -> DataFrame:
    """(r, owner, stream) of pairs whose d spans a period or more somewhere. `blocks` is unpacked and has `period`."""
    spans = blocks.where(F.col("stream") != foreign_stream).groupBy("r", "owner", "stream", "period")
    wide = F.max("high") - F.min("low") >= F.col("period")
    return spans.agg(wide.alias("wide")).where("wide").select("r", "owner", "stream")


def doubtful_blocks(blocks: DataFrame, pairs: DataFrame) -> DataFrame:
    """(r, owner, stream, block) that may hold a late message or one that overtook it."""
    near = blocks.join(pairs, ["r", "owner", "stream"])
    order = Window.partitionBy("r", "owner", "stream").orderBy("block")
    period = F.col("period")
    # Upper and lower bound of the times of receipt in a block.
    latest = F.col("high") + period * (F.shiftleft(F.col("block"), BLOCK_BITS) + F.lit((1 << BLOCK_BITS) - 1))
    earliest = F.col("low") + period * F.shiftleft(F.col("block"), BLOCK_BITS)
    bounded = near.withColumns({"latest": latest, "earliest": earliest})
    touches = bounded.withColumns(
        {
            "before": F.lag("latest").over(order) >= F.col("earliest"),
            "after": F.col("latest") >= F.lead("earliest").over(order),
            "within": F.col("high") - F.col("low") >= period,
        }
    )
    doubtful = F.coalesce("before", F.lit(False)) | F.coalesce("after", F.lit(False)) | F.col("within")
    return touches.where(doubtful).select("r", "owner", "stream", "block")


def late_rows(deliveries: DataFrame, packing: Packing) -> DataFrame:
    """(r, owner, stream, block, late, first0 ... first7): rows of eight messages with a bit for each late one.

    Here the owner is always the subscription: members of a share group have no order between them.
    """
    place = F.col("sequence").bitwiseAND(WIDE - 1)
    keys = packing.pack(F.col("r"), F.col("subscription"), F.col("stream"), F.shiftright(F.col("sequence"), WIDE_BITS))
    keyed = deliveries.select(*keys, place.alias("place"), "received_ns")
    firsts = [
        F.min(F.when(F.col("place") == slot, F.col("received_ns"))).alias(name) for slot, name in enumerate(SLOTS)
    ]
    wide = keyed.groupBy(*packing.names).agg(*firsts).select(*packing.unpack(), *SLOTS)
    later = (
        Window.partitionBy("r", "owner", "stream").orderBy(F.desc("block")).rowsBetween(Window.unboundedPreceding, -1)
    )
    earliest = F.min(F.least(*SLOTS)).over(later)
    return wide.withColumn("next", earliest).withColumn("late", _late_bits()).where("late != 0").drop("next")


def _late_bits() -> Column:
    """Bit i is set when first_i came after the earliest of all later messages."""
    columns = [*SLOTS, "next"]
    bits = []
    for slot, name in enumerate(SLOTS):
        rest = [F.col(other) for other in columns[slot + 1 :]]
        earliest = F.least(*rest) if len(rest) > 1 else rest[0]
        bits.append(F.when(F.col(name) > earliest, 1 << slot).otherwise(0))
    return reduce(Column.bitwiseOR, bits)
