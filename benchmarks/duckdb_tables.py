"""The pipeline's heavy tables made by DuckDB from the same run folder: the peer it is measured against.

Uses the same ideas (histogram first, bits for integrity, order proven by blocks), so that the ratio compares engines
and not formulations. As a program, prints the answers as one JSON line: python benchmarks/duckdb_tables.py RUN_FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import duckdb

from telemark.store.documents.run import RunFile

QUANTILES = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}
Row = dict[str, Any]


def connect(folder: Path, threads: int = 2) -> duckdb.DuckDBPyConnection:
    """A database with a view of every record table."""
    database = duckdb.connect()
    database.execute(f"set threads = {threads}; set memory_limit = '4GB'; set preserve_insertion_order = false")
    for table in ("deliveries", "senders", "streams", "audiences", "subscriptions"):
        if any((folder / table).glob("*.parquet")):
            database.execute(f"create view {table} as select * from read_parquet('{folder}/{table}/[0-9]*.parquet')")
    return database


def make_tables(database: duckdb.DuckDBPyConnection, facts: RunFile) -> None:
    """histogram, latency, distribution, seconds, blocks, integrity, late."""
    _histogram(database, facts)
    _percentiles(database, "latency", "measure, phase")
    _percentiles(database, "seconds", "measure, second")
    database.execute("""
        create table distribution as
        with widths as (select *, greatest(floor(log2(greatest(us, 1)))::int - 7, 0) as bits from histogram)
        select measure, phase, (us >> bits) << bits as lower_us, sum(n) as count from widths group by all""")
    _blocks(database)
    _late(database)


def _histogram(database: duckdb.DuckDBPyConnection, facts: RunFile) -> None:
    phases = " ".join(
        f"when intended_ns >= {begin} and intended_ns < {end} then '{name}'"
        for name, (begin, end) in facts.phases.items()
    )
    database.execute(f"""
        create table histogram as
        select measure, second, phase, us, count(*) as n from (
            select (intended_ns - {facts.start_ns}) // 1000000000 as second, case {phases} else 'outside' end as phase,
                   unnest(['latency', 'service_time', 'send_delay']) as measure,
                   unnest([(received_ns - intended_ns + 500) // 1000, (received_ns - sent_ns + 500) // 1000,
                           (sent_ns - intended_ns + 500) // 1000]) as us
            from deliveries where flags & 4 = 0)
        group by all""")


def _percentiles(database: duckdb.DuckDBPyConnection, table: str, by: str) -> None:
    """Statistics of the histogram by some columns: percentiles from running counts."""
    columns = ", ".join(_quantile(name, q) for name, q in QUANTILES.items())
    database.execute(f"""
        create table {table} as
        with grouped as (select {by}, us, sum(n) as n from histogram group by all),
        counted as (select *, sum(n) over (partition by {by} order by us) as upto,
                           sum(n) over (partition by {by}) as total from grouped)
        select {by}, sum(n)::bigint as count, min(us) as min, max(us) as max, sum(us * n) / sum(n) as mean, {columns}
        from counted group by all""")


def _quantile(name: str, q: float) -> str:
    """The value at a place in sorted order, between two ranks by straight line."""
    place = f"{q} * (any_value(total) - 1)"
    low, high = (f"min(us) filter (where upto > {edge}({q} * (total - 1)))" for edge in ("floor", "ceil"))
    return f"{low} + ({place} - floor({place})) * ({high} - {low}) as {name}"


def _blocks(database: duckdb.DuckDBPyConnection) -> None:
    database.execute("""
        create table blocks as
        with span as (select (max(intended_ns) - min(intended_ns)) // max(sequence) as period from deliveries)
        select subscription, stream, sequence >> 6 as block, bit_or(1::ubigint << (sequence & 63)::ubigint) as bits,
               count(*) as n, min(received_ns - sequence * period) as low, max(received_ns - sequence * period) as high,
               any_value(period) as period
        from deliveries, span where flags & 4 = 0 group by all""")
    database.execute("""
        create table integrity as
        with got as (select subscription, sum(bit_count(bits)) as delivered, sum(n) as n from blocks group by all),
        owed as (select subscription, sum(sent) as owed from audiences join streams using (audience)
                 join senders using (stream) group by all)
        select subscription, owed, owed - coalesce(delivered, 0) as lost, n - delivered as duplicate
        from owed left join got using (subscription)""")


def _late(database: duckdb.DuckDBPyConnection) -> None:
    database.execute("""
        create table late as
        with neighbours as (
            select *, lead(low + period * (block << 6)) over pair as next_low,
                   lag(high + period * (block * 64 + 63)) over pair as last_high
            from blocks window pair as (partition by subscription, stream order by block)),
        doubtful as (select subscription, stream, block from neighbours
                     where high - low >= period or high + period * (block * 64 + 63) >= next_low
                           or last_high >= low + period * (block << 6)),
        firsts as (select subscription, stream, sequence, min(received_ns) as received_ns from deliveries
                   where (subscription, stream, sequence >> 6) in (select (subscription, stream, block) from doubtful)
                   group by all)
        select subscription, stream, sequence from (
            select *, max(sequence) over (partition by subscription, stream order by received_ns
                                          rows between unbounded preceding and 1 preceding) as highest from firsts)
        where sequence < highest""")


def answers(database: duckdb.DuckDBPyConnection) -> Row:
    """The figures to compare."""
    found = database.execute("select * from latency")
    names = [column[0] for column in found.description or ()]
    latency = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    lost, duplicate = database.execute(
        "select sum(lost)::bigint, sum(duplicate)::bigint from integrity"
    ).fetchone() or (0, 0)
    (late,) = database.execute("select count(*) from late").fetchone() or (0,)
    seconds = database.execute("select count(*), sum(p99) from seconds where measure = 'latency'").fetchone()
    return {"latency": latency, "lost": lost, "duplicate": duplicate, "reordered": late, "seconds": seconds}


def main() -> None:
    """Command line."""
    folder = Path(sys.argv[1])
    database = connect(folder)
    make_tables(database, RunFile.read(folder))
    print(json.dumps(answers(database), default=float))


if __name__ == "__main__":
    main()
