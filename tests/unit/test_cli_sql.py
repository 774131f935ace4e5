"""`telemark sql` prints what can be read, at any width."""

from __future__ import annotations

from io import StringIO

import pytest
from click.testing import CliRunner
from rich.console import Console

from telemark.cli.sql import command, csv_cell, show
from telemark.errors import ConfigError
from telemark.model.columns import RECORD_TABLES, RESULT_TABLES


def shown(names: list[str], rows: list[tuple[object, ...]], width: int) -> str:
    output = StringIO()
    show(names, rows, Console(file=output, width=width, markup=False, highlight=False))
    return output.getvalue()


def test_a_row_that_is_too_wide_becomes_a_record() -> None:
    """Forty columns squeezed into 80 characters cannot be read."""
    names = [f"column_{number}" for number in range(40)]
    text = shown(names, [tuple(range(40)), tuple(range(100, 140))], 80)

    assert max(map(len, text.splitlines())) <= 80
    assert "row 2" in text
    assert all(f"column_{number} " in text for number in range(40))
    assert "139" in text


def test_a_row_that_fits_stays_a_table() -> None:
    """One line each."""
    text = shown(["run", "lost"], [("000-a", 3), ("001-b", None)], 80)

    assert "row 1" not in text
    assert any({"000-a", "3"} <= set(line.split()) for line in text.splitlines())


def test_an_empty_answer_says_so() -> None:
    """Nothing at all would look like a failure."""
    assert "0 rows" in shown(["run", "lost"], [], 80)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0"])
def test_text_cannot_become_a_formula_in_a_spreadsheet(text: str) -> None:
    """Numbers stay numbers, whatever their sign."""
    assert f"'{text}" == csv_cell(text)
    assert (-1, 2.5, None, "plain") == tuple(map(csv_cell, (-1, 2.5, None, "plain")))


def test_values_cannot_steer_the_terminal() -> None:
    """As a table, as records and as CSV."""
    for width in (200, 20):
        output = StringIO()
        show(["a", "b"], [("\x1b[31m", "\x9b2J")], Console(file=output, width=width))
        assert {"\x1b", "\x9b"}.isdisjoint(output.getvalue())
    assert "\\x1b[31m" == csv_cell("\x1b[31m")


def test_text_of_a_stranger_is_not_taken_for_markup() -> None:
    """Values come out of run folders."""
    assert "[bold]x[/bold]" in shown(["name"], [("[bold]x[/bold]",)], 80)


def test_the_tables_can_be_listed_and_described_without_any_run() -> None:
    """And without Spark: the registry knows them."""
    tables = CliRunner().invoke(command, ["SHOW tables;", "--format", "csv"])
    points = CliRunner().invoke(command, ["describe deliveries", "--format", "json"])

    assert all(name in tables.output for name in (*RECORD_TABLES, *RESULT_TABLES))
    assert all(f'"{name}"' in points.output for name in ("campaign", "run", "received_ns"))


def test_an_unknown_table_is_named_with_those_there_are() -> None:
    """`describe` of a typo."""
    result = CliRunner().invoke(command, ["describe pionts"], standalone_mode=False)

    assert isinstance(result.exception, ConfigError)
    assert "points" in (result.exception.hint or "")


@pytest.mark.parametrize("table", [*RECORD_TABLES, *RESULT_TABLES])
def test_the_help_names_every_table(table: str) -> None:
    """`cores` was once missing."""
    assert f"{table} (" in CliRunner().invoke(command, ["--help"]).output
