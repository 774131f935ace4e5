"""Cuts a `RunPlan` into one `EnginePlan` per engine process.

Every process gets a contiguous stretch of each group, so that numbers (index, device, stream, subscription) stay those
of the whole run. Rates, windows and limits are shared out by the number of publishers each process plays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, gcd

from telemark.errors import ConfigError, RequirementError
from telemark.host.limits import HostLimits
from telemark.host.ports import is_loopback
from telemark.model.plan import Endpoint, EnginePlan, Group, Idle, ListenerPlan, LoadShape, RunPlan
from telemark.model.plan.engine import LARGEST_PACKET
from telemark.model.shares import share_out

PORT_USE = 0.9  # share of the ephemeral ports a plan may count on: closed sockets linger
# Linux gives connections the even ports first. When those are used up, every further connect looks through all of them:
# 128,000 devices from one address slowed down from thousands a second to 130 at the 14,116th connection to each server.
EASY_PORT_USE = 0.45

PACKET_HEADERS = 128 << 10  # bytes of topic and properties around a message


def device_count(plan: RunPlan) -> int:
    """All MQTT devices of the run."""
    return sum(group.count for group in plan.groups)


def publisher_count(plan: RunPlan) -> int:
    """All publishing devices of the run: its streams."""
    return sum(group.count for group in plan.groups if group.publish)


def processes_needed(plan: RunPlan, limits: HostLimits) -> int:
    """Fewest engine processes the file limit allows."""
    return max(1, ceil(device_count(plan) / limits.devices_per_process()))


@dataclass(frozen=True, slots=True)
class Place:
    """A host that engine processes run on, and whom they may play there."""

    host: str = ""  # its name in the bed file; empty: this host
    limits: HostLimits = field(default_factory=HostLimits)
    publishers: bool = True  # groups that publish, whatever else they do
    subscribers: bool = True  # groups that only subscribe, or only connect
    source_addresses: tuple[str, ...] = ()  # for groups that name none themselves

    def plays(self, group: Group) -> bool:
        """Whether devices of the group may be here."""
        return self.publishers if group.publish else self.subscribers


@dataclass(frozen=True, slots=True)
class PlacedPlan:
    """An engine process: what it does and where."""

    host: str
    plan: EnginePlan


def place_plan(  # noqa: PLR0913 - keywords, each another decision of the caller
    plan: RunPlan,
    endpoints: Mapping[str, Endpoint],
    *,
    run: str,
    places: Sequence[Place],
    processes: int = 0,
    threads: int = 1,
) -> tuple[PlacedPlan, ...]:
    """One EnginePlan per process, spread evenly over the hosts that may play each group.

    Args:
        plan: the point to run.
        endpoints: address and TLS facts of every listener the plan names, from the server adapter.
        run: name of the run.
        places: the hosts, with the limits of their processes.
        processes: how many to use on each; 0 for as few as the file limit allows. Never fewer than it demands.
        threads: reactor threads of each process.

    Raises:
        ConfigError: an endpoint the groups name is not among the server's, or no host may play a group.
        RequirementError: a remote address needs more connections than one source address has ports.
    """
    _refuse_missing(plan, endpoints)
    plan = spread(plan, endpoints)
    slots = _slots(plan, places, processes)
    slices = _cut(plan, slots)
    placed = [(place, members) for place, members in zip(slots, slices, strict=True) if members]
    addressed = _with_addresses(placed, endpoints)
    publishers = [_publishers(members) for members in addressed]
    loads = share_load(plan.load, publishers)
    senders = plan.load.senders(publishers)
    secured = {listener.name: listener for listener in plan.listeners}
    total = device_count(plan)
    return tuple(
        PlacedPlan(
            place.host,
            EnginePlan(
                run=run,
                process=process,
                seed=plan.seed + process,
                endpoints=_resolve(members, endpoints, secured),
                groups=members,
                load=loads[process],
                slot=senders.index(process) if process in senders else 0,
                slots=max(1, len(senders)),
                threads=threads,
                connect_rate=plan.connect_rate * _devices(members) / total,
                connect_parallel=max(1, round(plan.connect_parallel * _devices(members) / total)),
                send_for_s=plan.phases.warmup_s + plan.phases.measure_s,
                relay_credits=plan.load.closed_loop and len(placed) > 1,
                max_packet_size=_largest_packet(plan),
            ),
        )
        for process, ((place, _), members) in enumerate(zip(placed, addressed, strict=True))
    )


def address_name(listener: str, number: int) -> str:
    """Name of the endpoint that is a listener's address of this number, from 0; the first has the listener's name."""
    return f"{listener}#{number + 1}" if number else listener


def spread(plan: RunPlan, endpoints: Mapping[str, Endpoint]) -> RunPlan:
    """The plan with every address of a listener where its groups name the listener: devices take them in turn."""
    groups = tuple(
        replace(group, endpoints=tuple(each for name in group.endpoints for each in _addresses_of(name, endpoints)))
        for group in plan.groups
    )
    return replace(plan, groups=groups)


def _addresses_of(listener: str, endpoints: Mapping[str, Endpoint]) -> list[str]:
    return [name for name in endpoints if name.partition("#")[0] == listener] or [listener]


def _slots(plan: RunPlan, places: Sequence[Place], processes: int) -> list[Place]:
    """The host of every process, each host as often as its share of the devices demands."""
    devices = dict.fromkeys(range(len(places)), 0)
    for group in plan.groups:
        able = [number for number, place in enumerate(places) if place.plays(group)]
        if not able:
            role = "publishers" if group.publish else "subscribers"
            raise ConfigError(f"group {group.name}: no host has the role {role}", hint=f"give a host the role {role}")
        for number in able:
            devices[number] += ceil(group.count / len(able))
    counts = [
        max(processes, ceil(devices[number] / place.limits.devices_per_process())) if devices[number] else 0
        for number, place in enumerate(places)
    ]
    return [place for place, count in zip(places, counts, strict=True) for _ in range(count)]


def _cut(plan: RunPlan, slots: Sequence[Place]) -> list[tuple[Group, ...]]:
    """The groups each process plays."""
    slices: list[list[Group]] = [[] for _ in slots]
    for position, group in enumerate(plan.groups):
        able = [number for number, place in enumerate(slots) if place.plays(group)]
        for number, part in zip(able, _cut_group(group, plan.load, len(able), position), strict=True):
            slices[number] += [part] if part.count else []
    return [tuple(members) for members in slices]


def _with_addresses(
    placed: Sequence[tuple[Place, tuple[Group, ...]]], endpoints: Mapping[str, Endpoint]
) -> list[tuple[Group, ...]]:
    """Every process's groups with the source addresses of its host."""
    of_host: dict[str, list[Group]] = {}
    for place, members in placed:
        of_host.setdefault(place.host, []).extend(members)
    return [
        with_source_addresses(members, endpoints, place.limits, place.source_addresses, of_host[place.host])
        for place, members in placed
    ]


