"""Was the engine the limit? Then the run says nothing about the server and gets no verdict.

The engine is late when messages leave after their time although no socket or in-flight window held them back; what the
server pushed back is the server's doing. It is starved when its own thread has no room left, or when other programs
took the processor. The rules are explained in docs/concepts/measuring.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from telemark.verdicts import limits


@dataclass(frozen=True, slots=True)
class LoadHost:
    """A host with devices or consumers, over the phase the run is about."""

    name: str  # empty when the run had one host
    cores: int
    busy: float  # share of all cores
    ours: float  # cores that server, engine and consumers used on it


def engine_bound(point: Mapping[str, Any], loop_lags_us: Sequence[float], hosts: Sequence[LoadHost]) -> str | None:
    """Why the engine was the limit; None when it was not, as far as the samples tell.

    Args:
        point: columns of `points`.
        loop_lags_us: the largest loop lag of each second of the measure phase.
        hosts: that send or receive; the worst counts.
    """
    reasons = [*_late(point), *_lagging(loop_lags_us), *(_full_thread(point) or _starved(hosts))]
    return "; ".join(reasons) or None


def _late(point: Mapping[str, Any]) -> list[str]:
    sent, pushed = point.get("sent") or 0, point.get("pushed_back") or 0
    found = []
    delay = point.get("send_delay_p99_us")
    if delay is not None and delay > limits.LATE_US and pushed <= limits.PUSHED_BACK_SHARE * sent:
        found.append(
            f"1 % of the messages left {delay / 1000:,.1f} ms or more late (limit {limits.LATE_US / 1000:g} ms)"
        )
    dropped = point.get("dropped") or 0
    if dropped and not pushed:
        found.append(f"{dropped:,} due messages were never sent although the server took all it was given")
    return found


def _lagging(lags_us: Sequence[float]) -> list[str]:
    if not lags_us:
        return []
    largest = max(lags_us)
    often = sum(lag > limits.OFTEN_LAG_US for lag in lags_us)
    if largest > limits.LOOP_LAG_US:
        return [f"a reactor thread was away for {largest / 1000:,.0f} ms (limit {limits.LOOP_LAG_US / 1000:g} ms)"]
    if often > limits.OFTEN * len(lags_us):
        return [
            f"a reactor thread was away for over {limits.OFTEN_LAG_US / 1000:g} ms in {often} of {len(lags_us)} seconds"
        ]
    return []


def _full_thread(point: Mapping[str, Any]) -> list[str]:
    thread = point.get("engine_busiest_thread_cores")
    if thread is None or thread <= limits.FULL_THREAD:
        return []
    return [f"an engine thread used {thread:.0%} of a core (limit {limits.FULL_THREAD:.0%})"]


def _starved(hosts: Sequence[LoadHost]) -> list[str]:
    """The host on which other programs took most, if they took much of a full one."""
    full = [host for host in hosts if host.busy >= limits.FULL_HOST]
    worst = max(full, key=lambda host: host.busy * host.cores - host.ours, default=None)
    if worst is None or worst.busy * worst.cores - worst.ours <= limits.OTHERS_CORES:
        return []
    others = worst.busy * worst.cores - worst.ours
    name = f" {worst.name}" if len(hosts) > 1 else ""
    return [f"the host{name} was {worst.busy:.0%} busy and other programs used {others:.1f} cores of it"]
