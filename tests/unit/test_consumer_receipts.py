"""Counts of what back-end consumers received."""

from __future__ import annotations

import pyarrow as pa

from telemark.consumers.receipts import counter_rows
from telemark.store.schemas import COUNTERS, DELIVERIES

NS = 1_000_000_000


def deliveries(*received_ns: int) -> pa.RecordBatch:
    rows = [dict.fromkeys(DELIVERIES.names, 0) | {"received_ns": each, "size": 64} for each in received_ns]
    return pa.RecordBatch.from_pylist(rows, DELIVERIES)


def test_deliveries_are_counted_in_the_second_they_were_received() -> None:
    """Also before the start, and also far from the clock's zero, where floating point has no nanoseconds left."""
    start = 10**17
    rows = counter_rows(deliveries(start - 1, start, start + NS - 1, start + NS), start, 1000)

    assert {row["second"]: (row["received"], row["received_bytes"]) for row in rows} == {
        -1: (1, 64),
        0: (2, 128),
        1: (1, 64),
    }
    assert {row["process"] for row in rows} == {1000}
    assert pa.Table.from_pylist(rows, COUNTERS).num_rows == 3
