"""Better, same, worse or no verdict, per point and metric; a metric without a direction only differs.

The difference of two means has a confidence interval: with independent repeats its half-width is the root of the sum of
the squares of the two sides' half-widths. When the interval leaves out zero, the sides differ. When it holds zero and
is no wider than the tolerance, they are the same. In between the repeats are too few or too noisy to say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from telemark.errors import ConfigError, ExitCode
from telemark.model.columns import POINTS
from telemark.report.clock_error import error_of
from telemark.report.compare.comparable import Difference, in_point, over_all
from telemark.report.compare.sides import Key, Side, paired
from telemark.report.format import one_line
from telemark.report.source import RunSource
from telemark.verdicts import limits, no_verdict_reason
from telemark.verdicts.metrics import METRICS

Change = Literal["better", "same", "worse", "differs", "no verdict"]
WORDS: tuple[Change, ...] = get_args(Change)

COST = ("server_cpu_cores_mean", "server_rss_bytes_max")
MESSAGES = ("received_rate", "latency_mean_us", "latency_p99_us", "lost", *COST)
CONNECTIONS = ("connect_rate", "connect_mean_us", "connect_p99_us", *COST)


@dataclass(frozen=True, slots=True)
class Line:
    """One metric of one point on both sides. Differences are b - a, relative to a where a is not zero."""

    suite: str
    scenario: str
    point: str
    point_b: str  # of B; another than A's only where the two were paired by --map or as the only ones
    server: str
    metric: str
    a: float | None
    b: float | None
    repeats: tuple[int, int]
    difference: float | None  # share of a
    low: float | None
    high: float | None
    verdict: Change
    reason: str
    errors: tuple[float, float] = (0.0, 0.0)  # by how much a and b may be off, as the clocks of their hosts agree


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything `telemark compare` found out."""

    a: str
    b: str
    lines: tuple[Line, ...]
    differs: tuple[Difference, ...]  # what must be equal and is not: only with --force
    mapped: tuple[Difference, ...]  # how the points differ that the user paired with --map
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many lines got each verdict."""
        return {word: sum(line.verdict == word for line in self.lines) for word in WORDS}

    @property
    def exit_code(self) -> ExitCode:
        """For CI: anything worse fails; what could not be judged is no pass."""
        if self.counts["worse"]:
            return ExitCode.THRESHOLD_FAILED
        return ExitCode.NO_VERDICT if self.counts["no verdict"] or not self.lines else ExitCode.PASSED


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user asked for."""

    metrics: tuple[str, ...] = ()  # columns of the points table or short names; empty: the usual ones
    tolerance: float | None = None  # share of the baseline within which a difference does not matter
    mapping: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # parameter -> (value of A, value of B)


def compare(a: Side, b: Side, wanted: Wanted = Wanted()) -> Comparison:
    """Compare all points of the baseline A with those of B they belong to."""
    by_server = compares_by_server(a, b)
    runs_a, runs_b = a.runs_by_point(by_server), b.runs_by_point(by_server)
    summaries_a, summaries_b = a.summaries(by_server), b.summaries(by_server)
    chosen = [METRICS[metric].name if metric in METRICS else metric for metric in wanted.metrics]
    _check_known(chosen, summaries_a, summaries_b)
    pairs = paired(runs_a, runs_b, wanted.mapping)
    lines: list[Line] = []
    for ours, theirs in pairs:
        sides = (summaries_a.get(ours, {}), summaries_b.get(theirs, {}))
        obstacle = _obstacle(runs_a[ours], runs_b[theirs])
        metrics = chosen or [name for name in _usual(runs_a[ours]) if obstacle or any(name in side for side in sides)]
        lines += [_line((ours, theirs), metric, sides, obstacle, wanted.tolerance) for metric in metrics]
    return Comparison(
        a.label,
        b.label,
        tuple(lines),
        *_differences(a, b, [(ours, runs_a[ours][0], runs_b[theirs][0]) for ours, theirs in pairs], wanted),
        tuple(_name(key) for key in runs_a if key not in {ours for ours, _ in pairs}),
        tuple(_name(key) for key in runs_b if key not in {theirs for _, theirs in pairs}),
    )


def _differences(
    a: Side, b: Side, pairs: Sequence[tuple[Key, RunSource, RunSource]], wanted: Wanted
) -> tuple[tuple[Difference, ...], tuple[Difference, ...]]:
    """(what forbids the comparison, what the user's pairing accepts), each once."""
    whole, each = list(over_all(a, b)), [found for pair in pairs for found in in_point(*pair)]
    refused, accepted = (whole, each) if wanted.mapping else ([*whole, *each], [])
    return tuple(dict.fromkeys(refused)), tuple(dict.fromkeys(accepted))


def compares_by_server(a: Side, b: Side) -> bool:
    """Server against the same server, unless each side has one server and they are not the same one."""
    return not (len(a.servers) == 1 and len(b.servers) == 1 and a.servers != b.servers)


