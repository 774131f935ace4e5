"""Which figure of a run is its VALUE on the score card, and what its statistics are of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from telemark.model.case import Case
from telemark.model.columns import POINTS, Column, Unit

# The reports know four kinds of result.
_KINDS: Final[dict[Unit, str]] = {
    "messages_per_second": "Throughput",
    "us": "Latency",
    "connections_per_second": "Connection rate",
    "bytes": "Memory",
}


@dataclass(frozen=True, slots=True)
class Headline:
    """The column of `points` that is a run's value, and whose statistics follow it: `latency` or `connect`."""

    column: Column
    statistics: str

    @property
    def kind(self) -> str:
        """What sort of result it is, in the words of the published reports."""
        return _KINDS.get(self.column.unit, "Result")


def headline_of(case: Case) -> Headline:
    """The headline that the run's own case chose."""
    column = POINTS.find(case.headline)
    if column is None:
        raise ValueError(f"points has no column {case.headline!r}")
    return Headline(column, case.statistics)
