"""Which figure of a run is its VALUE on the score card, and what its statistics are of.

The reports know four kinds of result: a throughput, a latency, a rate of connections, an amount of memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from telemark.report.format import Unit


@dataclass(frozen=True, slots=True)
class Headline:
    """The kind of a result, the column of the points table that is its value, and whose statistics follow."""

    kind: str
    metric: str
    unit: Unit
    measured: str = "latency"  # prefix of the statistics' columns: latency or connect


THROUGHPUT = Headline("Throughput", "received_rate", "rate")
PEAK = Headline("Throughput", "peak_received_rate", "rate")
CONNECTIONS = Headline("Connection rate", "connect_rate", "per_second", "connect")
MEMORY = Headline("Memory", "server_bytes_per_connection", "bytes", "connect")


def headline_of(facts: Mapping[str, Any]) -> Headline:
    """Choose by what the run did, so that a user's own scenario gets a sensible value too."""
    plan = facts.get("plan")
    load = plan.get("load") if isinstance(plan, Mapping) else None
    shape = load.get("shape") if isinstance(load, Mapping) else None
    scenario = str(facts.get("scenario", "")).lower()
    if shape == "idle":
        return MEMORY if "memory" in scenario else CONNECTIONS
    if shape == "every":  # one message fans out to all: what counts is the height of the spike
        return PEAK
    return THROUGHPUT
