"""Reference pages of everything that is stored, written from the schemas themselves."""

from __future__ import annotations

import pyarrow as pa

from telemark.store import health_metrics, result_words, results, schemas
from telemark.store.layout import CAMPAIGN_FILE, RESULTS
from telemark.store.run_file import RUN_FILE

_RECORDS = {
    "deliveries": "One row per message received by a subscription.",
    "senders": "One row per stream: what was sent.",
    "acks": "One row per acknowledgement (QoS 1 and 2).",
    "connections": "One row per connection attempt.",
    "events": "Things that happened besides messages.",
    "counters": "Counts of each engine process in each second.",
    "health": "Samples of host, server, engine and consumers; see [health](health.md).",
    "streams": "Who publishes, and to which set of subscriptions.",
    "subscriptions": "Who subscribes to what.",
    "audiences": "Members of each set of subscriptions.",
    "subscribed": "When each subscription was in force.",
}

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

`{RUN_FILE}` holds what is constant in a run: names, the plan, the server and its profile, the host, versions, phases
(`[from_ns, until_ns]` each, absent when not reached), the state (running, complete, failed, interrupted) and its
reason.
"""


def run_folder() -> str:
    """docs/reference/run-folder.md."""
    lines = [_RUN_FOLDER]
    for name, schema in schemas.TABLES.items():
        rows = [
            f"| `{field.name}` | {_kind(field)} | {(field.metadata or {}).get(b'description', b'').decode()} |"
            for field in schema
        ]
        lines += [f"## {name}", "", _RECORDS[name], "", "| column | type | meaning |", "|---|---|---|", *rows, ""]
    return "\n".join(lines)


def result_tables() -> str:
    """docs/reference/result-tables.md."""
    lines = [
        "# Result tables",
        "",
        f"Made by `telemark analyze`, version {results.RESULTS_VERSION}. Times end in `_us`, rates are per "
        "second, memory is in bytes, CPU in cores. A value that could not be measured is null, never zero.",
        "",
    ]
    for name, schema in results.TABLES.items():
        rows = [f"| `{field.name}` | {field.type} | {result_words.meaning(field.name)} |" for field in schema]
        lines += [
            f"## {name}",
            "",
            result_words.TABLES[name],
            "",
            "| column | type | meaning |",
            "|---|---|---|",
            *rows,
            "",
        ]
    return "\n".join(lines)


def health() -> str:
    """docs/reference/health.md."""
    return health_metrics.reference_page()


def _kind(field: pa.Field) -> str:
    return f"{field.type}, may be null" if field.nullable else str(field.type)
