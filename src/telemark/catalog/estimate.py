"""What a plan asks of this host, before anything starts: devices, topics, rates, processes, files, memory, time.

Memory and disk are estimates from the sizes below, rounded up; they are for deciding whether to try, never results.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from telemark.catalog.audience import fan_out
from telemark.catalog.host import HostFacts
from telemark.model.pattern import Field, parse
from telemark.model.plan import Load, RunPlan
from telemark.model.slicing import RESERVED_FILES, addresses_needed, device_count, processes_needed, publisher_count

# Bytes, rounded up from runs on Linux: a device of the engine, its TLS state, and both ends of a loopback connection.
DEVICE_BYTES = 4_096
TLS_BYTES = 50_000
KERNEL_BYTES = 12_000
PROCESS_BYTES = 120_000_000  # one engine process: Python, Arrow, record buffers
JVM_BYTES = 1_000_000_000  # the JMS consumers
ROW_BYTES = 20  # a delivery on disk, compressed
BUSY_RATE = 50_000  # messages in and out a second of one core above which calibration should be asked


@dataclass(frozen=True, slots=True)
class Estimate:
    """One point in numbers. What cannot be known in advance is None."""

    devices: int
    publishers: int
    subscriptions: int  # MQTT and JMS
    consumers: int  # JMS
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
    rate = offered_rate(plan.load)
    outgoing = None if rate is None else rate * fan_out(plan)
    sending = plan.phases.warmup_s + plan.phases.measure_s if plan.load.shape != "idle" else 0.0
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


def offered_rate(load: Load) -> float | None:
    """Messages a second the load wants to send on average; None for a closed loop, which the server paces."""
    if load.shape == "windowed":
        return None
    if load.shape == "batched":
        return load.batch * load.partitions * 1000.0 / load.period_ms
    if load.shape == "every":
        return 1.0 / load.every_s
    if load.shape == "burst":
        extra = (load.burst_rate - load.rate) * load.burst_s / load.burst_every_s
        return load.rate + extra
    if load.shape == "steps":
        seconds = sum(step.seconds for step in load.steps)
        return sum(step.seconds * step.rate for step in load.steps) / seconds if seconds else 0.0
    return load.rate if load.shape == "paced" else 0.0


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
    engine = devices * (DEVICE_BYTES + KERNEL_BYTES) + with_tls * TLS_BYTES + processes * PROCESS_BYTES
    return engine + (JVM_BYTES if plan.consumers else 0)


def obstacles(plan: RunPlan, needed: Estimate, host: HostFacts) -> list[str]:
    """Why this host cannot run the plan; empty when nothing is known to be in the way."""
    found = []
    server_files = needed.devices + needed.consumers + RESERVED_FILES
    if server_files > host.limits.open_files:
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
    if moved > BUSY_RATE * host.cores:
        found.append(
            f"{moved:,.0f} messages a second in and out on {host.cores} cores: `telemark calibrate` says whether the "
            "engine can; a run in which it cannot gets no verdict"
        )
    if plan.connect_rate > 20_000:
        found.append(f"{plan.connect_rate:,.0f} connections a second are more than one host makes: as fast as it can")
    return found
