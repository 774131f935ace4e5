"""What a run itself says about its test case. The plan in run.json carries it: no catalogue is ever asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from telemark.model.case import Case, PublishedValue
from telemark.model.columns import POINTS
from telemark.report.format import one_line

_LONG = {"about": 2000}  # characters; other texts are short


def case_of(facts: Mapping[str, Any]) -> Case:
    """The case of a run.json, whose types its reader has checked; texts are cleaned, as strangers wrote them."""
    found = facts["plan"].get("case") or {}
    column = POINTS.find(found.get("headline", ""))
    cleaned = _cleaned(found) | {
        "headline": column.name if column and column.is_number else Case().headline,
        "published": tuple(_published(each) for each in found.get("published", ())),
    }
    return Case(**{name: value for name, value in cleaned.items() if name in Case.__dataclass_fields__})


def _published(content: Mapping[str, Any]) -> PublishedValue:
    missing: dict[str, Any] = {"metric": "", "value": 0.0, "unit": "", "server": "", "source": ""}
    known = {name: value for name, value in content.items() if name in PublishedValue.__dataclass_fields__}
    return PublishedValue(**missing | _cleaned(known) | {"parameters": _cleaned(content.get("parameters", {}))})


def _cleaned(content: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: one_line(value, _LONG.get(name, 300)) if isinstance(value, str) else value
        for name, value in content.items()
    }
