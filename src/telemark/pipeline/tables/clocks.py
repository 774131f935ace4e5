"""Times of other hosts on the runner's clock: the corrections of a run on a bed, from its exchanges of clock readings.

Rows keep the time of the host that made them. Which host that was follows from the file a row is in, and for the times
of a message's sender from its stream. Between processes of one host nothing is corrected: they have one clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from telemark.errors import DataError
from telemark.model.clock import Correction, Exchange, correction
from telemark.pipeline.messages.keys import Numbers
from telemark.store.documents.run import RunFile

# Columns with times of the host that made the row. Deliveries and acknowledgements are corrected in Spark.
TIMES: Final[Mapping[str, tuple[str, ...]]] = {
    "connections": ("started_ns", "tcp_ns", "tls_ns", "connack_ns", "suback_ns"),
    "events": ("time_ns",),
    "health": ("time_ns",),
    "subscribed": ("from_ns", "until_ns"),
}


@dataclass(frozen=True, slots=True)
class Stretch:
    """Streams of one process, which have neighbouring numbers."""

    first: int
    last: int
    process: int


@dataclass(frozen=True, slots=True)
class RunClocks:
    """The clocks of all hosts of a run."""

    corrections: Mapping[str, Correction]  # by host
    host_of: Mapping[int, str]  # process -> host; processes of the runner are not in it

    @classmethod
    def of(cls, facts: RunFile, clock: pa.Table) -> RunClocks:
        """From run.json and the record table `clock`.

        Raises:
            DataError: there are no exchanges with a host, or they contradict each other.
        """
        exchanges: dict[str, list[Exchange]] = {host["host"]: [] for host in facts.hosts}
        for host, *readings in zip(*(clock[name].to_pylist() for name in clock.column_names), strict=True):
            if host in exchanges:
                exchanges[host].append(Exchange(*readings))
        return cls(
            {host: correction(found) for host, found in exchanges.items()},
            {process: host["host"] for host in facts.hosts for process in host["processes"]},
        )

    def correct(self, name: str, table: pa.Table, process: int) -> pa.Table:
        """Rows of a small record table that one process wrote, on the runner's clock."""
        found = self.corrections.get(self.host_of.get(process, ""))
        if found is None:
            return table
        for column in TIMES.get(name, ()):
            times = table[column]
            filled = np.asarray(pc.fill_null(times, found.first_ns).to_numpy(), dtype=np.int64)
            corrected = pa.array(filled + shifts(found, filled), mask=np.asarray(pc.is_null(times)))
            table = table.set_column(table.column_names.index(column), table.schema.field(column), corrected)
        return table

    def error_ns(self, facts: RunFile) -> int:
        """The largest error of a latency between any two hosts that send or receive, while it was measured."""
        begin, end = facts.phases.get("measure", (0, 0))
        loaded = [host["host"] for host in facts.hosts if set(host["roles"]) != {"server"}]
        errors = sorted((_worst(self.corrections[host], begin, end) for host in loaded), reverse=True)
        return sum(errors[:2]) if len(errors) > 1 else 0


def shifts(found: Correction, times: Numbers) -> Numbers:
    """What to add to times of a host."""
    knots = np.asarray(found.correction_ns, dtype=np.int64)
    place, past = np.divmod(times - found.first_ns, found.step_ns)
    place = np.clip(place, 0, knots.size - 2)
    rises = (knots[place + 1] - knots[place]) * np.clip(past, 0, found.step_ns)
    corrected: Numbers = knots[place] + rises // found.step_ns
    return corrected


def _worst(found: Correction, begin: int, end: int) -> int:
    """The largest error between two times of the runner."""
    first = max(0, (found.to_host(begin) - found.first_ns) // found.step_ns) if begin else 0
    last = (found.to_host(end) - found.first_ns) // found.step_ns + 2 if end else None
    return max(found.error_ns[first:last] or found.error_ns)


def stretches(streams: Numbers, processes: Numbers) -> Sequence[Stretch]:
    """Which process sends each stream, in as few stretches as there are."""
    if not streams.size:
        return ()
    order = np.argsort(streams)
    streams, processes = streams[order], processes[order]
    starts = np.flatnonzero(np.r_[True, (np.diff(processes) != 0) | (np.diff(streams) != 1)])
    ends = np.r_[starts[1:] - 1, streams.size - 1]
    return tuple(
        Stretch(int(streams[start]), int(streams[end]), int(processes[start]))
        for start, end in zip(starts, ends, strict=True)
    )


def process_of(file_name: str) -> int:
    """The process that wrote a record file.

    Raises:
        DataError: the file has another kind of name.
    """
    number = file_name.partition("-")[0]
    if not number.isdigit():
        raise DataError(f"{file_name}: expected a record file, named PROCESS-NUMBER.parquet")
    return int(number)
