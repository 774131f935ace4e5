"""Late and doubled messages are found in the rows of suspect blocks alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telemark.errors import DataError
from telemark.pipeline.messages.keys import BLOCK, BlockKey
from telemark.pipeline.tables.blocks import count_blocks
from telemark.pipeline.tables.offenders import FAULTS, MOST, faults
from telemark.pipeline.tables.order import suspect_blocks
from tests.support import oracle

FOREIGN_STREAM = 2
PERIOD = 1000
KEY = BlockKey.for_numbers(runs=1, owner=1, stream=FOREIGN_STREAM, sequence=1 << 20)


def rows_of(receipts: list[tuple[int, int]], stream: int = 0) -> pa.Table:
    """Delivery rows of (sequence, received)."""
    count = len(receipts)
    return pa.table(
        {
            "r": pa.array([0] * count, pa.int32()),
            "subscription": pa.array([0] * count, pa.int32()),
            "owner": pa.array([0] * count, pa.int32()),
            "stream": pa.array([stream] * count, pa.int32()),
            "sequence": pa.array([sequence for sequence, _ in receipts], pa.int64()),
            "received_ns": pa.array([received for _, received in receipts], pa.int64()),
        }
    )


def found(rows: pa.Table) -> dict[str, set[int]]:
    """Sequences of late and doubled messages, from the rows of suspect blocks only."""
    suspects = suspect_blocks(count_blocks(rows, KEY, [PERIOD]), KEY, [PERIOD], FOREIGN_STREAM)
    keys = KEY.block_keys(
        KEY.pair_keys(0, 0, rows["stream"].to_numpy().astype(np.int64)), rows["sequence"].to_numpy() // BLOCK
    )
    chosen = rows.filter(pa.array(np.isin(keys, suspects["key"].to_numpy())))
    named = faults(chosen, KEY).to_pylist() if chosen.num_rows else []
    return {kind: {row["sequence"] for row in named if row["kind"] == kind} for kind in ("reordered", "duplicate")}


@settings(max_examples=200, deadline=None)
@given(
    delays=st.lists(st.sampled_from([0, 5, 300, 900, 1_100, 70 * PERIOD, 140 * PERIOD]), min_size=1, max_size=250),
    twice=st.sets(st.integers(0, 249), max_size=5),
)
def test_suspect_blocks_hold_all_faults(delays: list[int], twice: set[int]) -> None:
    """Short and long delays, some of them over more than a block."""
    times = [(sequence, sequence * PERIOD + delay) for sequence, delay in enumerate(delays)]
    times += [(sequence, received + 7) for sequence, received in times if sequence in twice]

    answer = found(rows_of(times))

    assert oracle.late([(received, sequence) for sequence, received in times]) == answer["reordered"]
    assert {sequence for sequence in twice if sequence < len(delays)} == answer["duplicate"]


def test_a_message_overtaken_by_one_two_blocks_later_is_late() -> None:
    """Though all of the block between them came later: neighbours alone do not show it."""
    times = {sequence: sequence * PERIOD for sequence in range(3 * BLOCK)}
    times[2 * BLOCK + 3] = times[BLOCK - 2] + 1  # before the last of block 0

    late = found(rows_of(list(times.items())))["reordered"]

    assert BLOCK - 1 in late
    assert set(range(BLOCK, 2 * BLOCK)) <= late


def test_a_calm_stream_has_no_suspects() -> None:
    """Then no row is read again."""
    rows = rows_of([(sequence, sequence * PERIOD + sequence % 3) for sequence in range(1000)])

    assert 0 == suspect_blocks(count_blocks(rows, KEY, [PERIOD]), KEY, [PERIOD], FOREIGN_STREAM).num_rows


def test_beyond_a_thousand_names_late_messages_are_still_counted() -> None:
    """Counts are exact; names are examples."""
    rows = rows_of([(sequence, 10_000_000 - sequence) for sequence in range(3 * MOST)])

    late = [row for row in faults(rows, KEY).to_pylist() if row["kind"] == "reordered"]

    assert MOST == sum(row["sequence"] is not None for row in late)
    assert 3 * MOST - 1 == sum(row["count"] for row in late)
    assert FAULTS == faults(rows, KEY).schema


def test_numbers_too_large_for_a_key_are_refused() -> None:
    """A garbled sequence only counts as foreign; garbled streams and subscriptions have no room."""
    assert BlockKey.for_numbers(32, 1 << 20, 1 << 20, 1 << 62).last_sequence < 1 << 62
    with pytest.raises(DataError, match="larger than any plan"):
        BlockKey.for_numbers(1, (1 << 31) - 1, (1 << 31) - 1, 10)
