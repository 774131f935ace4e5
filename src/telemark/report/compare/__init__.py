"""Two campaigns, or two servers of one, point by point: what got better, what got worse, and what cannot be said."""

from __future__ import annotations

from telemark.report.compare.comparable import Difference, refuse
from telemark.report.compare.judge import Comparison, Line, Wanted, compare
from telemark.report.compare.sides import Side, open_side

__all__ = ["Comparison", "Difference", "Line", "Side", "Wanted", "compare", "open_side", "refuse"]
