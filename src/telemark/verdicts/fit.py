"""A straight line through points, with the confidence interval of its slope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean

from telemark.verdicts.repeats import t95


@dataclass(frozen=True, slots=True)
class Line:
    """y = intercept + slope * x. The bounds hold with 95 % confidence; None where the points do not allow them."""

    points: int
    intercept: float
    slope: float
    slope_low: float | None
    slope_high: float | None
    r_squared: float | None


def fit_line(xs: Sequence[float], ys: Sequence[float]) -> Line | None:
    """Least squares. None when the points do not determine a line: fewer than two different x."""
    if len(xs) != len(ys):
        raise ValueError(f"{len(xs)} x for {len(ys)} y")
    if len(set(xs)) < 2:
        return None
    mean_x, mean_y = fmean(xs), fmean(ys)
    spread_x = sum((x - mean_x) ** 2 for x in xs)
    spread_y = sum((y - mean_y) ** 2 for y in ys)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / spread_x
    intercept = mean_y - slope * mean_x
    rest = sum((y - intercept - slope * x) ** 2 for x, y in zip(xs, ys, strict=True))
    r_squared = 1 - rest / spread_y if spread_y > 0 else None
    degrees = len(xs) - 2
    if degrees < 1:
        return Line(len(xs), intercept, slope, None, None, r_squared)
    margin = t95(degrees) * sqrt(rest / degrees / spread_x)
    return Line(len(xs), intercept, slope, slope - margin, slope + margin, r_squared)
