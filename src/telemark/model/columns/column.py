"""What is known about one column, and about one table of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Unit = Literal[
    "us", "ns", "seconds", "messages_per_second", "connections_per_second", "bytes", "cores", "share", "ratio",
    "count", "text",
]  # fmt: skip
Better = Literal["higher", "lower"] | None
NUMBERS: Final = frozenset({"int8", "int16", "int32", "int64", "float64"})


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `better` is None where neither more nor less is better, or where there is nothing to compare."""

    name: str
    type: str  # Arrow's name of the type: int64, float64, string, bool, list<string> ...
    unit: Unit
    better: Better
    meaning: str
    card: str | None = None  # heading on the score card; None: not on it
    beside: str | None = None  # heading on the score card of runs that have a published value to stand beside it
    short: tuple[str, ...] = ()  # other names a threshold may use
    subject: str = ""  # whose statistic it is: latency, connect ...; empty for other columns
    nullable: bool = True

    @property
    def is_number(self) -> bool:
        """Whether it can be compared with a limit."""
        return self.type in NUMBERS


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the run folder or of the results."""

    name: str
    meaning: str
    columns: tuple[Column, ...]

    def find(self, name: str) -> Column | None:
        """The column of that name."""
        return next((column for column in self.columns if column.name == name), None)
