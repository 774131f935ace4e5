"""The figures of the MessageSight report: throughput by consumers, high-water marks, tails, connection rates."""

from __future__ import annotations

from collections.abc import Sequence

from telemark.report.charts import general, sweep
from telemark.report.headline import headline_of
from telemark.report.model import Chart, Table
from telemark.report.source import RunSource


def of_scenario(prefix: str, runs: Sequence[RunSource]) -> list[Chart | Table]:
    """Fan-in: throughput and high-water mark by consumers. Broadcast and connection bursts: the latency's spread."""
    points = sweep.drawable(runs)
    if not points:
        return []
    scenario = str(runs[0].facts.get("scenario", ""))
    headline = headline_of(runs[0].facts)
    by = ("publishers", "payload_bytes", "qos")
    if scenario.startswith("CONNBURST"):
        rates = sweep.bars(
            sweep.Name(f"{prefix}-rate", "Connection rate by devices"), points, "connections", "connect_rate"
        )
        return [rates, *general.spread_charts(prefix, runs, "connect")]
    if scenario.startswith("BROADCAST"):
        peaks = sweep.bars(
            sweep.Name(f"{prefix}-peak", "Peak rate by subscribers"), points, "subscribers", headline.metric, by
        )
        return [peaks, *general.spread_charts(prefix, runs, "latency")]
    throughput = sweep.Name(f"{prefix}-throughput", "Throughput by consumers")
    marks = sweep.Name(f"{prefix}-hwm", "High-water mark of buffered messages (HWM)")
    return [
        sweep.bars(throughput, points, "subscribers", "received_rate", by),
        sweep.cross_table(marks, points, "subscribers", "buffered_hwm", by),
        *general.spread_charts(prefix, runs, "latency"),
    ]


def of_suite(prefix: str, runs: Sequence[RunSource]) -> list[Chart | Table]:
    """Over several cases: connection rates by cipher, and the throughput of every fan-in case side by side."""
    points = sweep.drawable(runs)
    bursts = [point for point in points if str(point.get("scenario", "")).startswith("CONNBURST")]
    fanins = [point for point in points if str(point.get("scenario", "")).startswith("FANIN")]
    rate = sweep.Name(f"{prefix}-ciphers", "Connection rate by cipher")
    time = sweep.Name(f"{prefix}-connect", "Average connection time by cipher")
    cases = sweep.Name(f"{prefix}-fanin", "Throughput by case")
    drawn: list[Chart | Table] = []
    if bursts:
        drawn.append(sweep.bars(rate, bursts, "scenario", "connect_rate", ("connections",)))
        drawn.append(sweep.bars(time, bursts, "scenario", "connect_mean_us", ("connections",)))
    if len({point.get("scenario") for point in fanins}) > 1:
        drawn.append(sweep.bars(cases, fanins, "scenario", "received_rate", ("subscribers", "publishers")))
    return drawn
