"""The score card on a terminal, in the form of the MessageSight report: readable in 80 columns and without colour.

Each scenario has two tables: the result (value and statistics) and what makes it believable (losses, cost,
headroom, the published value). Text from run folders goes through `Text`, so it can carry no markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from io import StringIO
from itertools import groupby
from pathlib import Path

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from telemark.report import format as fmt
from telemark.report.build import build_report
from telemark.report.model import Notice, Outcome, Problem, Report, ScoreRow

STYLES: dict[str, str] = {"pass": "bold green", "fail": "bold red", "no verdict": "bold yellow"}
WORDS: dict[str, str] = {"pass": "PASS", "fail": "FAIL", "no verdict": "no verdict"}
MARKS: dict[str, str] = {"danger": "!!", "caution": " !", "note": " -"}
MOST_SOURCES = 4
COMPLETE_WIDTH = 150  # a terminal this wide shows one table with everything instead of two

Columns = Sequence[tuple[str, Callable[[ScoreRow], Text]]]


def print_score_card(campaign_dir: Path, console: Console) -> Outcome:
    """Print the score card of one campaign folder; gives the campaign's verdict."""
    report = build_report([Path(campaign_dir)])
    print_report(report, console)
    return report.verdict


def print_report(report: Report, console: Console) -> None:
    """Print the score cards of all campaigns of a report, and the folders that could not be read."""
    for campaign in report.campaigns:
        console.print(Text(f"Score card of {fmt.one_line(campaign.name)}", style="bold"))
        for (_, name, size), rows in groupby(campaign.rows, key=lambda row: (row.suite, row.name, row.size)):
            _print_scenario(name, size, list(rows), console)
        console.print(_summary(campaign.counts))
    for problem in report.problems:
        _print_problem(problem, console)


def render(report: Report, width: int = 100) -> str:
    """The score card as plain text, for files."""
    console = Console(width=width, no_color=True, record=True, file=StringIO())
    print_report(report, console)
    return console.export_text()


def _print_scenario(name: str, size: str, rows: list[ScoreRow], console: Console) -> None:
    first = rows[0]
    common = common_parameters(rows)
    console.print()
    console.print(Text.assemble((f"{first.kind}  ", "cyan"), (f"{first.suite}/{name}", "bold"), f"  size {size}"))
    if first.description:
        console.print(Padding(Text(fmt.one_line(first.description, 400), style="dim"), (0, 0, 0, 2)))
    console.print(Padding(Text(_shared_line(rows, common)), (0, 0, 1, 2)))
    if console.width >= COMPLETE_WIDTH:
        console.print(_table(rows, common, [*_result_columns(first), *_trust_columns(), _VERDICT]))
    else:
        console.print(_table(rows, common, [*_result_columns(first), _VERDICT]))
        console.print()
        console.print(_table(rows, common, _trust_columns()))
    _print_judgements(rows, console)
    _print_notices([notice for row in rows for notice in row.notices], len(rows), console)


def _shared_line(rows: Sequence[ScoreRow], common: Sequence[str]) -> str:
    """What all rows have in common, said once: servers with versions and profiles, and parameters."""
    servers = dict.fromkeys(f"{row.server} {row.server_version}".strip() + f" ({row.profile})" for row in rows)
    return "; ".join([", ".join(servers), *([" ".join(common)] if common else [])])


def common_parameters(rows: Sequence[ScoreRow]) -> list[str]:
    """The words of the point's label that every row has; they are not repeated in each."""
    words = [row.point.split() for row in rows]
    return [word for word in words[0] if all(word in other for other in words)]


def _table(rows: Sequence[ScoreRow], common: Sequence[str], columns: Columns) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False, collapse_padding=True)
    table.add_column("server, point", overflow="fold", min_width=10)
    for title, _ in columns:
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(_label(row, rows, common), *(cell(row) for _, cell in columns))
    return table


def _label(row: ScoreRow, rows: Sequence[ScoreRow], common: Sequence[str]) -> Text:
    """As short as tells the rows apart: server, profile if there are several, own parameters, repeat."""
    text = Text(row.server, style="bold")
    if len({other.profile for other in rows}) > 1:
        text.append(f" {row.profile}", style="not bold")
    if own := [fmt.one_line(word) for word in row.point.split() if word not in common]:
        text.append(" " + " ".join(own), style="not bold")
    if any(other.repeat for other in rows):
        text.append(f" #{row.repeat + 1}", style="not bold")
    return text


def _ms(name: str) -> Callable[[ScoreRow], Text]:
    return lambda row: Text(fmt.milliseconds(getattr(row, name)))


