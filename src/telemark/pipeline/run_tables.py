"""One batch of runs becomes its result tables: the place where all the table functions are put together.

Two passes over the deliveries run in Spark side by side, durations and integrity. What needs no message is computed
before, while Spark may still be starting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession

from telemark.pipeline.batch import RunBatch
from telemark.pipeline.delivery_check import DeliveryCheck, Integrity
from telemark.pipeline.messages import deliveries as message_deliveries
from telemark.pipeline.messages.clocks import MessageClocks
from telemark.pipeline.messages.deliveries import CountedBySpark, CountedHere, Deliveries
from telemark.pipeline.messages.keys import second_sql
from telemark.pipeline.numbering import Numbering
from telemark.pipeline.spark.reading import Records, run_records
from telemark.pipeline.tables import Row, connections, cores, health, intervals, threads
from telemark.pipeline.tables.clocks import stretches
from telemark.pipeline.tables.counted import Counted, Here, Question
from telemark.pipeline.tables.distribution import distribution_rows
from telemark.pipeline.tables.integrity import integrity_table
from telemark.pipeline.tables.latency import BUCKETS, buckets, latency_rows, merge_buckets
from telemark.pipeline.tables.owed import OwedToRun, expected_blocks, member_table, owed_to
from telemark.pipeline.tables.points import Parts, rows_of
from telemark.pipeline.tables.records import RunRecords
from telemark.pipeline.tables.resources import focus_of
from telemark.pipeline.tables.statistics import numbers
from telemark.store.bounds import Bounds
from telemark.store.layout import Folders, RunFolder
from telemark.store.results import TABLES
from telemark.verdicts.engine import LoadHost

Tables = dict[str, pa.Table]


@dataclass(frozen=True, slots=True)
class Durations:
    """Rows about durations, each by the number of the run in its batch."""

    latency: dict[int, list[Row]]
    distribution: dict[int, list[Row]]
    seconds: dict[int, dict[int, Row]]  # columns of `intervals`, by second


@dataclass(frozen=True, slots=True)
class WithoutMessages:
    """What one run tells without its messages."""

    counters: dict[int, Row]  # columns of `intervals`, by second
    health_seconds: dict[int, Row]  # columns of `intervals`, by second
    health_phases: list[Row]
    cores: list[Row]
    threads: list[Row]
    connections: Row
    connecting: Durations
    refusals: int
    clock_error_us: float
    server_host: str | None
    load_hosts: tuple[LoadHost, ...]


def batch_tables(
    session: Callable[[], SparkSession], batch: RunBatch, bounds: Sequence[Bounds], folders: Folders
) -> dict[str, Tables]:
    """Result tables of every run of the batch, by run folder. `session` waits until Spark has started."""
    numbering = Numbering(tuple(bounds))
    records = [run_records(session, run, folders) for run in batch.runs]
    owed = [owed_to(run, each, numbering.shared_from) for run, each in zip(batch.runs, records, strict=True)]
    rest = [without_messages(number, run, records[number]) for number, run in batch]
    deliveries = _deliveries(Records(session(), batch, folders, _clocks(records)), numbering, owed)
    with ThreadPoolExecutor(2, thread_name_prefix="telemark-pass") as pool:
        first = pool.submit(_message_durations, deliveries)
        second = pool.submit(DeliveryCheck(deliveries, numbering, owed).run)
        try:
            times, integrity = first.result(), second.result()
        except KeyboardInterrupt:
            session().sparkContext.cancelAllJobs()  # the pool waits for both
            raise
    return {run.folder: _tables(number, run, times, integrity[number], rest[number]) for number, run in batch}


def _clocks(records: Sequence[RunRecords]) -> MessageClocks | None:
    """The clocks of runs with several hosts; None when the batch has no such run."""
    clocks = {number: each.clocks for number, each in enumerate(records) if each.clocks is not None}
    senders = {
        number: stretches(*(numbers(records[number].table("streams"), name) for name in ("stream", "process")))
        for number in clocks
    }
    return MessageClocks(clocks, senders) if clocks else None


def _deliveries(records: Records, numbering: Numbering, owed: Sequence[OwedToRun]) -> Deliveries:
    if numbering.deliveries + numbering.acks <= message_deliveries.COUNTED_HERE_ROWS:
        return CountedHere(records, numbering, member_table(owed))
    expected = expected_blocks(owed)
    most = numbering.deliveries if expected is None else min(expected, numbering.deliveries)
    return CountedBySpark(records, numbering, member_table(owed), most)


def _message_durations(deliveries: Deliveries) -> Durations:
    counts = deliveries.durations()
    try:
        return _durations(counts)
    finally:
        counts.close()


def _durations(counts: Counted) -> Durations:
    wanted = [Question(buckets, BUCKETS), Question(intervals.second_statistics, intervals.SECONDS)]
    parts, seconds = counts.answer(wanted, second_sql())
    in_buckets = merge_buckets(parts)
    return Durations(latency_rows(counts, in_buckets), distribution_rows(in_buckets), intervals.latency_cells(seconds))


def without_messages(number: int, run: RunFolder, records: RunRecords) -> WithoutMessages:
    """Counters, health, connections and events of one run."""
    everywhere = health.timed(records.table("health"), run)
    samples = health.of_server(everywhere)
    seconds = health.by_second(samples)
    return WithoutMessages(
        intervals.counter_cells(records.table("counters")),
        intervals.health_cells(health.second_rows(seconds)),
        health.phase_rows(samples, seconds),
        cores.core_rows(samples),
        threads.thread_rows(samples, focus_of(run)),
        connections.connections(records.table("connections")),
        _durations(Here(connections.connect_durations(number, records.table("connections")))),
        connections.refusals(records.table("events")),
        records.clocks.error_ns(run.facts) / 1000 if records.clocks else 0.0,
        health.server_host(everywhere),
        tuple(health.load_hosts(everywhere, focus_of(run))),
    )


def _tables(number: int, run: RunFolder, times: Durations, integrity: Integrity, rest: WithoutMessages) -> Tables:
    seconds = intervals.interval_rows(run, rest.counters, times.seconds.get(number, {}), rest.health_seconds)
    latencies = [row for each in (times, rest.connecting) for row in each.latency.get(number, [])]
    parts = Parts(
        run=run,
        intervals=seconds,
        latency=latencies,
        integrity=integrity.totals,
        connections=rest.connections,
        refusals=rest.refusals,
        health=rest.health_phases,
        clock_error_us=rest.clock_error_us,
        server_host=rest.server_host,
        load_hosts=rest.load_hosts,
    )
    point, resources = rows_of(parts)
    rows = {
        "points": [point],
        "latency": latencies,
        "distribution": [row for each in (times, rest.connecting) for row in each.distribution.get(number, [])],
        "intervals": seconds,
        "cores": rest.cores,
        "threads": rest.threads,
        "offenders": integrity.offenders,
        "resources": [resources],
    }
    tables = {name: named_table(name, lines, run.campaign, run.name) for name, lines in rows.items()}
    tables["integrity"] = integrity_table(integrity.rows.values(), run.campaign, run.name)
    return tables


def named_table(name: str, rows: list[Row], campaign: str, run: str) -> pa.Table:
    """Rows of a result table with the names of campaign and run."""
    named = [row | {"campaign": campaign, "run": run} for row in rows]
    return pa.Table.from_pylist(named, schema=TABLES[name])
