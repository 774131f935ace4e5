"""How long a search will take, told again after every try."""

from __future__ import annotations

from dataclasses import dataclass, field

from telemark.campaigns.peak.bracket import Bracket

FURTHER = 32  # the longest forecast assumes a peak this many times above the highest rate that held


@dataclass(slots=True)
class Forecast:
    """Tries still to make, and the time a try has really taken so far."""

    planned_s: float  # of one try, before there is a measured one
    _took_s: list[float] = field(default_factory=list)

    def add(self, seconds: float) -> None:
        """A try took this long, with start, drain and analysis."""
        self._took_s.append(seconds)

    def sentence(self, bracket: Bracket) -> str:
        """For example "about 5 to 9 more tries, 2 to 3 min"."""
        low, high = bracket.tries_left(further=1), bracket.tries_left(further=FURTHER)
        each_s = sum(self._took_s) / len(self._took_s) if self._took_s else self.planned_s
        tries = f"{low}" if low == high else f"{low} to {high}"
        return f"about {tries} more {'try' if high == 1 else 'tries'}, {_span(low * each_s, high * each_s)}"


def _span(low_s: float, high_s: float) -> str:
    if high_s < 90:
        low, high, unit = round(low_s), round(high_s), "s"
    else:
        low, high, unit = round(low_s / 60), round(high_s / 60), "min"
    return f"{high} {unit}" if low == high else f"{low} to {high} {unit}"
