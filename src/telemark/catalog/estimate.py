"""What a plan asks of this host, before anything starts: devices, topics, rates, processes, files, memory, time.

Memory and disk are estimates from the sizes in `host/sizes.py`; they are for deciding whether to try, never results.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from telemark.host.limits import RESERVED_FILES, SERVER_FILES, HostFacts
from telemark.host.sizes import CORE_RATE, DEVICE_BYTES, PROCESS_BYTES, ROW_BYTES, SOCKET_BYTES, TLS_BYTES
from telemark.model.audience import fan_out
from telemark.model.pattern import Field, parse
from telemark.model.plan import RunPlan
from telemark.model.slicing import addresses_needed, device_count, processes_needed, publisher_count


@dataclass(frozen=True, slots=True)
class Estimate:
    """One point in numbers. What cannot be known in advance is None."""

    devices: int
    publishers: int
    subscriptions: int  # of devices and consumers
    consumers: int
    topics: int
    messages_in: float | None  # a second; None for a closed loop
    messages_out: float | None
    seconds: float  # connect at the planned rate, hold, warm-up, measure; not drain. A load with a limit may end early
    processes: int
    files_per_process: int
    files: int  # sockets of the devices and, on the same host, of the server
    source_addresses: int
    memory_bytes: int
    disk_bytes: int | None


def estimate(plan: RunPlan, host: HostFacts) -> Estimate:
    """What the plan needs when devices and server share this host."""
    devices = device_count(plan)
    processes = processes_needed(plan, host.limits)
    rate = plan.load.offered_rate()
    outgoing = None if rate is None else rate * fan_out(plan)
    sending = plan.phases.warmup_s + plan.phases.measure_s if plan.load.sends else 0.0
    return Estimate(
        devices=devices,
        publishers=publisher_count(plan),
        subscriptions=_subscription_count(plan),
        consumers=plan.consumers.count if plan.consumers else 0,
        topics=_topic_count(plan),
        messages_in=rate,
        messages_out=outgoing,
        seconds=_connect_seconds(plan, devices) + plan.phases.hold_s + sending,
        processes=processes,
        files_per_process=-(-devices // processes) + RESERVED_FILES,
        files=2 * devices + (processes + 1) * RESERVED_FILES,
        source_addresses=addresses_needed(plan.groups, host.limits),
        memory_bytes=_memory(plan, devices, processes),
        disk_bytes=None if outgoing is None else int(outgoing * sending * ROW_BYTES),
    )


def _connect_seconds(plan: RunPlan, devices: int) -> float:
    return devices / plan.connect_rate if plan.connect_rate else 0.0


def _subscription_count(plan: RunPlan) -> int:
    mqtt = sum(group.count * len(group.subscriptions) for group in plan.groups)
    return mqtt + (plan.consumers.count if plan.consumers else 0)


def _topic_count(plan: RunPlan) -> int:
    return sum(_topics_of(group.publish.topic, group.count) for group in plan.groups if group.publish)


@lru_cache(maxsize=256)
def _topics_of(text: str, count: int) -> int:
    """Different topics of a group of publishers."""
    pattern = parse(text)
    cycle = pattern.sequence_cycle() or 1
    if not pattern.uses("index"):
        return cycle
    if any(isinstance(part, Field) and part == Field("index") for part in pattern.parts):
        return count * cycle
    return len({pattern.expand(index) for index in range(count)}) * cycle


def _memory(plan: RunPlan, devices: int, processes: int) -> int:
    secured = {listener.name for listener in plan.listeners if listener.security != "none"}
    with_tls = sum(group.count for group in plan.groups if secured & set(group.endpoints))
    engine = devices * (DEVICE_BYTES + SOCKET_BYTES) + with_tls * TLS_BYTES + processes * PROCESS_BYTES
    return engine + (plan.consumers.memory_bytes if plan.consumers else 0)


def obstacles(needed: Estimate, host: HostFacts, *, server_here: bool = True) -> list[str]:
    """Why this host cannot run the plan; empty when nothing is known to be in the way."""
    found = []
    server_files = needed.devices + needed.consumers + SERVER_FILES
    if server_here and server_files > host.limits.open_files:
        found.append(
            f"a server on this host needs {server_files:,} open files in one process, the limit is "
            f"{host.limits.open_files:,}: raise it (ulimit -Hn, /etc/security/limits.conf) or use a remote server"
        )
    if needed.files > host.system_files:
        found.append(f"all processes need {needed.files:,} open files, fs.file-max is {host.system_files:,}")
    if needed.memory_bytes > host.memory_bytes:
        found.append(
            f"about {needed.memory_bytes / 2**30:.1f} GiB of memory without the server's own, "
            f"{host.memory_bytes / 2**30:.1f} GiB are available"
        )
    return found


def doubts(plan: RunPlan, needed: Estimate, host: HostFacts) -> list[str]:
    """What may make the numbers worthless though the plan can run."""
    found = []
    moved = (needed.messages_in or 0.0) + (needed.messages_out or 0.0)
    if moved > CORE_RATE * host.cores:
        found.append(
            f"{moved:,.0f} messages a second in and out on {host.cores} cores: `telemark calibrate` says whether the "
            "engine can; a run in which it cannot gets no verdict"
        )
    if plan.connect_rate > 20_000:
        found.append(f"{plan.connect_rate:,.0f} connections a second are more than one host makes: as fast as it can")
    return found
