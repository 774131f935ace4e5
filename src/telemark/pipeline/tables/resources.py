"""`resources`: what a run cost the machine. Plain functions on the small table of health by phase.

Figures are over the focus of the run: the measure phase, or the hold phase of runs that send nothing. Highest values
of memory, threads and files are over the whole run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from telemark.pipeline.tables import Row
from telemark.store.layout import RunFolder
from telemark.verdicts import limits
from telemark.verdicts.fit import Line

FOCUS: Final = ("measure", "hold", "connect")


class HealthOfRun:
    """Health of one run by source, metric and phase. A missing sample is None, never zero."""

    def __init__(self, rows: Iterable[Mapping[str, Any]], focus: str | None) -> None:
        self._rows = {(row["source"], row["metric"], row["phase"]): row for row in rows}
        self._focus = focus

    def at(self, source: str, metric: str, figure: str, phase: str | None = None) -> float | None:
        """One figure over a phase, by default the focus."""
        row = self._rows.get((source, metric, phase or self._focus))
        return None if row is None else row[figure]

    def highest(self, source: str, metric: str, figure: str = "max_all") -> float | None:
        """The highest value in any phase; what was sampled before connecting is left out."""
        values = [
            row[figure]
            for (where, name, phase), row in self._rows.items()
            if (where, name) == (source, metric) and phase != "idle"
        ]
        return max(values, default=None)


@dataclass(frozen=True, slots=True)
class Work:
    """What the server did in the focus of the run."""

    seconds: float | None
    messages: int | None  # sent or received, whichever is more
    connections: int | None


def focus_of(run: RunFolder) -> str | None:
    """The phase a run is about."""
    return next(
        (name for name in FOCUS if run.facts.phases.get(name, (0, 0))[1] > run.facts.phases.get(name, (0, 0))[0]), None
    )


def resource_row(health: HealthOfRun, work: Work, backlog: Line | None) -> Row:
    """One row of the table, but for campaign and run."""
    server_cpu = health.at("server", "cpu_cores", "mean_all")
    engine_cpu = health.at("engine", "cpu_cores", "mean_all")
    return {
        "server_cpu_cores_mean": server_cpu,
        "server_cpu_share_mean": _share_of_all_cores(server_cpu, health),
        "server_cpu_cores_max": health.at("server", "cpu_cores", "max_all"),
        "server_busiest_thread_cores": health.at("server", "busiest_thread_cores", "busiest"),
        "host_cores": _cores(health),
        "host_core_busy_max": health.at("host", "cpu_busy", "busiest"),
        "host_cpu_busy_mean": health.at("host", "cpu_busy", "mean_each"),
        "host_cpu_not_idle_mean": _not_idle(health),
        "host_steal_mean": health.at("host", "cpu_steal", "mean_each"),
        **_memory(health, work),
        "server_cpu_us_per_message": _per_message(server_cpu, work),
        "disk_write_bytes": health.at("host", "disk_write_bytes", "total"),
        "disk_busy_max": health.at("host", "disk_busy", "max_largest"),
        "network_bytes": health.at("host", "network_bytes", "total"),
        "tcp_retransmits": health.at("host", "tcp_retransmits", "total"),
        "server_open_files_max": health.highest("server", "open_files"),
        "server_threads_max": health.highest("server", "threads"),
        **_buffered(health, backlog),
        "receive_queue_bytes_server_max": health.at("server", "receive_queue_bytes", "max_all"),
        "receive_queue_bytes_engine_max": health.at("engine", "receive_queue_bytes", "max_all"),
        "engine_cpu_cores_mean": engine_cpu,
        "engine_busiest_thread_cores": health.at("engine", "busiest_thread_cores", "busiest"),
        "engine_cpu_us_per_message": _per_message(engine_cpu, work),
        "engine_rss_bytes_max": _whole(health.highest("engine", "rss_bytes")),
        "consumer_cpu_cores_mean": health.at("consumer", "cpu_cores", "mean_all"),
        "consumer_heap_bytes_max": _whole(health.highest("consumer", "heap_bytes")),
    }


def _cores(health: HealthOfRun) -> int | None:
    """The idle shares of the cores, by sum and by mean, tell how many there are; of a busy host the busy ones do."""
    for metric in ("cpu_idle", "cpu_busy"):
        together, each = (health.at("host", metric, figure) for figure in ("mean_all", "mean_each"))
        if together and each:
            return round(together / each)
    return None


def _share_of_all_cores(used: float | None, health: HealthOfRun) -> float | None:
    """As a share of the machine."""
    cores = _cores(health)
    return None if used is None or not cores else used / cores


def _not_idle(health: HealthOfRun) -> float | None:
    """100 - idle: `cpu_idle` includes the time that a core waits for a disk, which is not idle here."""
    idle, waiting = (health.at("host", metric, "mean_each") for metric in ("cpu_idle", "cpu_wait"))
    return None if idle is None or waiting is None else 1.0 - (idle - waiting)


def _memory(health: HealthOfRun, work: Work) -> Row:
    idle = health.at("server", "rss_bytes", "mean_all", "idle")
    heap_idle = health.at("counters", "heap_bytes", "mean_all", "idle")
    return {
        "server_rss_bytes_max": _whole(health.highest("server", "rss_bytes")),
        "server_pss_bytes_max": _whole(health.highest("server", "pss_bytes")),
        "server_rss_bytes_idle": _whole(idle),
        "server_bytes_per_connection": _per_connection(health, "server", "rss_bytes", work),
        "server_heap_bytes_max": _whole(health.highest("counters", "heap_bytes")),
        "server_heap_bytes_idle": _whole(heap_idle),
        "server_heap_bytes_per_connection": _per_connection(health, "counters", "heap_bytes", work),
        "host_memory_used_bytes_max": _whole(health.highest("host", "memory_used_bytes")),
        "host_memory_used_bytes_idle": _whole(health.at("host", "memory_used_bytes", "mean_all", "idle")),
    }


def _per_connection(health: HealthOfRun, source: str, metric: str, work: Work) -> float | None:
    """What a quantity grew by since it was idle, for each device; None when that is within its noise."""
    idle = health.at(source, metric, "mean_all", "idle")
    loaded = health.at(source, metric, "mean_all", "hold")
    if loaded is None:
        loaded = health.at(source, metric, "mean_all")
    if idle is None or loaded is None or not work.connections:
        return None
    grown = loaded - idle
    return grown / work.connections if grown > limits.MEMORY_NOISE_BYTES else None


def _buffered(health: HealthOfRun, backlog: Line | None) -> Row:
    mark, sampled = (health.highest("counters", name) for name in ("largest_queue_hwm", "largest_queue"))
    return {
        "buffered_hwm": sampled if mark is None else mark,
        "buffered_hwm_source": "server" if mark is not None else None if sampled is None else "samples",
        "buffered_slope_per_s": None if backlog is None else backlog.slope,
        "buffered_slope_low": None if backlog is None else backlog.slope_low,
        "buffered_slope_high": None if backlog is None else backlog.slope_high,
    }


def _per_message(cores: float | None, work: Work) -> float | None:
    if cores is None or not work.messages or not work.seconds:
        return None
    return cores * 1e6 * work.seconds / work.messages


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def full_seconds(run: RunFolder, intervals: Sequence[Mapping[str, Any]], phase: str) -> list[Mapping[str, Any]]:
    """The seconds that lie wholly within a phase: only those are comparable with each other."""
    window, start = run.facts.phases.get(phase), run.facts.start_ns
    if window is None or start is None:
        return []
    begin, end = window[0] - start, window[1] - start
    second = 1_000_000_000
    return [row for row in intervals if begin <= row["second"] * second and (row["second"] + 1) * second <= end]