def _largest_packet(plan: RunPlan) -> int:
    """Room for the largest message of the plan; devices of other processes send some of those received here."""
    messages = [group.publish for group in plan.groups if group.publish]
    largest = max((message.size_max or message.size for message in messages), default=0)
    return max(LARGEST_PACKET, largest + PACKET_HEADERS)


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
    return tuple(_with_security(name, endpoints[name], asked.get(name.partition("#")[0])) for name in names)


def _with_security(name: str, endpoint: Endpoint, asked: ListenerPlan | None) -> Endpoint:
    """The server's address with the TLS version and cipher the scenario insists on."""
    endpoint = replace(endpoint, name=name)
    if asked is None or endpoint.tls is None:
        return endpoint
    tls = replace(
        endpoint.tls, version=asked.tls_version or endpoint.tls.version, cipher=asked.cipher or endpoint.tls.cipher
    )
    return replace(endpoint, tls=tls)


def _cut_group(group: Group, load: LoadShape, processes: int, position: int) -> list[Group]:
    """The stretch of a group each process plays; a stretch may be empty."""
    unit = load.unit(group.count) if group.publish else 1
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


def share_load(load: LoadShape, publishers: Sequence[int]) -> list[LoadShape]:
    """The part of the load each process carries; a process that does not send is idle."""
    senders = load.senders(publishers)
    return [load.share(process, publishers) if process in senders else Idle() for process in range(len(publishers))]


def with_source_addresses(
    groups: tuple[Group, ...],
    endpoints: Mapping[str, Endpoint],
    limits: HostLimits,
    own: tuple[str, ...] = (),
    together: Sequence[Group] | None = None,
) -> tuple[Group, ...]:
    """Groups that name no source addresses get those of their host, or 127.0.0.0/8 when one has too few ports.

    Args:
        groups: of one process.
        endpoints: the server's addresses.
        limits: of the host.
        own: the host's addresses, from the bed file or `--source-addresses`.
        together: the groups of all processes of the host; `groups` alone when None.
    """
    all_groups = groups if together is None else together
    needed = addresses_needed(all_groups, limits, endpoints)
    named = min((_usable(len(group.source_addresses or own), group) for group in all_groups), default=0)
    hosts = {endpoints[name].host for group in groups for name in group.endpoints}
    remote = sorted(host for host in hosts if not is_loopback(host))
    if remote and needed > max(1, named):
        raise RequirementError(
            f"{_devices(all_groups)} connections to {', '.join(remote)} need {needed} source addresses, "
            f"one has {limits.source_ports} ports and {max(1, named)} may be used",
            hint="widen net.ipv4.ip_local_port_range, or give the host more addresses and name them",
        )
    if not remote and not own:
        needed = addresses_needed(all_groups, limits, endpoints, EASY_PORT_USE)
    if needed <= 1 and not own:
        return groups
    return tuple(
        group if group.source_addresses else replace(group, source_addresses=own or _loopback_addresses(group, needed))
        for group in groups
    )


def _usable(addresses: int, group: Group) -> int:
    """Addresses that one listener sees: both are taken in turn by {index}, so common divisors pair the same ones."""
    return addresses // gcd(addresses, len(group.endpoints)) if addresses else 0


def addresses_needed(
    groups: Sequence[Group],
    limits: HostLimits,
    endpoints: Mapping[str, Endpoint] | None = None,
    use: float = PORT_USE,
) -> int:
    """Source addresses it takes so that no listener sees more connections from one than it has ports.

    Where the endpoints are known, listeners at the same address and port count as one.
    """
    connections: dict[tuple[str, int], float] = {}
    for group in groups:
        for name in group.endpoints:
            place = (endpoints[name].host, endpoints[name].port) if endpoints else (name, 0)
            connections[place] = connections.get(place, 0.0) + group.count / len(group.endpoints)
    busiest = max(connections.values(), default=0.0)
    return max(1, ceil(busiest / (limits.source_ports * use)))


def _loopback_addresses(group: Group, needed: int) -> tuple[str, ...]:
    # Addresses and endpoints are both taken in turn by {index}: only coprime counts pair every one with every other.
    while gcd(needed, len(group.endpoints)) != 1:
        needed += 1
    return tuple(f"127.1.{number // 250}.{number % 250 + 1}" for number in range(needed))
