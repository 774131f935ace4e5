"""The score card on a terminal, in the form of the MessageSight report: readable in 80 columns and without colour.

Each scenario has a table of the result (value and statistics) and, where the terminal is too narrow for one, further
tables of what makes it believable. Text from run folders goes through `printable`, so it cannot steer the terminal,
and through `Text`, so it can carry no markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import StringIO
from itertools import groupby
from pathlib import Path

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from telemark.report import card
from telemark.report import format as fmt
from telemark.report.build import build_report
from telemark.report.model import CampaignView, Cell, Notice, Outcome, Problem, Report, ScoreRow, SearchView
from telemark.report.shown import printable

STYLES: dict[str, str] = {"pass": "bold green", "fail": "bold red", "no verdict": "bold yellow"}
WORDS: dict[str, str] = {"pass": "PASS", "fail": "FAIL", "no verdict": "no verdict"}
MARKS: dict[str, str] = {"danger": "!!", "caution": " !", "note": " -"}
MOST_SOURCES = 4
LABEL_WIDTH = 20  # of the first column at least: server and point are not broken into single letters
GAP = 2  # between two columns
VERDICT = "verdict"
RATES = {"messages_per_second": "msg/s", "connections_per_second": "conn/s"}  # units that fit into the heading

Cells = dict[str, Text]


def print_score_card(campaign_dir: Path, console: Console) -> Outcome:
    """Print the score card of one campaign folder; gives the campaign's verdict."""
    report = build_report([Path(campaign_dir)])
    print_report(report, console)
    return report.verdict


def print_report(report: Report, console: Console) -> None:
    """Print the score cards of all campaigns of a report, and the folders that could not be read."""
    report = printable(report)
    for campaign in report.campaigns:
        console.print(_summary(campaign))
        for search in campaign.searches:
            _print_search(search, console)
        for (_, name, size), rows in groupby(campaign.rows, key=lambda row: (row.suite, row.name, row.size)):
            _print_scenario(name, size, list(rows), console)
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
    scale = f"  size {size}" if size else ""
    console.print(Text.assemble((f"{first.kind}  ", "cyan"), (f"{first.suite}/{name}", "bold"), scale))
    if first.description:
        console.print(Padding(Text(fmt.one_line(first.description, 400), style="dim"), (0, 0, 0, 2), expand=False))
    console.print(Padding(Text(_shared_line(rows, common)), (0, 0, 1, 2), expand=False))
    cells = [_cells(row) for row in rows]
    for number, heads in enumerate(_packed(rows, cells, console.width)):
        if number:
            console.print()
        console.print(_table(rows, common, heads, cells))
    _print_judgements(rows, console)
    _print_notices([notice for row in rows for notice in row.notices], len(rows), console)


def _print_search(search: SearchView, console: Console) -> None:
    """The peak before anything else, then every try."""
    title = " ".join(
        part for part in (search.scenario, search.point, f"on {search.server}, size {search.size}") if part
    )
    console.print()
    console.print(Text.assemble(("Search  ", "cyan"), (title, "bold")))
    for number, sentence in enumerate(search.answer):
        print_line("  ", sentence, "bold" if number == 0 else "", console)
    _print_peak(search, console)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    for head in ("rate", "stage", "verdict"):
        table.add_column(head, no_wrap=True, justify="right" if head == "rate" else "left")
    table.add_column("why", overflow="fold")
    for each in search.tries:
        words = Text("holds" if each.holds else "does not hold", style=STYLES[each.verdict])
        table.add_row(f"{each.rate:,.0f} {search.unit}", each.stage, words, Text(each.reason))
    console.print()
    console.print(table)


def _print_peak(search: SearchView, console: Console) -> None:
    """The peak and what was published beside it."""
    if not search.beside.rows:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    for head in search.beside.columns:
        table.add_column(head, overflow="fold", justify="right" if head in search.beside.numeric else "left")
    for row in search.beside.rows:
        table.add_row(*(Text(cell.text) for cell in row))
    console.print()
    console.print(table)


def _shared_line(rows: Sequence[ScoreRow], common: Sequence[str]) -> str:
    """What all rows have in common, said once: servers with versions and profiles, and parameters."""
    servers = dict.fromkeys(
        f"{row.server} {row.server_version}".strip() + f" ({row.profile or 'storage not known'})" for row in rows
    )
    return "; ".join([", ".join(servers), *([" ".join(common)] if common else [])])


def common_parameters(rows: Sequence[ScoreRow]) -> list[str]:
    """The words of the point's label that every row has; they are not repeated in each."""
    words = [row.point.split() for row in rows]
    return [word for word in words[0] if all(word in other for other in words)]


