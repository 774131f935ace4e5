"""`offenders`: the first thousand messages of a run that were lost, doubled, late or not ours, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from telemark.pipeline.messages.keys import BLOCK, BLOCK_BITS, BlockKey, Numbers
from telemark.pipeline.tables import Row
from telemark.pipeline.tables.counted import Counted, Question
from telemark.pipeline.tables.integrity import BLOCKS, PAIRS, blocks_of, pair_counts
from telemark.pipeline.tables.order import late
from telemark.pipeline.tables.owed import OwedToRun
from telemark.pipeline.tables.statistics import numbers, starts_of

MOST: Final = 1000
# Faults of rows: named messages (count 1), and for late ones the rest of each subscription (count, no sequence).
FAULTS: Final = pa.schema(
    [("r", pa.int32()), ("kind", pa.string()), ("subscription", pa.int32()), ("stream", pa.int32()),
     ("sequence", pa.int64()), ("times", pa.int64()), ("received_ns", pa.int64()), ("count", pa.int64())]
)  # fmt: skip


def faults(rows: pa.Table, key: BlockKey) -> pa.Table:
    """FAULTS of delivery rows (r, subscription, owner, stream, sequence, received_ns): what is late or doubled.

    The rows hold all suspect messages of a pair of owner and stream. Late is told by subscription: members of a share
    group have no order between them. Doubled is told by owner.
    """
    return pa.concat_tables([_late(_Ordered(rows, key, "subscription")), _doubled(_Ordered(rows, key, "owner"))])


class _Ordered:
    """Delivery rows in order of pair, sequence and time of receipt."""

    def __init__(self, rows: pa.Table, key: BlockKey, owner: str) -> None:
        r, self.owner, stream = (numbers(rows, name) for name in ("r", owner, "stream"))
        pairs = key.pair_keys(r, self.owner, stream)
        sequence, received = numbers(rows, "sequence"), numbers(rows, "received_ns")
        order = np.lexsort((received, sequence, pairs))
        self.r, self.owner, self.stream = r[order], self.owner[order], stream[order]
        self.pairs, self.sequence, self.received = pairs[order], sequence[order], received[order]

    def named(self, kind: str, chosen: Numbers, times: Numbers, received: Numbers) -> pa.Table:
        """FAULTS that name the first MOST chosen rows of each run."""
        runs = starts_of(self.r[chosen])
        place = np.arange(chosen.size) - np.repeat(runs, np.diff([*runs, chosen.size]))
        first = place < MOST
        at = chosen[first]
        columns = [
            self.r[at], [kind] * at.size, self.owner[at], self.stream[at], self.sequence[at], times[first],
            received[first], np.ones(at.size, dtype=np.int64),
        ]  # fmt: skip
        named = _fault_table(columns)
        return pa.concat_tables([named, self._rest(kind, chosen[~first])])

    def _rest(self, kind: str, chosen: Numbers) -> pa.Table:
        """FAULTS that only count, one row per run and owner."""
        starts = starts_of(self.r[chosen], self.owner[chosen])
        counts = np.diff([*starts, chosen.size])
        at = chosen[starts]
        unknown = [None] * at.size
        return _fault_table([self.r[at], [kind] * at.size, self.owner[at], *[unknown] * 4, counts])


def _fault_table(columns: Sequence[Any]) -> pa.Table:
    return pa.Table.from_arrays(
        [pa.array(column, field.type, safe=False) for column, field in zip(columns, FAULTS, strict=True)],
        schema=FAULTS,
    )


def _late(rows: _Ordered) -> pa.Table:
    chosen = late(rows.pairs, rows.sequence, rows.received)
    return rows.named("reordered", chosen, np.ones(chosen.size, dtype=np.int64), rows.received[chosen])


def _doubled(rows: _Ordered) -> pa.Table:
    """Messages received more than once, with the last receipt."""
    starts = starts_of(rows.pairs, rows.sequence)
    times = np.diff([*starts, rows.pairs.size])
    several = times > 1
    last = np.add(starts, times)[several] - 1
    return rows.named("duplicate", starts[several], times[several], rows.received[last])


def lost_rows(blocks: Counted, key: BlockKey, run: int, owed: OwedToRun, integrity: Mapping[int, Row]) -> list[Row]:
    """The first lost messages of a run. `integrity`: its rows by owner."""
    owners = _first_losers(integrity)
    owing = sorted(
        (owner, stream, sent)
        for stream, audience, _, sent in owed.streams
        for owner in owners
        if sent and (audience, owner) in owed.audiences
    )
    if not owing:
        return []
    owner, stream, sent = (np.asarray(column, dtype=np.int64) for column in zip(*owing, strict=True))
    pairs = key.pair_keys(run, owner, stream)
    questions = [
        Question(partial(counts_of, key=key, pairs=pairs), PAIRS),
        Question(partial(blocks_of_short, key=key, pairs=pairs, sent=sent), BLOCKS),
    ]
    counts, present = blocks.answer(questions, key.pair_sql())
    present = present.sort_by("key")
    keys, bits = numbers(present, "key"), numbers(present, "bits")
    found: list[Row] = []
    for place in _short(counts, pairs, sent).tolist():
        for sequence in _missing(key, pairs[place], int(sent[place]), keys, bits):
            row = {"subscription": int(owner[place]), "kind": "lost", "stream": int(stream[place])}
            found.append(row | {"sequence": sequence, "times": 0})
            if len(found) == MOST:
                return found
    return found


def _first_losers(integrity: Mapping[int, Row]) -> list[int]:
    """Owners whose losses are enough to fill the table."""
    found, total = [], 0
    for owner, row in integrity.items():
        if row["lost"] and total < MOST:
            found.append(owner)
            total += row["lost"]
    return found


def counts_of(blocks: pa.Table, key: BlockKey, pairs: Numbers) -> pa.Table:
    """PAIRS of these pairs, as far as they have blocks."""
    return pair_counts(blocks_of(blocks, key, pairs), key)


def blocks_of_short(blocks: pa.Table, key: BlockKey, pairs: Numbers, sent: Numbers) -> pa.Table:
    """Blocks of the first of these pairs that have some, but not all of what was sent. `pairs` are in order."""
    counts = counts_of(blocks, key, pairs)
    here = np.isin(pairs, numbers(counts, "pair"))
    return blocks_of(blocks, key, pairs[here][_short(counts, pairs[here], sent[here])])


def _short(counts: pa.Table, pairs: Numbers, sent: Numbers) -> Numbers:
    """Places of the first pairs that got less than was sent."""
    ordered = counts.sort_by("pair")
    got = _looked_up(pairs, numbers(ordered, "pair"), numbers(ordered, "delivered"))
    return np.flatnonzero(got < sent)[:MOST]


def _looked_up(wanted: Numbers, keys: Numbers, values: Numbers) -> Numbers:
    """The value of each wanted key; 0 where there is none. `keys` are in order."""
    if not keys.size:
        return np.zeros(wanted.size, dtype=np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where(keys[at] == wanted, values[at], 0)


def _missing(key: BlockKey, pair: int, sent: int, keys: Numbers, bits: Numbers) -> Iterator[int]:
    """Sequences below `sent` that no block of the pair has."""
    number = np.arange(-(-sent // BLOCK))
    arrived = _looked_up(key.block_keys(pair, number), keys, bits)
    for block in number[arrived != -1].tolist():
        for place in range(BLOCK):
            sequence = (block << BLOCK_BITS) + place
            if sequence < sent and not int(arrived[block]) >> place & 1:
                yield sequence


def named_rows(found: pa.Table, kind: str) -> list[Row]:
    """The messages FAULTS name."""
    return [
        {name: row[name] for name in ("subscription", "kind", "stream", "sequence", "times", "received_ns")}
        for row in found.to_pylist()
        if row["kind"] == kind and row["sequence"] is not None
    ]


def foreign_rows(rows: pa.Table) -> list[Row]:
    """Deliveries (owner, received_ns) that carry no message of this run."""
    return [
        {"subscription": row["owner"], "kind": "foreign", "times": 1, "received_ns": row["received_ns"]}
        for row in rows.to_pylist()
    ]


def first_thousand(kinds: Sequence[list[Row]]) -> list[Row]:
    """At most MOST rows of one run: scarce kinds whole, the others cut alike."""
    room = MOST
    chosen: list[Row] = []
    for left, rows in zip(range(len(kinds), 0, -1), sorted(kinds, key=len), strict=True):
        taken = rows[: room // left]
        chosen += taken
        room -= len(taken)
    return chosen
