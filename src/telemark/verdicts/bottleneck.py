"""Which side gave out first, with the evidence. Pure: from one row of `points`.

The order is that of proof: an engine that was late says nothing about the server; a server that is busy on all it
may use is the plainest cause; unread socket queues tell who did not keep reading when no processor shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from telemark.verdicts import limits
from telemark.verdicts.judge import NOT_SAMPLED


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """The side that gave out, in one word, and why we think so."""

    side: str  # engine, server, host, disk, network, consumer, unknown
    part: str  # for example "one thread", "all cores"
    evidence: tuple[str, ...]
    doubt: str = ""  # what else may have been the limit; empty when the finding is clear


def find_bottleneck(point: Mapping[str, Any]) -> Bottleneck:
    """Judge the run of `point`; best: of the lowest rate that failed."""
    if point.get("engine_bound"):
        reason = point.get("engine_bound_reason") or "the engine was late"
        return Bottleneck("engine", "load generator", (str(reason),))
    for look in (_server_cpu, _disk, _host_cpu, _network, _queues):
        found = look(point)
        if found is not None:
            return replace(found, doubt=_doubt(point))
    seen = "no resource was near its limit in the samples of this run"
    return Bottleneck("unknown", "", (seen, *([] if point.get("server_host") else [NOT_SAMPLED])))


def _doubt(point: Mapping[str, Any]) -> str:
    """An engine near its own limit may have given out together with what was found."""
    thread = point.get("engine_busiest_thread_cores")
    if thread is None or thread < limits.BUSY_ENGINE:
        return ""
    return f"not clear: the engine's busiest thread used {thread:.0%} of a core as well"


def _server_cpu(point: Mapping[str, Any]) -> Bottleneck | None:
    used, thread = point.get("server_cpu_cores_mean"), point.get("server_busiest_thread_cores")
    cores = point.get("host_cores")
    if used is not None and cores and used >= limits.BUSY * cores:
        return Bottleneck("server", "all cores", (f"the server used {used:.2f} of {cores} cores",))
    if thread is not None and thread >= limits.BUSY:
        evidence = [f"the server's busiest thread used {thread:.0%} of a core"]
        if used is not None:
            evidence.append(f"the server as a whole used {used:.2f} of {cores or 'an unknown number of'} cores")
        return Bottleneck("server", "one thread", tuple(evidence))
    return None


def _disk(point: Mapping[str, Any]) -> Bottleneck | None:
    busy = point.get("disk_busy_max")
    if busy is None or busy < limits.BUSY:
        return None
    return Bottleneck("disk", "writes", (f"the disk was busy {busy:.0%} of a second",))


def _host_cpu(point: Mapping[str, Any]) -> Bottleneck | None:
    busy = point.get("host_cpu_busy_mean")
    if busy is None or busy < limits.BUSY:
        return None
    together = point.get("server_host") == point.get("host")  # else engine and consumers used other cores
    parts = {"server": "server", "engine": "engine", "consumers": "consumer"} if together else {"server": "server"}
    shares = [
        f"{name} {point[f'{part}_cpu_cores_mean']:.2f} cores"
        for name, part in parts.items()
        if point.get(f"{part}_cpu_cores_mean") is not None
    ]
    cores = f"all {point['host_cores']}" if point.get("host_cores") else "all"
    return Bottleneck("host", "all cores", (f"{cores} cores together were {busy:.0%} busy", *shares))


def _network(point: Mapping[str, Any]) -> Bottleneck | None:
    retransmits = point.get("tcp_retransmits")
    if retransmits is None or retransmits < limits.RETRANSMITS:
        return None
    return Bottleneck("network", "loss", (f"{retransmits:.0f} TCP segments were sent again",))


def _queues(point: Mapping[str, Any]) -> Bottleneck | None:
    server, engine = point.get("receive_queue_bytes_server_max"), point.get("receive_queue_bytes_engine_max")
    if server is not None and server >= limits.QUEUE_BYTES and server >= (engine or 0):
        return Bottleneck("server", "reading", (f"{server:.0f} bytes lay unread in the server's sockets",))
    if engine is not None and engine >= limits.QUEUE_BYTES:
        return Bottleneck("engine", "reading", (f"{engine:.0f} bytes lay unread in the engine's sockets",))
    return None
