"""The tables of one run's own section: thresholds, latency statistics, subscriptions, offending messages."""

from __future__ import annotations

from telemark.model.columns import FULL, RESULT_TABLES
from telemark.report import format as fmt
from telemark.report.clock_error import error_of, raised
from telemark.report.limiting_side import threads_table
from telemark.report.model import Cell, Table
from telemark.report.source import RunSource

MOST_ROWS = 50  # a report is read by people; the result tables have all rows
TITLES = ("min", "AVG", "STDV", "50P", "75P", "90P", "95P", "99P", "99.9P", "99.99P", "max")


def run_tables(prefix: str, run: RunSource) -> tuple[Table, ...]:
    """All tables of a run that have rows."""
    tables = (
        latency_table(prefix, run),
        cost_table(prefix, run),
        threads_table(prefix, run),
        integrity_table(prefix, run),
        offenders_table(prefix, run),
    )
    return tuple(table for table in tables if table.rows)


def latency_table(prefix: str, run: RunSource) -> Table:
    """Every measure and phase with all its percentiles."""
    columns = ("measure", "phase", "count", *TITLES)
    rows = tuple(
        (
            Cell(fmt.one_line(row["measure"])),
            Cell(fmt.one_line(row["phase"])),
            Cell(fmt.count(row["count"]), row["count"]),
            *(_time(row[f"{name}_us"], error_of(run.point, row["measure"])) for name in FULL),
        )
        for row in run.rows("latency")
    )
    error = error_of(run.point, "latency")
    note = f"Latency and service time are exact within ± {fmt.time_us(error)}, the error of the hosts' clocks."
    return Table(f"{prefix}-latencies", "Times", columns, rows, frozenset(columns[2:]), note if error else "")


def _time(value: float | None, error: float) -> Cell:
    return Cell(fmt.uncertain(fmt.time_us, value, error), raised(value, error))


def cost_table(prefix: str, run: RunSource) -> Table:
    """Everything the run cost the machine, as far as it was measured."""
    columns = [column for column in RESULT_TABLES["resources"].columns if column.is_number]
    rows = tuple(
        (Cell(column.meaning), Cell(fmt.value_in(column.unit, row[column.name]), row[column.name]))
        for row in run.rows("resources")
        for column in columns
        if row[column.name] is not None
    )
    return Table(f"{prefix}-cost", "What it cost", ("quantity", "value"), rows, frozenset({"value"}))


def integrity_table(prefix: str, run: RunSource) -> Table:
    """Subscriptions with what they were owed and got; those with deviations first."""
    columns = ("subscription", "filter", "QoS", "owed", "delivered", "lost", "duplicate", "reordered", "violations")
    numbers = columns[3:]
    found = sorted(run.rows("integrity"), key=lambda row: (-(row["violations"] or 0), -(row["lost"] or 0)))
    rows = tuple(
        (
            Cell(_subscription(row), row["subscription"]),
            Cell(fmt.one_line(row["filter"] or "", 80)),
            Cell(fmt.count(row["qos"]), row["qos"]),
            *(Cell(fmt.count(row[name]), row[name], _tone(name, row[name])) for name in numbers),
        )
        for row in found[:MOST_ROWS]
    )
    note = f"The {MOST_ROWS} worst of {len(found)} subscriptions." if len(found) > MOST_ROWS else ""
    return Table(f"{prefix}-integrity", "Who got what", columns, rows, frozenset(columns[2:]), note)


def _subscription(row: dict[str, object]) -> str:
    shared = row["share"] is not None
    return f"share group of {row['members']}" if shared else f"{row['subscription']}"


def _tone(name: str, value: int | None) -> str:
    if not value:
        return ""
    return {"violations": "fail", "lost": "caution", "duplicate": "caution", "reordered": "caution"}.get(name, "")


def offenders_table(prefix: str, run: RunSource) -> Table:
    """The first messages that were lost, came twice or came out of order, by name."""
    columns = ("kind", "subscription", "stream", "sequence", "times")
    found = run.rows("offenders")
    rows = tuple(
        (Cell(fmt.one_line(row["kind"])), *(Cell(fmt.count(row[name]), row[name]) for name in columns[1:]))
        for row in found[:MOST_ROWS]
    )
    note = f"The first {MOST_ROWS} of {len(found)} listed in the result table." if len(found) > MOST_ROWS else ""
    return Table(f"{prefix}-offenders", "Offending messages", columns, rows, frozenset(columns[1:]), note)
