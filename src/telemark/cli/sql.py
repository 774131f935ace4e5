"""`telemark sql`: ask the records and results of runs anything."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Sequence

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from telemark.errors import ConfigError
from telemark.host.text import visible
from telemark.model.columns import KEY, RECORD_TABLES, RESULT_TABLES
from telemark.store.layout import DEFAULT_OUT

Rows = Sequence[Sequence[object]]
Answer = tuple[list[str], Rows, bool]  # column names, rows, whether there are more

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_SHOW_TABLES = re.compile(r"\s*show\s+tables\s*;?\s*", re.IGNORECASE)
_DESCRIBE = re.compile(r"\s*desc(?:ribe)?\s+(?:table\s+)?(\w+)\s*;?\s*", re.IGNORECASE)


def _help() -> str:
    """What the command does, and every table with its columns, from the registry."""
    lines = [
        "Answer an SQL query over every table of the runs. Without a path: all runs under ./runs.",
        "`show tables` lists the tables, `describe points` explains the columns of one.",
    ]
    for title, tables in (("Records (each also has campaign, run)", RECORD_TABLES), ("Results", RESULT_TABLES)):
        lines += [f"{title}:"]
        lines += [f"{table.name} ({', '.join(column.name for column in table.columns)})" for table in tables.values()]
    return "\n\n".join(lines)


@click.command(help=_help(), short_help="Answer an SQL query over every table of the runs.")
@click.argument("query")
@click.argument("paths", nargs=-1, metavar="[RUN_OR_CAMPAIGN...]")
@click.option("--master", help="Spark master. Default: all cores of this host.")
@click.option("--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True)
@click.option("--limit", default=1000, show_default=True, help="Print at most this many rows; 0 means all.")
def command(query: str, paths: tuple[str, ...], master: str | None, form: str, limit: int) -> None:
    names, rows, more = from_registry(query) or _from_runs(query, paths, master, limit)
    if not names:
        raise ConfigError("the query gives no columns")
    if form == "json":
        for row in rows:
            click.echo(json.dumps(dict(zip(names, row, strict=True)), default=str))
    elif form == "csv":
        writer = csv.writer(sys.stdout)
        writer.writerow(map(csv_cell, names))
        writer.writerows(map(csv_cell, row) for row in rows)
    else:
        show(names, rows, Console(markup=False, highlight=False))
    if more:
        click.echo(f"only the first {limit} rows are shown; use --limit", err=True)


def csv_cell(value: object) -> object:
    """A value for a spreadsheet: text that it would take for a formula gets a quotation mark in front."""
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def from_registry(query: str) -> Answer | None:
    """The answer to `show tables` and `describe TABLE`; None for any other query. Needs no Spark and no run."""
    tables = RECORD_TABLES | RESULT_TABLES
    if _SHOW_TABLES.fullmatch(query):
        return ["table", "meaning"], [(table.name, table.meaning) for table in tables.values()], False
    match = _DESCRIBE.fullmatch(query)
    if match is None:
        return None
    table = tables.get(match[1].lower())
    if table is None:
        raise ConfigError(f"there is no table {match[1]!r}", hint=f"tables: {', '.join(tables)}")
    columns = (*(KEY if table.name in RECORD_TABLES else ()), *table.columns)
    return ["column", "type", "meaning"], [(each.name, each.type, each.meaning) for each in columns], False


def _from_runs(query: str, paths: Sequence[str], master: str | None, limit: int) -> Answer:
    from telemark.pipeline import open_runs, query_rows  # noqa: PLC0415 - Spark is loaded when it is needed

    return query_rows(open_runs(*(paths or (DEFAULT_OUT,)), master=master), query, limit)


def show(names: Sequence[str], rows: Rows, console: Console) -> None:
    """Print rows as a table where the terminal is wide enough, else one row below the other as records."""
    texts = [["" if value is None else visible(value) for value in row] for row in rows]
    if not texts:
        console.print(f"{', '.join(names)}\n0 rows")
        return
    widths = [max(len(name), *(len(row[place]) for row in texts)) for place, name in enumerate(names)]
    # The last column may fold: prose reads well on several lines, numbers do not.
    if sum(widths[:-1]) + 3 * len(names) + min(widths[-1], 20) <= console.width:
        console.print(_table(names, texts))
    else:
        _print_records(names, texts, console)


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(show_edge=False)
    for place, name in enumerate(names):
        table.add_column(name, overflow="fold", no_wrap=place < len(names) - 1)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _print_records(names: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> None:
    for number, row in enumerate(rows, 1):
        console.print(Text(f"row {number}", style="bold"))
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value in zip(names, row, strict=True):
            grid.add_row(f"  {name}", Text(value))
        console.print(grid)
