"""From figures and rules to verdicts: pass, fail, or no verdict with the reason. No data is never a pass."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, Final, Literal, Protocol

from telemark.errors import ConfigError
from telemark.model.columns import between_hosts, of_server_host
from telemark.verdicts.metrics import FLAGS, NEED_EXACT_INTEGRITY
from telemark.verdicts.thresholds import Threshold, parse_threshold

Outcome = Literal["pass", "fail", "no verdict"]
DECIDING: Final = ("violations", "lost", "dropped")  # fail every run, whether or not a rule names them
NOT_SAMPLED: Final = (
    "the server's host was not sampled (a server on another host: --server-metrics reads its Prometheus pages)"
)
STEADINESS: Final = ("steady", "sustained")  # columns that `steady_reason` explains


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one rule says about one run. `value` and `limit` are in the metric's own unit."""

    threshold: str
    metric: str
    value: float | None
    limit: float | None
    outcome: Outcome
    reason: str


class HasOutcome(Protocol):
    """Anything with an outcome."""

    @property
    def outcome(self) -> Outcome: ...


def judge(point: Mapping[str, Any], thresholds: Sequence[str], allow: Collection[str] = ()) -> list[Verdict]:
    """One verdict for every rule on a row of `points`; a rule may hold several, separated by commas.

    Args:
        point: the row.
        thresholds: rules of the case or of the user.
        allow: which of DECIDING the user accepts: they then fail no run that has no rule about them.
    """
    obstacle = no_verdict_reason(point)
    texts = [part.strip() for text in thresholds for part in text.split(",") if part.strip()]
    found = [_one(point, text, obstacle) for text in texts]
    named = {verdict.metric for verdict in found}
    unspoken = [name for name in DECIDING if name not in named and name not in allow and point.get(name)]
    return [*found, *(_one(point, f"{name} == 0", obstacle) for name in unspoken)]


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
    value = _number(point.get(rule.metric.name))
    reason = obstacle or _missing(point, rule, value)
    if reason is not None or value is None:
        return Verdict(rule.text, rule.metric.name, value, rule.limit, "no verdict", reason or "no data")
    holds = rule.holds(value)
    words = _words(point, rule, value, "keeps" if holds else "breaks")
    return Verdict(rule.text, rule.metric.name, value, rule.limit, "pass" if holds else "fail", words)


def _words(point: Mapping[str, Any], rule: Threshold, value: float, relation: str) -> str:
    if rule.metric.name not in FLAGS:
        return f"{rule.metric.name} = {value:,.6g} {relation} {rule.op} {rule.limit:,.6g}"
    said = f"{rule.metric.name} is {'yes' if value else 'no'}"
    why = point.get("steady_reason") if rule.metric.name in STEADINESS else None
    return f"{said}: {why}" if why else said


def _number(value: object) -> float | None:
    if not isinstance(value, int | float) or isnan(value):
        return None
    return float(value)


def _missing(point: Mapping[str, Any], rule: Threshold, value: float | None) -> str | None:
    column = rule.metric.name
    if value is None:
        why = point.get("steady_reason") if column in STEADINESS else _unsampled(point, column)
        return f"{column} was not measured in this run" + (f": {why}" if why else "")
    if column in NEED_EXACT_INTEGRITY and point.get("integrity_exact") is not True:
        return f"{column} = {value:,.6g} is only a bound: a subscription was not active all the time"
    error_us = _number(point.get("clock_error_us")) or 0.0
    if error_us and between_hosts(column) and abs(value - rule.limit) <= error_us:
        return f"the limit of {rule.limit:,.6g} us is nearer to {column} than the clocks' error of {error_us:,.6g} us"
    return None


def _unsampled(point: Mapping[str, Any], column: str) -> str | None:
    unknown = of_server_host(column) and "server_host" in point and not point["server_host"]
    return NOT_SAMPLED if unknown else None


def overall(verdicts: Iterable[HasOutcome]) -> Outcome:
    """The verdict of a run: fail if any rule fails, pass only if there are rules and all pass."""
    outcomes = [verdict.outcome for verdict in verdicts]
    if "fail" in outcomes:
        return "fail"
    return "pass" if outcomes and all(outcome == "pass" for outcome in outcomes) else "no verdict"
