"""From native columns and plain rows to Arrow batches of a record table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from telemark.errors import EngineError
from telemark.store.schemas import TABLES

_KINDS: dict[str, pa.DataType] = {
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
}


class NativeColumn(Protocol):
    """`telemark._native.Column`: numbers through the buffer protocol, texts as a list."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def valid(self) -> NativeColumn | None: ...
    def values(self) -> list[str]: ...
    def __len__(self) -> int: ...


class NativeBatch(Protocol):
    """`telemark._native.Batch`."""

    @property
    def table(self) -> str: ...
    @property
    def rows(self) -> int: ...
    def columns(self) -> Sequence[NativeColumn]: ...


def native_array(column: NativeColumn) -> pa.Array:
    """One native column as an Arrow array. Numbers are not copied: the array keeps the column alive."""
    valid = column.valid
    validity = None if valid is None else pa.py_buffer(valid)
    if column.kind == "string":
        return _texts(column.values(), validity)
    if column.kind == "bool":
        return pa.Array.from_buffers(pa.bool_(), len(column), [validity, _bits(column)])
    return pa.Array.from_buffers(_KINDS[column.kind], len(column), [validity, pa.py_buffer(column)])


def _texts(values: list[str], validity: pa.Buffer | None) -> pa.Array:
    texts = pa.array(values, pa.string())
    if validity is None:
        return texts
    return pa.Array.from_buffers(pa.string(), len(texts), [validity, *texts.buffers()[1:]])


def _bits(column: NativeColumn) -> pa.Buffer:
    """Booleans as an Arrow bitmap; a native column may hold one byte each instead."""
    data = pa.py_buffer(column)
    if data.size == (len(column) + 7) // 8:
        return data
    return pa.array([byte != 0 for byte in memoryview(data)], pa.bool_()).buffers()[1]


def native_batch(batch: NativeBatch) -> pa.RecordBatch:
    """A native batch as an Arrow batch in the order of the table's schema."""
    schema = TABLES[batch.table]
    by_name = {column.name: column for column in batch.columns()}
    missing = [name for name in schema.names if name not in by_name]
    if missing:
        raise EngineError(f"the engine's {batch.table} rows lack {', '.join(missing)}")
    arrays = [native_array(by_name[name]) for name in schema.names]
    return checked(batch.table, pa.RecordBatch.from_arrays(arrays, schema=schema))


def rows_batch(table: str, rows: Iterable[Mapping[str, Any]]) -> pa.RecordBatch:
    """Plain rows as an Arrow batch; a key that a row lacks is null."""
    return checked(table, pa.RecordBatch.from_pylist(list(rows), schema=TABLES[table]))


def checked(table: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Refuse nulls where the schema forbids them: Parquet would store them as garbage."""
    schema = TABLES[table]
    for field, column in zip(schema, batch.columns, strict=True):
        if not field.nullable and column.null_count:
            raise EngineError(f"{table}.{field.name}: null found, every row must have a value")
    return batch
