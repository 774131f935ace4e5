"""`telemark sql`: ask the records and results of runs anything."""

from __future__ import annotations

import csv
import json
import sys

import click
from rich.console import Console
from rich.table import Table

from telemark.errors import ConfigError
from telemark.store.layout import DEFAULT_OUT


@click.command()
@click.argument("query")
@click.argument("paths", nargs=-1, metavar="[RUN_OR_CAMPAIGN...]")
@click.option("--master", help="Spark master. Default: all cores of this host.")
@click.option("--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True)
@click.option("--limit", default=1000, show_default=True, help="Most rows to print; 0: all.")
def command(query: str, paths: tuple[str, ...], master: str | None, form: str, limit: int) -> None:
    """Answer an SQL query over every table of the runs.

    Tables: deliveries, senders, acks, connections, events, counters, health, streams, subscriptions, audiences,
    subscribed (the records), and points, latency, distribution, intervals, integrity, offenders, resources, scaling,
    comparison (the results). Without a path: all runs under ./runs.
    """
    from telemark.pipeline import open_runs, query_rows  # noqa: PLC0415 - Spark is loaded when it is needed

    opened = open_runs(*(paths or (DEFAULT_OUT,)), master=master)
    names, rows, more = query_rows(opened, query, limit)
    if form == "json":
        for row in rows:
            click.echo(json.dumps(dict(zip(names, row, strict=True)), default=str, ensure_ascii=False))
    elif form == "csv":
        writer = csv.writer(sys.stdout)
        writer.writerow(names)
        writer.writerows(rows)
    else:
        _show_table(names, rows)
    if more:
        click.echo(f"only the first {limit} rows are shown; use --limit", err=True)


def _show_table(names: list[str], rows: list[tuple[object, ...]]) -> None:
    if not names:
        raise ConfigError("the query gives no columns")
    table = Table(show_edge=False)
    for name in names:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row))
    Console(markup=False, highlight=False).print(table)
