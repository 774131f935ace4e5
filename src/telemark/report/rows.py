"""One run becomes one row of the score card."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from telemark.report.cases import CaseFacts
from telemark.report.format import one_line, unit_of, value_in
from telemark.report.headline import Headline, headline_of
from telemark.report.model import Judgement, Outcome, ScoreRow
from telemark.report.notices import notices_of
from telemark.report.published import beside
from telemark.report.source import RunSource
from telemark.verdicts import Verdict, judge, overall


def score_row(run: RunSource, case: CaseFacts) -> ScoreRow:
    """The row of one run; what was not measured stays None."""
    point: Mapping[str, Any] = run.point or {}
    facts = run.facts
    headline = headline_of(facts)
    judgements = judgements_of(point, facts)
    value = point.get(headline.metric)
    parameters = parameters_of(point, facts)
    server = _server_of(facts)
    return ScoreRow(
        campaign=str(facts.get("campaign", "")),
        run=run.name,
        suite=str(facts.get("suite", "")),
        kind=headline.kind,
        name=str(facts.get("scenario", "")),
        description=case.title,
        point=str(facts.get("point", "")),
        size=str(facts.get("size", "")),
        **server,
        repeat=int(facts.get("repeat") or 0),
        state=str(facts.get("state", "")),
        reason=one_line(facts.get("reason") or "", 300),
        started_at=str(facts.get("started_at") or ""),
        verdict=_verdict(judgements),
        judgements=judgements,
        metric=headline.metric,
        value=value,
        unit=headline.unit,
        measured=headline.measured,
        **_statistics(point, headline),
        **_believable(point),
        published=beside(case, headline, value, parameters, server["server"]),
        notices=notices_of(run),
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
        Judgement(one_line(verdict.threshold), verdict.outcome, verdict.value, verdict.limit, _reason(verdict))
        for verdict in judge(point, thresholds)
    )


def _reason(verdict: Verdict) -> str:
    """What was found, in the unit a person reads; why there is no verdict when there is none."""
    if verdict.outcome == "no verdict" or verdict.value is None:
        return one_line(verdict.reason, 300)
    return f"found {value_in(unit_of(verdict.metric), verdict.value)}"


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


def _statistics(point: Mapping[str, Any], headline: Headline) -> dict[str, Any]:
    names = ("mean", "p50", "p95", "p99", "stdev")
    return {f"{name}_us": point.get(f"{headline.measured}_{name}_us") for name in names}


def _believable(point: Mapping[str, Any]) -> dict[str, Any]:
    names = ("lost", "duplicate", "reordered", "dropped", "integrity_exact", "engine_bound")
    return {name: point.get(name) for name in names} | {
        "cpu_cores": point.get("server_cpu_cores_mean"),
        "memory_bytes": point.get("server_rss_bytes_max"),
        "headroom": point.get("engine_headroom"),
    }
