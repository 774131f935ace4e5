"""One run becomes one row of the score card."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from telemark.report.clock_error import error_of, known
from telemark.report.format import one_line, point_value
from telemark.report.limiting_side import bottleneck_fact
from telemark.report.model import Judgement, Outcome, ScoreRow
from telemark.report.notices import notices_of
from telemark.report.published import pairs
from telemark.report.source import RunSource
from telemark.verdicts import Verdict, judge, overall


def score_row(run: RunSource, tried: Judgement | None = None) -> ScoreRow:
    """The row of one run; what was not measured stays None. A try of a search is judged by the search's rule."""
    point: Mapping[str, Any] = run.point or {}
    facts = run.facts
    headline = run.headline
    judgements = (tried,) if tried else judgements_of(point, facts)
    parameters = parameters_of(point, facts)
    server = _server_of(facts)
    return ScoreRow(
        campaign=str(facts.get("campaign", "")),
        run=run.name,
        suite=str(facts.get("suite", "")),
        kind=headline.kind,
        name=str(facts.get("scenario", "")),
        description=run.case.title,
        point=str(facts.get("point", "")),
        size=str(facts.get("size", "")),
        **server,
        repeat=int(facts.get("repeat") or 0),
        state=str(facts.get("state", "")),
        reason=one_line(facts.get("reason") or "", 300),
        started_at=str(facts.get("started_at") or ""),
        verdict=_verdict(judgements),
        judgements=judgements,
        headline=headline.column,
        statistics=headline.statistics,
        values=point,
        beside=pairs(run.case.published, point, parameters, server["server"]),
        notices=notices_of(run),
        bottleneck=bottleneck_fact(run).value,
        parameters=parameters,
        notes=tuple(one_line(note, 300) for note in facts.get("notes") or ()),
    )


def parameters_of(point: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """The cell's parameters: from run.json, or from the points table when run.json lacks them."""
    found = facts.get("parameters")
    if not isinstance(found, Mapping):
        found = json.loads(point.get("parameters") or "{}")
    return {str(name): value for name, value in found.items()}


def judgements_of(point: Mapping[str, Any], facts: Mapping[str, Any]) -> tuple[Judgement, ...]:
    """Every threshold of the run, judged. A run that was not analysed has no data, so no verdict."""
    thresholds = [str(threshold) for threshold in facts.get("thresholds") or ()]
    return tuple(
        Judgement(
            one_line(verdict.threshold),
            verdict.outcome,
            known(point, verdict.metric),
            verdict.limit,
            _reason(verdict, error_of(point, verdict.metric)),
        )
        for verdict in judge(point, thresholds, _allowed(facts))
    )


def _allowed(facts: Mapping[str, Any]) -> tuple[str, ...]:
    plan = facts.get("plan")
    allow = plan.get("allow") if isinstance(plan, Mapping) else None
    return tuple(map(str, allow)) if isinstance(allow, list | tuple) else ()


def _reason(verdict: Verdict, error: float) -> str:
    """What was found, in the unit a person reads; why there is no verdict when there is none."""
    if verdict.outcome == "no verdict" or verdict.value is None:
        return one_line(verdict.reason, 300)
    return f"found {point_value(verdict.metric, verdict.value, error)}"


def _verdict(judgements: tuple[Judgement, ...]) -> Outcome:
    return overall(judgements) if judgements else "no verdict"


def _server_of(facts: Mapping[str, Any]) -> dict[str, Any]:
    server = facts.get("server")
    server = server if isinstance(server, Mapping) else {}
    return {
        "server": one_line(server.get("name") or "unknown", 60),
        "server_version": one_line(server.get("version") or "", 40),
        "profile": one_line(server.get("profile") or "", 20),
    }
