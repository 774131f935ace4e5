"""Sums over the engine processes of a run, as their status lines told them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Totals:
    """One moment of a run. Counts are of all engine processes together; for decisions and display, not for results."""

    devices: int = 0
    connected: int = 0
    ready: int = 0  # connected and subscribed
    failed: int = 0  # gave up connecting
    intended: int = 0
    sent: int = 0
    acked: int = 0
    dropped: int = 0
    received: int = 0
    disconnects: int = 0
    sending: bool = False
    stopped_ns: int | None = None  # loads with a limit: when the last process had sent its share
    p50_us: float | None = None  # of the last second, over the processes that received anything
    p99_us: float | None = None  # the worst process's
    send_delay_max_us: float | None = None  # largest sent - intended of a recent second, the worst process's
    loop_lag_max_us: float | None = None  # longest time away from the sockets, likewise

    @property
    def settled(self) -> bool:
        """Every device is connected and subscribed, or has given up."""
        return self.devices > 0 and self.ready + self.failed >= self.devices


_COUNTS = ("devices", "connected", "ready", "failed", "intended", "sent", "acked", "dropped", "received", "disconnects")


def add_up(statuses: Iterable[Mapping[str, Any]]) -> Totals:
    """Totals of the newest status of every process."""
    known = list(statuses)
    counts = {name: sum(int(status.get(name, 0)) for status in known) for name in _COUNTS}
    receiving = [status for status in known if status.get("latency_count")]
    weight = sum(status["latency_count"] for status in receiving)
    return Totals(
        **counts,
        sending=any(status.get("sending", False) for status in known),
        stopped_ns=_all_stopped([status["stopped_ns"] for status in known if "stopped_ns" in status]),
        p50_us=sum(status["p50_us"] * status["latency_count"] for status in receiving) / weight if weight else None,
        p99_us=_worst(receiving, "p99_us"),
        send_delay_max_us=_worst(known, "send_delay_max_us"),
        loop_lag_max_us=_worst(known, "loop_lag_max_us"),
    )


def _worst(statuses: Iterable[Mapping[str, Any]], name: str) -> float | None:
    return max((float(status[name]) for status in statuses if name in status), default=None)


def _all_stopped(times: list[int | None]) -> int | None:
    stopped = [time_ns for time_ns in times if time_ns is not None]
    return max(stopped) if stopped and len(stopped) == len(times) else None
