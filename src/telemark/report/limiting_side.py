"""Which side was the bottleneck of a run, in words, with the evidence and the busiest threads."""

from __future__ import annotations

from telemark.report import format as fmt
from telemark.report.model import Cell, Fact, Table
from telemark.report.source import RunSource
from telemark.verdicts.bottleneck import Bottleneck, find_bottleneck


def bottleneck_fact(run: RunSource) -> Fact:
    """The finding of one run; without numbers there is none."""
    if run.point is None:
        return Fact("bottleneck", "not known: the run has no numbers")
    found = find_bottleneck(run.point)
    return Fact("bottleneck", bottleneck_words(found, run), "caution" if found.side == "engine" else "")


def bottleneck_words(found: Bottleneck, run: RunSource) -> str:
    """One sentence: the side, the part, the evidence, the doubt, and the thread that was busiest there."""
    evidence = "; ".join(fmt.one_line(text, 200) for text in found.evidence)
    if found.side == "unknown":
        return f"none found: {evidence}"
    thread = busiest_thread(run, found.side) if found.part == "one thread" else ""
    more = [f"busiest: {thread}"] if thread else []
    return "; ".join(
        [f"{found.side}{f' ({found.part})' if found.part else ''}: {evidence}", *more, *filter(None, [found.doubt])]
    )


def busiest_thread(run: RunSource, side: str) -> str:
    """Name and id of the busiest thread of a side; empty when it is not known."""
    rows = (row for row in run.rows("threads") if row["side"] == side)
    return next((f"{fmt.one_line(row['thread_name'], 64)} (thread {row['thread_id']})" for row in rows), "")


def threads_table(prefix: str, run: RunSource) -> Table:
    """The busiest threads, by name and id."""
    rows = tuple(
        (
            Cell(fmt.one_line(row["side"], 20)),
            Cell(fmt.one_line(row["thread_name"], 64)),
            Cell(str(row["thread_id"]), row["thread_id"]),
            Cell(str(row["process_id"]), row["process_id"]),
            Cell(fmt.value_in("cores", row["thread_cores_mean"]), row["thread_cores_mean"]),
            Cell(fmt.value_in("cores", row["thread_cores_max"]), row["thread_cores_max"]),
        )
        for row in run.rows("threads")
    )
    columns = ("side", "thread", "thread id", "process id", "mean", "largest sample")
    note = "Threads that were among the three busiest of their process in a sample, over the measure phase."
    return Table(f"{prefix}-threads", "Busiest threads", columns, rows, frozenset(columns[2:]), note)
