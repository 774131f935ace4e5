"""Reads the row blocks that the JMS consumer program appends to its rows file.

The layout is that of `jms/src/main/java/telemark/jms/RowBlock.java`. A block that is still being written is left for
the next call, so the file can be read while it grows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from telemark.errors import DataError
from telemark.store.schemas import DELIVERIES

MAGIC = b"TMB1"
_HEADER = struct.Struct("<4sI")
# Columns in the order of the block, widest first so that each begins at a multiple of its width.
_COLUMNS = ("sequence", "intended_ns", "sent_ns", "received_ns", "stream", "subscription", "size", "qos", "flags")
_WIDTHS = {name: DELIVERIES.field(name).type.bit_width // 8 for name in _COLUMNS}
ROW_BYTES = sum(_WIDTHS.values())


class RowFileReader:
    """Follows one rows file from its beginning."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def read(self) -> pa.Table:
        """Rows of all blocks completed since the last call, in the order they were written."""
        return pa.Table.from_batches(list(self._blocks()), DELIVERIES)

    def _blocks(self) -> Iterator[pa.RecordBatch]:
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = pa.py_buffer(file.read())
        position = 0
        while (end := self._end_of_block(data, position)) is not None:
            yield _decode(data, position)
            self._offset += end - position
            position = end

    def _end_of_block(self, data: pa.Buffer, position: int) -> int | None:
        """Where the block at `position` ends; None when it is not all there yet."""
        if position + _HEADER.size > data.size:
            return None
        magic, rows = _HEADER.unpack(data.slice(position, _HEADER.size).to_pybytes())
        if magic != MAGIC:
            raise DataError(f"{self._path.name}: expected a row block at byte {self._offset}, found {magic!r}")
        length = _HEADER.size + ROW_BYTES * rows
        end = position + -(-length // 8) * 8
        return end if end <= data.size else None


def _decode(data: pa.Buffer, position: int) -> pa.RecordBatch:
    """One block as a batch in the schema's column order; the columns are views of the file's bytes."""
    _, rows = _HEADER.unpack(data.slice(position, _HEADER.size).to_pybytes())
    position += _HEADER.size
    arrays: dict[str, pa.Array] = {}
    for name in _COLUMNS:
        length = _WIDTHS[name] * rows
        arrays[name] = pa.Array.from_buffers(DELIVERIES.field(name).type, rows, [None, data.slice(position, length)])
        position += length
    return pa.RecordBatch.from_arrays([arrays[name] for name in DELIVERIES.names], schema=DELIVERIES)
