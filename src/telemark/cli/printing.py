"""Text and tables that fit the terminal without cutting a word."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Collection, Sequence
from typing import TextIO

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from telemark.host.text import visible

GAP = 2
LEAST_WRAPPED = 30  # columns; a narrower column of sentences is harder to read than records


def say(text: str) -> None:
    """A line of results that holds text of strangers, such as the name of a folder."""
    click.echo(_fitted(text, sys.stdout))


def tell(text: str) -> None:
    """A line for people, on stderr: stdout is for results."""
    click.echo(_fitted(text, sys.stderr), err=True)


def _fitted(text: str, stream: TextIO) -> str:
    """On a terminal broken between words; in a file a line stays a line."""
    shown = visible(text)
    if not stream.isatty():
        return shown
    width = shutil.get_terminal_size().columns
    return "\n".join(
        textwrap.fill(line, width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
        for line in shown.split("\n")
    )


def print_text(console: Console, text: str, indent: str = "", hanging: str | None = None) -> None:
    """A paragraph, broken between words only.

    Args:
        console: where to.
        text: the words.
        indent: before every line.
        hanging: before every line but the first; like `indent` when None.
    """
    lines = textwrap.wrap(
        text, console.width, initial_indent=indent, subsequent_indent=indent if hanging is None else hanging,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)


def print_table(
    console: Console,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[str] = (),
    wrap: str | None = None,
) -> None:
    """A table; where it does not fit the width, one record for each row.

    Args:
        console: where to.
        columns: headings.
        rows: cells, as many as there are columns.
        right: columns of numbers.
        wrap: a column of sentences, which may take several lines.
    """
    widths = {name: max(map(len, [name, *(row[at] for row in rows)])) for at, name in enumerate(columns)}
    if wrap:
        widths[wrap] = min(widths[wrap], LEAST_WRAPPED)
    if sum(widths.values()) + GAP * (len(columns) - 1) > console.width:
        for row in rows:
            _print_record(console, columns, row)
        return
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", no_wrap=name != wrap)
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table, highlight=False)


def _print_record(console: Console, columns: Sequence[str], row: Sequence[str]) -> None:
    print_text(console, row[0] or "-", hanging="  ")
    named = (f"{name}: {cell}" for name, cell in zip(columns[1:], row[1:], strict=True) if cell)
    print_text(console, "; ".join(named), "  ", "    ")
