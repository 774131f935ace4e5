"""Is a run in a steady state? Decided from its seconds, not assumed.

Three questions, each with its limit (see `limits`):
    delivered   what was delivered is what was offered, within 1 %;
    backlog     sent and not yet delivered messages do not grow: with 95 % confidence the slope is not above
                0.1 % of the offered rate;
    latency     has no trend: the medians of a dozen blocks neither rise or fall together (Mann-Kendall, 95 %) nor step
                to another level, or if they do, by less than a quarter.
A run that is not steady may still show that its rate can be *sustained*: one that works off what a slow start left
behind delivers more than is offered, and its latency falls.

Blocks, not seconds: neighbouring seconds resemble each other, and a test that took them as independent would be far too
sure. A saw-tooth shorter than a third of the phase averages out in the blocks; a longer one is not steady.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import sqrt
from statistics import fmean, median
from typing import Literal

from telemark.verdicts import limits
from telemark.verdicts.fit import Line, fit_line

Trend = Literal["steady", "rising", "falling", "unknown"]


@dataclass(frozen=True, slots=True)
class Steadiness:
    """The answer and what it rests on. `steady` is None when the data do not allow one."""

    steady: bool | None
    reason: str
    latency_trend: Trend
    delivered_share: float | None = None
    backlog: Line | None = None  # messages against seconds
    sustained: bool | None = None  # the rate could go on: nothing falls behind, whether or not all has settled


def decide(
    offered: Sequence[float],
    delivered: Sequence[float],
    latency_us: Sequence[float | None],
    backlog: Sequence[float] | None = None,
) -> Steadiness:
    """Judge the full seconds of a measure phase.

    Args:
        offered: deliveries that became due in each second (intended messages times the copies each one makes).
        delivered: deliveries received in each second.
        latency_us: a typical latency of each second; None where nothing was due.
        backlog: messages waiting at each second, where the server tells; otherwise offered less delivered so far.
    """
    seconds = len(offered)
    if seconds < limits.FEWEST_SECONDS:
        return Steadiness(None, f"{seconds} full seconds, at least {limits.FEWEST_SECONDS} are needed", "unknown")
    if sum(offered) <= 0:
        return Steadiness(None, "nothing was offered", "unknown")
    trend = latency_trend(latency_us)
    share = sum(delivered) / sum(offered)
    line = slope_of(backlog if backlog is not None else waiting(offered, delivered))
    growing = _backlog(line, fmean(offered))
    problems = [*_delivered(share), *growing, *_trend(trend, latency_us)]
    sustained = share >= 1 - limits.DELIVERED_WITHIN and not growing and trend != "rising"
    if problems:
        return Steadiness(False, "; ".join(problems), trend, share, line, sustained)
    if trend == "unknown":
        return Steadiness(None, "too few seconds have a latency", trend, share, line)
    return Steadiness(True, "delivered what was offered, backlog and latency without trend", trend, share, line, True)


def waiting(offered: Sequence[float], delivered: Sequence[float]) -> list[float]:
    """Messages offered and not yet delivered at the end of each second, from the first on."""
    total, found = 0.0, []
    for due, arrived in zip(offered, delivered, strict=True):
        total += due - arrived
        found.append(total)
    return found


def slope_of(values: Sequence[float]) -> Line | None:
    """The line through the block means of a series with one value per second."""
    blocks = _blocks(values)
    return fit_line([middle for middle, _ in blocks], [fmean(block) for _, block in blocks])


def latency_trend(latency_us: Sequence[float | None]) -> Trend:
    """Whether the latency rises or falls over the phase, by more than chance and by enough to matter."""
    known = [value for value in latency_us if value is not None]
    if len(known) < limits.FEWEST_SECONDS:
        return "unknown"
    medians = [median(block) for _, block in _blocks(known)]
    change = _change(medians)
    typical = median(medians)
    together = abs(mann_kendall_z(medians)) >= limits.TREND_Z
    lower = min(median(quarter) for quarter in _quarters(medians))
    step = abs(change) > limits.STEP_SHARE * lower and _apart(medians)
    if abs(change) <= max(limits.TREND_SHARE * typical, limits.TREND_US) or not (together or step):
        return "steady"
    return "rising" if change > 0 else "falling"


def mann_kendall_z(values: Sequence[float]) -> float:
    """How many standard deviations the count of rising less falling pairs is away from chance."""
    score = sum((later > earlier) - (later < earlier) for earlier, later in combinations(values, 2))
    n = len(values)
    deviation = sqrt(n * (n - 1) * (2 * n + 5) / 18)
    return (score - (score > 0) + (score < 0)) / deviation if deviation else 0.0


def _quarters(medians: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    quarter = max(len(medians) // 4, 1)
    return medians[:quarter], medians[-quarter:]


def _change(medians: Sequence[float]) -> float:
    """From the first quarter to the last."""
    first, last = _quarters(medians)
    return median(last) - median(first)


def _apart(medians: Sequence[float]) -> bool:
    """Whether every block of the last quarter is beyond every block of the first."""
    first, last = _quarters(medians)
    return min(last) > max(first) or max(last) < min(first)


def _blocks(values: Sequence[float]) -> list[tuple[float, Sequence[float]]]:
    """Cut a series into at most limits.BLOCKS nearly equal runs: (middle second, values)."""
    count = min(limits.BLOCKS, len(values))
    edges = [round(place * len(values) / count) for place in range(count + 1)]
    return [((begin + end - 1) / 2, values[begin:end]) for begin, end in pairwise(edges)]


def _delivered(share: float) -> list[str]:
    if abs(share - 1) <= limits.DELIVERED_WITHIN:
        return []
    within = limits.DELIVERED_WITHIN
    return [f"delivered {share:.1%} of what was offered, expected {1 - within:.0%} to {1 + within:.0%}"]


def _backlog(line: Line | None, rate: float) -> list[str]:
    if line is None or line.slope_low is None or line.slope_low <= limits.BACKLOG_SLOPE * rate:
        return []
    return [f"the backlog grows by {line.slope:,.1f} messages/s (at least {line.slope_low:,.1f} with 95 % confidence)"]


def _trend(trend: Trend, latency_us: Sequence[float | None]) -> list[str]:
    if trend not in ("rising", "falling"):
        return []
    medians = [median(block) for _, block in _blocks([value for value in latency_us if value is not None])]
    first, last = (median(quarter) for quarter in _quarters(medians))
    return [f"latency is {trend}: {first / 1000:,.2f} ms in the first quarter, {last / 1000:,.2f} ms in the last"]
