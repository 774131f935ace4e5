"""Reads the result tables of a campaign with pyarrow: all that reports know about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from telemark.errors import DataError
from telemark.store.bounded import Most, read_bounded
from telemark.store.documents.analysed import ANALYSED, Analysed
from telemark.store.layout import RESULTS
from telemark.store.results import RESULTS_VERSION, TABLES
from telemark.store.safe import regular_files

PER_CAMPAIGN = frozenset({"scaling", "comparison"})
MOST = Most(rows=2_000_000, text=256 << 20)  # of one file: no analysis writes more
# What every row has: rows are put in order by it.
_ALWAYS: dict[str, tuple[str, ...]] = {
    "latency": ("measure", "phase"),
    "distribution": ("measure", "phase", "lower_us", "upper_us", "count"),
    "intervals": ("second",),
    "cores": ("second", "core"),
}


@dataclass(frozen=True, slots=True)
class ResultTables:
    """The result tables of one campaign folder."""

    campaign: Path
    runs: tuple[str, ...]  # analysed by a pipeline of this results version, in name order
    problems: dict[str, str] = field(default_factory=dict)  # run -> why it has no results
    outdated: tuple[str, ...] = ()  # analysed by another version: analyse again

    @classmethod
    def open(cls, campaign: Path | str) -> ResultTables:
        """Look which runs are analysed.

        Raises:
            DataError: the campaign has no results.
        """
        folder = Path(campaign)
        notes = _notes(folder / RESULTS / ANALYSED)
        if not notes:
            raise DataError(f"{folder} has no results", hint=f"telemark analyze {folder}")
        current = [note for note in notes if note.version == RESULTS_VERSION]
        return cls(
            folder,
            tuple(note.run for note in current if note.problem is None),
            {note.run: note.problem for note in current if note.problem is not None},
            tuple(note.run for note in notes if note.version != RESULTS_VERSION),
        )

    def table(self, name: str, runs: Sequence[str] | None = None) -> pa.Table:
        """A result table, of all runs or of some; empty when nothing was measured.

        Raises:
            DataError: a file of it is damaged.
        """
        schema = TABLES[name]
        folder = self.campaign / RESULTS / name
        places = [folder] if name in PER_CAMPAIGN else [folder / f"run={run}" for run in runs or self.runs]
        parts = [_read(path, schema, _ALWAYS.get(name, ())) for place in places for path in regular_files(place)]
        return pa.concat_tables(parts) if parts else schema.empty_table()

    def rows(self, name: str, runs: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """A small result table as plain rows."""
        rows: list[dict[str, Any]] = self.table(name, runs).to_pylist()
        return rows


def _notes(folder: Path) -> list[Analysed]:
    return [note for path in regular_files(folder, ".json") if (note := Analysed.read(path)) is not None]


def _read(path: Path, schema: pa.Schema, always: Sequence[str]) -> pa.Table:
    try:
        found = read_bounded(path, MOST).select(schema.names)
        if empty := next((name for name in always if found.column(name).null_count), None):
            raise DataError(f"{path} has rows without {empty}", hint="telemark analyze --again makes it again")
        return found.cast(schema)
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise DataError(f"{path} is damaged: {error}", hint="telemark analyze --again makes it again") from error
