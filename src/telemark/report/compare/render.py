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
from telemark.report.console import print_line
from telemark.report.json_card import finite
from telemark.report.markdown import escape
from telemark.report.model import Cell, Table

STYLES = {"better": "bold green", "same": "", "worse": "bold red", "differs": "bold", "no verdict": "yellow"}
TONES = {"better": "pass", "same": "", "worse": "fail", "differs": "", "no verdict": "none"}
COLUMNS = ("point", "metric", "A", "B", "B - A", "from", "to", "verdict", "why")
VERSION = 2  # of the JSON document


def as_table(comparison: Comparison) -> Table:
    """The lines for a page or any other renderer of tables."""
    rows = tuple(
        (
            Cell(_point(line)),
            Cell(line.metric),
            Cell(_value(line, line.a, line.errors[0]), line.a),
            Cell(_value(line, line.b, line.errors[1]), line.b),
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
        print_line("!! ", f"not comparable, forced: {difference}", "red", console)
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    for difference in comparison.mapped:
        print_line(" - ", f"paired although they differ: {difference}", "dim", console)
    table.add_column("point, metric", overflow="fold", min_width=12)
    for title in ("A", "B", "B - A", "verdict"):
        table.add_column(title, justify="right", no_wrap=True)
    point = ""
    for line in comparison.lines:
        if _point(line) != point:
            point = _point(line)
            table.add_row(Text(point, style="bold"))
        table.add_row(
            f"  {line.metric}", _value(line, line.a, line.errors[0]), _value(line, line.b, line.errors[1]),
            _change(line), Text(line.verdict, style=STYLES[line.verdict]),
        )  # fmt: skip
    console.print(table)
    if any(line.low is not None for line in comparison.lines):
        print_line(" - ", "± is half of the 95 % confidence interval of the difference", "dim", console)
    for reason in dict.fromkeys(line.reason for line in comparison.lines if line.verdict == "no verdict"):
        print_line(" ! ", f"no verdict: {reason}", "yellow", console)
    _print_missing(comparison, console)
    console.print(Text(", ".join(f"{number} {word}" for word, number in comparison.counts.items() if number)))


def _print_missing(comparison: Comparison, console: Console) -> None:
    for side, names in (("A", comparison.only_a), ("B", comparison.only_b)):
        for name in names:
            print_line(" - ", f"only in {side}: {fmt.one_line(name)}", "dim", console)


def to_markdown(comparison: Comparison) -> str:
    """A table for pull requests."""
    table = as_table(comparison)
    lines = [f"**A** {escape(comparison.a)}, **B** {escape(comparison.b)}", ""]
    lines += [f"- ⚠ not comparable, forced: {escape(difference)}" for difference in comparison.differs]
    lines += [f"- paired although they differ: {escape(difference)}" for difference in comparison.mapped]
    lines += ["", "| " + " | ".join(COLUMNS) + " |", "|---|---|---:|---:|---:|---:|---:|---|---|"]
    lines += ["| " + " | ".join(escape(cell.text) for cell in row) + " |" for row in table.rows]
    lines += ["", ", ".join(f"{number} {word}" for word, number in comparison.counts.items() if number), ""]
    return "\n".join(lines)


def to_json(comparison: Comparison) -> str:
    """A document for machines."""
    content: dict[str, Any] = {"format": "telemark-comparison", "version": VERSION} | asdict(comparison)
    content["counts"] = comparison.counts
    content["exit_code"] = int(comparison.exit_code)
    return json.dumps(finite(content), indent=2, allow_nan=False) + "\n"


def _point(line: Line) -> str:
    other = f"(B: {line.point_b})" if line.point_b != line.point else ""
    return fmt.one_line(" ".join(part for part in (line.scenario, line.point, other, line.server) if part))


def _value(line: Line, value: float | None, error: float) -> str:
    return fmt.point_value(line.metric, value, error)


def _change(line: Line) -> str:
    """The difference and, with repeats, half the width of its interval: narrow enough for any terminal."""
    if line.difference is None or line.low is None or line.high is None:
        return fmt.percent(line.difference, signed=True)
    half = fmt.number((line.high - line.low) / 2 * 100)
    return f"{fmt.percent(line.difference, signed=True).removesuffix(' %')} ±{half} %"
