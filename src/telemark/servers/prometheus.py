"""Reads numbers from a Prometheus text page, for servers that run elsewhere."""

from __future__ import annotations

import math
import urllib.error
import urllib.request
from collections.abc import Mapping

from telemark.errors import ConfigError

LARGEST_PAGE = 8 << 20  # bytes


def scrape(url: str, metrics: Mapping[str, str], timeout_s: float = 0.8) -> dict[str, float]:
    """Contract names to values; a metric with several label sets is summed, one that is not there is left out.

    Args:
        url: of the page.
        metrics: counter name of the contract -> metric name on the page.
        timeout_s: after which there are no counters this time.
    """
    try:
        with urllib.request.urlopen(url, timeout=timeout_s) as answer:
            text = answer.read(LARGEST_PAGE).decode("utf-8", "replace")
    except (OSError, urllib.error.URLError, ValueError):
        return {}
    totals = parse(text)
    return {name: totals[metric] for name, metric in metrics.items() if metric in totals}


def parse(text: str) -> dict[str, float]:
    """Sum of every metric of the page over its label sets."""
    totals: dict[str, float] = {}
    for line in text.splitlines():
        name, value = _sample(line)
        if name and math.isfinite(value):
            totals[name] = totals.get(name, 0.0) + value
    return totals


def _sample(line: str) -> tuple[str, float]:
    """Name and value of one line; an empty name for comments and what cannot be read."""
    name, brace, rest = line.partition("{")
    if brace:
        rest = rest.rpartition("}")[2]  # label values may hold anything but end with the last brace
    else:
        name, _, rest = line.partition(" ")
    fields = rest.split()
    if line.startswith("#") or not fields:
        return "", math.nan
    try:
        return name.strip(), float(fields[0])
    except ValueError:
        return "", math.nan


def require_url(url: str) -> str:
    """Only web pages are scraped, never files."""
    if not url.startswith(("http://", "https://")):
        raise ConfigError(f"remote: option prometheus is {url!r}, expected an http:// or https:// URL")
    return url
