"""What several measurements of the same thing say together: median, spread, confidence interval."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

DISAGREE = 0.20  # a spread above this share of the median allows no conclusion

# Two-sided 95 % points of Student's t distribution by degrees of freedom; beyond, the normal value is near enough.
_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
_NORMAL95 = 1.960


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
        return self.repeats >= 2 and self.spread <= DISAGREE


def t95(degrees: int) -> float:
    """Factor of the standard error for a 95 % confidence interval."""
    return _T95[degrees - 1] if degrees <= len(_T95) else _NORMAL95


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
