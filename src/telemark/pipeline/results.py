"""Writes the result tables of one campaign: into a local folder, or behind a URL that Spark reaches.

The tables of a run are complete before its note is written, and the note goes before they change: a reader that finds
a note finds the tables that belong to it. Only files that analysis writes are ever removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Final, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from telemark.errors import DataError
from telemark.store.bounded import read_table
from telemark.store.documents.analysed import ANALYSED, Analysed
from telemark.store.result_reader import MOST
from telemark.store.results import TABLES

_PART: Final = "part-00000.parquet"


class ResultFiles(Protocol):
    """Files of a results folder, by their path in it: what a store of files must offer to hold results."""

    def children(self, folder: str) -> list[str]:
        """Names in a folder, sorted; empty when there is no such folder."""
        ...

    def read(self, path: str) -> bytes:
        """Content of a small file. Raises DataError when it cannot be read."""
        ...

    def write(self, path: str, content: bytes) -> None:
        """Write a file in one step, replacing an older one. Raises RequirementError when it cannot be written."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file, if it exists."""
        ...


class ResultStore:
    """The results of one campaign."""

    def __init__(self, files: ResultFiles) -> None:
        self._files = files

    def note(self, run: str) -> Analysed | None:
        """What is known about a run's results; None when nothing."""
        try:
            return Analysed.parse(self._files.read(_note(run)))
        except DataError:
            return None

    def write_run(self, run: str, tables: Mapping[str, pa.Table], note: Analysed) -> None:
        """Replace the tables of a run, then its note."""
        self._files.remove(_note(run))
        for name, table in tables.items():
            self._replace(f"{name}/run={run}", table)
        self._files.write(_note(run), note.as_json().encode())

    def write_campaign(self, name: str, table: pa.Table) -> None:
        """Replace a table of the whole campaign."""
        self._replace(name, table)

    def points(self) -> pa.Table:
        """The points of all analysed runs."""
        names = [child.removeprefix("run=") for child in self._files.children("points") if child.startswith("run=")]
        found = [self._points(run) for run in names if (note := self.note(run)) is not None and note.problem is None]
        return pa.concat_tables([*found, TABLES["points"].empty_table()])

    def _points(self, run: str) -> pa.Table:
        """None of a run whose file was damaged since: the others are still compared."""
        try:
            content = self._files.read(f"points/run={run}/{_PART}")
            return read_table(BytesIO(content), MOST).cast(TABLES["points"])
        except (DataError, ValueError, pa.ArrowException):
            return TABLES["points"].empty_table()

    def _replace(self, folder: str, table: pa.Table) -> None:
        """The folder holds one part afterwards: parts of earlier analyses would be read as rows, too."""
        content = BytesIO()
        pq.write_table(table, content, compression="zstd")
        self._files.write(f"{folder}/{_PART}", content.getvalue())
        for name in self._files.children(folder):
            if name.startswith("part-") and name.endswith(".parquet") and name != _PART:
                self._files.remove(f"{folder}/{name}")


def _note(run: str) -> str:
    return f"{ANALYSED}/{run}.json"
