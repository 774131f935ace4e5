"""`integrity`: what every subscription was owed, what it got, and what that means at its QoS.

QoS 0  a duplicate is a violation; a loss is counted
QoS 1  a loss is a violation; a duplicate is counted
QoS 2  both are violations
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from telemark.pipeline.debts import Debts, Owed, Owner
from telemark.store.results import INTEGRITY

Row = dict[str, Any]


def pairs(blocks: DataFrame) -> DataFrame:
    """(r, owner, stream, delivered, n): distinct messages and deliveries of every owner and stream."""
    sums = ("sum(cast(bit_count(bits) as bigint)) as delivered", "sum(n) as n")
    return blocks.groupBy("r", "owner", "stream").agg(*[F.expr(text) for text in sums])


def received(pairs: DataFrame, streams: DataFrame, audiences: DataFrame) -> DataFrame:
    """(r, owner, qos, delivered, duplicate, foreign): foreign is what the owner was never owed; its qos is null."""
    known = pairs.join(F.broadcast(streams.drop("sent")), ["r", "stream"], "left")
    matched = known.join(F.broadcast(audiences), ["r", "audience", "owner"], "left")
    rule = "if(subscribe_qos is null, null, least(publish_qos, subscribe_qos)) as qos"
    ruled = matched.selectExpr("*", "subscribe_qos is not null as own", rule)
    sums = (
        "sum(if(own, delivered, 0L)) as delivered",
        "sum(if(own, n - delivered, 0L)) as duplicate",
        "sum(if(own, 0L, n)) as foreign",
    )
    return ruled.groupBy("r", "owner", "qos").agg(*[F.expr(text) for text in sums])


def late_counts(late: DataFrame) -> DataFrame:
    """(r, subscription, reordered)."""
    named = late.selectExpr("r", "owner as subscription", "cast(bit_count(late) as bigint) as late")
    return named.groupBy("r", "subscription").agg(F.expr("sum(late) as reordered"))


@dataclass(slots=True)
class Received:
    """What one owner got under one QoS."""

    delivered: int = 0
    duplicate: int = 0


def integrity_rows(debts: Debts, got: Iterable[Mapping[str, Any]], late: Iterable[Mapping[str, Any]]) -> dict[int, Row]:
    """Rows of one run by owner. `got`: rows of `received`; `late`: rows of `late_counts`."""
    arrived: dict[tuple[int, int], Received] = {}
    foreign: dict[int, int] = defaultdict(int)
    for row in got:
        foreign[row["owner"]] += row["foreign"]
        if row["qos"] is not None:
            arrived[row["owner"], row["qos"]] = Received(row["delivered"], row["duplicate"])
    reordered: dict[int, int] = defaultdict(int)
    for row in late:
        reordered[debts.owner_of.get(row["subscription"], row["subscription"])] += row["reordered"]
    by_owner: dict[int, list[tuple[int, Owed, Received]]] = defaultdict(list)
    for owner, qos in {**debts.owed, **arrived}:
        by_owner[owner].append((qos, debts.owed.get((owner, qos), Owed()), arrived.get((owner, qos), Received())))
    return {
        owner: _row(owner, debts.owners.get(owner), by_owner[owner])
        | {"reordered": reordered[owner], "foreign": foreign[owner]}
        for owner in sorted({*debts.owners, *by_owner, *foreign, *reordered})
    }


def _row(number: int, owner: Owner | None, parts: list[tuple[int, Owed, Received]]) -> Row:
    lost = {qos: max(owed.messages - got.delivered, 0) for qos, owed, got in parts}
    known = not any(owed.unknown for _, owed, _ in parts) and owner is not None
    excess = any(got.delivered > owed.messages for _, owed, got in parts)
    violations = sum(
        (got.duplicate if qos in (0, 2) else 0) + (lost[qos] if qos in (1, 2) else 0) for qos, _, got in parts
    )
    return {
        "subscription": number if owner is None else owner.subscription,
        "share": None if owner is None else owner.share,
        "filter": None if owner is None else owner.filter,
        "qos": max((qos for qos, _, _ in parts), default=None if owner is None else owner.qos),
        "members": 0 if owner is None else owner.members,
        "owed": sum(owed.messages for _, owed, _ in parts) if known else None,
        "delivered": sum(got.delivered for _, _, got in parts),
        "lost": sum(lost.values()) if known else None,
        "duplicate": sum(got.duplicate for _, _, got in parts),
        "violations": violations if known else None,
        "exact": known and not excess and owner is not None and owner.steady,
    }


def totals(rows: Iterable[Row]) -> Row:
    """Sums over the subscriptions of a run; a sum with an unknown part is unknown. Empty without subscriptions.

    Deliveries to no known subscription have no debt, so they leave the sums known.
    """
    known = list(rows)
    owners = [row for row in known if row["members"]]
    if not owners:
        return {"foreign": sum(row["foreign"] for row in known)} if known else {}
    found: Row = {}
    for name in ("owed", "lost", "violations"):
        values = [row[name] for row in owners]
        found[name] = None if None in values else sum(values)
    for name in ("delivered", "duplicate", "reordered", "foreign"):
        found[name] = sum(row[name] for row in known)
    return found | {"integrity_exact": all(row["exact"] for row in owners)}


def integrity_table(rows: Iterable[Row], campaign: str, run: str) -> pa.Table:
    """The table of one run, in order of the subscriptions."""
    named = [row | {"campaign": campaign, "run": run} for row in rows]
    return pa.Table.from_pylist(sorted(named, key=lambda row: int(row["subscription"])), schema=INTEGRITY)
