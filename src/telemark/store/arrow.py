"""From plain rows to Arrow batches of a record table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from telemark.errors import EngineError
from telemark.store.schemas import TABLES


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
