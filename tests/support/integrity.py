"""Loss and duplicates of a run folder, counted with pyarrow alone: a second opinion beside the pipeline's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from telemark.store.reader import read_records


@dataclass(frozen=True)
class Count:
    """Messages of a whole run."""

    sent: int
    owed: int
    delivered: int  # each message once for each plain subscription and each share group
    duplicate: int

    @property
    def lost(self) -> int:
        return self.owed - self.delivered


def count(folder: Path) -> Count:
    """Count every message of a run folder."""
    streams, subscriptions, audiences = (
        read_records(folder, name).sort_by(name_key(name)) for name in ("streams", "subscriptions", "audiences")
    )
    fan_out = pa.table({"stream": streams["stream"], "fan_out": _fan_outs(streams, subscriptions, audiences)})
    senders = read_records(folder, "senders", ["stream", "sent"]).group_by("stream").aggregate([("sent", "sum")])
    joined = senders.join(fan_out, "stream", join_type="inner")
    owed = pc.sum(pc.multiply(joined["sent_sum"], joined["fan_out"])).as_py() or 0
    deliveries = read_records(folder, "deliveries", ["stream", "sequence", "subscription"])
    receivers = _receivers(deliveries["subscription"], subscriptions)
    rows = pa.table({"stream": deliveries["stream"], "sequence": deliveries["sequence"], "receiver": receivers})
    delivered = rows.group_by(["stream", "sequence", "receiver"]).aggregate([]).num_rows
    return Count(pc.sum(senders["sent_sum"]).as_py() or 0, owed, delivered, rows.num_rows - delivered)


def name_key(table: str) -> str:
    """First column of a table: its rows are sorted by it."""
    return {"streams": "stream", "subscriptions": "subscription", "audiences": "audience"}[table]


def _receivers(numbers: pa.ChunkedArray, subscriptions: pa.Table) -> pa.ChunkedArray:
    """The subscription, or its share group as a negative number."""
    share = pc.take(subscriptions["share"], numbers)
    return pc.if_else(pc.is_null(share), numbers.cast(pa.int64()), pc.subtract(-1, share.cast(pa.int64())))


def _fan_outs(streams: pa.Table, subscriptions: pa.Table, audiences: pa.Table) -> pa.Array:
    """Deliveries owed for each message of a stream: one for each receiver in its audience."""
    receivers = _receivers(audiences["subscription"], subscriptions)
    pairs = pa.table({"audience": audiences["audience"], "receiver": receivers}).group_by(["audience", "receiver"])
    counted = pairs.aggregate([]).group_by("audience").aggregate([("receiver", "count")]).to_pylist()
    fan_outs = {row["audience"]: row["receiver_count"] for row in counted}
    return pa.array([fan_outs.get(audience, 0) for audience in streams["audience"].to_pylist()], pa.int64())
