"""Row blocks of the JMS consumer program, read while the file grows."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemark.consumers.jms.rows import RowFileReader
from telemark.errors import DataError
from telemark.store.schemas import DELIVERIES

Row = tuple[int, int, int, int, int, int, int, int, int]  # in the order of the block's columns
FORMATS = "qqqqiiibb"
I8, I32, I64 = (st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 32, 64))
ROWS = st.lists(st.tuples(I64, I64, I64, I64, I32, I32, I32, I8, I8), max_size=20)


def block(rows: list[Row]) -> bytes:
    """The bytes RowBlock.java writes for these rows."""
    columns = [struct.pack(f"<{len(rows)}{kind}", *(row[i] for row in rows)) for i, kind in enumerate(FORMATS)]
    data = struct.pack("<4sI", b"TMB1", len(rows)) + b"".join(columns)
    return data + bytes(-len(data) % 8)


def as_rows(reader: RowFileReader) -> list[Row]:
    names = ("sequence", "intended_ns", "sent_ns", "received_ns", "stream", "subscription", "size", "qos", "flags")
    return [tuple(row[name] for name in names) for row in reader.read().to_pylist()]


@given(st.lists(ROWS, max_size=5), st.data())
def test_rows_come_back_whole_and_in_order_however_the_file_grows(blocks: list[list[Row]], data: st.DataObject) -> None:
    """The reader may look at any moment; a block that is not all there yet is left for later."""
    written = b"".join(block(rows) for rows in blocks)
    cut = data.draw(st.integers(0, len(written)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        reader = RowFileReader(path)
        path.write_bytes(written[:cut])
        first = as_rows(reader)
        path.write_bytes(written)

        assert [row for rows in blocks for row in rows] == first + as_rows(reader)


def test_a_file_that_is_not_there_yet_has_no_rows(tmp_path: Path) -> None:
    table = RowFileReader(tmp_path / "none").read()

    assert (0, DELIVERIES) == (table.num_rows, table.schema)


def test_bytes_that_are_no_block_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_bytes(b"something else entirely")

    with pytest.raises(DataError, match="expected a row block"):
        RowFileReader(path).read()
