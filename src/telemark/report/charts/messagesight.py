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
    drawn: list[Chart | Table] = []
    if bursts:
        by = ("connections",)
        drawn.append(
            sweep.bars(
                sweep.Name(f"{prefix}-ciphers", "Connection rate by cipher"), bursts, "scenario", "connect_rate", by
            )
        )
        drawn.append(
            sweep.bars(
                sweep.Name(f"{prefix}-connect", "Average connection time by cipher"),
                bursts,
                "scenario",
                "connect_mean_us",
                by,
            )
        )
    if len({point.get("scenario") for point in fanins}) > 1:
        by = ("subscribers", "publishers")
        drawn.append(
            sweep.bars(sweep.Name(f"{prefix}-fanin", "Throughput by case"), fanins, "scenario", "received_rate", by)
        )
    return drawn
