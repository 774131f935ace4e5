"""Per-second counts of what back-end consumers received, as rows of the `counters` table."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from telemark.store.schemas import COUNTERS


def counter_rows(deliveries: pa.RecordBatch, start_ns: int, process: int) -> list[dict[str, Any]]:
    """What `deliveries` add to each second of the run. A second may get several rows: readers add them up."""
    second = pc.floor(pc.divide(pc.cast(pc.subtract(deliveries["received_ns"], start_ns), pa.float64()), 1e9))
    table = pa.table({"second": pc.cast(second, pa.int32()), "size": deliveries["size"]})
    sums = table.group_by("second").aggregate([("size", "count"), ("size", "sum")]).to_pylist()
    nothing = dict.fromkeys(COUNTERS.names, 0)
    return [
        nothing
        | {
            "process": process,
            "second": row["second"],
            "received": row["size_count"],
            "received_bytes": row["size_sum"],
        }
        for row in sums
    ]
