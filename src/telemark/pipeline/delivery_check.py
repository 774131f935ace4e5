"""Who got what, once, in order: from blocks of messages, and from the rows of those that are suspect."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from telemark.pipeline.messages.deliveries import Deliveries
from telemark.pipeline.numbering import Numbering
from telemark.pipeline.tables import Row, offenders
from telemark.pipeline.tables.counted import Counted, Question
from telemark.pipeline.tables.integrity import RECEIVED, integrity_rows, merge_received, received, totals
from telemark.pipeline.tables.order import SUSPECTS, suspect_blocks
from telemark.pipeline.tables.owed import OwedToRun, audience_table, stream_table


@dataclass(frozen=True, slots=True)
class Integrity:
    """What is known about the messages of one run."""

    rows: dict[int, Row]  # of the table, by owner
    totals: Row
    offenders: list[Row]


class DeliveryCheck:
    """The check of one batch."""

    def __init__(self, deliveries: Deliveries, numbering: Numbering, owed: Sequence[OwedToRun]) -> None:
        self._deliveries = deliveries
        self._numbering = numbering
        self._key = numbering.key
        self._owed = owed

    def run(self) -> list[Integrity]:
        """One entry per run, in batch order."""
        counts = self._deliveries.blocks()
        try:
            got, suspects = self._look_at(counts)
            faults = self._faults(suspects)
            return [self._of_run(run, counts, _of(got, run), _of(faults, run)) for run in range(len(self._owed))]
        finally:
            counts.close()

    def _look_at(self, counts: Counted) -> tuple[pa.Table, pa.Table]:
        """RECEIVED and SUSPECTS of all blocks."""
        tables = {"streams": stream_table(self._owed), "audiences": audience_table(self._owed)}
        take = partial(received, key=self._key, **tables)
        foreign = self._numbering.foreign_stream
        find = partial(suspect_blocks, key=self._key, periods=self._numbering.periods, foreign_stream=foreign)
        questions = [Question(take, RECEIVED), Question(find, SUSPECTS)]
        got, suspects = counts.answer(questions, self._key.pair_sql())
        return merge_received(got), suspects

    def _faults(self, suspects: pa.Table) -> pa.Table:
        """Late and doubled messages. Where no block is suspect, no row is read again."""
        if not suspects.num_rows:
            return offenders.FAULTS.empty_table()
        rows = self._deliveries.rows_of(suspects)
        name = Question(partial(offenders.faults, key=self._key), offenders.FAULTS)
        (found,) = rows.answer([name], self._key.row_pair_sql())
        return found

    def _of_run(self, run: int, counts: Counted, got: pa.Table, faults: pa.Table) -> Integrity:
        owed = self._owed[run]
        rows = integrity_rows(owed, got.to_pylist(), _reordered(faults))
        sums = totals(rows.values())
        kinds = [offenders.named_rows(faults, kind) for kind in ("duplicate", "reordered")]
        if sums.get("lost"):
            kinds.append(offenders.lost_rows(counts, self._key, run, owed, rows))
        if sums.get("foreign"):
            kinds.append(offenders.foreign_rows(self._deliveries.foreign(run, offenders.MOST)))
        named = {owner: row["subscription"] for owner, row in rows.items()}
        chosen = offenders.first_thousand([kind for kind in kinds if kind])
        return Integrity(
            rows, sums, [row | {"subscription": named.get(row["subscription"], row["subscription"])} for row in chosen]
        )


def _of(table: pa.Table, run: int) -> pa.Table:
    return table.filter(pc.equal(table["r"], run))


def _reordered(faults: pa.Table) -> dict[int, int]:
    """Late messages by subscription."""
    found: dict[int, int] = defaultdict(int)
    for row in faults.filter(pc.equal(faults["kind"], "reordered")).to_pylist():
        found[row["subscription"]] += row["count"]
    return dict(found)
