"""Arrow schemas of the record tables, made from the registry of columns, and the format version they belong to."""

from __future__ import annotations

import pyarrow as pa

from telemark.model.columns import RECORD_TABLES, Column, Table

FORMAT_VERSION = 2
# History of the format, newest last. A reader must understand every version up to its own.
#   1  0.1.0  first version
#   2  0.2.0  the plan's case, load shapes with their own fields, kinds of consumers, digests of the record files

FLAG_DUP = 1  # the server had set DUP
FLAG_RETAINED = 2
FLAG_FOREIGN = 4  # no valid stamp: stream is -1, intended and sent are 0

ACK_PUBACK, ACK_PUBREC, ACK_PUBCOMP = 1, 2, 3


def schema_of(table: Table) -> pa.Schema:
    """The Arrow schema of a table of the registry; its fields carry their meaning into the files."""
    return pa.schema(
        [
            pa.field(column.name, _type_of(column), column.nullable, {"description": column.meaning})
            for column in table.columns
        ]
    )


def _type_of(column: Column) -> pa.DataType:
    if column.type.startswith("list<"):
        return pa.list_(pa.type_for_alias(column.type[5:-1]))
    return pa.type_for_alias(column.type)


TABLES: dict[str, pa.Schema] = {name: schema_of(table) for name, table in RECORD_TABLES.items()}

DELIVERIES = TABLES["deliveries"]
COUNTERS = TABLES["counters"]
HEALTH = TABLES["health"]
STREAMS = TABLES["streams"]
SUBSCRIPTIONS = TABLES["subscriptions"]
AUDIENCES = TABLES["audiences"]
