"""Reads Parquet files of strangers into memory, no more of them than fits: a few bytes can stand for gigabytes.

A column of one value repeated, or a page of one letter, is small in the file and large in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from telemark.errors import DataError
from telemark.store.pages import contents, read_directory


@dataclass(frozen=True, slots=True)
class Most:
    """What a file may hold."""

    rows: int
    text: int  # bytes


def read_bounded(path: Path, most: Most) -> pa.Table:
    """`read_table` of a file; the reason names it."""
    with path.open("rb") as file:
        try:
            return read_table(file, most)
        except DataError as error:
            raise DataError(f"{path}: {error}") from error


def read_table(file: BinaryIO, most: Most) -> pa.Table:
    """All rows of a file. Its texts are dictionaries: those that rows share are in memory once.

    Raises:
        DataError: it holds more than it may. OSError, ArrowException: it is damaged.
    """
    directory = read_directory(file)
    _refuse_much(file, directory, most)
    texts = [each.path for each in _leaves(directory) if each.physical_type == "BYTE_ARRAY"]
    file.seek(0)
    with pq.ParquetFile(file, read_dictionary=texts) as parquet:
        table = parquet.read()
    if sum(map(_text_bytes, table.columns)) > most.text:
        raise DataError(f"it has more than {most.text:,} bytes of text")
    return table


def _leaves(directory: Any) -> list[Any]:
    return [directory.schema.column(number) for number in range(directory.num_columns)]


def _refuse_much(file: BinaryIO, directory: Any, most: Most) -> None:
    found = contents(file, directory)
    if (rows := max(directory.num_rows, found.values)) > most.rows:
        raise DataError(f"it has {rows:,} rows, expected at most {most.rows:,}")
    if found.text > most.text:
        raise DataError(f"it has {found.text:,} bytes of text, expected at most {most.text:,}")
    if wide := [each.name for each in _leaves(directory) if each.physical_type == "FIXED_LEN_BYTE_ARRAY"]:
        raise DataError(f"column {wide[0]} has values of a fixed number of bytes, which no table has")


def _text_bytes(column: pa.ChunkedArray) -> int:
    """Length of all texts of a column when each row has its own."""
    total = 0
    for chunk in column.chunks:
        part = chunk.flatten() if pa.types.is_list(chunk.type) else chunk
        if pa.types.is_dictionary(part.type):
            lengths = pc.binary_length(part.dictionary).cast(pa.int64()).take(part.indices)
            total += pc.sum(lengths).as_py() or 0
    return total
