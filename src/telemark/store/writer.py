"""Writes the records of one process into a run folder: Parquet files that appear only when they are complete.

Every table has its own series of files, `<process>-<number>.parquet`. A file is written under a name with a dot
in front and renamed when it is closed, so a reader never meets half a file and a process that dies loses at
most the rows since the last roll.

Tables with a row for every message come from the engine encoded already and are only put into files (`RecordFile`),
because everything here competes with the load for the processor. Everything else goes through Arrow.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.parquet as pq

from telemark._native import Batch, RecordFile
from telemark.errors import DataError, RequirementError
from telemark.store.arrow import NativeBatch, checked, native_batch, rows_batch
from telemark.store.layout import record_file
from telemark.store.schemas import TABLES

ROLL_SECONDS: Final = 10.0
ROLL_ROWS: Final = 4_000_000
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


@contextmanager
def _disk_errors(path: Path) -> Any:
    """A full disk is the host's lack, anything else a fault of the folder."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise RequirementError(
                f"no space left for {path}", hint="free disk space or choose another --out"
            ) from error
        raise DataError(f"cannot write {path}: {error}") from error


class _Series:
    """The files of one table: at most one is open."""

    def __init__(self, folder: Path, process: int, table: str, clock: Callable[[], float]) -> None:
        self._folder = folder / table
        self._process = process
        self._schema = TABLES[table]
        self._clock = clock
        self._number = 0
        self._file: ArrowFile | RecordFile | None = None
        self._opened = 0.0
        self._rows = 0
        self.written = 0

    def write(self, batch: pa.RecordBatch | Batch, rows: int) -> None:
        if rows == 0:
            return
        kind = RecordFile if isinstance(batch, Batch) else ArrowFile
        if not isinstance(self._file, kind):
            self.close()
        with _disk_errors(self._temporary):
            file = self._file or self._open(kind)
            file.write(batch)
        self._rows += rows

    def due(self, roll_seconds: float, roll_rows: int) -> bool:
        if self._file is None:
            return False
        return self._rows >= roll_rows or self._clock() - self._opened >= roll_seconds

    def close(self) -> None:
        """Finish the open file and give it its name."""
        if self._file is None:
            return
        with _disk_errors(self._temporary):
            self._file.close()
            self._temporary.rename(self._folder / record_file(self._process, self._number))
        self.written += self._rows
        self._file = None
        self._number += 1

    @property
    def _temporary(self) -> Path:
        return self._folder / f".{record_file(self._process, self._number)}"

    def _open(self, kind: type[ArrowFile | RecordFile]) -> ArrowFile | RecordFile:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._file = ArrowFile(self._temporary, self._schema) if kind is ArrowFile else RecordFile(self._temporary)
        self._opened = self._clock()
        self._rows = 0
        return self._file


class RecordWriter:
    """Records of one process. Not for several threads at once.

    Args:
        folder: the run folder.
        process: number of the engine process; consumers count from 1000, the runner is 999.
        clock: seconds that never go back; tests pass their own.
    """

    def __init__(
        self,
        folder: Path,
        process: int,
        *,
        roll_seconds: float = ROLL_SECONDS,
        roll_rows: int = ROLL_ROWS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._process = process
        self._roll_seconds = roll_seconds
        self._roll_rows = roll_rows
        self._clock = clock
        self._series: dict[str, _Series] = {}

    def write_native(self, batch: NativeBatch) -> None:
        """Rows of the native engine: encoded ones as they are, others without copying their numbers."""
        if isinstance(batch, Batch) and batch.encoded:
            self._write(batch.table, batch, batch.rows)
        else:
            self.write(batch.table, native_batch(batch))

    def write_rows(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """A few plain rows; keys are column names."""
        self.write(table, rows_batch(table, rows))

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        """An Arrow batch in the table's schema."""
        self._write(table, checked(table, batch), batch.num_rows)

    def _write(self, table: str, batch: pa.RecordBatch | Batch, rows: int) -> None:
        series = self._series.get(table)
        if series is None:
            series = self._series[table] = _Series(self._folder, self._process, table, self._clock)
        series.write(batch, rows)
        self.tick()

    def tick(self) -> None:
        """Close files that are old or large enough. Call it about once a second when nothing is written."""
        for series in self._series.values():
            if series.due(self._roll_seconds, self._roll_rows):
                series.close()

    def rows(self, table: str) -> int:
        """Rows of a table that are in complete files."""
        series = self._series.get(table)
        return 0 if series is None else series.written

    def close(self) -> None:
        """Finish every open file. Safe to call twice."""
        for series in self._series.values():
            series.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
