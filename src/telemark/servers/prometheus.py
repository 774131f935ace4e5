"""Numbers on a Prometheus text page."""

from __future__ import annotations

import math
from collections.abc import Iterator


def by_labels(text: str) -> dict[str, dict[str, float]]:
    """Every metric of the page: its values by label set, as written there."""
    found: dict[str, dict[str, float]] = {}
    for name, labels, value in _samples(text):
        found.setdefault(name, {})[labels] = value
    return found


def totals(text: str) -> dict[str, float]:
    """Sum of every metric of the page over its label sets."""
    return {name: sum(values.values()) for name, values in by_labels(text).items()}


def _samples(text: str) -> Iterator[tuple[str, str, float]]:
    for line in text.splitlines():
        name, labels, value = _sample(line)
        if name and math.isfinite(value):
            yield name, labels, value


def _sample(line: str) -> tuple[str, str, float]:
    """Name, labels and value of one line; an empty name for comments and what cannot be read."""
    name, brace, rest = line.partition("{")
    labels = ""
    if brace:
        labels, _, rest = rest.rpartition("}")  # label values may hold anything but end with the last brace
    else:
        name, _, rest = line.partition(" ")
    fields = rest.split()
    if line.startswith("#") or not fields:
        return "", "", math.nan
    try:
        return name.strip(), labels, float(fields[0])
    except ValueError:
        return "", "", math.nan
