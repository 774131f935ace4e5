"""Result tables of one made-up run, consistent with each other, straight from the schemas.

The samples are random numbers from a fixed seed; every figure in the tables is computed from them,
so that a report of a synthetic run is as plausible as that of a real one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from telemark.store.results import TABLES

QUANTILES = {"p50": 50, "p75": 75, "p90": 90, "p95": 95, "p99": 99, "p999": 99.9, "p9999": 99.99}


@dataclass(frozen=True)
class FakeRun:
    """What a synthetic run pretends to have measured."""

    suite: str = "scalagent"
    scenario: str = "multi-publisher"
    server: str = "mosquitto"
    version: str = "2.0.22"
    parameters: dict[str, Any] = field(default_factory=lambda: {"publishers": 2000, "qos": 0})
    size: str = "quick"
    profile: str = "memory"
    repeat: int = 0
    publishers: int = 2000
    subscribers: int = 2
    qos: int = 0
    payload: int = 64
    rate: float = 2000.0
    latency_us: float = 800.0
    cpu: float = 0.2
    seconds: int = 20
    warmup: int = 4
    lost: int = 0
    connect_rate: float = 900.0
    connect_us: float = 700.0
    shape: str = "batched"
    thresholds: tuple[str, ...] = ("lost == 0", "mean_latency < 500 ms")
    state: str = "complete"
    reason: str | None = None
    engine_bound: bool = False
    headroom: float | None = 4.2
    warnings: tuple[str, ...] = ()
    buffered: float | None = 120.0
    notes: tuple[str, ...] = ("published: 2,000 to 100,000 publishers for 5 minutes",)
    host: str = "f00dcafe"
    seed: int = 7
    figures: dict[str, Any] = field(default_factory=dict)  # columns of `points` that differ from all this

    @property
    def point(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.parameters.items())

    @property
    def name(self) -> str:
        slug = self.point.replace("=", "").replace(" ", "-").replace("/", "_")
        return f"{self.server}-{self.scenario}-{slug}-r{self.repeat}".replace("/", "_")


def statistics(samples: np.ndarray, prefix: str, names: tuple[str, ...]) -> dict[str, float]:
    """Columns <prefix><name>_us of the samples, in microseconds."""
    known = {"min": samples.min(), "mean": samples.mean(), "stdev": samples.std(), "max": samples.max()}
    known |= {name: np.percentile(samples, quantile) for name, quantile in QUANTILES.items()}
    return {f"{prefix}{name}_us": float(known[name]) for name in names}


def distribution(samples: np.ndarray) -> list[tuple[float, float, int]]:
    """Counts in buckets that are one percent wide."""
    index = np.floor(np.log(samples) / np.log(1.01)).astype(int)
    numbers, counts = np.unique(index, return_counts=True)
    return [(float(1.01**n), float(1.01 ** (n + 1)), int(c)) for n, c in zip(numbers, counts, strict=True)]


def tables_of(campaign: str, run: str, fake: FakeRun) -> dict[str, pa.Table]:
    """All result tables of one run, by name."""
    random = np.random.default_rng(fake.seed)
    latency = fake.latency_us * random.lognormal(0.0, 0.5, int(min(20_000, fake.rate * fake.seconds)))
    latency[:: max(2, len(latency) // 20)] *= 12
    connect = fake.connect_us * random.lognormal(0.0, 0.4, max(50, min(5000, fake.publishers)))
    key = {"campaign": campaign, "run": run}
    rows = {
        "points": [key | _point(fake, latency, connect)],
        "latency": [key | row for row in _latency_rows(latency, connect)],
        "distribution": [key | row for row in _distribution_rows(latency, connect)],
        "intervals": [key | row for row in _interval_rows(fake, latency, random)],
        "cores": [key | row for row in _core_rows(fake, random)],
        "integrity": [key | row for row in _integrity_rows(fake)],
        "offenders": [],
        "resources": [key | _resources(fake)],
    }
    return {name: pa.Table.from_pylist(found, TABLES[name]) for name, found in rows.items()}


def _latency_rows(latency: np.ndarray, connect: np.ndarray) -> list[dict[str, Any]]:
    full = ("min", "mean", "stdev", *QUANTILES, "max")
    return [
        {"measure": "latency", "phase": "measure", "count": len(latency)} | statistics(latency, "", full),
        {"measure": "service_time", "phase": "measure", "count": len(latency)} | statistics(latency * 0.9, "", full),
        {"measure": "connect", "phase": "connect", "count": len(connect)} | statistics(connect, "", full),
    ]


def _distribution_rows(latency: np.ndarray, connect: np.ndarray) -> list[dict[str, Any]]:
    return [
        {"measure": measure, "phase": phase, "lower_us": low, "upper_us": high, "count": count}
        for measure, phase, samples in (
            ("latency", "measure", latency),
            ("service_time", "measure", latency * 0.9),
            ("connect", "connect", connect),
        )
        for low, high, count in distribution(samples)
    ]


def _phase_of(fake: FakeRun, second: int) -> str:
    if second < 0:
        return "connect"
    if second < fake.warmup:
        return "warmup"
    return "measure" if second < fake.seconds else "drain"


def _interval_rows(fake: FakeRun, latency: np.ndarray, random: np.random.Generator) -> list[dict[str, Any]]:
    rows = []
    # A dozen different seconds, taken in turn: percentiles of every second of many long runs would take minutes.
    seconds = [_second_statistics(random.choice(latency, 200)) for _ in range(12)]
    for second in range(-3, fake.seconds + 2):
        phase = _phase_of(fake, second)
        busy = phase in ("warmup", "measure")
        sent = int(fake.rate * random.uniform(0.99, 1.01)) if busy else 0
        row: dict[str, Any] = {
            "second": second, "phase": phase, "intended": sent, "sent": sent, "received": sent, "acked": 0,
            "dropped": 0,
            "sent_bytes": sent * fake.payload, "received_bytes": sent * fake.payload,
            "connected": fake.publishers if second >= 0 else (second + 4) * fake.publishers // 4,
            "loop_lag_max_us": 120.0, "pushed_back": 0,
            "server_cpu_cores": fake.cpu * random.uniform(0.9, 1.1) if busy else 0.02,
            "server_rss_bytes": int(9e6 + 3000 * fake.publishers),
            "server_pss_bytes": int(8e6 + 3000 * fake.publishers),
            "engine_cpu_cores": 0.1, "host_cpu_busy_max_core": 0.55, "buffered_messages": fake.buffered,
        }  # fmt: skip
        if busy:
            row |= seconds[second % len(seconds)]
        rows.append(row)
    return rows


def _second_statistics(samples: np.ndarray) -> dict[str, float]:
    return (
        statistics(samples, "latency_", ("min", "mean", "p50", "p75", "p90", "p95", "p99", "p999", "max"))
        | statistics(samples * 0.9, "service_", ("mean", "p50", "p99", "max"))
        | statistics(samples * 0.02, "send_delay_", ("mean", "p50", "p99", "max"))
    )


def _core_rows(fake: FakeRun, random: np.random.Generator) -> list[dict[str, Any]]:
    return [
        {"second": second, "core": core, "busy": float(np.clip(fake.cpu / 2 + random.uniform(0, 0.2), 0, 1))}
        for second in range(-3, fake.seconds + 2)
        for core in (0, 1)
    ]


def _integrity_rows(fake: FakeRun) -> list[dict[str, Any]]:
    owed = int(fake.rate * fake.seconds) // fake.subscribers
    lost = fake.lost // fake.subscribers
    return [
        {
            "subscription": number, "share": None, "filter": f"system/{number}/#", "qos": fake.qos, "members": 1,
            "owed": owed, "delivered": owed - lost, "lost": lost, "duplicate": 0, "reordered": 0, "foreign": 0,
            "violations": lost, "exact": True,
        }
        for number in range(fake.subscribers)
    ]  # fmt: skip


def _resources(fake: FakeRun) -> dict[str, Any]:
    return {
        "server_cpu_cores_mean": fake.cpu, "server_cpu_cores_max": fake.cpu * 1.2,
        "server_busiest_thread_cores": fake.cpu, "server_cpu_share_mean": fake.cpu / 2, "host_cpu_not_idle_mean": 0.45,
        "server_heap_bytes_max": int(2e7 + 400 * fake.publishers), "host_memory_used_bytes_max": 3 * 2**30,
        "host_cores": 2, "host_core_busy_max": 0.6, "host_cpu_busy_mean": 0.4, "host_steal_mean": 0.0,
        "server_rss_bytes_max": int(9e6 + 3000 * fake.publishers), "server_rss_bytes_idle": 9_000_000,
        "server_pss_bytes_max": int(8e6 + 3000 * fake.publishers),
        "server_cpu_us_per_message": fake.cpu * 1e6 / max(fake.rate, 1), "server_bytes_per_connection": 3000.0,
        "server_open_files_max": float(fake.publishers + 20), "server_threads_max": 1.0,
        "buffered_hwm": fake.buffered, "buffered_hwm_source": "server",
        "buffered_slope_per_s": 0.1, "buffered_slope_low": -1.0,
        "buffered_slope_high": 1.2, "engine_cpu_cores_mean": 0.1, "engine_cpu_us_per_message": 5.0,
        "engine_rss_bytes_max": 60_000_000,
    }  # fmt: skip


def _point(fake: FakeRun, latency: np.ndarray, connect: np.ndarray) -> dict[str, Any]:
    total = int(fake.rate * fake.seconds)
    row: dict[str, Any] = {
        "suite": fake.suite, "scenario": fake.scenario, "point": fake.point, "size": fake.size,
        "parameters": json.dumps(fake.parameters), "server": fake.server, "server_version": fake.version,
        "profile": fake.profile, "profile_note": "keeps everything in memory", "repeat": fake.repeat,
        "state": fake.state, "reason": fake.reason, "started_at": "2026-03-01T12:00:00+00:00", "host": "bench-1",
        "telemark_version": "0.1.0", "publishers": fake.publishers, "subscribers": fake.subscribers,
        "qos": fake.qos, "payload_bytes": fake.payload, "measure_s": float(fake.seconds - fake.warmup),
        "offered_rate": fake.rate, "sent_rate": fake.rate, "received_rate": fake.rate * 0.999,
        "peak_received_rate": fake.rate * 1.05, "peak_egress_rate": fake.rate * 0.6,
        "intended": total, "sent": total, "received": total - fake.lost,
        "acked": 0, "dropped": 0, "owed": total, "lost": fake.lost, "duplicate": 0, "reordered": 0, "foreign": 0,
        "violations": fake.lost if fake.qos else 0, "integrity_exact": True,
        "connections": fake.publishers + fake.subscribers, "connect_failures": 0, "connect_rate": fake.connect_rate,
        "disconnects": 0, "refusals": 0, "loop_lag_max_us": 120.0, "pushed_back": 0,
        "engine_bound": fake.engine_bound,
        "engine_bound_reason": "send delay p99 was 80 ms" if fake.engine_bound else None,
        "engine_headroom": fake.headroom, "latency_trend": "steady", "steady": True, "steady_reason": None,
        "sustained": True,
        "warnings": list(fake.warnings),
    }  # fmt: skip
    row |= statistics(latency, "latency_", ("min", "mean", "stdev", *QUANTILES, "max"))
    row |= statistics(latency * 0.9, "service_", ("mean", "p50", "p95", "p99", "max"))
    row |= statistics(latency * 0.02, "send_delay_", ("mean", "p50", "p99", "max"))
    row |= statistics(connect, "connect_", ("min", "mean", "stdev", "p50", "p75", "p90", "p95", "p99", "max"))
    return row | _resources(fake) | fake.figures
