"""From figures and rules to verdicts: pass, fail, or no verdict with the reason. No data is never a pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, Literal, Protocol

from telemark.errors import ConfigError
from telemark.verdicts.metrics import NEED_EXACT_INTEGRITY
from telemark.verdicts.thresholds import Threshold, parse_threshold

Outcome = Literal["pass", "fail", "no verdict"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one rule says about one run. `value` and `limit` are in the metric's own unit."""

    threshold: str
    metric: str
    value: float | None
    limit: float | None
    outcome: Outcome
    reason: str


class Judged(Protocol):
    """Anything with an outcome."""

    @property
    def outcome(self) -> Outcome: ...


def judge(point: Mapping[str, Any], thresholds: Sequence[str]) -> list[Verdict]:
    """One verdict for every rule on a row of `points`. Rules may hold several, separated by commas."""
    obstacle = no_verdict_reason(point)
    texts = [part.strip() for text in thresholds for part in text.split(",") if part.strip()]
    return [_one(point, text, obstacle) for text in texts]


def no_verdict_reason(point: Mapping[str, Any]) -> str | None:
    """Why nothing may be concluded from this run; None when something may."""
    state = point.get("state")
    if state is None:
        return "the run was not analysed"
    if state != "complete":
        reason = point.get("reason")
        return f"the run is {state}" + (f": {reason}" if reason else "")
    if point.get("engine_bound"):
        return f"the engine was the limit, not the server: {point.get('engine_bound_reason') or 'no details'}"
    return None


def _one(point: Mapping[str, Any], text: str, obstacle: str | None) -> Verdict:
    try:
        rule = parse_threshold(text)
    except ConfigError as error:  # a rule out of somebody else's run folder: say so, judge the others
        return Verdict(text, "", None, None, "no verdict", error.message)
    value = _number(point.get(rule.metric.column))
    reason = obstacle or _missing(point, rule, value)
    if reason is not None or value is None:
        return Verdict(rule.text, rule.metric.column, value, rule.limit, "no verdict", reason or "no data")
    holds = rule.holds(value)
    relation = "keeps" if holds else "breaks"
    words = f"{rule.metric.column} = {value:,.6g} {relation} {rule.op} {rule.limit:,.6g}"
    return Verdict(rule.text, rule.metric.column, value, rule.limit, "pass" if holds else "fail", words)


def _number(value: object) -> float | None:
    if not isinstance(value, int | float) or isnan(value):
        return None
    return float(value)


def _missing(point: Mapping[str, Any], rule: Threshold, value: float | None) -> str | None:
    column = rule.metric.column
    if value is None:
        return f"{column} was not measured in this run"
    if column in NEED_EXACT_INTEGRITY and point.get("integrity_exact") is not True:
        return f"{column} = {value:,.6g} is only a bound: a subscription was not in force all the time"
    return None


def overall(verdicts: Iterable[Judged]) -> Outcome:
    """The verdict of a run: fail if any rule fails, pass only if there are rules and all pass."""
    outcomes = [verdict.outcome for verdict in verdicts]
    if "fail" in outcomes:
        return "fail"
    return "pass" if outcomes and all(outcome == "pass" for outcome in outcomes) else "no verdict"