def _packed(rows: Sequence[ScoreRow], cells: Sequence[Cells], width: int) -> list[list[str]]:
    """The headings of each table: all in one where they fit, else the result first and what supports it below."""
    everything = list(card.headings(rows))
    result = list(card.statistics_headings(rows))
    groups = ([*result, VERDICT], [head for head in everything if head not in result])
    if _width_of([*groups[0], *groups[1]], cells) <= width:
        return [[*result, *groups[1], VERDICT]]
    return [part for group in groups for part in _split(group, cells, width)]


def _split(heads: Sequence[str], cells: Sequence[Cells], width: int) -> list[list[str]]:
    """As few tables as hold these headings in this width; the verdict is never cut off."""
    parts: list[list[str]] = [[]]
    for head in heads:
        if parts[-1] and _width_of([*parts[-1], head], cells) > width:
            parts.append([])
        parts[-1].append(head)
    return parts


def _width_of(heads: Sequence[str], cells: Sequence[Cells]) -> int:
    return LABEL_WIDTH + sum(GAP + max(len(head), *(row[head].cell_len for row in cells)) for head in heads)


def _table(rows: Sequence[ScoreRow], common: Sequence[str], heads: Sequence[str], cells: Sequence[Cells]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False, collapse_padding=True)
    table.add_column("server, point", overflow="fold", min_width=10)
    for head in heads:
        title = RATES.get(rows[0].headline.unit, head) if head == card.VALUE else head
        table.add_column(title, justify="right", no_wrap=True)
    for row, found in zip(rows, cells, strict=True):
        table.add_row(_label(row, rows, common), *(found[head] for head in heads))
    return table


def _cells(row: ScoreRow) -> Cells:
    """The card's cells with their colours, and the verdict."""
    found = {head: _styled(cell) for head, cell in card.cells(row).items()}
    if row.headline.unit in RATES:
        found[card.VALUE] = Text(fmt.short(row.value))
        found[card.PUBLISHED] = Text(fmt.short(row.published.value if row.published else None))
    found[card.VALUE].stylize("bold")
    return found | {VERDICT: Text(WORDS[row.verdict], style=STYLES[row.verdict])}


def _styled(cell: Cell) -> Text:
    return Text(card.text_of(cell), style={"caution": "red", "fail": "bold red"}.get(cell.tone, ""))


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


def _print_judgements(rows: Sequence[ScoreRow], console: Console) -> None:
    """What did not pass, and why; thresholds with the same reason share a line."""
    for row in rows:
        reasons: dict[tuple[Outcome, str], list[str]] = {}
        for judgement in row.judgements:
            if judgement.outcome != "pass":
                reasons.setdefault((judgement.outcome, judgement.reason), []).append(judgement.threshold)
        for (outcome, reason), thresholds in reasons.items():
            line = f"{WORDS[outcome]}  {_short_name(row)}: {', '.join(thresholds)}: {reason}"
            print_line("  ", line, STYLES[outcome], console)
    _print_sources(rows, console)


def _print_sources(rows: Sequence[ScoreRow], console: Console) -> None:
    published = dict.fromkeys(
        f"{found.server} at {found.conditions} ({found.source})" for row in rows for found in row.beside.values()
    )
    if published:
        print_line("  ", f"published: {'; '.join(list(published)[:MOST_SOURCES])}", "dim", console)
    if any(cell.beside for row in rows for cell in card.cells(row).values()):
        print_line("  ", "in brackets: published", "dim", console)
    if any(not found.same_point for row in rows for found in row.beside.values()):
        print_line(
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
        print_line(f"{MARKS[severity]} ", text + where, style, console)


def print_line(mark: str, text: str, style: str, console: Console) -> None:
    """A sentence behind its mark; its further lines begin below the first word."""
    grid = Table.grid(padding=0)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(mark, style=style), Text(text, style=style))
    console.print(grid)


def _summary(campaign: CampaignView) -> Text:
    """The verdict, before anything else."""
    total = sum(campaign.counts.values())
    text = Text(WORDS[campaign.verdict], style=STYLES[campaign.verdict])
    text.append(f"  {fmt.one_line(campaign.name)}, {total} run{'s' if total != 1 else ''}: ", style="not bold default")
    parts = [f"{campaign.counts[outcome]} {word}" for outcome, word in WORDS.items() if campaign.counts.get(outcome)]
    return text.append(", ".join(parts), style="not bold default")


def _print_problem(problem: Problem, console: Console) -> None:
    print_line("!! ", f"{fmt.one_line(problem.folder)}: {problem.message}", "red", console)
    if problem.hint:
        print_line("   ", f"hint: {problem.hint}", "", console)
