"""Reads the records of a run folder with pyarrow: for tests, the runner's own checks and users without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from telemark.errors import DataError
from telemark.store.bounded import Most, read_bounded
from telemark.store.pages import read_directory
from telemark.store.safe import regular_files
from telemark.store.schemas import TABLES

MOST = Most(rows=20_000_000, text=2 << 30)  # of one file: a million devices of one process have fewer


def record_files(folder: Path, table: str) -> list[Path]:
    """Complete files of a record table, in the order they were written by each process.

    Raises:
        DataError: one of them is a link or no regular file.
    """
    return regular_files(folder / table)


def read_records(folder: Path, table: str, columns: Sequence[str] | None = None) -> pa.Table:
    """All rows of a record table in the present schema.

    A column that older formats did not have is null. No file gives an empty table.

    Raises:
        DataError: a file is damaged or has no such table's columns.
    """
    schema = TABLES[table]
    wanted = schema if columns is None else pa.schema([schema.field(name) for name in columns])
    parts = [read_file(path, wanted) for path in record_files(folder, table)]
    return pa.concat_tables(parts) if parts else wanted.empty_table()


def damaged_files(folder: Path) -> dict[Path, str]:
    """Files whose end (where Parquet keeps its directory) cannot be read, with the reason."""
    found: dict[Path, str] = {}
    for table in TABLES:
        for path in record_files(folder, table):
            try:
                with path.open("rb") as file:
                    read_directory(file)
            except (OSError, DataError, pa.ArrowException) as error:
                found[path] = str(error).splitlines()[0]
    return found


def read_file(path: Path, schema: pa.Schema) -> pa.Table:
    """All rows of one record file in a schema; a column it does not have is null. Raises DataError."""
    try:
        table = read_bounded(path, MOST)
        arrays = [
            table.column(field.name).cast(field.type)
            if field.name in table.column_names
            else pa.nulls(table.num_rows, field.type)
            for field in schema
        ]
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path} is damaged: {error}", hint="copy it again from where it was made") from error
    return pa.Table.from_arrays(arrays, names=schema.names)
