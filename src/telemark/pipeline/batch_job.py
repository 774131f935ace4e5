"""One batch of runs becomes its result tables: the place where all the table functions are put together.

Two strands wait for Spark side by side, durations and integrity, while the driver works through the small tables. Every
delivery is read once for each strand; everything else works on their small results.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
from pyspark.sql import SparkSession

from telemark.pipeline import intervals
from telemark.pipeline.batch import Batch
from telemark.pipeline.debts import of_batch
from telemark.pipeline.deliveries import Numbering
from telemark.pipeline.durations_strand import Durations, durations
from telemark.pipeline.integrity import integrity_table
from telemark.pipeline.integrity_strand import Integrity, IntegrityStrand
from telemark.pipeline.points import Parts, rows_of
from telemark.pipeline.read import Records
from telemark.pipeline.rows import Row
from telemark.pipeline.small import SmallTables
from telemark.pipeline.small_strand import Small, small
from telemark.store.layout import Folders, RunFolder
from telemark.store.results import TABLES

Tables = dict[str, pa.Table]


def analyse_batch(spark: SparkSession, batch: Batch, numbering: Numbering, folders: Folders) -> dict[str, Tables]:
    """Result tables of every run of the batch, by run folder."""
    records = Records(spark, batch, folders)
    tables = SmallTables(spark, batch, folders)
    with ThreadPoolExecutor(2, thread_name_prefix="telemark-strand") as pool:
        first = pool.submit(durations, records, sum(bound.rows for bound in numbering.bounds))
        debts = of_batch(tables, batch, numbering.shared_from)
        second = pool.submit(lambda: IntegrityStrand(records, numbering, debts).run())
        third = small(tables, batch)
        return _assemble(batch, first.result(), second.result(), third)


def _assemble(batch: Batch, times: Durations, kept: Integrity, rest: list[Small]) -> dict[str, Tables]:
    return {run.folder: _tables(place, run, times, kept, rest[place]) for place, run in batch}


def _tables(place: int, run: RunFolder, times: Durations, kept: Integrity, rest: Small) -> Tables:
    seconds = intervals.interval_rows(run, rest.counters, times.seconds.get(place, {}), rest.health_seconds)
    latencies = times.latency.get(place, [])
    parts = Parts(
        run=run,
        intervals=seconds,
        latency=latencies,
        integrity=kept.totals[place],
        connections=rest.connections,
        refusals=rest.refusals,
        health=rest.health_phases,
    )
    point, resources = rows_of(parts)
    rows = {
        "points": [point],
        "latency": latencies,
        "distribution": times.distribution.get(place, []),
        "intervals": seconds,
        "cores": rest.cores,
        "offenders": kept.offenders[place],
        "resources": [resources],
    }
    tables = {name: named_table(name, lines, run.campaign, run.name) for name, lines in rows.items()}
    tables["integrity"] = integrity_table(kept.rows[place].values(), run.campaign, run.name)
    return tables


def named_table(name: str, rows: list[Row], campaign: str, run: str) -> pa.Table:
    """Rows of a result table with the names of campaign and run."""
    named = [row | {"campaign": campaign, "run": run} for row in rows]
    return pa.Table.from_pylist(named, schema=TABLES[name])
