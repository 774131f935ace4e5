"""One batch of runs becomes its result tables: the place where all the table functions are put together.

Three strands run side by side, each waiting for Spark most of its time: durations, integrity, and the small tables.
The rows are read twice, once for each of the first two; everything else works on their small results.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from telemark.pipeline import intervals
from telemark.pipeline.batch import Batch
from telemark.pipeline.deliveries import Numbering
from telemark.pipeline.durations_strand import Durations, durations
from telemark.pipeline.integrity_strand import Integrity, IntegrityStrand
from telemark.pipeline.points import Parts, rows_of
from telemark.pipeline.read import Records
from telemark.pipeline.rows import Row
from telemark.pipeline.small_strand import Small, small
from telemark.store.results import TABLES

Tables = dict[str, pa.Table]


def analyse_batch(records: Records, numbering: Numbering) -> dict[str, Tables]:
    """Result tables of every run of the batch, by run folder."""
    with ThreadPoolExecutor(3, thread_name_prefix="telemark-strand") as pool:
        first = pool.submit(durations, records)
        second = pool.submit(lambda: IntegrityStrand(records, numbering).run())
        third = pool.submit(small, records)
        return _assemble(records.batch, first.result(), second.result(), third.result())


def _assemble(batch: Batch, times: Durations, kept: Integrity, rest: Small) -> dict[str, Tables]:
    found: dict[str, Tables] = {}
    for place, run in batch:
        seconds = intervals.interval_rows(place, run, rest.counters, times.seconds, rest.health_seconds)
        latencies = times.latency.get(place, [])
        parts = Parts(
            run=run,
            intervals=seconds,
            latency=latencies,
            integrity=kept.totals[place],
            connections=rest.connections.get(place, {}),
            refusals=rest.refusals.get(place, 0),
            health=rest.health_phases.get(place, []),
        )
        point, resources = rows_of(parts)
        rows = {
            "points": [point],
            "latency": latencies,
            "distribution": times.distribution.get(place, []),
            "intervals": seconds,
            "cores": [{name: row[name] for name in ("second", "core", "busy")} for row in rest.cores.get(place, [])],
            "offenders": kept.offenders[place],
            "resources": [resources],
        }
        tables = {name: named_table(name, lines, run.campaign, run.name) for name, lines in rows.items()}
        tables["integrity"] = _integrity_table(kept.tables[place], run.campaign, run.name)
        found[run.folder] = tables
    return found


def named_table(name: str, rows: list[Row], campaign: str, run: str) -> pa.Table:
    """Rows of a result table with the names of campaign and run."""
    named = [row | {"campaign": campaign, "run": run} for row in rows]
    return pa.Table.from_pylist(named, schema=TABLES[name])


def _integrity_table(table: pa.Table, campaign: str, run: str) -> pa.Table:
    schema = TABLES["integrity"]
    names = {"campaign": campaign, "run": run}
    columns = [
        pa.repeat(names[field.name], table.num_rows) if field.name in names else table[field.name].cast(field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema).sort_by("subscription")
