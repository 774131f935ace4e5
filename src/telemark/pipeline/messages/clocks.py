"""Deliveries and acknowledgements of runs on a bed, put on the runner's clock by Spark.

Each host has a slot. A knot of its correction is found by slot and the number of the step a time falls into; a
broadcast join gives the correction at the knot and how much it rises until the next one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from telemark.model.clock import Correction
from telemark.pipeline.tables.clocks import RunClocks, Stretch

PROCESS: Final = "cast(substring_index(_metadata.file_name, '-', 1) as int) as written_by"  # of every record file
_KNOT_BITS: Final = 32
_SENDER_TIMES: Final = ("intended_ns", "sent_ns")


@dataclass(frozen=True, slots=True)
class MessageClocks:
    """Clocks of the runs of a batch that have several hosts.

    Args:
        runs: by the run's number in the batch.
        senders: which process sends which streams, by the run's number in the batch.
    """

    runs: Mapping[int, RunClocks]
    senders: Mapping[int, Sequence[Stretch]]

    def correct(self, name: str, frame: DataFrame) -> DataFrame:
        """A record table with columns r and written_by, on the runner's clock, without written_by."""
        if name == "deliveries":
            return self._deliveries(frame)
        if name == "acks":
            return self._acks(frame)
        return frame.drop("written_by")

    def _deliveries(self, frame: DataFrame) -> DataFrame:
        columns = [column for column in frame.columns if column != "written_by"]
        slotted = frame.selectExpr("*", f"{self._writer_sql()} as there", f"{self._sender_sql()} as here")
        received = self._shifted(slotted, "there", "received_ns", "received_shift")
        sent = self._shifted(received, "here", "sent_ns", "sent_shift")
        # One host has one clock: its own durations must not be touched by how well the clock is known.
        shift = "if(here <=> there, received_shift, sent_shift)"
        texts = {name: f"{name} + if(stream < 0, 0L, {shift}) as {name}" for name in _SENDER_TIMES}
        texts["received_ns"] = "received_ns + received_shift as received_ns"
        return sent.selectExpr(*[texts.get(column, column) for column in columns])

    def _acks(self, frame: DataFrame) -> DataFrame:
        columns = [column for column in frame.columns if column != "written_by"]
        slotted = frame.selectExpr("*", f"{self._writer_sql()} as there")
        shifted = self._shifted(slotted, "there", "sent_ns", "shift")
        texts = {name: f"{name} + shift as {name}" for name in ("sent_ns", "acked_ns")}
        return shifted.selectExpr(*[texts.get(column, column) for column in columns])

    def _slots(self) -> list[tuple[int, str, Correction]]:
        """(run, host, correction) of every slot."""
        return [(run, host, found) for run, clocks in self.runs.items() for host, found in clocks.corrections.items()]

    def _slot(self, run: int, process: int) -> int | None:
        host = self.runs[run].host_of.get(process)
        names = [(number, name) for number, name, _ in self._slots()]
        return names.index((run, host)) if host is not None else None

    def _writer_sql(self) -> str:
        cases = []
        for run, clocks in self.runs.items():
            for process in clocks.host_of:
                cases.append(f"when r = {run} and written_by = {process} then {self._slot(run, process)}")
        return f"case {' '.join(cases)} end" if cases else "cast(null as int)"

    def _sender_sql(self) -> str:
        cases = []
        for run, found in self.senders.items():
            for each in found:
                slot = self._slot(run, each.process)
                if slot is not None:
                    cases.append(f"when r = {run} and stream between {each.first} and {each.last} then {slot}")
        return f"case {' '.join(cases)} end" if cases else "cast(null as int)"

    def _shifted(self, frame: DataFrame, slot: str, time: str, name: str) -> DataFrame:
        """The frame with what to add to a time; 0 where the row's host needs no correction."""
        firsts = _by_slot([found.first_ns for _, _, found in self._slots()], slot)
        steps = _by_slot([found.step_ns for _, _, found in self._slots()], slot)
        lasts = _by_slot([len(found.correction_ns) - 2 for _, _, found in self._slots()], slot)
        knot = f"least(greatest(({time} - {firsts}) div {steps}, 0L), {lasts})"
        key = f"shiftleft(cast({slot} as bigint), {_KNOT_BITS}) | {knot}"
        keyed = frame.selectExpr("*", f"{key} as knot_key")
        joined = keyed.join(F.broadcast(self._knots(frame.sparkSession)), "knot_key", "left")
        past = f"({time} - {firsts}) - (knot_key & {(1 << _KNOT_BITS) - 1}L) * {steps}"
        shift = f"coalesce(knot + (rise * least(greatest({past}, 0L), {steps})) div {steps}, 0L) as {name}"
        return joined.selectExpr(*frame.columns, shift)

    def _knots(self, spark: SparkSession) -> DataFrame:
        """(knot_key, knot, rise) of every knot of every slot."""
        keys, knots, rises = [], [], []
        for number, (_, _, found) in enumerate(self._slots()):
            values = np.asarray(found.correction_ns, dtype=np.int64)
            keys.append((number << _KNOT_BITS) | np.arange(values.size - 1, dtype=np.int64))
            knots.append(values[:-1])
            rises.append(np.diff(values))
        columns = {"knot_key": keys, "knot": knots, "rise": rises}
        table = pa.table({name: pa.array(np.concatenate(parts)) for name, parts in columns.items()})
        return spark.createDataFrame(table)


def _by_slot(values: Sequence[int], slot: str) -> str:
    return f"array({', '.join(f'{value}L' for value in values)})[{slot}]"
