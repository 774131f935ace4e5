"""What several measurements of the same thing say together: median, spread, confidence interval."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from telemark.verdicts import limits

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Summary:
    """Of n repeats. `low` and `high` bound the mean with 95 % confidence; None with fewer than two repeats."""

    repeats: int
    median: float
    mean: float
    low: float | None
    high: float | None
    spread: float  # (largest - smallest) / median; 0 for one repeat

    @property
    def conclusive(self) -> bool:
        """Whether the repeats agree enough to conclude anything."""
        return self.repeats >= 2 and self.spread <= limits.DISAGREE


@cache
def t95(degrees: int) -> float:
    """Factor of the standard error for a 95 % confidence interval: the two-sided quantile of Student's t."""
    low, high = 1.0, 16.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if t_within(middle, degrees) < CONFIDENCE else (low, middle)
    return (low + high) / 2


def t_within(t: float, degrees: int) -> float:
    """How likely Student's t is between -t and t: the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan2(t, math.sqrt(degrees))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = degrees % 2
    term = math.cos(angle) if odd else 1.0
    total = term if degrees > 1 else 0.0
    for number in range(2 + odd, degrees - 1, 2):
        term *= square * (number - 1) / number
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def summarize(values: Sequence[float]) -> Summary | None:
    """Summary of the repeats; None when there are none."""
    if not values:
        return None
    median, mean = statistics.median(values), statistics.fmean(values)
    if len(values) == 1:
        return Summary(1, median, mean, None, None, 0.0)
    margin = t95(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    spread = (max(values) - min(values)) / abs(median) if median else math.inf
    return Summary(len(values), median, mean, mean - margin, mean + margin, spread)
