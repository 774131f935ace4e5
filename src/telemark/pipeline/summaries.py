"""Small sums over the record tables of a run that `points` needs: connections and refusals."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

Row = dict[str, Any]

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
