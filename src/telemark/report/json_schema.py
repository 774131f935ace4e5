"""The JSON schema of the score card, made from the same registry of columns as the card itself."""

from __future__ import annotations

import json
from typing import Any, get_args

from telemark.model.columns import CARD, Column, Unit
from telemark.report.json_card import FORMAT, VERSION
from telemark.report.model import Outcome, Severity

_TEXT = {"type": "string"}
_NUMBER = {"type": ["number", "null"]}
_FLAG = {"type": ["boolean", "null"]}
_OUTCOME = {"enum": list(get_args(Outcome))}


def render() -> str:
    """docs/reference/score-card.schema.json."""
    return json.dumps(schema(), indent=2, ensure_ascii=False)


def schema() -> dict[str, Any]:
    """The schema as plain data."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:telemark:score-card:{VERSION}",
        "title": "Telemark score card",
        "description": "What `telemark report CAMPAIGN -o card.json` writes. null: not measured. New fields may appear "
        "without a new version.",
        **_object(
            format={"const": FORMAT},
            version={"const": VERSION, "description": "Raised when a field changes its meaning or goes away."},
            telemark_version=_TEXT,
            generated_at=_TEXT | {"description": "When the report was made, UTC."},
            verdict=_OUTCOME | {"description": "Over all campaigns. A folder that could not be read makes it `no "
                                "verdict` at best."},
            campaigns=_list(_campaign()),
            problems=_list(_object(folder=_TEXT, message=_TEXT, hint=_TEXT)),
        ),
    }  # fmt: skip


def _object(**properties: Any) -> dict[str, Any]:
    """An object that has all of these properties."""
    return {"type": "object", "required": list(properties), "properties": properties}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _campaign() -> dict[str, Any]:
    texts = {"type": "object", "additionalProperties": _TEXT}
    return _object(
        campaign=_TEXT | {"description": "Name of the campaign's folder."},
        verdict=_OUTCOME,
        counts={"type": "object", "description": "Runs by outcome.", "additionalProperties": {"type": "integer"}},
        searches=_list(_search()) | {"description": "What `telemark search` found; its runs are judged by its rule."},
        host=texts | {"description": "Host, servers and versions, for people."},
        trust=texts | {"description": "How it was measured and how far to trust it, for people."},
        rows=_list(_row()),
    )


def _search() -> dict[str, Any]:
    tried = _object(
        run=_TEXT, rate={"type": "number"}, stage=_TEXT, holds={"type": "boolean"}, verdict=_OUTCOME, reason=_TEXT
    )
    return _object(
        id=_TEXT, scenario=_TEXT, point=_TEXT, size=_TEXT, server=_TEXT,
        unit=_TEXT | {"description": "msg/s or conn/s."},
        rule=_list(_TEXT),
        peak=_NUMBER | {"description": "Highest rate confirmed by a full-length run; median over repeats."},
        spread=_NUMBER,
        verdict=_OUTCOME | {"description": "pass: a peak was confirmed."},
        answer=_list(_TEXT) | {"description": "The answer in sentences."},
        tries=_list(tried),
    )  # fmt: skip


def _row() -> dict[str, Any]:
    return {"description": "One run."} | _object(
        run=_TEXT | {"description": "Name of the run's folder."},
        suite=_TEXT,
        name=_TEXT | {"description": "The scenario."},
        description=_TEXT,
        point=_TEXT | {"description": "The cell of the sweep."},
        size=_TEXT | {"description": "quick, laptop or published; empty for a load from the command line."},
        server=_TEXT,
        server_version=_TEXT,
        profile=_TEXT | {"description": "memory, durable or fsync."},
        repeat={"type": "integer", "minimum": 0},
        state={"enum": ["running", "complete", "failed", "interrupted"]},
        reason=_TEXT | {"description": "Why the run did not complete; empty when it did."},
        started_at=_TEXT,
        verdict=_OUTCOME,
        bottleneck=_TEXT | {"description": "Which side was the limit of the run, with the evidence, for people."},
        parameters={"type": "object", "description": "The cell's values after defaults and overrides."},
        notes=_list(_TEXT) | {"description": "How this size differs from the published one."},
        type=_TEXT | {"description": "Throughput, Latency, Connection rate or Memory."},
        judgements=_list(_object(threshold=_TEXT, outcome=_OUTCOME, value=_NUMBER, limit=_NUMBER, reason=_TEXT)),
        metric=_TEXT | {"description": "Column of the points table that `value` is."},
        value=_NUMBER,
        unit={"enum": list(get_args(Unit))},
        statistics=_TEXT | {"description": "Whose statistics `values` holds: latency or connect."},
        values={
            "type": "object",
            "description": "The card's columns of the points table.",
            "properties": {column.name: _column(column) for column in CARD},
        },
        below_error=_list(_TEXT)
        | {"description": "Columns of `values` that are null because they are smaller than `clock_error_us`."},
        integrity_exact=_FLAG | {"description": "false: `lost` is only an upper bound."},
        engine_bound=_FLAG | {"description": "true: the engine was the limit, nothing is concluded about the server."},
        published={"anyOf": [{"type": "null"}, _published()]},
        beside={
            "type": "object",
            "additionalProperties": _published(),
            "description": "Every published value that has a measured column, by that column.",
        },
        warnings=_list(_object(severity={"enum": list(get_args(Severity))}, text=_TEXT)),
    )


def _column(column: Column) -> dict[str, Any]:
    kind = {"float64": "number", "bool": "boolean", "string": "string"}.get(column.type, "integer")
    return {"type": [kind, "null"], "description": f"{column.meaning} ({column.unit.replace('_', ' ')})"}


def _published() -> dict[str, Any]:
    return _object(
        value={"type": "number"},
        unit=_TEXT,
        ratio=_NUMBER | {"description": "Ours over the published value."},
        server=_TEXT,
        source=_TEXT,
        conditions=_TEXT,
        same_point={"type": "boolean", "description": "false: published for another size, the ratio is only a hint."},
    )
