"""What `telemark search` found, from the search.json beside its runs: peaks, what gave out first, every try."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from telemark.report import format as fmt
from telemark.report.model import Axis, Cell, Chart, Series, Table

SEARCH_FILE = "search.json"
FORMAT = 1
Result = Mapping[str, Any]


def read_searches(campaign: Path) -> list[Result]:
    """The results of a campaign's searches; empty when it is no search or the file cannot be understood."""
    try:
        content = json.loads((campaign / SEARCH_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    if not isinstance(content, list):
        return []
    return [result for result in content if isinstance(result, Mapping) and result.get("format") == FORMAT]


def peaks_table(prefix: str, results: Sequence[Result]) -> Table:
    """One line per point: the highest rate that survived its full-length hold, over the repeats of the search."""
    columns = ("case", "server", "peak (median)", "from", "to", "spread", "searches", "gave out first", "rule")
    rows = tuple(
        (
            Cell(fmt.one_line(f"{result.get('scenario')} {result.get('point')} (size {result.get('size')})")),
            Cell(fmt.one_line(result.get("server"), 60)),
            *_summary_cells(result),
            Cell(_bottleneck(result)),
            Cell(fmt.one_line("; ".join(map(str, result.get("rule") or ())), 300)),
        )
        for result in results
    )
    note = "Median over the repeats of the search; from and to: 95 % confidence interval."
    return Table(f"{prefix}-peaks", "Peak sustainable rate", columns, rows, frozenset(columns[2:7]), note)


def _summary_cells(result: Result) -> list[Cell]:
    summary = result.get("summary") if isinstance(result.get("summary"), Mapping) else {}
    values = [(summary or {}).get(name) for name in ("median", "low", "high")]
    spread, searches = (summary or {}).get("spread"), len(_peaks(result))
    return [
        *(Cell(fmt.short(value) if value is not None else fmt.MISSING, value) for value in values),
        Cell(fmt.percent(spread), spread),
        Cell(fmt.count(searches), searches),
    ]


def _peaks(result: Result) -> list[Mapping[str, Any]]:
    return [peak for peak in result.get("peaks") or () if isinstance(peak, Mapping)]


def _bottleneck(result: Result) -> str:
    """The bottleneck of each search, or how the search ended when none was found."""
    found = []
    for peak in _peaks(result):
        culprit = peak.get("bottleneck")
        words = culprit.values() if isinstance(culprit, Mapping) else [peak.get("ending")]
        found.append(": ".join(_words(word) for word in words if word))
    return "; ".join(dict.fromkeys(fmt.one_line(text, 300) for text in found)) or fmt.MISSING


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def tries_charts(prefix: str, results: Sequence[Result]) -> list[Chart]:
    """Every try of a search in order: at which rate, and whether it held."""
    charts = []
    for number, result in enumerate(results):
        tries = [entry for peak in _peaks(result) for entry in peak.get("tries") or () if isinstance(entry, Mapping)]
        held, failed = _tries(tries, True), _tries(tries, False)
        name = fmt.one_line(f"{result.get('scenario')} on {result.get('server')}", 80)
        series = (Series("held", held, kind="scatter"), Series("did not hold", failed, kind="scatter"))
        kept = tuple(line for line in series if line.points)
        title = f"The search for the peak: {name}"
        charts.append(Chart(f"{prefix}-tries{number}", title, Axis("try", "count"), Axis("rate", "rate"), kept))
    return charts


def _tries(tries: Sequence[Mapping[str, Any]], held: bool) -> tuple[tuple[float, float], ...]:
    return tuple(
        (number, float(entry["rate"]))
        for number, entry in enumerate(tries, 1)
        if bool(entry.get("holds")) is held and isinstance(entry.get("rate"), int | float)
    )
