"""`integrity`: what every subscription was owed, what it got, and what that means at its QoS.

Owed follows from three small tables: a stream's messages are owed to every subscription of its audience, and once to
every share group that has a member in it. The QoS that counts is the smaller of publishing and subscribing.

    QoS 0  a duplicate is a violation; a loss is counted
    QoS 1  a loss is a violation; a duplicate is counted
    QoS 2  both are violations
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from telemark.pipeline.deliveries import Numbering, owners
from telemark.pipeline.read import Records
from telemark.store.layout import RunFolder

_COUNTS = ("owed", "unknown", "delivered", "duplicate", "foreign", "reordered")


def sent_by_stream(records: Records) -> DataFrame:
    """(r, stream, audience, publish_qos, sent); sent is null where the engine left no word about a stream."""
    senders = records.table("senders").groupBy("r", "stream").agg(F.sum("sent").alias("sent"))
    streams = records.table("streams").select("r", "stream", "audience", F.col("qos").alias("publish_qos"))
    return streams.join(senders, ["r", "stream"], "left")


def audience_owners(records: Records, numbering: Numbering) -> DataFrame:
    """(r, audience, owner, subscribe_qos): every owner of an audience once, a group with its lowest QoS."""
    members = owners(records.table("subscriptions"), numbering).select("r", "subscription", "owner", "qos")
    joined = records.table("audiences").join(members, ["r", "subscription"])
    return joined.groupBy("r", "audience", "owner").agg(F.min("qos").alias("subscribe_qos"))


def _rule_qos() -> Column:
    return F.least("publish_qos", "subscribe_qos").cast("int").alias("qos")


def owed(sent: DataFrame, audiences: DataFrame) -> DataFrame:
    """(r, owner, qos, owed, unknown): messages owed by the QoS that rules them; unknown counts silent streams."""
    by_audience = sent.groupBy("r", "audience", "publish_qos").agg(
        F.coalesce(F.sum("sent"), F.lit(0)).alias("owed"), F.count_if(F.col("sent").isNull()).alias("unknown")
    )
    joined = audiences.join(by_audience, ["r", "audience"])
    return joined.groupBy("r", "owner", _rule_qos()).agg(F.sum("owed").alias("owed"), F.sum("unknown").alias("unknown"))


def pairs(blocks: DataFrame) -> DataFrame:
    """(r, owner, stream, delivered, n): distinct messages and deliveries of every owner and stream."""
    return blocks.groupBy("r", "owner", "stream").agg(
        F.sum(F.bit_count("bits").cast("bigint")).alias("delivered"), F.sum("n").alias("n")
    )


def received(pairs: DataFrame, sent: DataFrame, audiences: DataFrame) -> DataFrame:
    """(r, owner, qos, delivered, duplicate, foreign): foreign is what the owner was never owed."""
    streams = sent.select("r", "stream", "audience", "publish_qos")
    known = pairs.join(streams, ["r", "stream"], "left").join(audiences, ["r", "audience", "owner"], "left")
    own = F.col("subscribe_qos").isNotNull()
    return known.groupBy("r", "owner", F.when(own, _rule_qos()).alias("qos")).agg(
        F.sum(F.when(own, F.col("delivered")).otherwise(0)).alias("delivered"),
        F.sum(F.when(own, F.col("n") - F.col("delivered")).otherwise(0)).alias("duplicate"),
        F.sum(F.when(own, 0).otherwise(F.col("n"))).alias("foreign"),
    )


def reordered(late: DataFrame, records: Records, numbering: Numbering) -> DataFrame:
    """(r, owner, reordered): late messages of an owner, counted within each member of a group."""
    counted = late.groupBy("r", F.col("owner").alias("subscription")).agg(
        F.sum(F.bit_count("late").cast("bigint")).alias("reordered")
    )
    members = owners(records.table("subscriptions"), numbering).select("r", "subscription", "owner")
    named = counted.join(members, ["r", "subscription"], "left")
    return named.groupBy("r", F.coalesce("owner", "subscription").alias("owner")).agg(
        F.sum("reordered").alias("reordered")
    )


def _in_force(frame: DataFrame, run: RunFolder) -> DataFrame:
    """Whether a period began before the first message could, and lasted until receiving ended."""
    phases = run.facts.phases
    ended = next((phases[name][1] for name in ("drain", "measure") if name in phases), None)
    if run.facts.start_ns is None or ended is None or not run.facts.complete:
        return frame.withColumns({"early": F.lit(False), "lasting": F.lit(False)})
    early = F.col("from_ns") <= F.lit(run.facts.start_ns)
    lasting = F.col("until_ns").isNull() | (F.col("until_ns") >= F.lit(ended))
    return frame.withColumns({"early": early, "lasting": early & lasting})


def owner_facts(records: Records, numbering: Numbering) -> DataFrame:
    """(r, owner, subscription, share, filter, subscribe_qos, members, steady) of every subscription or group.

    Steady: in force from before the first message to the end. A durable subscription is also owed what is sent while
    its device is away, so an interruption takes nothing from it.
    """
    periods = records.marked("subscribed", _in_force).groupBy("r", "subscription")
    covered = periods.agg(F.max("early").alias("early"), F.max("lasting").alias("lasting"))
    members = owners(records.table("subscriptions"), numbering).join(covered, ["r", "subscription"], "left")
    steady = F.col("lasting") | (F.col("durable") & F.col("early"))
    return members.groupBy("r", "owner").agg(
        F.min("subscription").alias("subscription"),
        F.min("share").alias("share"),
        F.min("filter").alias("filter"),
        F.min("qos").cast("int").alias("subscribe_qos"),
        F.count(F.lit(1)).alias("members"),
        F.min(F.coalesce(steady, F.lit(False))).alias("steady"),
    )


def integrity(facts: DataFrame, *counts: DataFrame) -> DataFrame:
    """The table, with `r` for campaign and run, and `owner`. `counts`: of `owed`, `received` and `reordered`."""
    lines = [_with_all_counts(frame) for frame in counts]
    stacked = lines[0]
    for line in lines[1:]:
        stacked = stacked.unionByName(line)
    by_qos = stacked.groupBy("r", "owner", "qos").agg(*[F.sum(name).alias(name) for name in _COUNTS])
    lost = F.greatest(F.col("owed") - F.col("delivered"), F.lit(0))
    broken = (
        F.when(F.col("qos") == 0, F.col("duplicate"))
        .when(F.col("qos") == 1, lost)
        .when(F.col("qos") == 2, lost + F.col("duplicate"))
        .otherwise(0)
    )
    judged = by_qos.withColumns({"lost": lost, "violations": broken, "excess": F.col("delivered") > F.col("owed")})
    by_owner = judged.groupBy("r", "owner").agg(
        F.max("qos").alias("qos"),
        F.max("excess").alias("excess"),
        *[F.sum(name).alias(name) for name in (*_COUNTS, "lost", "violations")],
    )
    return _named(facts.join(by_owner, ["r", "owner"], "full"))


def _with_all_counts(frame: DataFrame) -> DataFrame:
    counts = [
        (F.col(name).cast("bigint") if name in frame.columns else F.lit(0).cast("bigint")).alias(name)
        for name in _COUNTS
    ]
    qos = F.col("qos") if "qos" in frame.columns else F.lit(None)
    return frame.select("r", "owner", qos.cast("int").alias("qos"), *counts)


def _named(joined: DataFrame) -> DataFrame:
    known = F.coalesce(F.col("unknown") == 0, F.lit(False))
    if_known = {name: F.when(known, F.col(name)).alias(name) for name in ("owed", "lost", "violations")}
    exact = F.coalesce("steady", F.lit(False)) & known & ~F.coalesce("excess", F.lit(False))
    plain = {
        name: F.coalesce(name, F.lit(0)).alias(name) for name in ("delivered", "duplicate", "reordered", "foreign")
    }
    return joined.select(
        "r",
        "owner",
        F.coalesce("subscription", "owner").cast("int").alias("subscription"),
        F.col("share").cast("int").alias("share"),
        "filter",
        F.coalesce("qos", "subscribe_qos").cast("int").alias("qos"),
        F.coalesce("members", F.lit(0)).alias("members"),
        if_known["owed"],
        plain["delivered"],
        if_known["lost"],
        plain["duplicate"],
        plain["reordered"],
        plain["foreign"],
        if_known["violations"],
        exact.alias("exact"),
    )
