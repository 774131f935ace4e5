"""A comparison as a table: on the terminal, as Markdown, as JSON, and as the table of a web page."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from telemark.report import format as fmt
from telemark.report.compare.judge import Comparison, Line
from telemark.report.json_card import finite
from telemark.report.markdown import escape
from telemark.report.model import Cell, Table

STYLES = {"better": "bold green", "same": "", "worse": "bold red", "no verdict": "yellow"}
TONES = {"better": "pass", "same": "", "worse": "fail", "no verdict": "none"}
COLUMNS = ("point", "metric", "A", "B", "B - A", "from", "to", "verdict", "why")
VERSION = 1  # of the JSON document


def as_table(comparison: Comparison) -> Table:
    """The lines for a page or any other renderer of tables."""
    rows = tuple(
        (
            Cell(_point(line)),
            Cell(line.metric),
            Cell(_value(line, line.a), line.a),
            Cell(_value(line, line.b), line.b),
            *(Cell(fmt.percent(value, signed=True), value) for value in (line.difference, line.low, line.high)),
            Cell(line.verdict, line.verdict, TONES[line.verdict]),
            Cell(line.reason),
        )
        for line in comparison.lines
    )
    note = "A is the baseline. From and to: 95 % confidence interval of the difference over the repeats, relative to A."
    return Table("comparison", "Point by point", COLUMNS, rows, frozenset(COLUMNS[2:7]), note)


def to_console(comparison: Comparison, console: Console) -> None:
    """Print the comparison; readable in 80 columns."""
    for name, side in (("A", comparison.a), ("B", comparison.b)):
        console.print(Text(f"{name}  {fmt.one_line(side)}", style="bold"))
    for difference in comparison.differs:
        console.print(Text(f"!! not comparable, forced: {difference}", style="red"))
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("point, metric", overflow="fold", min_width=20)
    for title in ("A", "B", "B - A", "95 % interval", "verdict"):
        table.add_column(title, justify="right", no_wrap=True)
    point = ""
    for line in comparison.lines:
        if _point(line) != point:
            point = _point(line)
            table.add_row(Text(point, style="bold"))
        interval = f"{_share(line.low)} .. {_share(line.high)}" if line.low is not None else fmt.MISSING
        table.add_row(
            f"  {line.metric}", _value(line, line.a), _value(line, line.b), _share(line.difference), interval,
            Text(line.verdict, style=STYLES[line.verdict]),
        )  # fmt: skip
    console.print(table)
    for reason in dict.fromkeys(line.reason for line in comparison.lines if line.verdict == "no verdict"):
        console.print(Text(f" ! no verdict: {reason}", style="yellow"))
    _print_missing(comparison, console)
    console.print(Text(", ".join(f"{number} {word}" for word, number in comparison.counts.items() if number)))


def _print_missing(comparison: Comparison, console: Console) -> None:
    for side, names in (("A", comparison.only_a), ("B", comparison.only_b)):
        for name in names:
            console.print(Text(f" - only in {side}: {fmt.one_line(name)}", style="dim"))


def to_markdown(comparison: Comparison) -> str:
    """A table for pull requests."""
    table = as_table(comparison)
    lines = [f"**A** {escape(comparison.a)}, **B** {escape(comparison.b)}", ""]
    lines += [f"- ⚠ not comparable, forced: {escape(difference)}" for difference in comparison.differs]
    lines += ["", "| " + " | ".join(COLUMNS) + " |", "|---|---|---:|---:|---:|---:|---:|---|---|"]
    lines += ["| " + " | ".join(escape(cell.text) for cell in row) + " |" for row in table.rows]
    lines += ["", ", ".join(f"{number} {word}" for word, number in comparison.counts.items() if number), ""]
    return "\n".join(lines)


def to_json(comparison: Comparison) -> str:
    """A document for machines."""
    content: dict[str, Any] = {"format": "telemark-comparison", "version": VERSION} | asdict(comparison)
    content["counts"] = comparison.counts
    content["exit_code"] = int(comparison.exit_code)
    return json.dumps(finite(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _point(line: Line) -> str:
    return fmt.one_line(" ".join(part for part in (line.scenario, line.point, line.server) if part))


def _value(line: Line, value: float | None) -> str:
    return fmt.value_in(fmt.unit_of(line.metric), value)


def _share(value: float | None) -> str:
    return fmt.percent(value, signed=True)
