"""`points`: one row per run with everything a score card prints. Plain functions on the small tables of one run.

Rates, latencies and costs are over the measure phase; counts of messages are over the whole run, so that sent, owed,
lost and received can be added up. What was not measured is None.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from telemark.pipeline.messages.keys import LONGEST_US
from telemark.pipeline.tables import Row
from telemark.pipeline.tables.resources import HealthOfRun, Work, focus_of, full_seconds, resource_row
from telemark.store.documents.run import RunFile
from telemark.store.layout import RunFolder
from telemark.store.results import FULL, POINTS
from telemark.verdicts import limits
from telemark.verdicts.engine import LoadHost, engine_bound
from telemark.verdicts.headroom import engine_headroom
from telemark.verdicts.judge import NOT_SAMPLED
from telemark.verdicts.steady import Steadiness, decide, slope_of, waiting

EGRESS_AVERAGE_S: Final = 5  # 128K, 256K and 512K consumers in 5 s are the 25K, 50K and 100K msg/s of the report
_TOTALS: Final = ("intended", "sent", "received", "acked", "dropped")


@dataclass(frozen=True, slots=True)
class Parts:
    """The small tables of one run."""

    run: RunFolder
    intervals: Sequence[Row]
    latency: Sequence[Row]
    integrity: Mapping[str, Any]  # totals over the subscriptions; empty when there are none
    connections: Mapping[str, Any]
    refusals: int
    health: Sequence[Mapping[str, Any]]  # by phase
    clock_error_us: float = 0.0  # of a latency between two hosts
    server_host: str | None = ""  # None: it was not sampled; empty: it has no name of its own
    load_hosts: Sequence[LoadHost] = ()

    @property
    def measured(self) -> list[Mapping[str, Any]]:
        """Full seconds of the measure phase."""
        return full_seconds(self.run, self.intervals, "measure")


def rows_of(parts: Parts) -> tuple[Row, Row]:
    """(row of `points`, row of `resources`) of one run, but for campaign and run."""
    rates = _rates(parts)
    steadiness, backlog_seen = _steadiness(parts)
    health = HealthOfRun(parts.health, focus_of(parts.run))
    resources = resource_row(health, _work(parts), steadiness.backlog)
    point = (
        _facts(parts.run)
        | rates
        | _totals(parts)
        | _latencies(parts)
        | _connections(parts)
        | resources
        | _engine_figures(parts)
        | {"server_host": parts.run.facts.host.get("name") if parts.server_host == "" else parts.server_host}
    )
    bound = engine_bound(
        point,
        [row["loop_lag_max_us"] for row in parts.measured if row.get("loop_lag_max_us") is not None],
        parts.load_hosts,
    )
    facts = parts.run.facts
    load = facts.plan.get("load") or {}
    point |= {
        "clock_error_us": parts.clock_error_us,
        "load_host_busy_mean": max((host.busy for host in parts.load_hosts), default=None),
        "engine_headroom": engine_headroom(point, facts.calibration or {}, load.get("shape"), _engine_pins(facts)),
        "engine_bound": bound is not None,
        "engine_bound_reason": bound,
        "latency_trend": steadiness.latency_trend,
        "steady": steadiness.steady,
        "steady_reason": steadiness.reason,
        "sustained": steadiness.sustained,
    }
    point["warnings"] = _warnings(parts, point, backlog_seen)
    return {name: point.get(name) for name in POINTS.names}, resources


def _facts(run: RunFolder) -> Row:
    facts, server = run.facts, run.facts.server
    return {
        "suite": facts.suite, "scenario": facts.scenario, "point": facts.point, "size": facts.size,
        "parameters": json.dumps(dict(facts.parameters), sort_keys=True, default=str),
        "server": server.get("name"), "server_version": server.get("version"), "profile": server.get("profile"),
        "profile_note": server.get("profile_note"), "repeat": facts.repeat, "state": facts.state,
        "reason": facts.reason, "started_at": facts.started_at, "host": facts.host.get("name"),
        "telemark_version": facts.telemark_version, "measure_s": facts.phase_seconds("measure"), **_workload(run),
    }  # fmt: skip


def _workload(run: RunFolder) -> Row:
    """Who publishes and subscribes, from the plan."""
    groups = [group for group in run.facts.plan.get("groups") or () if isinstance(group, Mapping)]
    publishing = [group for group in groups if group.get("publish")]
    consumers = run.facts.plan.get("consumers") or {}
    subscribers = sum(int(group.get("count", 0)) for group in groups if group.get("subscriptions"))
    return {
        "publishers": sum(int(group.get("count", 0)) for group in publishing) if groups else None,
        "subscribers": subscribers + int(consumers.get("count", 0)) if groups else None,
        "qos": max((int(group["publish"].get("qos", 0)) for group in publishing), default=None),
        "payload_bytes": max((int(group["publish"].get("size", 0)) for group in publishing), default=None),
    }


def _rates(parts: Parts) -> Row:
    """Messages per second over the full seconds of the measure phase."""
    seconds = parts.measured
    received = _column(seconds, "received")
    return {
        "offered_rate": _mean(_column(seconds, "intended")),
        "sent_rate": _mean(_column(seconds, "sent")),
        "received_rate": _mean(received),
        "peak_received_rate": float(max(received)) if received else None,
        "peak_egress_rate": peak_egress(parts.intervals),
    }


def peak_egress(seconds: Sequence[Mapping[str, Any]]) -> float | None:
    """The steepest rise of the server's own count of sent messages, averaged as the report's dashboard does.

    Over the whole run: a short measure phase is not longer than the average, and nothing else is sent before or after.
    """
    counts = {
        row["second"]: row["server_messages_out"] for row in seconds if row.get("server_messages_out") is not None
    }
    rises = [counts[end] - count for second, count in counts.items() if (end := second + EGRESS_AVERAGE_S) in counts]
    return max(rises) / EGRESS_AVERAGE_S if rises else None


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    return [row[name] for row in rows if row.get(name) is not None]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _totals(parts: Parts) -> Row:
    """Counts over the whole run."""
    totals: Row = {}
    for name in (*_TOTALS, "disconnects"):
        values = _column(parts.intervals, name)
        totals[name] = int(sum(values)) if values else None
    names = ("owed", "lost", "duplicate", "reordered", "foreign", "violations", "integrity_exact")
    return totals | {name: parts.integrity.get(name) for name in names} | {"refusals": parts.refusals}


def _latencies(parts: Parts) -> Row:
    """Statistics of the measure phase, and of connecting."""
    found = {(row["measure"], row["phase"]): row for row in parts.latency}
    acknowledged = next((found[step, "measure"] for step in ("puback", "pubrec") if (step, "measure") in found), None)
    subjects = {
        "latency": found.get(("latency", "measure")),
        "service": found.get(("service_time", "measure")),
        "send_delay": found.get(("send_delay", "measure")),
        "ack": acknowledged,
        "connect": found.get(("connect", "connect")),
    }
    return {
        f"{subject}_{figure}_us": row[f"{figure}_us"]
        for subject, row in subjects.items()
        if row is not None
        for figure in FULL
    }


def _connections(parts: Parts) -> Row:
    seen = parts.connections
    first, last, count = seen.get("first_ns"), seen.get("last_ns"), seen.get("connections")
    took = (last - first) / 1e9 if first is not None and last is not None else 0.0
    return {
        "connections": count,
        "connect_failures": seen.get("connect_failures"),
        "connect_rate": count / took if count and took > 0 else None,
    }


def _engine_figures(parts: Parts) -> Row:
    seconds = parts.measured or list(parts.intervals)
    lags, pushed = _column(seconds, "loop_lag_max_us"), _column(parts.measured, "pushed_back")
    return {
        "loop_lag_max_us": max(lags, default=None),
        "pushed_back": int(sum(pushed)) if pushed else None,
    }


def _work(parts: Parts) -> Work:
    seconds = parts.measured
    messages = max(sum(_column(seconds, "sent")), sum(_column(seconds, "received")))
    return Work(float(len(seconds)), int(messages), parts.connections.get("connections"))


def _copies(parts: Parts) -> float | None:
    """Deliveries that one message makes; None when it is not known what was owed.

    What was lost never arrives: it is counted as lost, and must not look like a backlog that grows.
    """
    owed = parts.integrity.get("owed")
    sent = sum(_column(parts.intervals, "sent"))
    return (owed - (parts.integrity.get("lost") or 0)) / sent if owed and sent else None


def _steadiness(parts: Parts) -> tuple[Steadiness, bool]:
    """The decision, and whether the backlog is the server's own count."""
    seconds = parts.measured
    buffered = _filled([row.get("buffered_messages") for row in seconds])
    seen = buffered is not None
    copies = _copies(parts)
    if copies is None or len(_column(seconds, "intended")) < len(seconds):
        line = slope_of(buffered) if buffered else None
        return Steadiness(None, "it is not known what was owed to whom", "unknown", backlog=line), seen
    offered = [row["intended"] * copies for row in seconds]
    delivered = [float(row["received"]) for row in seconds]
    latencies = [row.get("latency_p50_us") for row in seconds]
    own = buffered if buffered is not None else waiting(offered, delivered)
    return decide(offered, delivered, latencies, own), seen


