"""Which side gave out first, with the evidence. Pure: from one row of `points`.

The order is that of proof: an engine that was late says nothing about the server; a server that is busy on all it
may use is the plainest cause; unread socket queues tell who did not keep reading when no processor shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

BUSY: Final = 0.90  # of a core, a thread or a disk: above this it had nothing left to give
QUEUE_BYTES: Final = 64 * 1024  # unread bytes that are more than what is under way at any moment
RETRANSMITS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """The side that gave out, in one word, and why we think so."""

    side: str  # engine, server, host, disk, network, consumer, unknown
    part: str  # for example "one thread", "all cores"
    evidence: tuple[str, ...]


def find_bottleneck(point: Mapping[str, Any], cores: int) -> Bottleneck:
    """Judge the run of `point` (best: the lowest rate that failed) on a host with so many cores."""
    if point.get("engine_bound"):
        reason = point.get("engine_bound_reason") or "the engine was late"
        return Bottleneck("engine", "load generator", (str(reason),))
    for look in (_server_cpu, _disk, _host_cpu, _network, _queues):
        found = look(point, cores)
        if found is not None:
            return found
    return Bottleneck("unknown", "", ("no resource was near its limit in the samples of this run",))


def _server_cpu(point: Mapping[str, Any], cores: int) -> Bottleneck | None:
    used, thread = point.get("server_cpu_cores_mean"), point.get("server_busiest_thread_cores")
    if used is not None and used >= BUSY * cores:
        return Bottleneck("server", "all cores", (f"the server used {used:.2f} of {cores} cores",))
    if thread is not None and thread >= BUSY:
        evidence = [f"the server's busiest thread used {thread:.0%} of a core"]
        if used is not None:
            evidence.append(f"the server as a whole used {used:.2f} of {cores} cores")
        return Bottleneck("server", "one thread", tuple(evidence))
    return None


def _disk(point: Mapping[str, Any], cores: int) -> Bottleneck | None:
    busy = point.get("disk_busy_max")
    if busy is None or busy < BUSY:
        return None
    return Bottleneck("disk", "writes", (f"the disk was busy {busy:.0%} of a second",))


def _host_cpu(point: Mapping[str, Any], cores: int) -> Bottleneck | None:
    busy = point.get("host_cpu_busy_mean")
    if busy is None or busy < BUSY:
        return None
    shares = [
        f"{name} {point[column]:.2f} cores"
        for name, column in (
            ("server", "server_cpu_cores_mean"),
            ("engine", "engine_cpu_cores_mean"),
            ("consumers", "consumer_cpu_cores_mean"),
        )
        if point.get(column) is not None
    ]
    return Bottleneck("host", "all cores", (f"all {cores} cores together were {busy:.0%} busy", *shares))


def _network(point: Mapping[str, Any], cores: int) -> Bottleneck | None:
    retransmits = point.get("tcp_retransmits")
    if retransmits is None or retransmits < RETRANSMITS:
        return None
    return Bottleneck("network", "loss", (f"{retransmits:.0f} TCP segments were sent again",))


def _queues(point: Mapping[str, Any], cores: int) -> Bottleneck | None:
    server, engine = point.get("receive_queue_bytes_server_max"), point.get("receive_queue_bytes_engine_max")
    if server is not None and server >= QUEUE_BYTES and server >= (engine or 0):
        return Bottleneck("server", "reading", (f"{server:.0f} bytes lay unread in the server's sockets",))
    if engine is not None and engine >= QUEUE_BYTES:
        return Bottleneck("engine", "reading", (f"{engine:.0f} bytes lay unread in the engine's sockets",))
    return None
