"""Batches of the native engine as Arrow batches, for tests that look into them."""

from __future__ import annotations

import pyarrow as pa

from telemark._native import Batch, Column
from telemark.store.schemas import TABLES

KINDS = {"int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64()}


def native_array(column: Column) -> pa.Array:
    """One native column as an Arrow array."""
    valid = column.valid
    validity = None if valid is None else pa.py_buffer(valid)
    if column.kind == "string":
        texts = pa.array(column.values(), pa.string())
        return pa.Array.from_buffers(pa.string(), len(texts), [validity, *texts.buffers()[1:]])
    kind = pa.bool_() if column.kind == "bool" else KINDS[column.kind]
    return pa.Array.from_buffers(kind, len(column), [validity, pa.py_buffer(column)])


def native_batch(batch: Batch) -> pa.RecordBatch:
    """A native batch as an Arrow batch in the table's schema."""
    arrays = {column.name: native_array(column) for column in batch.columns()}
    schema = TABLES[batch.table]
    return pa.RecordBatch.from_arrays([arrays[name] for name in schema.names], schema=schema)
