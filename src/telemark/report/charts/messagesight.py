"""The figures of the MessageSight report: throughput by consumers, high-water marks, tails, connection rates."""

from __future__ import annotations

from collections.abc import Sequence

from telemark.report.charts import beside, general, sweep
from telemark.report.model import Chart, Table
from telemark.report.source import RunSource


def of_scenario(prefix: str, runs: Sequence[RunSource]) -> list[Chart | Table]:
    """Fan-in: throughput and high-water mark by consumers. Broadcast and connection bursts: the latency's spread."""
    points = sweep.drawable(runs)
    if not points:
        return []
    scenario = str(runs[0].facts.get("scenario", ""))
    by = ("publishers", "payload_bytes", "qos")
    if scenario.startswith("CONNBURST"):
        rates = sweep.bars(
            sweep.Name(f"{prefix}-rate", "Connection rate by devices"), points, "connections", "connect_rate"
        )
        return [
            beside.with_bars(rates, runs, "connections", "connect_rate"),
            *general.spread_charts(prefix, runs, "connect"),
        ]
    if scenario.startswith("BROADCAST"):
        return [*_broadcast(prefix, points, runs, by), *general.spread_charts(prefix, runs, "latency")]
    throughput = sweep.Name(f"{prefix}-throughput", "Throughput by consumers")
    marks = sweep.Name(f"{prefix}-hwm", "High-water mark of a subscription's queue (HWM)")
    rates = sweep.bars(throughput, points, "subscribers", "received_rate", by)
    table = sweep.cross_table(marks, points, "subscribers", "buffered_hwm", by)
    return [
        beside.with_bars(rates, runs, "subscribers", "received_rate"),
        beside.with_columns(table, runs, "subscribers", "buffered_hwm"),
        *general.spread_charts(prefix, runs, "latency"),
    ]


def _broadcast(
    prefix: str, points: Sequence[sweep.PointRow], runs: Sequence[RunSource], by: Sequence[str]
) -> list[Chart | Table]:
    """The peak as the server counts it, as in the report, and the peak that the devices saw."""
    egress = sweep.Name(f"{prefix}-egress", "Peak egress rate by message size, the server's own count over 5 s")
    devices = sweep.Name(f"{prefix}-peak", "Peak rate by message size, received by the devices in one second")
    others = [column for column in (*by, "subscribers") if column != "payload_bytes"]
    counted = sweep.bars(egress, points, "payload_bytes", "peak_egress_rate", others)
    received = sweep.bars(devices, points, "payload_bytes", "peak_received_rate", others)
    return [beside.with_bars(counted, runs, "payload_bytes", "peak_egress_rate"), received]


def of_suite(prefix: str, runs: Sequence[RunSource]) -> list[Chart | Table]:
    """Over several cases: connections by cipher and by memory, and the throughput of every fan-in case side by side."""
    bursts, fanins = _starting_with("CONNBURST", runs), _starting_with("FANIN", runs)
    drawn = [*_ciphers(prefix, bursts), *_cases(prefix, fanins)]
    memory = sweep.Name(f"{prefix}-memory", "Connections against memory")
    points = sweep.drawable(runs)
    if any((point.get("connections") or 0) > 1 and point.get("server_rss_bytes_max") for point in points):
        drawn.append(beside.connections_by_memory(memory, points, runs))
    return drawn


def _starting_with(family: str, runs: Sequence[RunSource]) -> list[RunSource]:
    return [run for run in runs if str(run.facts.get("scenario", "")).startswith(family)]


def _ciphers(prefix: str, runs: Sequence[RunSource]) -> list[Chart | Table]:
    """Rate and time of connections by cipher, and the distributions of all of them in one figure."""
    points = sweep.drawable(runs)
    if not points:
        return []
    over = (("connect_rate", "Connection rate by cipher"), ("connect_mean_us", "Average connection time by cipher"))
    bars = [
        beside.with_scenario_bars(
            sweep.bars(sweep.Name(f"{prefix}-{y}", title), points, "scenario", y, ("connections",)), runs, y
        )
        for y, title in over
    ]
    named = [
        (sweep.label(run.point or {}, ("scenario",)), run) for run in runs if not (run.point or {}).get("engine_bound")
    ]
    spreads = general.spread_over(f"{prefix}-connburst", named[: general.MOST_LINES], "connect")
    return [*bars, *spreads]


def _cases(prefix: str, runs: Sequence[RunSource]) -> list[Chart | Table]:
    points = sweep.drawable(runs)
    if len({point.get("scenario") for point in points}) < 2:
        return []
    cases = sweep.Name(f"{prefix}-fanin", "Throughput by case")
    bars = sweep.bars(cases, points, "scenario", "received_rate", ("subscribers", "publishers"))
    return [beside.with_scenario_bars(bars, runs, "received_rate")]
