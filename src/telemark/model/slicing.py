"""Cuts a `RunPlan` into one `EnginePlan` per engine process.

Every process gets a contiguous stretch of each group, so that numbers (index, device, stream, subscription) stay those
of the whole run. Rates, windows and limits are shared out by the number of publishers each process plays.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, gcd

from telemark.errors import ConfigError, RequirementError
from telemark.model.plan import Endpoint, EnginePlan, Group, ListenerPlan, Load, RunPlan, Step

RESERVED_FILES = 100  # of a process: its own libraries, pipes and record files
PORT_USE = 0.9  # share of the ephemeral ports a plan may count on: closed sockets linger


@dataclass(frozen=True, slots=True)
class HostLimits:
    """What one host allows; `telemark.catalog.host.read_limits` reads it."""

    open_files: int = 1024  # of one process, after raising the soft limit to the hard one
    source_ports: int = 28_232  # ephemeral ports of one source address

    def devices_per_process(self) -> int:
        """Connections one engine process can hold."""
        return max(1, self.open_files - RESERVED_FILES)


def device_count(plan: RunPlan) -> int:
    """All MQTT devices of the run."""
    return sum(group.count for group in plan.groups)


def publisher_count(plan: RunPlan) -> int:
    """All publishing devices of the run: its streams."""
    return sum(group.count for group in plan.groups if group.publish)


def processes_needed(plan: RunPlan, limits: HostLimits) -> int:
    """Fewest engine processes the file limit allows."""
    return max(1, ceil(device_count(plan) / limits.devices_per_process()))


def slice_plan(  # noqa: PLR0913 - keywords, each another decision of the caller
    plan: RunPlan,
    endpoints: Mapping[str, Endpoint],
    *,
    run: str,
    limits: HostLimits,
    processes: int = 0,
    threads: int = 1,
) -> tuple[EnginePlan, ...]:
    """One EnginePlan per process.

    Args:
        plan: the point to run.
        endpoints: address and TLS facts of every listener the plan names, from the server adapter.
        run: name of the run.
        limits: of the host the processes run on.
        processes: how many to use; 0 for as few as the file limit allows. Never fewer than it demands.
        threads: reactor threads of each process.

    Raises:
        ConfigError: an endpoint the groups name is not among the server's.
        RequirementError: a remote address needs more connections than one source address has ports.
    """
    _refuse_missing(plan, endpoints)
    count = max(processes, processes_needed(plan, limits))
    groups = with_source_addresses(plan.groups, endpoints, limits)
    parts = [_cut_group(group, plan.load, count, position) for position, group in enumerate(groups)]
    slices = [tuple(stretches[process] for stretches in parts) for process in range(count)]
    slices = [tuple(group for group in members if group.count) for members in slices]
    slices = [members for members in slices if members]
    loads = share_load(plan.load, [_publishers(members) for members in slices])
    secured = {listener.name: listener for listener in plan.listeners}
    total = device_count(plan)
    return tuple(
        EnginePlan(
            run=run,
            process=process,
            seed=plan.seed + process,
            endpoints=_resolve(members, endpoints, secured),
            groups=members,
            load=loads[process],
            threads=threads,
            connect_rate=plan.connect_rate * _devices(members) / total,
            connect_parallel=max(1, round(plan.connect_parallel * _devices(members) / total)),
            send_for_s=plan.phases.warmup_s + plan.phases.measure_s,
            relay_credits=plan.load.shape == "windowed" and len(slices) > 1,
        )
        for process, members in enumerate(slices)
    )


def _devices(groups: Sequence[Group]) -> int:
    return sum(group.count for group in groups)


def _publishers(groups: Sequence[Group]) -> int:
    return sum(group.count for group in groups if group.publish)


def _refuse_missing(plan: RunPlan, endpoints: Mapping[str, Endpoint]) -> None:
    missing = [name for name in plan.with_endpoint_names() if name not in endpoints]
    if missing:
        raise ConfigError(
            f"endpoints {', '.join(missing)} of {plan.suite}/{plan.scenario}: the server offers {', '.join(endpoints)}",
            hint="a remote server's listeners are given by name, see `telemark servers`",
        )


def _resolve(
    groups: Sequence[Group], endpoints: Mapping[str, Endpoint], asked: Mapping[str, ListenerPlan]
) -> tuple[Endpoint, ...]:
    names = dict.fromkeys(name for group in groups for name in group.endpoints)
    return tuple(_with_security(name, endpoints[name], asked.get(name)) for name in names)


def _with_security(name: str, endpoint: Endpoint, asked: ListenerPlan | None) -> Endpoint:
    """The server's address with the TLS version and cipher the scenario insists on."""
    endpoint = replace(endpoint, name=name)
    if asked is None or endpoint.tls is None:
        return endpoint
    tls = replace(
        endpoint.tls, version=asked.tls_version or endpoint.tls.version, cipher=asked.cipher or endpoint.tls.cipher
    )
    return replace(endpoint, tls=tls)


