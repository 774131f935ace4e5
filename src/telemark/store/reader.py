"""Reads the records of a run folder with pyarrow: for tests, the runner's own checks and users without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from telemark.errors import DataError
from telemark.store.layout import unfinished
from telemark.store.schemas import TABLES


def record_files(folder: Path, table: str) -> list[Path]:
    """Complete files of a record table, in the order they were written by each process."""
    return sorted(path for path in (folder / table).glob("*.parquet") if not unfinished(path.name))


def read_records(folder: Path, table: str, columns: Sequence[str] | None = None) -> pa.Table:
    """All rows of a record table in the present schema.

    A column that older formats did not have is null. No file gives an empty table.

    Raises:
        DataError: a file is damaged or has no such table's columns.
    """
    schema = TABLES[table]
    wanted = schema if columns is None else pa.schema([schema.field(name) for name in columns])
    parts = [_read(path, wanted) for path in record_files(folder, table)]
    return pa.concat_tables(parts) if parts else wanted.empty_table()


def damaged_files(folder: Path) -> dict[Path, str]:
    """Files whose end (where Parquet keeps its directory) cannot be read, with the reason."""
    found: dict[Path, str] = {}
    for table in TABLES:
        for path in record_files(folder, table):
            try:
                pq.read_metadata(path)
            except (OSError, pa.ArrowException) as error:
                found[path] = str(error).splitlines()[0]
    return found


def _read(path: Path, schema: pa.Schema) -> pa.Table:
    try:
        table = pq.read_table(path, partitioning=None)
        arrays = [
            table.column(field.name).cast(field.type)
            if field.name in table.column_names
            else pa.nulls(table.num_rows, field.type)
            for field in schema
        ]
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path} is damaged: {error}", hint="copy it again from where it was made") from error
    return pa.Table.from_arrays(arrays, names=schema.names)
