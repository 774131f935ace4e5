"""The deliveries of a batch: counted by Spark, or fetched as they are where they are few."""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from telemark.pipeline.messages.blocks import blocks, delivery_rows, foreign_rows, rows_of_blocks
from telemark.pipeline.messages.counted import InSpark, counted, fits_here
from telemark.pipeline.messages.durations import ack_keys, delivery_keys, durations
from telemark.pipeline.messages.keys import MESSAGE_MEASURES, NO_DURATION
from telemark.pipeline.numbering import Numbering
from telemark.pipeline.spark.reading import Records
from telemark.pipeline.tables.blocks import count_blocks
from telemark.pipeline.tables.counted import Counted, Here
from telemark.pipeline.tables.statistics import counted_keys, numbers

COUNTED_HERE_ROWS: Final = 500_000  # deliveries and acknowledgements of a batch

_FEW_ROWS: Final = 2  # picking out the rows of suspect blocks pays while they are less than one in so many


class Deliveries(Protocol):
    """What latency and integrity ask of the deliveries of a batch."""

    def durations(self) -> Counted:
        """(key, n) of every duration of deliveries and acknowledgements."""
        ...

    def blocks(self) -> Counted:
        """(key, bits, n, low, high) of every block; see blocks.py."""
        ...

    def rows_of(self, suspects: pa.Table) -> Counted:
        """(r, subscription, owner, stream, sequence, received_ns) of at least the suspect blocks (key, n)."""
        ...

    def foreign(self, run: int, most: int) -> pa.Table:
        """(owner, received_ns) of the first rows of a run that carry no message of it."""
        ...


class CountedBySpark:
    """Any number of deliveries: Spark counts them, in one pass for each question."""

    def __init__(self, records: Records, numbering: Numbering, members: pa.Table, most_blocks: int) -> None:
        self._records = records
        self._numbering = numbering
        self._most_blocks = most_blocks
        self._rows = delivery_rows(records, numbering, members)

    def durations(self) -> Counted:
        return durations(self._records, self._numbering.deliveries, self._numbering.acks)

    def blocks(self) -> Counted:
        return counted(blocks(self._rows, self._numbering), self._most_blocks)

    def rows_of(self, suspects: pa.Table) -> Counted:
        total = pc.sum(suspects["n"]).as_py()
        if total * _FEW_ROWS < self._numbering.deliveries:
            frame = rows_of_blocks(self._rows, self._numbering, suspects.select(["key"]))
        else:
            frame = self._rows.where(f"stream != {self._numbering.foreign_stream}")
            total = self._numbering.deliveries
        return Here(frame.toArrow()) if fits_here(frame, total) else InSpark(frame, total)

    def foreign(self, run: int, most: int) -> pa.Table:
        return foreign_rows(self._rows, self._numbering, run, most)


class CountedHere:
    """Few deliveries: one Spark job reads them and makes their keys, and counting them here is sooner done."""

    def __init__(self, records: Records, numbering: Numbering, members: pa.Table) -> None:
        self._numbering = numbering
        self._rows = delivery_rows(records, numbering, members, delivery_keys(records.batch)).toArrow()
        self._acks = ack_keys(records).toArrow() if numbering.acks else None

    def durations(self) -> Counted:
        columns = [numbers(self._rows, measure) for measure in MESSAGE_MEASURES]
        columns += [numbers(self._acks, "key")] if self._acks is not None else []
        keys = np.concatenate(columns)
        return Here(counted_keys(keys[keys != NO_DURATION]))

    def blocks(self) -> Counted:
        return Here(count_blocks(self._rows, self._numbering.key, self._numbering.periods))

    def rows_of(self, suspects: pa.Table) -> Counted:
        return Here(self._own(True))

    def foreign(self, run: int, most: int) -> pa.Table:
        found = self._own(False)
        return found.filter(pc.equal(found["r"], run)).sort_by("received_ns").slice(0, most)

    def _own(self, own: bool) -> pa.Table:
        foreign = pc.equal(self._rows["stream"], self._numbering.foreign_stream)
        return self._rows.filter(pc.invert(foreign) if own else foreign)
