"""The score card for machines: a versioned JSON document, described by docs/reference/score-card.schema.json.

Numbers are raw (microseconds, bytes, cores, messages a second); what was not measured is null.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from telemark.report.format import is_missing
from telemark.report.model import CampaignView, Report, ScoreRow

FORMAT = "telemark-score-card"
VERSION = 1  # raised when a field changes its meaning or goes away; new fields do not raise it


def render(report: Report) -> str:
    """The document as indented text."""
    return json.dumps(document(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


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
        "host": {fact.name: fact.value for fact in campaign.host},
        "trust": {fact.name: fact.value for fact in campaign.trust},
        "rows": [_row(row) for row in campaign.rows],
    }


def _row(row: ScoreRow) -> dict[str, Any]:
    plain = {key: value for key, value in asdict(row).items() if key not in ("notices", "campaign", "kind")}
    plain["type"] = row.kind
    plain["warnings"] = [{"severity": notice.severity, "text": notice.text} for notice in row.notices]
    row_values: dict[str, Any] = finite(plain)
    return row_values


def finite(value: Any) -> Any:
    """JSON knows no infinity and no NaN: both mean that nothing was measured."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if is_missing(value) else value
