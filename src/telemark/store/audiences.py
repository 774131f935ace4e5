"""The audience columns of a plan as record tables."""

from __future__ import annotations

import pyarrow as pa

from telemark.model.audience import Audiences, Columns
from telemark.store.schemas import AUDIENCES, STREAMS, SUBSCRIPTIONS


def audience_tables(found: Audiences) -> dict[str, pa.Table]:
    """The tables streams, subscriptions and audiences."""
    return {
        "streams": _table(found.streams, STREAMS),
        "subscriptions": _table(found.subscriptions, SUBSCRIPTIONS),
        "audiences": _table(found.audiences, AUDIENCES),
    }


def _table(columns: Columns, schema: pa.Schema) -> pa.Table:
    arrays = [pa.array(columns[kind.name], kind.type) for kind in schema]
    return pa.Table.from_arrays(arrays, schema=schema)