def _result_columns(first: ScoreRow) -> Columns:
    value_title = {"rate": "msg/s", "per_second": "conn/s", "bytes": "per conn"}.get(first.unit, "VALUE")
    write = fmt.size_bytes if first.unit == "bytes" else fmt.short
    return [
        (value_title, lambda row: Text(write(row.value), style="bold")),
        ("AVG ms", _ms("mean_us")),
        ("50P", _ms("p50_us")),
        ("95P", _ms("p95_us")),
        ("99P", _ms("p99_us")),
        ("STDV", _ms("stdev_us")),
    ]


def _trust_columns() -> Columns:
    return [
        ("lost", lambda row: _deviation(row.lost)),
        ("dup", lambda row: _deviation(row.duplicate)),
        ("reord", lambda row: _deviation(row.reordered)),
        ("CPU", lambda row: Text(fmt.cores(row.cpu_cores))),
        ("memory", lambda row: Text(fmt.size_bytes(row.memory_bytes))),
        ("headroom", lambda row: Text("engine!" if row.engine_bound else fmt.ratio(row.headroom))),
        ("published", _published),
        ("ratio", _ratio),
    ]


def _deviation(value: int | None) -> Text:
    return Text(fmt.short(value), style="red" if value else "")


def _published(row: ScoreRow) -> Text:
    if row.published is None:
        return Text(fmt.MISSING)
    write = {"bytes": fmt.size_bytes, "us": fmt.time_us}.get(row.published.unit, fmt.short)
    return Text(write(row.published.value))


def _ratio(row: ScoreRow) -> Text:
    if row.published is None:
        return Text(fmt.MISSING)
    return Text(fmt.published_ratio(row.published.ratio, row.published.same_point))


_VERDICT = ("verdict", lambda row: Text(WORDS[row.verdict], style=STYLES[row.verdict]))


def _print_judgements(rows: Sequence[ScoreRow], console: Console) -> None:
    """What did not pass, and why; thresholds with the same reason share a line."""
    for row in rows:
        reasons: dict[tuple[Outcome, str], list[str]] = {}
        for judgement in row.judgements:
            if judgement.outcome != "pass":
                reasons.setdefault((judgement.outcome, judgement.reason), []).append(judgement.threshold)
        for (outcome, reason), thresholds in reasons.items():
            line = f"{WORDS[outcome]}  {_short_name(row)}: {', '.join(thresholds)}: {reason}"
            _print_line("  ", line, STYLES[outcome], console)
    _print_sources(rows, console)


def _print_sources(rows: Sequence[ScoreRow], console: Console) -> None:
    published = dict.fromkeys(
        f"{row.published.server} at {row.published.conditions} ({row.published.source})"
        for row in rows
        if row.published
    )
    if published:
        _print_line("  ", f"published: {'; '.join(list(published)[:MOST_SOURCES])}", "dim", console)
    if any(row.published and not row.published.same_point for row in rows):
        _print_line(
            "  ", "* published for another size, always on other hardware: a hint, no comparison", "dim", console
        )


def _short_name(row: ScoreRow) -> str:
    return " ".join(part for part in (row.server, fmt.one_line(row.point)) if part)


def _print_notices(notices: Iterable[Notice], runs: int, console: Console) -> None:
    """Each notice once; one that does not concern all runs says how many it does."""
    counted: dict[tuple[str, str], int] = {}
    for notice in notices:
        counted[notice.severity, notice.text] = counted.get((notice.severity, notice.text), 0) + 1
    for (severity, text), times in sorted(counted.items(), key=lambda item: list(MARKS).index(item[0][0])):
        where = "" if times == runs else f" ({times} of {runs} runs)"
        style = {"danger": "red", "caution": "yellow"}.get(severity, "dim")
        _print_line(f"{MARKS[severity]} ", text + where, style, console)


def _print_line(mark: str, text: str, style: str, console: Console) -> None:
    grid = Table.grid(padding=0)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(mark, style=style), Text(text, style=style))
    console.print(grid)


def _summary(counts: dict[str, int]) -> Text:
    total = sum(counts.values())
    text = Text(f"\n{total} run{'s' if total != 1 else ''}: ", style="bold")
    parts = [(f"{counts[outcome]} {WORDS[outcome]}", STYLES[outcome]) for outcome in WORDS if counts.get(outcome)]
    for index, part in enumerate(parts):
        text.append(", " if index else "", style="not bold")
        text.append(*part)
    return text


def _print_problem(problem: Problem, console: Console) -> None:
    _print_line("!! ", f"{fmt.one_line(problem.folder)}: {problem.message}", "red", console)
    if problem.hint:
        _print_line("   ", f"hint: {problem.hint}", "", console)
