"""Loss and duplicates of a run folder, counted with pyarrow alone: a second opinion beside the pipeline's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from telemark.catalog.audience import AudienceTables
from telemark.runner.debts import fan_out_by_stream
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
    names = ("streams", "subscriptions", "audiences")
    tables = AudienceTables(*(read_records(folder, name).sort_by(name_key(name)) for name in names))
    fan_out = pa.table({"stream": tables.streams["stream"], "fan_out": fan_out_by_stream(tables)})
    senders = read_records(folder, "senders", ["stream", "sent"]).group_by("stream").aggregate([("sent", "sum")])
    joined = senders.join(fan_out, "stream", join_type="inner")
    owed = pc.sum(pc.multiply(joined["sent_sum"], joined["fan_out"])).as_py() or 0
    deliveries = read_records(folder, "deliveries", ["stream", "sequence", "subscription"])
    receivers = _receivers(deliveries["subscription"], tables.subscriptions)
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
