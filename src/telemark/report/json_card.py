"""The score card for machines: a versioned JSON document, described by docs/reference/score-card.schema.json.

Numbers are raw (microseconds, bytes, cores, messages a second); what was not measured is null.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from telemark.model.columns import card_of
from telemark.report.clock_error import known
from telemark.report.format import is_missing
from telemark.report.model import CampaignView, Report, ScoreRow, SearchView

FORMAT = "telemark-score-card"
VERSION = 2  # raised when a field changes its meaning or goes away; new fields do not raise it

_NAMES = (
    "run", "suite", "name", "description", "point", "size", "server", "server_version", "profile", "repeat", "state",
    "reason", "started_at", "verdict", "bottleneck", "parameters", "notes",
)  # fmt: skip


def render(report: Report) -> str:
    """The document as indented text."""
    return json.dumps(document(report), indent=2, allow_nan=False) + "\n"


def document(report: Report) -> dict[str, Any]:
    """The document as plain data."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "telemark_version": report.telemark_version,
        "generated_at": report.generated_at,
        "verdict": report.verdict,
        "campaigns": [_campaign(campaign) for campaign in report.campaigns],
        "problems": [asdict(problem) for problem in report.problems],
    }


def _campaign(campaign: CampaignView) -> dict[str, Any]:
    return {
        "campaign": campaign.name,
        "verdict": campaign.verdict,
        "counts": campaign.counts,
        "searches": [finite(_search(search)) for search in campaign.searches],
        "host": {fact.name: fact.value for fact in campaign.host},
        "trust": {fact.name: fact.value for fact in campaign.trust},
        "rows": [_row(row) for row in campaign.rows],
    }


def _search(search: SearchView) -> dict[str, Any]:
    """The search without the table for people: the runs and the published values have its numbers."""
    return {name: value for name, value in asdict(search).items() if name != "beside"}


def _row(row: ScoreRow) -> dict[str, Any]:
    values = {column.name: known(row.values, column.name) for column in card_of(row.statistics)}
    found: dict[str, Any] = finite({
        **{name: getattr(row, name) for name in _NAMES},
        "type": row.kind,
        "judgements": [asdict(judgement) for judgement in row.judgements],
        "metric": row.headline.name,
        "value": known(row.values, row.headline.name),
        "unit": row.headline.unit,
        "statistics": row.statistics,
        "values": values,
        "below_error": [name for name, value in values.items() if value != row.values.get(name)],
        "integrity_exact": row.values.get("integrity_exact"),
        "engine_bound": row.engine_bound,
        "published": asdict(row.published) if row.published else None,
        "beside": {name: asdict(each) for name, each in row.beside.items()},
        "warnings": [{"severity": notice.severity, "text": notice.text} for notice in row.notices],
    })  # fmt: skip
    return found


def finite(value: Any) -> Any:
    """JSON knows no infinity and no NaN: both mean that nothing was measured."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if is_missing(value) else value
