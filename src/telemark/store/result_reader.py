"""Reads the result tables of a campaign with pyarrow: all that reports know about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from telemark.errors import DataError
from telemark.store.layout import RESULTS, unfinished
from telemark.store.results import RESULTS_VERSION, TABLES

ANALYSED = "analysed"  # results/analysed/<run>.json, written last: its presence says that a run's tables are there
PER_CAMPAIGN = frozenset({"scaling", "comparison"})


@dataclass(frozen=True, slots=True)
class Analysed:
    """The pipeline's note about one run: its tables are there, or why they are not."""

    run: str
    version: int  # RESULTS_VERSION of the pipeline that wrote them
    source: str  # fingerprint of the run.json they were made from
    problem: str | None = None

    def as_json(self) -> str:
        """Text of the note."""
        note = {"run": self.run, "version": self.version, "source": self.source, "problem": self.problem}
        return json.dumps(note, ensure_ascii=False) + "\n"

    @classmethod
    def parse(cls, text: str) -> Analysed | None:
        """The note, or None when it cannot be understood: then the run counts as not analysed."""
        try:
            note = json.loads(text)
            return cls(str(note["run"]), int(note["version"]), str(note["source"]), note.get("problem"))
        except (ValueError, KeyError, TypeError, AttributeError):
            return None


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
        parts = [_read(path, schema) for place in places for path in _files(place)]
        return pa.concat_tables(parts) if parts else schema.empty_table()

    def rows(self, name: str, runs: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """A small result table as plain rows."""
        rows: list[dict[str, Any]] = self.table(name, runs).to_pylist()
        return rows


def _notes(folder: Path) -> list[Analysed]:
    texts = (path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.json")) if not unfinished(path.name))
    return [note for note in map(Analysed.parse, texts) if note is not None]


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.parquet") if not unfinished(path.name))


def _read(path: Path, schema: pa.Schema) -> pa.Table:
    try:
        return pq.read_table(path, partitioning=None).select(schema.names).cast(schema)
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise DataError(f"{path} is damaged: {error}", hint="telemark analyze --again makes it anew") from error
