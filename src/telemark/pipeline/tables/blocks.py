"""Blocks of 64 messages from delivery rows: what `messages.blocks` has Spark count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from telemark.pipeline.messages.keys import BLOCK, BlockKey
from telemark.pipeline.tables.statistics import numbers, starts_of

BLOCKS: Final = pa.schema([(name, pa.int64()) for name in ("key", "bits", "n", "low", "high")])


def count_blocks(rows: pa.Table, key: BlockKey, periods: Sequence[int]) -> pa.Table:
    """BLOCKS of rows (r, owner, stream, sequence, received_ns)."""
    run, owner, stream, sequence, received = (
        numbers(rows, name) for name in ("r", "owner", "stream", "sequence", "received_ns")
    )
    keys = key.block_keys(key.pair_keys(run, owner, stream), sequence // BLOCK)
    drift = received - sequence * np.asarray(periods, dtype=np.int64)[run]
    order = np.argsort(keys)
    starts = starts_of(keys[order])
    if not starts.size:
        return BLOCKS.empty_table()
    bits, drift = (np.int64(1) << sequence % BLOCK)[order], drift[order]
    columns = [
        keys[order][starts],
        np.bitwise_or.reduceat(bits, starts),
        np.diff([*starts, keys.size]),
        np.minimum.reduceat(drift, starts),
        np.maximum.reduceat(drift, starts),
    ]
    return pa.Table.from_arrays([pa.array(column, pa.int64()) for column in columns], schema=BLOCKS)