def _cut_group(group: Group, load: Load, processes: int, position: int) -> list[Group]:
    """The stretch of a group each process plays; a stretch may be empty."""
    unit = _unit(group, load)
    shares = share_out(group.count // unit, [1] * processes)
    # Small groups start at another process each, so that one subscriber and one publisher do not share the first.
    turn = position % processes
    shares = shares[-turn:] + shares[:-turn] if turn else shares
    stretches: list[Group] = []
    offset = 0
    for units in shares:
        stretches.append(stretch(group, offset, units * unit))
        offset += units * unit
    return stretches


def _unit(group: Group, load: Load) -> int:
    """Devices that must stay together: a whole partition of batched load, else one."""
    if load.shape != "batched" or not group.publish or load.partitions <= 1:
        return 1
    if group.count % load.partitions:
        raise ConfigError(
            f"group {group.name}: {group.count} publishers do not divide into {load.partitions} equal partitions",
            hint="choose a number of publishers that is a multiple of the partition",
        )
    return group.count // load.partitions


def stretch(group: Group, offset: int, count: int) -> Group:
    """`count` devices of a group from its `offset`-th on, with their numbers of the whole run."""
    publish = group.publish and replace(group.publish, first_stream=group.publish.first_stream + offset)
    subscriptions = tuple(
        replace(subscription, first_subscription=subscription.first_subscription + offset)
        for subscription in group.subscriptions
    )
    return replace(
        group,
        count=count,
        first_index=group.first_index + offset,
        first_device=group.first_device + offset,
        publish=publish,
        subscriptions=subscriptions,
    )


def share_out(total: int, weights: Sequence[int]) -> list[int]:
    """Whole shares of `total` in proportion to the weights; they add up to it exactly."""
    whole = sum(weights)
    if not whole:
        return [0] * len(weights)
    ends, seen = [], 0
    for weight in weights:
        seen += weight
        ends.append(total * seen // whole)
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def share_load(load: Load, publishers: Sequence[int]) -> list[Load]:
    """The part of the load each process carries; a process without publishers is idle."""
    total = sum(publishers)
    senders = [process for process, count in enumerate(publishers) if count]
    windows = share_out(load.window, publishers)
    limits = share_out(load.limit, publishers) if load.limit is not None else [None] * len(publishers)
    shares: list[Load] = []
    for process, count in enumerate(publishers):
        if not count or (load.shape == "every" and process != senders[0]):
            shares.append(Load())
            continue
        part = count / total
        shares.append(
            replace(
                load,
                rate=load.rate * part,
                partitions=max(1, round(load.partitions * part)),
                window=windows[process],
                burst_rate=load.burst_rate * part,
                steps=tuple(Step(step.seconds, step.rate * part) for step in load.steps),
                limit=limits[process],
                slot=senders.index(process),
                slots=len(senders),
            )
        )
    return shares


def with_source_addresses(
    groups: tuple[Group, ...], endpoints: Mapping[str, Endpoint], limits: HostLimits
) -> tuple[Group, ...]:
    """Spread devices over several 127.0.0.0/8 source addresses when one has too few ports for them."""
    needed = addresses_needed(groups, limits)
    if needed <= 1:
        return groups
    hosts = {endpoints[name].host for group in groups for name in group.endpoints}
    remote = sorted(host for host in hosts if not is_loopback(host))
    if remote and not all(group.source_addresses for group in groups):
        raise RequirementError(
            f"{_devices(groups)} connections to {', '.join(remote)} need {needed} source addresses, "
            f"one has {limits.source_ports} ports",
            hint="widen net.ipv4.ip_local_port_range, or give the host more addresses and name them in the group",
        )
    return tuple(
        group if group.source_addresses else replace(group, source_addresses=_loopback_addresses(group, needed))
        for group in groups
    )


def addresses_needed(groups: Sequence[Group], limits: HostLimits) -> int:
    """Source addresses it takes so that no listener sees more connections from one than it has ports."""
    connections: dict[str, float] = {}
    for group in groups:
        for name in group.endpoints:
            connections[name] = connections.get(name, 0.0) + group.count / len(group.endpoints)
    busiest = max(connections.values(), default=0.0)
    return max(1, ceil(busiest / (limits.source_ports * PORT_USE)))


def _loopback_addresses(group: Group, needed: int) -> tuple[str, ...]:
    # Addresses and endpoints are both taken in turn by {index}: only coprime counts pair every one with every other.
    while gcd(needed, len(group.endpoints)) != 1:
        needed += 1
    return tuple(f"127.1.{number // 250}.{number % 250 + 1}" for number in range(needed))


def is_loopback(host: str) -> bool:
    """Whether an address is this host's own 127.0.0.0/8 (or its name)."""
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network("127.0.0.0/8")
    except ValueError:
        return host == "localhost"
