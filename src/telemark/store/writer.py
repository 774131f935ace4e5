"""Writes records as Arrow batches into a run folder: those of the runner and of consumers (see `store.series`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from telemark.store.arrow import checked, rows_batch
from telemark.store.schemas import TABLES
from telemark.store.series import SeriesWriter

ROW_GROUP_ROWS: Final = 1_000_000  # one unit of Spark's parallel reading

# Times and sequences grow steadily: their differences are small numbers. Everything else repeats a lot.
_DELTA_SUFFIX: Final = "_ns"
_DELTA_COLUMNS: Final = frozenset({"sequence", "first_sequence", "last_sequence", "device"})


def encodings(schema: pa.Schema) -> tuple[dict[str, str], list[str]]:
    """(columns with delta encoding, columns with a dictionary) of a record table."""
    delta = {
        field.name: "DELTA_BINARY_PACKED"
        for field in schema
        if pa.types.is_integer(field.type) and (field.name.endswith(_DELTA_SUFFIX) or field.name in _DELTA_COLUMNS)
    }
    rest = [field.name for field in schema if field.name not in delta and not pa.types.is_boolean(field.type)]
    return delta, rest


class ArrowFile:
    """A Parquet file of Arrow batches, with this project's compression and encodings."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        delta, dictionary = encodings(schema)
        self._schema = schema
        self._writer = pq.ParquetWriter(
            path, schema, compression="zstd", use_dictionary=dictionary, column_encoding=delta
        )
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows; they stay in memory until they fill a row group."""
        self._pending.append(batch)
        self._pending_rows += batch.num_rows
        if self._pending_rows >= ROW_GROUP_ROWS:
            self._flush()

    def close(self) -> None:
        """Write the rest and what a reader needs."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._pending:
            self._writer.write_table(pa.Table.from_batches(self._pending, self._schema), row_group_size=ROW_GROUP_ROWS)
        self._pending, self._pending_rows = [], 0


class RecordWriter(SeriesWriter):
    """Records of one process as Arrow batches or plain rows."""

    def write_rows(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """A few plain rows; keys are column names."""
        self.write(table, rows_batch(table, rows))

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        """An Arrow batch in the table's schema."""
        self._add(table, checked(table, batch), batch.num_rows)

    def _make_file(self, table: str, path: Path) -> ArrowFile:
        return ArrowFile(path, TABLES[table])
