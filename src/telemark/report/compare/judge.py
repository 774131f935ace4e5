"""Better, same, worse or no verdict, per point and metric.

The difference of two means has a confidence interval: with independent repeats its half-width is the root of the sum of
the squares of the two sides' half-widths. When the interval leaves out zero, the sides differ. When it holds zero and
is no wider than the tolerance, they are the same. In between the repeats are too few or too noisy to say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from telemark.errors import ConfigError, ExitCode
from telemark.report.compare.comparable import Difference, differences
from telemark.report.compare.sides import Key, Side
from telemark.report.format import one_line
from telemark.report.headline import headline_of
from telemark.report.source import RunSource
from telemark.verdicts import no_verdict_reason
from telemark.verdicts.metrics import METRICS

Judged = Literal["better", "same", "worse", "no verdict"]
WORDS: tuple[Judged, ...] = ("better", "same", "worse", "no verdict")
NOISE = 0.10  # an interval this wide around zero still counts as the same when no tolerance is given

COST = ("server_cpu_cores_mean", "server_rss_bytes_max")
MESSAGES = ("received_rate", "latency_mean_us", "latency_p99_us", "lost", *COST)
CONNECTIONS = ("connect_rate", "connect_mean_us", "connect_p99_us", *COST)


@dataclass(frozen=True, slots=True)
class Line:
    """One metric of one point on both sides. Differences are b - a, relative to a where a is not zero."""

    suite: str
    scenario: str
    point: str
    server: str
    metric: str
    a: float | None
    b: float | None
    repeats: tuple[int, int]
    difference: float | None  # share of a
    low: float | None
    high: float | None
    verdict: Judged
    reason: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything `telemark compare` found out."""

    a: str
    b: str
    lines: tuple[Line, ...]
    differs: tuple[Difference, ...]  # what is not equal though it should be: only with --force
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


def compare(a: Side, b: Side, metrics: Sequence[str] = (), tolerance: float | None = None) -> Comparison:
    """Compare all points both sides have.

    Args:
        a: the baseline.
        b: what is judged.
        metrics: columns of the points table or friendly names; empty: the usual ones.
        tolerance: share of the baseline within which a difference does not matter.
    """
    by_server = compares_by_server(a, b)
    points_a, points_b = a.summaries(by_server), b.summaries(by_server)
    runs_a, runs_b = a.runs_by_point(by_server), b.runs_by_point(by_server)
    wanted = [METRICS[metric].column if metric in METRICS else metric for metric in metrics]
    _check_known(wanted, points_a, points_b)
    lines = [
        _line(
            key, metric, (points_a.get(key, {}), points_b.get(key, {})), _obstacle(runs_a[key], runs_b[key]), tolerance
        )
        for key in runs_a
        if key in runs_b
        for metric in wanted or _usual(runs_a[key])
    ]
    return Comparison(
        a.label,
        b.label,
        tuple(lines),
        tuple(differences(a, b, by_server)),
        tuple(_name(key) for key in runs_a if key not in runs_b),
        tuple(_name(key) for key in runs_b if key not in runs_a),
    )


def compares_by_server(a: Side, b: Side) -> bool:
    """Server against the same server, unless each side has one server and they are not the same one."""
    return not (len(a.servers) == 1 and len(b.servers) == 1 and a.servers != b.servers)


def higher_is_better(metric: str) -> bool:
    """Rates are better when higher; times, memory, CPU and every kind of loss when lower."""
    return metric.endswith("_rate") or metric in ("engine_headroom", "received", "acked", "connections")


def _check_known(wanted: Sequence[str], *sides: Mapping[Key, Mapping[str, Any]]) -> None:
    known = {metric for side in sides for metrics in side.values() for metric in metrics}
    unknown = [metric for metric in wanted if metric not in known]
    if unknown and known:
        raise ConfigError(
            f"--metric: {', '.join(unknown)} is not among the compared metrics",
            hint=f"known: {', '.join(sorted(known))}",
        )


def _usual(runs: Sequence[RunSource]) -> Sequence[str]:
    return CONNECTIONS if headline_of(runs[0].facts).measured == "connect" else MESSAGES


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
    key: Key, metric: str, sides: tuple[Mapping[str, Any], Mapping[str, Any]], obstacle: str, tolerance: float | None
) -> Line:
    a, b = sides[0].get(metric, {}), sides[1].get(metric, {})
    interval = _interval(a, b)
    verdict, reason = _judge(metric, a, interval, tolerance)
    if obstacle:
        verdict, reason = "no verdict", obstacle
    repeats = (int(a.get("repeats") or 0), int(b.get("repeats") or 0))
    shown = interval if a.get("mean") else _UNKNOWN  # a difference to nothing has no share
    return Line(
        *key, metric, a.get("mean"), b.get("mean"), repeats, shown.difference, shown.low, shown.high, verdict, reason
    )


@dataclass(frozen=True, slots=True)
class _Interval:
    """b - a as a share of a, or as it is when a is zero; bounds only with repeats on both sides."""

    difference: float | None = None
    low: float | None = None
    high: float | None = None


_UNKNOWN = _Interval()


def _interval(a: Mapping[str, Any], b: Mapping[str, Any]) -> _Interval:
    if a.get("mean") is None or b.get("mean") is None:
        return _UNKNOWN
    unit = abs(a["mean"]) or 1.0
    difference = (b["mean"] - a["mean"]) / unit
    if any(row.get(bound) is None for row in (a, b) for bound in ("low", "high")):
        return _Interval(difference)
    half = math.hypot((a["high"] - a["low"]) / 2, (b["high"] - b["low"]) / 2) / unit
    return _Interval(difference, difference - half, difference + half)


def _judge(metric: str, a: Mapping[str, Any], found: _Interval, tolerance: float | None) -> tuple[Judged, str]:
    if found.difference is None:
        return "no verdict", "not measured on both sides"
    if found.low is None or found.high is None:
        return _without_repeats(metric, a, found.difference, tolerance)
    if found.low <= 0 <= found.high:
        widest = max(-found.low, found.high)
        if widest <= (NOISE if tolerance is None else tolerance):
            return "same", "the interval holds zero and is narrow"
        return "no verdict", "the repeats differ too much to say: more of them narrow the interval"
    if tolerance is not None and abs(found.difference) <= tolerance:
        return "same", f"differs by less than the tolerance of {tolerance:.0%}"
    return _direction(metric, found.difference), "the interval leaves out zero"


def _without_repeats(
    metric: str, a: Mapping[str, Any], difference: float, tolerance: float | None
) -> tuple[Judged, str]:
    """One run a side: only a tolerance, which is the user's own word, allows a verdict."""
    if tolerance is None:
        return "no verdict", "one run a side gives no confidence: use --repeat or --tolerance"
    if abs(difference) <= (tolerance if a["mean"] else 0.0):
        return "same", "within the tolerance, without confidence (single runs)"
    return _direction(metric, difference), "beyond the tolerance, without confidence (single runs)"


def _direction(metric: str, difference: float) -> Judged:
    return "better" if (difference > 0) == higher_is_better(metric) else "worse"
