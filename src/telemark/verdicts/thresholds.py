"""The grammar of thresholds: `metric op value [unit]`, several separated by commas.

    lost == 0, p99 < 10 ms, mean_latency < 500 ms, rate >= 20 K/s, host_core_busy_max <= 85 %

Units: us, ms, s for times; /s for rates; % for shares and cores; KB, MB, GB for memory; K and M multiply by a
thousand and a million. A time given without a unit is refused, unless the metric's own name ends in `_us`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from telemark.errors import ConfigError
from telemark.verdicts.metrics import COMMON, METRICS, Metric, similar

OPERATORS: Final[dict[str, Callable[[float, float], bool]]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}

# unit -> (kinds of metric it fits, factor to the metric's own unit)
_UNITS: Final[dict[str, tuple[frozenset[str], float]]] = {
    "us": (frozenset({"time"}), 1.0),
    "ms": (frozenset({"time"}), 1e3),
    "s": (frozenset({"time"}), 1e6),
    "/s": (frozenset({"rate"}), 1.0),
    "k/s": (frozenset({"rate"}), 1e3),
    "m/s": (frozenset({"rate"}), 1e6),
    "%": (frozenset({"share", "cores"}), 0.01),
    "k": (frozenset({"count", "rate"}), 1e3),
    "m": (frozenset({"count", "rate"}), 1e6),
    "kb": (frozenset({"bytes"}), 1e3),
    "mb": (frozenset({"bytes"}), 1e6),
    "gb": (frozenset({"bytes"}), 1e9),
}

_FORM: Final = re.compile(
    r"\s*(?P<metric>[A-Za-z_]\w*)\s*(?P<op><=|>=|==|!=|<|>)\s*"
    r"(?P<value>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(?P<unit>%|/s|[A-Za-zµ]+(?:/s)?)?\s*"
)


@dataclass(frozen=True, slots=True)
class Threshold:
    """One rule, in the metric's own unit."""

    text: str
    metric: Metric
    op: str
    limit: float

    def holds(self, value: float) -> bool:
        """Whether a figure keeps the rule."""
        return OPERATORS[self.op](value, self.limit)


def parse_threshold(text: str) -> Threshold:
    """Read one rule.

    Raises:
        ConfigError: it has another form, an unknown metric, or a unit that does not fit.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ConfigError(f"threshold {text!r}: expected `metric op value [unit]`, for example `p99 < 10 ms`")
    metric = METRICS.get(match["metric"])
    if metric is None:
        near = similar(match["metric"])
        known = f"; did you mean {', '.join(near)}?" if near else f"; known are {', '.join(COMMON)} and all of points"
        raise ConfigError(f"threshold {text!r}: unknown metric {match['metric']!r}{known}")
    factor = _factor(text, metric, match["metric"], match["unit"])
    return Threshold(text.strip(), metric, match["op"], float(match["value"]) * factor)


def _factor(text: str, metric: Metric, name: str, unit: str | None) -> float:
    """How many of the metric's own units one of the written unit is."""
    if unit is None:
        if metric.kind == "time" and not name.endswith(("_us", "_us_per_message")):
            raise ConfigError(f"threshold {text!r}: {name} is a time and needs a unit: us, ms or s")
        return 1.0
    kinds, factor = _UNITS.get(unit.lower().replace("µ", "u"), (frozenset[str](), 0.0))
    if metric.kind not in kinds:
        fitting = [known for known, (fits, _) in _UNITS.items() if metric.kind in fits]
        raise ConfigError(
            f"threshold {text!r}: unit {unit!r} does not fit {name}, expected {', '.join(fitting) or 'none'}"
        )
    return factor


def parse_thresholds(texts: str | Iterable[str]) -> tuple[Threshold, ...]:
    """Read several rules, given one by one or separated by commas.

    Raises:
        ConfigError: with every problem found, not only the first.
    """
    parts = [
        part for text in ([texts] if isinstance(texts, str) else texts) for part in text.split(",") if part.strip()
    ]
    found: list[Threshold] = []
    problems: list[str] = []
    for part in parts:
        try:
            found.append(parse_threshold(part.strip()))
        except ConfigError as error:
            problems.append(error.message)
    if problems:
        hint = "see docs/reference/result-tables.md"
        raise ConfigError("thresholds cannot be used", problems=tuple(problems), hint=hint)
    return tuple(found)
