"""The small record tables of a run, in the driver's memory.

Spark is for what grows with the messages (deliveries and acknowledgements). What grows with seconds or devices fits
into memory, and a Spark job over it would take longer than all the work in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import pyarrow as pa

from telemark.pipeline.tables.clocks import TIMES, RunClocks
from telemark.store.documents.run import RunFile
from telemark.store.schemas import TABLES


class RunRecords:
    """Record tables of one run by name, each read once, when it is asked for. Times are on the runner's clock.

    Args:
        facts: run.json.
        parts: rows of a table, with the process that wrote them.
    """

    def __init__(self, facts: RunFile, parts: Callable[[str], Iterable[tuple[int, pa.Table]]]) -> None:
        self._facts = facts
        self._parts = parts
        self._tables: dict[str, pa.Table] = {}

    @cached_property
    def clocks(self) -> RunClocks | None:
        """The clocks of its hosts; None when it had one only."""
        return RunClocks.of(self._facts, self._together("clock", None)) if self._facts.hosts else None

    def table(self, name: str) -> pa.Table:
        """A whole record table."""
        if name not in self._tables:
            self._tables[name] = self._together(name, self.clocks if name in TIMES else None)
        return self._tables[name]

    def _together(self, name: str, clocks: RunClocks | None) -> pa.Table:
        parts = [clocks.correct(name, rows, process) if clocks else rows for process, rows in self._parts(name)]
        return pa.concat_tables(parts) if parts else TABLES[name].empty_table()

    def columns(self, name: str, *columns: str) -> list[list[Any]]:
        """Columns of a table as plain lists: loops over them need no row objects."""
        table = self.table(name)
        return [table[column].to_pylist() for column in columns]
