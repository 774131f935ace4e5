"""The score card as Markdown, for pull requests: one table per scenario, warnings below."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from telemark.report import format as fmt
from telemark.report.model import Report, ScoreRow

WORDS = {"pass": "✓ pass", "fail": "**✗ fail**", "no verdict": "? no verdict"}
HEADS = ("server", "point", "verdict", "VALUE", "AVG ms", "50P", "95P", "99P", "STDV", "lost / dup / reord", "CPU",
         "memory", "headroom", "published", "ratio")  # fmt: skip
NUMERIC_FROM = 3


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
        for (suite, name, size), rows in groupby(campaign.rows, key=lambda row: (row.suite, row.name, row.size)):
            lines += _scenario(f"{suite}/{name}", size, list(rows))
    lines += [f"- **{escape(problem.folder)}**: {escape(problem.message)}" for problem in report.problems]
    made = f"telemark {report.telemark_version}, {report.generated_at}."
    lines += ["", f"{made} Times in ms, CPU in cores, {fmt.MISSING} was not measured."]
    return "\n".join(lines).strip() + "\n"


def _scenario(title: str, size: str, rows: Sequence[ScoreRow]) -> list[str]:
    return [
        f"### {escape(title)} ({rows[0].kind}, size {escape(size)})",
        "",
        *_table([_cells(row) for row in rows]),
        "",
        *_footnote(rows),
        *_reasons(rows),
        *_notices(rows),
    ]


def _cells(row: ScoreRow) -> list[str]:
    published = row.published
    return [
        escape(f"{row.server} {row.server_version} {row.profile}"),
        escape(row.point + (f" repeat {row.repeat + 1}" if row.repeat else "")),
        WORDS[row.verdict],
        fmt.value_in(row.unit, row.value),
        *(fmt.milliseconds(value) for value in (row.mean_us, row.p50_us, row.p95_us, row.p99_us, row.stdev_us)),
        " / ".join(fmt.short(value) for value in (row.lost, row.duplicate, row.reordered)),
        fmt.cores(row.cpu_cores),
        fmt.size_bytes(row.memory_bytes),
        "engine-bound" if row.engine_bound else fmt.ratio(row.headroom),
        fmt.value_in(published.unit, published.value) if published else fmt.MISSING,
        escape(fmt.published_ratio(published.ratio, published.same_point)) if published else fmt.MISSING,
    ]


def _table(rows: Iterable[Sequence[str]]) -> list[str]:
    marks = ["---" if index < NUMERIC_FROM else "---:" for index in range(len(HEADS))]
    return ["| " + " | ".join(cells) + " |" for cells in (HEADS, marks, *rows)]


def _footnote(rows: Sequence[ScoreRow]) -> list[str]:
    if any(row.published and not row.published.same_point for row in rows):
        return ["\\* published for another size and on other hardware: a hint only.", ""]
    return []


def _reasons(rows: Sequence[ScoreRow]) -> list[str]:
    lines = [
        f"- {WORDS[judgement.outcome]} {escape(row.server)} {escape(row.point)}: {escape(judgement.threshold)}: "
        f"{escape(judgement.reason)}"
        for row in rows
        for judgement in row.judgements
        if judgement.outcome != "pass"
    ]
    return [*lines, ""] if lines else []


def _notices(rows: Sequence[ScoreRow]) -> list[str]:
    texts = dict.fromkeys((notice.severity, notice.text) for row in rows for notice in row.notices)
    lines = [f"- {'⚠ ' if severity != 'note' else ''}{escape(text)}" for severity, text in texts]
    return [*lines, ""] if lines else []
