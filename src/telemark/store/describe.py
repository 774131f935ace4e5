"""Reference pages of everything that is stored, written from the schemas themselves."""

from __future__ import annotations

from collections.abc import Iterable

from telemark.model.columns import RECORD_TABLES, RESULT_TABLES, Column, Table
from telemark.store import health_metrics, results, schemas
from telemark.store.documents.campaign import CAMPAIGN_FILE
from telemark.store.documents.run import RUN_FILE
from telemark.store.layout import RESULTS

_RUN_FOLDER = f"""# Run folder

A run is one folder. Every record table is a folder of Parquet files in it, `<process>-<number>.parquet`. Files appear
under these names only when they are complete: an unfinished file has a dot in front, and an interrupted run is readable
up to its last complete file. `deliveries` and `acks` of an engine hold differences of neighbouring rows
(DELTA_BINARY_PACKED, about 5 bytes a row) without further compression; everything else is compressed with zstd. Times
ending in `_ns` are CLOCK_MONOTONIC nanoseconds.

```text
<out>/<campaign>/{CAMPAIGN_FILE}
<out>/<campaign>/<run>/{RUN_FILE}
<out>/<campaign>/<run>/<record table>/000-00000.parquet
<out>/<campaign>/{RESULTS}/<result table>/run=<run>/*.parquet
```

Format version {schemas.FORMAT_VERSION}. A newer format is refused with a message; older ones are read, columns they did
not have are null.

| format | since | what changed |
|---|---|---|
| 1 | 0.1.0 | first version |
| 2 | 0.2.0 | the plan holds the case, loads have their shape's fields only, consumers a kind; digests of files |

`{RUN_FILE}` holds what is constant in a run: names, the plan, the server and its profile, the host, versions, phases
(`[from_ns, until_ns]` each, absent when not reached), the state (running, complete, failed, interrupted) and its
reason. `files` lists every record file with its size and SHA-256 when the run was closed: `telemark verify` compares
them, and `telemark analyze` refuses a run whose files differ. A file is on the disk before it gets its name. Links and
special files in run and campaign folders are not followed.
"""

_RESULT_TABLES = f"""# Result tables

Made by `telemark analyze`, version {results.RESULTS_VERSION}. A value that could not be measured is null, never zero.
`better` says in which direction a difference is an improvement of the server; columns without one only differ.
Thresholds may name any number of `points`, by its column or a short name. A column may be null in every table.
"""


def run_folder() -> str:
    """docs/reference/run-folder.md."""
    lines = [_RUN_FOLDER]
    for table in RECORD_TABLES.values():
        lines += _section(table, ("column", "type", "meaning"), map(_record_cells, table.columns))
    return "\n".join(lines)


def result_tables() -> str:
    """docs/reference/result-tables.md."""
    lines = [_RESULT_TABLES]
    for table in RESULT_TABLES.values():
        lines += _section(
            table, ("column", "type", "unit", "better", "meaning", "short names"), map(_result_cells, table.columns)
        )
    return "\n".join(lines)


def _section(table: Table, heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    cells = (heads, ("---",) * len(heads), *rows)
    return [f"## {table.name}", "", table.meaning, "", *(f"| {' | '.join(row)} |" for row in cells), ""]


def _record_cells(column: Column) -> tuple[str, ...]:
    return (f"`{column.name}`", f"{column.type}, may be null" if column.nullable else column.type, column.meaning)


def _result_cells(column: Column) -> tuple[str, ...]:
    unit = "" if column.unit == "text" else column.unit.replace("_", " ")
    meaning = f"{column.meaning}; on the score card: {column.card}" if column.card else column.meaning
    short = ", ".join(f"`{name}`" for name in column.short)
    return (f"`{column.name}`", column.type, unit, column.better or "", meaning, short)


def health() -> str:
    """docs/reference/health.md."""
    return health_metrics.reference_page()
