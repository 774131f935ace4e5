"""Which messages arrived after a later one of their stream: exactly, and cheaply when nothing did.

Let p be any number and d = received - sequence * p. If message s arrived after a later message t > s, then
d(s) - d(t) = (received(s) - received(t)) + (t - s) * p > p. So a block whose d spans less than p is in order, and so
are two neighbouring blocks if the highest d of the first is less than p above the lowest of the second. With p near
the sending period of a stream, that clears nearly everything by the sums `blocks` has made anyway.

What remains, at worst everything, is decided message by message: eight first receipts side by side in one row, each
compared with the earliest of all later ones.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from telemark.pipeline.deliveries import BLOCK_BITS
from telemark.pipeline.keys import Packing

WIDE_BITS: Final = 3
WIDE: Final = 1 << WIDE_BITS
SLOTS: Final = [f"first{place}" for place in range(WIDE)]


def doubtful_pairs(blocks: DataFrame) -> DataFrame:
    """(r, owner, stream) of pairs whose d spans a period or more somewhere. `blocks` is unpacked and has `period`."""
    spans = blocks.groupBy("r", "owner", "stream", "period").agg(F.expr("max(high) - min(low) as span"))
    return spans.where("span >= period").select("r", "owner", "stream")


def doubtful_blocks(blocks: DataFrame, pairs: DataFrame) -> DataFrame:
    """(r, owner, stream, block) that may hold a late message or one that overtook it."""
    near = blocks.join(pairs, ["r", "owner", "stream"])
    # Upper and lower bound of the times of receipt in a block.
    bounded = near.selectExpr(
        "*",
        f"high + period * (shiftleft(block, {BLOCK_BITS}) + {(1 << BLOCK_BITS) - 1}) as latest",
        f"low + period * shiftleft(block, {BLOCK_BITS}) as earliest",
    )
    order = "over (partition by r, owner, stream order by block)"
    touching = bounded.selectExpr("*", f"lag(latest) {order} as before", f"lead(earliest) {order} as after")
    doubtful = touching.where("high - low >= period or before >= earliest or latest >= after")
    return doubtful.select("r", "owner", "stream", "block")


def late_rows(deliveries: DataFrame, packing: Packing) -> DataFrame:
    """(r, owner, stream, block, late, first0 ... first7): rows of eight messages with a bit for each late one.

    Here the owner is always the subscription: members of a share group have no order between them.
    """
    keyed = deliveries.selectExpr(
        *packing.pack("subscription", f"shiftright(sequence, {WIDE_BITS})"),
        f"sequence & {WIDE - 1} as place",
        "received_ns",
    )
    firsts = [f"min(if(place = {slot}, received_ns, null)) as {name}" for slot, name in enumerate(SLOTS)]
    wide = keyed.groupBy(*packing.names).agg(*[F.expr(text) for text in firsts])
    later = "over (partition by r, owner, stream order by block desc rows between unbounded preceding and 1 preceding)"
    rows = wide.selectExpr(*packing.unpack(), *SLOTS)
    compared = rows.selectExpr("*", f"min(least({', '.join(SLOTS)})) {later} as next")
    return compared.selectExpr("r", "owner", "stream", "block", *SLOTS, f"{_late_bits()} as late").where("late != 0")


def _late_bits() -> str:
    """Bit i is set when first_i came after the earliest of all later messages."""
    columns = [*SLOTS, "next"]
    bits = []
    for slot, name in enumerate(SLOTS):
        rest = columns[slot + 1 :]
        earliest = f"least({', '.join(rest)})" if len(rest) > 1 else rest[0]
        bits.append(f"if({name} > {earliest}, {1 << slot}, 0)")
    return " | ".join(bits)
