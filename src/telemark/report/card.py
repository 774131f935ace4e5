"""The score card as every renderer shows it: one row per run, columns from the registry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from telemark.model.columns import POINTS, Column, card_of
from telemark.report import format as fmt
from telemark.report.clock_error import error_of, raised
from telemark.report.model import Cell, Published, ScoreRow

VALUE, PUBLISHED, RATIO, ALSO = "VALUE", "published", "ratio", "also published"
ERROR = "clock_error_us"
BESIDE = tuple(column for column in POINTS.columns if column.beside)  # on the card where one is published


def headings(rows: Sequence[ScoreRow]) -> tuple[str, ...]:
    """Headings of all columns that these rows have on the card, in order; published values where they exist."""
    found = dict.fromkeys(_heading(column) for row in rows for column in columns_of(row))
    beside = (PUBLISHED, RATIO) if any(row.published for row in rows) else ()
    return (VALUE, *found, *beside)


def columns_of(row: ScoreRow) -> tuple[Column, ...]:
    """The columns on this row's card: those of every card, and those with a published value beside them."""
    return (*_columns(row), *_others(row))


def _others(row: ScoreRow) -> tuple[Column, ...]:
    return tuple(column for column in BESIDE if column.name in row.beside and column != row.headline)


def statistics_headings(rows: Sequence[ScoreRow]) -> tuple[str, ...]:
    """Those of the headings that are the result itself: the value and its statistics."""
    found = dict.fromkeys(column.card or "" for row in rows for column in _columns(row) if column.subject)
    return (VALUE, *found)


def _columns(row: ScoreRow) -> tuple[Column, ...]:
    """The card's columns; the clocks' error only where there is one."""
    return tuple(column for column in card_of(row.statistics) if column.name != ERROR or row.values.get(ERROR))


def cells(row: ScoreRow) -> dict[str, Cell]:
    """The row's cells by their headings, those that only other rows show included."""
    value = Cell(_written(row, row.headline.name), row.value)
    shown = (*card_of(row.statistics), *BESIDE)
    return {VALUE: value} | {_heading(column): _cell(row, column) for column in shown} | _published(row)


def page_headings(rows: Sequence[ScoreRow]) -> tuple[str, ...]:
    """Headings of a page's card, which has many scenarios in one table: no column that only some of them use."""
    always = dict.fromkeys(_heading(column) for row in rows for column in _columns(row))
    also = (ALSO,) if any(_others(row) for row in rows) else ()
    return (VALUE, *always, *also)


def page_cells(row: ScoreRow) -> dict[str, Cell]:
    """The cells of a page's card: what was published stands in the value's cell, and other such columns in one."""
    found = cells(row)
    if row.published:
        beside = f"{found[PUBLISHED].text}, {found[RATIO].text}"
        found[VALUE] = replace(found[VALUE], beside=beside, title=found[PUBLISHED].title)
    words = [f"{_heading(column)} {text_of(found[_heading(column)])}" for column in _others(row)]
    return found | {ALSO: Cell("; ".join(words))}


def text_of(cell: Cell) -> str:
    """A cell as plain text: the published value in brackets."""
    return f"{cell.text} ({cell.beside})" if cell.beside else cell.text


def _heading(column: Column) -> str:
    return column.card or column.beside or column.name


def _cell(row: ScoreRow, column: Column) -> Cell:
    value = row.values.get(column.name)
    if column.name == "engine_headroom" and row.engine_bound:
        return Cell("engine!", 0, "fail", title="the engine was the limit, not the server")
    deviates = column.unit == "count" and column.better == "lower" and bool(value) and column.card
    text = fmt.uncertain(partial(fmt.in_column, column.unit), value, error_of(row.values, column.name))
    sort, beside = raised(value, error_of(row.values, column.name)), _beside(row, column)
    return Cell(text, sort, "caution" if deviates else "", title=_title(row, column), beside=beside)


def _written(row: ScoreRow, name: str) -> str:
    return fmt.point_value(name, row.values.get(name), error_of(row.values, name))


def summary(row: ScoreRow) -> str:
    """The row in a few words: its value and its average time."""
    return f"{_written(row, row.headline.name)}, average {_written(row, f'{row.statistics}_mean_us')}"


def _beside(row: ScoreRow, column: Column) -> str:
    found = row.beside.get(column.name)
    return fmt.in_column(column.unit, found.value) if found else ""


def _title(row: ScoreRow, column: Column) -> str:
    found = row.beside.get(column.name)
    return f"{column.meaning}; published: {_where(found)}" if found else column.meaning


def _where(found: Published) -> str:
    return f"{found.server}, {found.conditions}, {found.source}"


def _published(row: ScoreRow) -> dict[str, Cell]:
    found = row.published
    if found is None:
        return {PUBLISHED: Cell(fmt.MISSING), RATIO: Cell(fmt.MISSING)}
    return {
        PUBLISHED: Cell(fmt.value_in(found.unit, found.value), found.value, title=_where(found)),
        RATIO: Cell(fmt.published_ratio(found.ratio, found.same_point), found.ratio),
    }
