"""`offenders`: the first thousand messages of a run that were lost, doubled, late or not ours, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from telemark.pipeline.deliveries import BLOCK_BITS
from telemark.pipeline.order import SLOTS, WIDE_BITS

MOST: Final = 1000
_FULL: Final = (1 << 64) - 1

Row = dict[str, Any]


def first(frame: DataFrame, *order: str) -> DataFrame:
    """The first MOST rows. Frames of this file hold one run: others' faults must not crowd out its own."""
    return frame.orderBy(*order).limit(MOST)


def lost_blocks(pairs: DataFrame, blocks: DataFrame, sent: DataFrame, audiences: DataFrame) -> DataFrame:
    """(r, owner, stream, block, missing): blocks that lack messages, missing as bits; absent blocks included."""
    owing = audiences.join(sent.where("sent > 0"), ["r", "audience"]).select("r", "owner", "stream", "sent")
    short = first(
        owing.join(pairs, ["r", "owner", "stream"], "left").where(F.coalesce("delivered", F.lit(0)) < F.col("sent")),
        "owner",
        "stream",
    )
    last = F.col("sent") - 1
    top = F.shiftright(last, BLOCK_BITS)
    expected = short.select(
        "r", "owner", "stream", last.alias("last"), F.explode(F.sequence(F.lit(0).cast("bigint"), top)).alias("block")
    )
    tail = F.col("last").bitwiseAND(63)
    full = F.lit(-1).cast("bigint")
    mask = F.when(
        F.col("block") == F.shiftright("last", BLOCK_BITS),
        F.call_function("shiftrightunsigned", full, (F.lit(63) - tail).cast("int")),
    ).otherwise(full)
    found = expected.join(
        blocks.select("r", "owner", "stream", "block", "bits"), ["r", "owner", "stream", "block"], "left"
    )
    missing = mask.bitwiseAND(F.bitwise_not(F.coalesce("bits", F.lit(0).cast("bigint"))))
    return first(
        found.select("r", "owner", "stream", "block", missing.alias("missing")).where("missing != 0"),
        "owner",
        "stream",
        "block",
    )


def doubled(rows: DataFrame, blocks: DataFrame) -> DataFrame:
    """(r, owner, stream, sequence, times, received_ns): messages received more than once, with the last receipt."""
    crowded = first(
        blocks.where(F.col("n") > F.bit_count("bits")).select("r", "owner", "stream", "block"),
        "owner",
        "stream",
        "block",
    )
    block = F.shiftright("sequence", BLOCK_BITS)
    near = rows.withColumn("block", block).join(F.broadcast(crowded), ["r", "owner", "stream", "block"])
    counted = near.groupBy("r", "owner", "stream", "sequence").agg(
        F.count(F.lit(1)).alias("times"), F.max("received_ns").alias("received_ns")
    )
    return first(counted.where("times > 1"), "owner", "stream", "sequence")


def strangers(deliveries: DataFrame, foreign_stream: int) -> DataFrame:
    """Deliveries that carry no message of this run."""
    found = deliveries.where(F.col("stream") == foreign_stream)
    return first(found.select("r", F.col("subscription").alias("owner"), "received_ns"), "received_ns")


def lost_rows(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Blocks with missing bits as one row per message."""
    return [
        _offender(row, "lost", sequence=(row["block"] << BLOCK_BITS) + place, times=0)
        for row in rows
        for place in range(1 << BLOCK_BITS)
        if (row["missing"] & _FULL) >> place & 1
    ]


def late_rows(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Rows of eight messages with late bits as one row per message."""
    return [
        _offender(row, "reordered", sequence=(row["block"] << WIDE_BITS) + place, received_ns=row[name])
        for row in rows
        for place, name in enumerate(SLOTS)
        if row["late"] >> place & 1
    ]


def doubled_rows(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Messages received more than once."""
    return [_offender(row, "duplicate") for row in rows]


def foreign_rows(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Deliveries that carry no message of this run."""
    return [_offender(row, "foreign") for row in rows]


def _offender(row: Mapping[str, Any], kind: str, **values: int) -> Row:
    known = {"stream": None, "sequence": None, "times": 1, "received_ns": None} | dict(row) | values
    names = ("stream", "sequence", "times", "received_ns")
    return {"subscription": known["owner"], "kind": kind} | {name: known[name] for name in names}


def thousand(kinds: Sequence[list[Row]]) -> list[Row]:
    """At most MOST rows of one run: scarce kinds whole, the others cut alike."""
    room = MOST
    chosen: list[Row] = []
    for left, rows in zip(range(len(kinds), 0, -1), sorted(kinds, key=len), strict=True):
        taken = rows[: room // left]
        chosen += taken
        room -= len(taken)
    return chosen
