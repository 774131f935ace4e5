"""Columns of the native engine become Arrow arrays without a copy."""

from __future__ import annotations

import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from telemark.errors import EngineError
from telemark.store.arrow import native_array, native_batch
from telemark.store.reader import read_records
from telemark.store.writer import RecordWriter


class Column(bytearray):
    """Bytes with the properties of `telemark._native.Column`: anything with the buffer protocol will do."""

    def __init__(self, name: str, kind: str, data: bytes, count: int, valid: Column | None = None) -> None:
        super().__init__(data)
        self.name, self.kind, self.count, self.valid = name, kind, count, valid
        self.texts: list[str] = []

    def values(self) -> list[str]:
        return self.texts

    def __len__(self) -> int:
        return self.count


def numbers(name: str, kind: str, code: str, values: Sequence[int], valid: Column | None = None) -> Column:
    return Column(name, kind, array.array(code, values).tobytes(), len(values), valid)


def test_numbers_share_the_native_memory() -> None:
    """A change of the native bytes shows in the array: nothing was copied."""
    column = numbers("stream", "int64", "q", [1, 2, 3])
    found = native_array(column)
    memoryview(column)[0:8] = (9).to_bytes(8, "little")

    assert [9, 2, 3] == found.to_pylist()


def test_validity_bits_make_nulls() -> None:
    """Arrow's bitmap, least significant bit first."""
    valid = Column("valid", "int8", bytes([0b101]), 1)

    assert [4, None, 6] == native_array(numbers("x", "int32", "i", [4, 5, 6], valid)).to_pylist()


@pytest.mark.parametrize("data", [bytes([1, 0, 1, 0, 0, 0, 0, 0, 1]), bytes([0b101, 0b1])], ids=["bytes", "bits"])
def test_booleans_may_be_bytes_or_bits(data: bytes) -> None:
    """Both give the same array."""
    expected = [True, False, True, False, False, False, False, False, True]

    assert expected == native_array(Column("ok", "bool", data, 9)).to_pylist()


class Batch:
    """`telemark._native.Batch` of the audiences table."""

    table = "audiences"
    rows = 2

    def __init__(self, *columns: Any) -> None:
        self._columns = columns

    def columns(self) -> Sequence[Any]:
        return self._columns


def test_a_native_batch_is_written_as_it_is(tmp_path: Path) -> None:
    """From buffer to Parquet and back."""
    batch = Batch(numbers("audience", "int32", "i", [0, 1]), numbers("subscription", "int32", "i", [5, 6]))
    with RecordWriter(tmp_path, 0) as writer:
        writer.write_native(batch)

    expected = [{"audience": 0, "subscription": 5}, {"audience": 1, "subscription": 6}]
    assert expected == read_records(tmp_path, "audiences").to_pylist()


def test_texts_come_as_a_list() -> None:
    """Strings are few, so they may be copied."""
    column = Column("kind", "string", b"", 2, Column("valid", "int8", bytes([0b10]), 1))
    column.texts = ["", "note"]

    assert [None, "note"] == native_array(column).to_pylist()
    assert pa.string() == native_array(column).type


def test_a_batch_without_a_column_is_the_engines_fault() -> None:
    """Its name is in the message."""
    with pytest.raises(EngineError, match="audiences rows lack subscription"):
        native_batch(Batch(numbers("audience", "int32", "i", [0])))
