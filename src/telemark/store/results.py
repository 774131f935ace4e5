"""Arrow schemas of the result tables, made from the registry of columns."""

from __future__ import annotations

import pyarrow as pa

from telemark.model.columns import FULL, RESULT_TABLES
from telemark.store.schemas import schema_of

__all__ = ["FULL", "INTEGRITY", "INTERVALS", "POINTS", "RESULTS_VERSION", "TABLES"]

RESULTS_VERSION = 5

TABLES: dict[str, pa.Schema] = {name: schema_of(table) for name, table in RESULT_TABLES.items()}

POINTS = TABLES["points"]
INTERVALS = TABLES["intervals"]
INTEGRITY = TABLES["integrity"]
