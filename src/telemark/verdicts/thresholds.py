"""The grammar of thresholds: `metric op value [unit]`, several separated by commas.

    lost == 0, p99 < 10 ms, mean_latency < 500 ms, rate >= 20 K/s, host_core_busy_max <= 85 %, sustained == yes

Units: us, ms, s for times; /s for rates; % for shares, ratios and cores; KB, MB, GB for memory; K and M multiply by a
thousand and a million. A time named by a short name must have a unit; a column's full name carries it. A column that
is true or false is compared with yes or no.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from telemark.errors import ConfigError
from telemark.model.columns import Column, Unit
from telemark.verdicts.metrics import COMMON, FLAGS, METRICS, similar

OPERATORS: Final[dict[str, Callable[[float, float], bool]]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}

_TIMES: Final[dict[Unit, float]] = {"us": 1e-6, "ns": 1e-9, "seconds": 1.0}  # seconds of one
_RATES: Final[tuple[Unit, ...]] = ("messages_per_second", "connections_per_second")
_SHARES: Final[tuple[Unit, ...]] = ("share", "ratio", "cores")

# Unit as written -> how many of the column's own units it is, by that unit.
_WRITTEN: Final[dict[str, dict[Unit, float]]] = {
    "us": {own: 1e-6 / size for own, size in _TIMES.items()},
    "ms": {own: 1e-3 / size for own, size in _TIMES.items()},
    "s": {own: 1 / size for own, size in _TIMES.items()},
    "/s": dict.fromkeys(_RATES, 1.0),
    "k/s": dict.fromkeys(_RATES, 1e3),
    "m/s": dict.fromkeys(_RATES, 1e6),
    "%": dict.fromkeys(_SHARES, 0.01),
    "k": dict.fromkeys((*_RATES, "count"), 1e3),
    "m": dict.fromkeys((*_RATES, "count"), 1e6),
    "kb": {"bytes": 1e3},
    "mb": {"bytes": 1e6},
    "gb": {"bytes": 1e9},
}

_FORM: Final = re.compile(
    r"\s*(?P<metric>[A-Za-z_]\w*)\s*(?P<op><=|>=|==|!=|<|>)\s*"
    r"(?:(?P<flag>yes|no)|(?P<value>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(?P<unit>%|/s|[A-Za-zµ]+(?:/s)?)?)\s*"
)


@dataclass(frozen=True, slots=True)
class Threshold:
    """One rule, in the metric's own unit."""

    text: str
    metric: Column
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
    if metric.name in FLAGS:
        return _flag(text, metric, match["op"], match["flag"])
    if match["flag"]:
        raise ConfigError(f"threshold {text!r}: {match['metric']} is a number, not yes or no")
    factor = _factor(text, metric, match["metric"], match["unit"])
    return Threshold(text.strip(), metric, match["op"], float(match["value"]) * factor)


def _flag(text: str, metric: Column, op: str, word: str | None) -> Threshold:
    if word is None or op not in ("==", "!="):
        raise ConfigError(f"threshold {text!r}: expected `{metric.name} == yes` or `{metric.name} == no`")
    return Threshold(text.strip(), metric, op, float(word == "yes"))


def _factor(text: str, metric: Column, name: str, unit: str | None) -> float:
    """How many of the metric's own units one of the written unit is."""
    if unit is None:
        if metric.unit in _TIMES and name != metric.name:
            raise ConfigError(f"threshold {text!r}: {name} is a time and needs a unit: us, ms or s")
        return 1.0
    factor = _WRITTEN.get(unit.lower().replace("µ", "u"), {}).get(metric.unit)
    if factor is None:
        fitting = [known for known, units in _WRITTEN.items() if metric.unit in units]
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
