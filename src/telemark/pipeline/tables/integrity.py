"""`integrity`: what every subscription was owed, what it got, and what that means at its QoS.

QoS 0  a duplicate is a violation; a loss is counted
QoS 1  a loss is a violation; a duplicate is counted
QoS 2  both are violations
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from telemark.model.owners import Owner
from telemark.pipeline.messages.keys import BlockKey, Numbers
from telemark.pipeline.tables import Row
from telemark.pipeline.tables.owed import Owed, OwedToRun
from telemark.pipeline.tables.statistics import numbers
from telemark.store.results import INTEGRITY

BLOCKS: Final = pa.schema([("key", pa.int64()), ("bits", pa.int64()), ("n", pa.int64())])
PAIRS: Final = pa.schema([("pair", pa.int64()), ("delivered", pa.int64()), ("n", pa.int64())])
# foreign: what the owner was never owed; its qos is null.
RECEIVED: Final = pa.schema(
    [("r", pa.int32()), ("owner", pa.int32()), ("qos", pa.int32()), ("delivered", pa.int64()),
     ("duplicate", pa.int64()), ("foreign", pa.int64())]
)  # fmt: skip


def pair_counts(blocks: pa.Table, key: BlockKey) -> pa.Table:
    """Distinct messages and deliveries of every pair of owner and stream. `blocks` has key, bits and n."""
    delivered = np.bitwise_count(numbers(blocks, "bits").view(np.uint64)).astype(np.int64)
    columns = [pa.array(key.pairs(numbers(blocks, "key"))), pa.array(delivered), blocks["n"]]
    pairs = pa.Table.from_arrays(columns, schema=PAIRS)
    return pairs.group_by("pair").aggregate([("delivered", "sum"), ("n", "sum")]).rename_columns(PAIRS.names)


def received(blocks: pa.Table, key: BlockKey, streams: pa.Table, audiences: pa.Table) -> pa.Table:
    """RECEIVED of every owner and QoS. `streams`, `audiences`: see `owed`."""
    pairs = pair_counts(blocks, key)
    for name, column in key.split_pairs(numbers(pairs, "pair")).items():
        pairs = pairs.append_column(name, pa.array(column))
    known = pairs.join(streams, ["r", "stream"], join_type="left outer")
    matched = known.join(audiences, ["r", "audience", "owner"], join_type="left outer")
    own = pc.is_valid(matched["subscribe_qos"])
    qos = pc.min_element_wise(matched["publish_qos"], matched["subscribe_qos"], skip_nulls=False)
    none = pa.scalar(0, pa.int64())
    columns = {
        "r": matched["r"],
        "owner": matched["owner"],
        "qos": qos,
        "delivered": pc.if_else(own, matched["delivered"], none),
        "duplicate": pc.if_else(own, pc.subtract(matched["n"], matched["delivered"]), none),
        "foreign": pc.if_else(own, none, matched["n"]),
    }
    return merge_received(pa.table(columns, schema=RECEIVED))


def merge_received(table: pa.Table) -> pa.Table:
    """RECEIVED with one row per run, owner and QoS."""
    sums = [(name, "sum") for name in ("delivered", "duplicate", "foreign")]
    return table.group_by(["r", "owner", "qos"]).aggregate(sums).rename_columns(RECEIVED.names)


def blocks_of(blocks: pa.Table, key: BlockKey, pairs: Numbers) -> pa.Table:
    """(key, bits, n) of the blocks of some pairs."""
    chosen = np.isin(key.pairs(numbers(blocks, "key")), pairs)
    return blocks.select(BLOCKS.names).filter(pa.array(chosen))


@dataclass(slots=True)
class Received:
    """What one owner got under one QoS."""

    delivered: int = 0
    duplicate: int = 0


def integrity_rows(owed: OwedToRun, got: Iterable[Mapping[str, Any]], reordered: Mapping[int, int]) -> dict[int, Row]:
    """Rows of one run by owner. `got`: rows of RECEIVED; `reordered`: late messages by subscription."""
    arrived: dict[tuple[int, int], Received] = {}
    foreign: dict[int, int] = defaultdict(int)
    for row in got:
        foreign[row["owner"]] += row["foreign"]
        if row["qos"] is not None:
            arrived[row["owner"], row["qos"]] = Received(row["delivered"], row["duplicate"])
    late: dict[int, int] = defaultdict(int)
    for subscription, count in reordered.items():
        late[owed.owners.of_subscription.get(subscription, subscription)] += count
    by_owner: dict[int, list[tuple[int, Owed, Received]]] = defaultdict(list)
    for owner, qos in {**owed.owed, **arrived}:
        by_owner[owner].append((qos, owed.owed.get((owner, qos), Owed()), arrived.get((owner, qos), Received())))
    owners = owed.owners.by_number
    return {
        number: _row(number, owners.get(number), owed.steady, by_owner[number])
        | {"reordered": late[number], "foreign": foreign[number]}
        for number in sorted({*owners, *by_owner, *foreign, *late})
    }


def _row(number: int, owner: Owner | None, steady: frozenset[int], parts: list[tuple[int, Owed, Received]]) -> Row:
    lost = {qos: max(owed.messages - got.delivered, 0) for qos, owed, got in parts}
    known = not any(owed.unknown for _, owed, _ in parts) and owner is not None
    excess = any(got.delivered > owed.messages for _, owed, got in parts)
    violations = sum(
        (got.duplicate if qos in (0, 2) else 0) + (lost[qos] if qos in (1, 2) else 0) for qos, _, got in parts
    )
    return {
        "subscription": number if owner is None else min(owner.members),
        "share": None if owner is None else owner.share,
        "filter": None if owner is None else owner.filter,
        "qos": max((qos for qos, _, _ in parts), default=None if owner is None else owner.qos),
        "members": 0 if owner is None else len(owner.members),
        "owed": sum(owed.messages for _, owed, _ in parts) if known else None,
        "delivered": sum(got.delivered for _, _, got in parts),
        "lost": sum(lost.values()) if known else None,
        "duplicate": sum(got.duplicate for _, _, got in parts),
        "violations": violations if known else None,
        "exact": known and not excess and owner is not None and steady.issuperset(owner.members),
    }


def totals(rows: Iterable[Row]) -> Row:
    """Sums over the subscriptions of a run; a sum with an unknown part is unknown. Empty without subscriptions.

    Deliveries to no known subscription are owed nothing, so they leave the sums known.
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
