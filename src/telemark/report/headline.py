"""Which figure of a run is its VALUE on the score card, and what its statistics are of.

The reports know four kinds of result: a throughput, a latency, a rate of connections, an amount of memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from telemark.report.cases import case_facts
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
LATENCY = Headline("Latency", "latency_mean_us", "us")
CONNECTIONS = Headline("Connection rate", "connect_rate", "per_second", "connect")
MEMORY_EACH = Headline("Memory", "server_bytes_per_connection", "bytes", "connect")
MEMORY = Headline("Memory", "server_rss_bytes_max", "bytes")


def headline_of(facts: Mapping[str, Any]) -> Headline:
    """Choose by what the catalogue says it measures; a user's own scenario by what the run did."""
    plan = facts.get("plan")
    load = plan.get("load") if isinstance(plan, Mapping) else None
    shape = load.get("shape") if isinstance(load, Mapping) else None
    measures = case_facts(str(facts.get("suite")), str(facts.get("scenario"))).measures
    if measures == "memory":
        return MEMORY_EACH if shape == "idle" else MEMORY
    if measures == "connections" or shape == "idle":
        return CONNECTIONS
    if shape == "every":  # one message fans out to all: what counts is the height of the spike
        return PEAK
    return LATENCY if measures == "latency" else THROUGHPUT
