"""Whether a rate holds: the case's own rule, and that the server keeps up.

Keeping up is always part of the rule: all that is offered is delivered, what is under way does not grow, latency does
not rise. Latency that falls is no objection: the server works off what a slow start left behind. All this is taken from
our own records, so it also stands in where a rule speaks of buffered messages and the server does not count them; any
other figure that is missing means that the rate was not shown to hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from telemark.campaigns.peak.find import TryResult
from telemark.store.documents.search import Quantity
from telemark.verdicts import Verdict, judge, limits

CONNECT_RULE = (f"connect_mean < {limits.CONNECT_MEAN_MS} ms", "connect_failures == 0")


def rule_for(thresholds: Sequence[str], quantity: Quantity, required: Sequence[str]) -> tuple[str, ...]:
    """The user's own thresholds, or the case's; a search for connections adds our own limit on connect time."""
    if required:
        return tuple(required)
    return tuple(dict.fromkeys((*thresholds, *CONNECT_RULE))) if quantity == "connections" else tuple(thresholds)


def judge_try(
    point: Mapping[str, Any], rule: Sequence[str], quantity: Quantity, asked: float, allow: Sequence[str] = ()
) -> TryResult:
    """Whether the run of `point` showed that the rate holds."""
    reasons = [verdict.reason for verdict in judge(point, rule, allow) if not _kept(verdict)]
    if point.get("state") == "complete":
        reasons += _slow(point, asked) if quantity == "connections" else _falling_behind(point)
    return TryResult(not reasons, tuple(dict.fromkeys(reasons)), point)


def _kept(verdict: Verdict) -> bool:
    if verdict.outcome == "no verdict" and verdict.value is None and verdict.metric.startswith("buffered_"):
        return True  # the server does not count them: steadiness judges instead
    return verdict.outcome == "pass"


def _falling_behind(point: Mapping[str, Any]) -> list[str]:
    if point.get("sustained"):
        return []
    return [str(point.get("steady_reason") or "not steady")]


def _slow(point: Mapping[str, Any], asked: float) -> list[str]:
    reached = point.get("connect_rate")
    if reached is None:
        return ["the connection rate was not measured"]
    if reached < limits.CONNECT_RATE_SHARE * asked:
        return [f"{reached:,.0f} connections/s were reached, {asked:,.0f} asked for"]
    return []
