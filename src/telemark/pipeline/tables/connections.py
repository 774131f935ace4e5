"""Connections of a run: how many, how fast, what was refused, and how long every step of connecting took."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from telemark.pipeline.messages.keys import duration_keys
from telemark.pipeline.tables import Row
from telemark.pipeline.tables.statistics import counted_keys

REFUSALS: Final = ("connect_refused", "subscribe_refused", "publish_refused")


def connections(table: pa.Table) -> Row:
    """connections: devices that got in; connect_failures: attempts that failed; first SYN and last first CONNACK."""
    if table.num_rows == 0:
        return {}
    ok = pc.equal(table["result"], "ok")
    entered = table.filter(ok).group_by("device").aggregate([("connack_ns", "min")])
    return {
        "connections": entered.num_rows,
        "connect_failures": table.num_rows - (pc.sum(ok).as_py() or 0),
        "first_ns": pc.min(table["started_ns"]).as_py(),
        "last_ns": pc.max(entered["connack_ns_min"]).as_py(),
    }


def refusals(events: pa.Table) -> int:
    """Connects, subscriptions and messages the server refused."""
    return int(pc.sum(pc.is_in(events["kind"], pa.array(REFUSALS))).as_py() or 0)


def connect_durations(run: int, table: pa.Table) -> pa.Table:
    """Counted durations (key, n) of connecting. Each step counts where both its ends were reached."""
    before_connack = pc.coalesce(table["tls_ns"], table["tcp_ns"])
    steps = {
        "tcp_connect": (table["started_ns"], table["tcp_ns"]),
        "tls_handshake": (table["tcp_ns"], table["tls_ns"]),
        "connack": (before_connack, table["connack_ns"]),
        "suback": (table["connack_ns"], table["suback_ns"]),
        "connect": (table["started_ns"], table["connack_ns"]),
    }
    keys = [
        duration_keys(run, measure, "connect", pc.subtract(end, begin).drop_null().to_numpy())
        for measure, (begin, end) in steps.items()
    ]
    return counted_keys(np.concatenate(keys))
