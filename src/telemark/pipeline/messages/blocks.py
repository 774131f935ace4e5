"""Deliveries of a batch, summed into blocks of 64 messages: what integrity and order are decided on.

A block is (run, owner, stream, sequence div 64), where the owner is a subscription or, for a shared one, its group.
For each block one pass over the rows finds
    bits   which of the 64 messages arrived,
    n      how many deliveries there were: more than bits means duplicates,
    low, high   the range of received - sequence * period, from which order is proven (see tables/order.py).
Rows that belong to no message of this run (no stamp, or a stamp from before the start) are kept apart under a stream
number that does not exist.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from telemark.pipeline.batch import RunBatch, per_run
from telemark.pipeline.messages.keys import BLOCK, member_sql
from telemark.pipeline.numbering import Numbering
from telemark.pipeline.spark.reading import Records
from telemark.store.schemas import FLAG_FOREIGN


def _of_this_run(batch: RunBatch, numbering: Numbering) -> str:
    """Whether a row is a message of its run: stamped, numbered within the run, due after its start."""
    streams, sequences = per_run(numbering.last_streams), per_run(numbering.last_sequences)
    return (
        f"coalesce((flags & {FLAG_FOREIGN}) = 0 and stream between 0 and {streams} and sequence between 0 and "
        f"{sequences} and intended_ns >= {batch.earliest}, false)"
    )


def delivery_rows(records: Records, numbering: Numbering, members: pa.Table, others: Sequence[str] = ()) -> DataFrame:
    """(r, subscription, owner, stream, sequence, received_ns) of every delivery.

    Args:
        records: the batch.
        numbering: of the batch.
        members: (member, owner), the group of every shared subscription; see `tables.owed.member_table`.
        others: SQL texts of more columns.
    """
    known = _of_this_run(records.batch, numbering)
    rows = records.table("deliveries").selectExpr(
        "r",
        "coalesce(greatest(subscription, -1), -1) as subscription",
        f"if({known}, stream, {numbering.foreign_stream}) as stream",
        f"if({known}, sequence, 0L) as sequence",
        "received_ns",
        *others,
    )
    if not numbering.has_shares:
        return rows.selectExpr("*", "subscription as owner")
    groups = F.broadcast(records.spark.createDataFrame(members))
    named = rows.selectExpr("*", f"{member_sql()} as member")
    return named.join(groups, "member", "left").selectExpr(*rows.columns, "coalesce(owner, subscription) as owner")


def blocks(rows: DataFrame, numbering: Numbering) -> DataFrame:
    """(key, bits, n, low, high) of every block of `delivery_rows`."""
    keyed = rows.selectExpr(
        f"{numbering.key.sql()} as key",
        f"shiftleft(1L, cast(sequence & {BLOCK - 1} as int)) as bit",
        f"received_ns - sequence * {per_run(numbering.periods)} as drift",
    )
    sums = ("bit_or(bit) as bits", "count(1) as n", "min(drift) as low", "max(drift) as high")
    return keyed.groupBy("key").agg(*[F.expr(text) for text in sums])


def rows_of_blocks(rows: DataFrame, numbering: Numbering, wanted: pa.Table) -> DataFrame:
    """The rows of `delivery_rows` whose block is among `wanted` (key)."""
    keyed = rows.selectExpr("*", f"{numbering.key.sql()} as key")
    keys = rows.sparkSession.createDataFrame(wanted)
    return keyed.join(F.broadcast(keys), "key", "left_semi").drop("key")


def foreign_rows(rows: DataFrame, numbering: Numbering, run: int, most: int) -> pa.Table:
    """The first rows of a run that carry no message of it."""
    found = rows.where(f"r = {run} and stream = {numbering.foreign_stream}")
    return found.select("owner", "received_ns").orderBy("received_ns").limit(most).toArrow()
