"""`distribution`: how many durations fell into each bucket, by run, measure and phase."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow as pa

from telemark.pipeline.messages.keys import bucket_width_bits, groups, microseconds, phase_group
from telemark.pipeline.tables.statistics import numbers


def distribution_rows(in_buckets: pa.Table) -> dict[int, list[dict[str, Any]]]:
    """Rows of the table by run, but for the names of campaign and run. `in_buckets`: see `latency.BUCKETS`."""
    keys = numbers(in_buckets, "key")
    lower = microseconds(keys)
    upper = lower + (1 << bucket_width_bits(lower))
    rows: dict[int, list[dict[str, Any]]] = defaultdict(list)
    columns = (groups(keys), lower.astype(float), upper.astype(float), numbers(in_buckets, "n"))
    for group, begin, end, count in zip(*(column.tolist() for column in columns), strict=True):
        run, measure, phase = phase_group(group)
        rows[run].append({"measure": measure, "phase": phase, "lower_us": begin, "upper_us": end, "count": count})
    return dict(rows)
