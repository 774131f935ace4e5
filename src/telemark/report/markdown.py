"""The score card as Markdown, for pull requests: one table per scenario, warnings below."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from telemark.report import card
from telemark.report import format as fmt
from telemark.report.model import Report, ScoreRow, SearchView

WORDS = {"pass": "✓ pass", "fail": "**✗ fail**", "no verdict": "? no verdict"}
NAMES = ("server", "point", "verdict")


def escape(text: object) -> str:
    """Text that Markdown shows as it is: no HTML, no links, no table breaks, no mentions."""
    cleaned = fmt.one_line(text, 300)
    cleaned = cleaned.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")
    return re.sub(r"([\\`*_{}\[\]()#!|~])", r"\\\1", cleaned)


def render(report: Report) -> str:
    """The whole report as Markdown text."""
    lines: list[str] = []
    for campaign in report.campaigns:
        counts = ", ".join(f"{number} {outcome}" for outcome, number in campaign.counts.items() if number)
        lines += [f"## {escape(campaign.name)}: {campaign.verdict}", "", f"{counts or 'no runs'}.", ""]
        for search in campaign.searches:
            lines += _search(search)
        for (suite, name, size), rows in groupby(campaign.rows, key=lambda row: (row.suite, row.name, row.size)):
            lines += _scenario(f"{suite}/{name}", size, list(rows))
    lines += [f"- **{escape(problem.folder)}**: {escape(problem.message)}" for problem in report.problems]
    made = f"telemark {report.telemark_version}, {report.generated_at}."
    lines += ["", f"{made} Times in ms, CPU in cores, {fmt.MISSING} was not measured."]
    return "\n".join(lines).strip() + "\n"


def _search(search: SearchView) -> list[str]:
    rows = [
        f"| {each.rate:,.0f} {search.unit} | {escape(each.stage)} | {'holds' if each.holds else 'does not hold'} | "
        f"{escape(each.reason)} |"
        for each in search.tries
    ]
    return [
        f"### Search: {escape(search.scenario)} {escape(search.point)} on {escape(search.server)}",
        "",
        *(f"- {escape(sentence)}" for sentence in search.answer),
        "",
        *_beside(search),
        "| rate | stage | verdict | why |",
        "|---:|---|---|---|",
        *rows,
        "",
    ]


def _beside(search: SearchView) -> list[str]:
    """The peak and what was published beside it."""
    table = search.beside
    if not table.rows:
        return []
    lines = (table.columns, ["---"] * len(table.columns), *([cell.text for cell in row] for row in table.rows))
    return [*("| " + " | ".join(map(escape, cells)) + " |" for cells in lines), ""]


def _scenario(title: str, size: str, rows: Sequence[ScoreRow]) -> list[str]:
    scale = f", size {escape(size)}" if size else ""
    return [
        f"### {escape(title)} ({rows[0].kind}{scale})",
        "",
        *_table(rows),
        "",
        *_footnote(rows),
        *_reasons(rows),
        *_bottlenecks(rows),
        *_notices(rows),
    ]


def _table(rows: Sequence[ScoreRow]) -> list[str]:
    heads = card.headings(rows)
    marks = ["---"] * len(NAMES) + ["---:"] * len(heads)
    lines = ([*NAMES, *heads], marks, *(_cells(row, heads) for row in rows))
    return ["| " + " | ".join(cells) + " |" for cells in lines]


def _cells(row: ScoreRow, heads: Iterable[str]) -> list[str]:
    cells = card.cells(row)
    return [
        escape(f"{row.server} {row.server_version} {row.profile}"),
        escape(row.point + (f" repeat {row.repeat + 1}" if row.repeat else "")),
        WORDS[row.verdict],
        *(escape(card.text_of(cells[head])) for head in heads),
    ]


def _footnote(rows: Sequence[ScoreRow]) -> list[str]:
    lines = []
    if any(cell.beside for row in rows for cell in card.cells(row).values()):
        lines.append("In brackets: published.")
    if any(not found.same_point for row in rows for found in row.beside.values()):
        lines.append("\\* published for another size and on other hardware: a hint only.")
    return [*lines, ""] if lines else []


def _reasons(rows: Sequence[ScoreRow]) -> list[str]:
    lines = [
        f"- {WORDS[judgement.outcome]} {escape(row.server)} {escape(row.point)}: {escape(judgement.threshold)}: "
        f"{escape(judgement.reason)}"
        for row in rows
        for judgement in row.judgements
        if judgement.outcome != "pass"
    ]
    return [*lines, ""] if lines else []


def _bottlenecks(rows: Sequence[ScoreRow]) -> list[str]:
    lines = [f"- bottleneck of {escape(row.server)} {escape(row.point)}: {escape(row.bottleneck)}" for row in rows]
    return [*lines, ""]


def _notices(rows: Sequence[ScoreRow]) -> list[str]:
    texts = dict.fromkeys((notice.severity, notice.text) for row in rows for notice in row.notices)
    lines = [f"- {'⚠ ' if severity != 'note' else ''}{escape(text)}" for severity, text in texts]
    return [*lines, ""] if lines else []
