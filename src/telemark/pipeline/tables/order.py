"""Which messages arrived after a later one of their stream: exactly, and cheaply when nothing did.

Let p be any number and d = received - sequence * p. If message s arrived after a later message t > s, then
d(s) - d(t) = (received(s) - received(t)) + (t - s) * p > p. So a block whose d spans less than p is in order. From the
range of d follow bounds of the times of receipt in a block: where the latest of all earlier blocks is before the
earliest of this one, and its latest before the earliest of all later ones, no message of it overtook or was overtaken.
With p near the sending period of a stream, that clears nearly everything by the sums that `blocks` has made anyway.

The rows of the blocks that remain, at worst all, are compared message by message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from telemark.pipeline.messages.keys import BLOCK, BlockKey, Numbers
from telemark.pipeline.tables.statistics import largest_before, numbers, smallest_after, starts_of

SUSPECTS: Final = pa.schema([("key", pa.int64()), ("n", pa.int64())])


def suspect_blocks(blocks: pa.Table, key: BlockKey, periods: Sequence[int], foreign_stream: int) -> pa.Table:
    """Blocks that may hold a late message or one that overtook it, and blocks with duplicates.

    `blocks` (key, bits, n, low, high) holds whole pairs of owner and stream.
    """
    table = blocks.sort_by("key")
    keys, n, low, high = (numbers(table, name) for name in ("key", "n", "low", "high"))
    if not keys.size:
        return SUSPECTS.empty_table()
    pairs = key.pairs(keys)
    parts = key.split_pairs(pairs)
    period = np.asarray(periods, dtype=np.int64)[parts["r"]]
    first = key.blocks(keys) * BLOCK
    earliest, latest = low + period * first, high + period * (first + BLOCK - 1)
    doubtful = ((n > 1) & (high - low >= period)) | (latest >= smallest_after(earliest, pairs))
    doubtful |= largest_before(latest, pairs) >= earliest
    doubled = n > np.bitwise_count(numbers(table, "bits").view(np.uint64))
    return table.select(SUSPECTS.names).filter(pa.array((doubtful | doubled) & (parts["stream"] != foreign_stream)))


def late(pairs: Numbers, sequences: Numbers, received: Numbers) -> Numbers:
    """Positions of the first receipts of messages that came after a later one of their pair.

    Rows are in order of pair, sequence and time of receipt.
    """
    first = starts_of(pairs, sequences)
    after = received[first] > smallest_after(received[first], pairs[first])
    return first[after]