def _check_known(wanted: Sequence[str], *sides: Mapping[Key, Mapping[str, Any]]) -> None:
    known = {metric for side in sides for metrics in side.values() for metric in metrics}
    unknown = [metric for metric in wanted if metric not in known]
    if unknown and known:
        raise ConfigError(
            f"--metric: {', '.join(unknown)} is not among the compared metrics",
            hint=f"known: {', '.join(sorted(known))}",
        )


def _usual(runs: Sequence[RunSource]) -> Sequence[str]:
    return CONNECTIONS if runs[0].case.statistics == "connect" else MESSAGES


def _name(key: Key) -> str:
    return " ".join(part for part in (f"{key[0]}/{key[1]}", key[2], key[3]) if part)


def _obstacle(a: Sequence[RunSource], b: Sequence[RunSource]) -> str:
    """Why no run of one side says anything about the server; empty when some do. The pipeline leaves the others out."""
    for side, runs in (("A", a), ("B", b)):
        reasons = [no_verdict_reason(run.point or {}) for run in runs]
        if all(reasons):
            return f"{side}: {one_line(reasons[0], 200)}"
    return ""


def _line(
    keys: tuple[Key, Key],
    metric: str,
    sides: tuple[Mapping[str, Any], Mapping[str, Any]],
    obstacle: str,
    tolerance: float | None,
) -> Line:
    suite, scenario, point, server = keys[0]
    a, b = sides[0].get(metric, {}), sides[1].get(metric, {})
    errors = _error(sides[0], metric), _error(sides[1], metric)
    interval = _interval(a, b, sum(errors))
    verdict, reason = _judge(metric, a, interval, tolerance)
    if obstacle:
        verdict, reason = "no verdict", obstacle
    repeats = (int(a.get("repeats") or 0), int(b.get("repeats") or 0))
    shown = interval if a.get("mean") else _UNKNOWN  # a difference to nothing has no share
    return Line(
        suite, scenario, point, keys[1][2], server, metric, a.get("mean"), b.get("mean"), repeats, shown.difference,
        shown.low, shown.high, verdict, reason, errors,
    )  # fmt: skip


def _error(side: Mapping[str, Any], metric: str) -> float:
    """By how much a side's metric may be off."""
    return error_of({"clock_error_us": side.get("clock_error_us", {}).get("mean")}, metric)


@dataclass(frozen=True, slots=True)
class _Interval:
    """b - a as a share of a, or as it is when a is zero; bounds only with repeats on both sides."""

    difference: float | None = None
    low: float | None = None
    high: float | None = None
    error: float = 0.0  # of the difference, from clocks; part of the bounds


_UNKNOWN = _Interval()


def _interval(a: Mapping[str, Any], b: Mapping[str, Any], error: float) -> _Interval:
    if a.get("mean") is None or b.get("mean") is None:
        return _UNKNOWN
    unit = abs(a["mean"]) or 1.0
    difference = (b["mean"] - a["mean"]) / unit
    if any(row.get(bound) is None for row in (a, b) for bound in ("low", "high")):
        return _Interval(difference, error=error / unit)
    half = (math.hypot((a["high"] - a["low"]) / 2, (b["high"] - b["low"]) / 2) + error) / unit
    return _Interval(difference, difference - half, difference + half, error / unit)


def _judge(metric: str, a: Mapping[str, Any], found: _Interval, tolerance: float | None) -> tuple[Change, str]:
    if found.difference is None:
        return "no verdict", "not measured on both sides"
    if found.low is None or found.high is None:
        return _without_repeats(metric, a, found, tolerance)
    if found.low <= 0 <= found.high:
        return _around_zero(max(-found.low, found.high), found.error, tolerance)
    if tolerance is not None and abs(found.difference) <= tolerance:
        return "same", f"differs by less than the tolerance of {tolerance:.0%}"
    return _direction(metric, found.difference), "the interval leaves out zero"


def _around_zero(widest: float, error: float, tolerance: float | None) -> tuple[Change, str]:
    if widest <= (limits.NOISE if tolerance is None else tolerance):
        return "same", "the interval holds zero and is narrow"
    if error > widest / 2:
        return "no verdict", "the difference is smaller than the error of the hosts' clocks"
    return "no verdict", "the repeats differ too much to say: more of them narrow the interval"


def _without_repeats(
    metric: str, a: Mapping[str, Any], found: _Interval, tolerance: float | None
) -> tuple[Change, str]:
    """One run a side: only a tolerance, which is the user's own word, allows a verdict."""
    if tolerance is None:
        return "no verdict", "one run a side gives no confidence: use --repeat or --tolerance"
    difference = found.difference or 0.0
    allowed = tolerance if a["mean"] else 0.0
    if found.error and abs(abs(difference) - allowed) <= found.error:
        return "no verdict", "the difference is nearer to the tolerance than the error of the hosts' clocks"
    if abs(difference) <= allowed:
        return "same", "within the tolerance, without confidence (single runs)"
    return _direction(metric, difference), "beyond the tolerance, without confidence (single runs)"


def _direction(metric: str, difference: float) -> Change:
    column = POINTS.find(metric)
    if column is None or column.better is None:
        return "differs"
    return "better" if (difference > 0) == (column.better == "higher") else "worse"