def _filled(values: Sequence[float | None]) -> list[float] | None:
    """A count the server gives less often than every second holds until the next one; None when it gives too few."""
    known = [value for value in values if value is not None]
    if len(known) < max(len(values) / 10, 3):
        return None
    last, found = known[0], []
    for value in values:
        last = last if value is None else value
        found.append(last)
    return found


def _engine_pins(facts: RunFile) -> tuple[int, ...]:
    """CPUs that the engine was pinned to on this host; on several hosts each has CPUs of its own."""
    pinned = facts.pinning.get("engine")
    return pinned if isinstance(pinned, tuple) and not facts.hosts else ()


def _warnings(parts: Parts, point: Row, backlog_seen: bool) -> list[str]:
    """What a reader must know before believing the row."""
    found: list[str] = []
    if point["state"] != "complete":
        found.append(f"the run is {point['state']}: its numbers cover only what was recorded")
    if point["integrity_exact"] is False:
        found.append("a subscription was not active all the time: what was owed, and so lost, is an upper bound")
    headroom, busiest = point.get("engine_headroom"), point.get("engine_busiest_thread_cores") or 0.0
    if headroom is None and point.get("sent"):
        found.append("engine headroom unknown: the engine was not sampled, and no calibration is of this kind of load")
    elif busiest > limits.BUSY_ENGINE:
        found.append(f"an engine thread used {busiest:.0%} of a core: the numbers may show the engine")
    elif headroom is not None and headroom < limits.ENOUGH_HEADROOM:
        least = limits.ENOUGH_HEADROOM
        found.append(f"engine headroom is {headroom:.2f}x, below {least}x: the numbers may show the engine")
    if (point.get("host_steal_mean") or 0.0) > limits.MUCH_STEAL:
        found.append(f"the hypervisor took {point['host_steal_mean']:.0%} of the processor")
    if point.get("buffered_slope_per_s") is not None and not backlog_seen:
        found.append("the server does not tell its buffered messages: their slope is that of sent less received")
    if (point.get("latency_max_us") or 0.0) >= LONGEST_US:
        found.append(f"latencies above {LONGEST_US / 60e6:.0f} minutes are counted as that")
    if parts.server_host is None and parts.load_hosts:
        found.append(f"CPU, memory and disk of the server are not known: {NOT_SAMPLED}")
    return found + _clock_warnings(parts, point)


def _clock_warnings(parts: Parts, point: Row) -> list[str]:
    """Times from several hosts are as good as the agreement of their clocks."""
    error_us = parts.clock_error_us
    median = point.get("latency_p50_us")
    if median is None or error_us <= limits.CLOCK_ERROR * abs(median):
        return []
    return [f"clocks of the hosts agree only within {error_us:,.0f} us: compare with the median of {median:,.0f} us"]
