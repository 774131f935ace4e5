"""A run plan cut into engine processes: nothing is lost, doubled or renumbered."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemark.catalog import load, plan_points
from telemark.errors import ConfigError, RequirementError
from telemark.model.plan import (
    Endpoint,
    EnginePlan,
    Group,
    Idle,
    ListenerPlan,
    LoadShape,
    Phases,
    Publish,
    RunPlan,
    Subscription,
    Tls,
)
from telemark.model.plan.shapes.batched import Batched
from telemark.model.plan.shapes.every import Every
from telemark.model.plan.shapes.paced import Paced
from telemark.model.plan.shapes.windowed import Windowed
from telemark.model.shares import share_out
from telemark.model.slicing import HostLimits, Place, PlacedPlan, place_plan, share_load
from tests.support.slicing import slice_plan

LIMITS = HostLimits(open_files=1100, source_ports=28_000)


def a_plan(publishers: int = 1000, subscribers: int = 10, load_: LoadShape | None = None) -> RunPlan:
    subscriptions = (Subscription("a/{index}", 1, 0), Subscription("b/{index}", 0, subscribers))
    return RunPlan(
        suite="test",
        scenario="slicing",
        point="only",
        size="quick",
        seed=7,
        parameters={},
        groups=(
            Group("subscribers", subscribers, endpoints=("plain",), subscriptions=subscriptions),
            Group("publishers", publishers, first_device=subscribers, publish=Publish("a/{index}", 1)),
        ),
        load=load_ or Paced(rate=1000.0),
        phases=Phases(warmup_s=2, measure_s=8),
        connect_rate=500,
    )


def cut(plan: RunPlan, processes: int = 0, limits: HostLimits = LIMITS) -> tuple[EnginePlan, ...]:
    endpoints = {name: Endpoint(name, "127.0.0.1", 1883 + n) for n, name in enumerate(plan.with_endpoint_names())}
    return slice_plan(plan, endpoints, run="run", limits=limits, processes=processes)


@given(st.integers(1, 500), st.integers(1, 40), st.integers(1, 7))
def test_every_number_appears_once_over_all_processes(publishers: int, subscribers: int, processes: int) -> None:
    """Devices, streams and subscriptions keep their numbers of the whole run."""
    engines = cut(a_plan(publishers, subscribers), processes)

    devices = [group.first_device + n for engine in engines for group in engine.groups for n in range(group.count)]
    streams = [
        group.publish.first_stream + n
        for engine in engines
        for group in engine.groups
        if group.publish
        for n in range(group.count)
    ]
    subscriptions = [
        each.first_subscription + n
        for engine in engines
        for group in engine.groups
        for each in group.subscriptions
        for n in range(group.count)
    ]
    assert list(range(publishers + subscribers)) == sorted(devices)
    assert list(range(publishers)) == sorted(streams)
    assert list(range(2 * subscribers)) == sorted(subscriptions)


def test_index_and_stream_move_together() -> None:
    """The n-th publisher of a group is index n and stream n wherever it is played."""
    for engine in cut(a_plan(), 3):
        for group in engine.groups:
            if group.publish:
                assert group.first_index == group.publish.first_stream
                assert group.first_device == 10 + group.first_index


def test_the_file_limit_sets_the_number_of_processes() -> None:
    """1,100 files leave room for 1,000 devices each."""
    engines = cut(a_plan(publishers=2500, subscribers=10))

    assert 3 == len(engines)
    assert all(sum(group.count for group in engine.groups) <= 1000 for engine in engines)


def test_rates_add_up_to_the_rate_of_the_run() -> None:
    """Each process sends in proportion to its publishers, in a slot of its own."""
    engines = cut(a_plan(publishers=10), 3)

    assert 1000.0 == pytest.approx(sum(engine.load.offered_rate() for engine in engines))
    assert [0, 1, 2] == [engine.slot for engine in engines]
    assert 500.0 == pytest.approx(sum(engine.connect_rate for engine in engines))
    assert {10.0} == {engine.send_for_s for engine in engines}


def test_batched_load_keeps_partitions_whole() -> None:
    """A partition's batch is sent by one process; four partitions over three processes are 1, 1 and 2."""
    engines = cut(a_plan(publishers=400, load_=Batched(batch=10, period_ms=100, partitions=4)), 3)

    for engine in engines:
        publishers = sum(group.count for group in engine.groups if group.publish)
        assert publishers == 100 * engine.load.partitions
    assert 4 == sum(engine.load.partitions for engine in engines)


def test_partitions_that_do_not_divide_are_refused() -> None:
    """Unequal partitions would send at unequal rates, silently."""
    with pytest.raises(ConfigError, match="equal partitions"):
        cut(a_plan(publishers=401, load_=Batched(batch=10, period_ms=100, partitions=4)))


def test_a_closed_loop_over_several_processes_relays_its_credits() -> None:
    """Windows and limits are shared out exactly; one process alone needs no relay."""
    plan = a_plan(publishers=100, load_=Windowed(window=500, refill=100, limit=10_001))

    several, alone = cut(plan, 3), cut(plan, 1)

    assert 500 == sum(engine.load.window for engine in several)
    assert 10_001 == sum(engine.load.limit or 0 for engine in several)
    assert all(engine.relay_credits for engine in several)
    assert not alone[0].relay_credits


def test_every_process_takes_the_largest_message_of_the_plan() -> None:
    """Also those that play only subscribers: what they receive is sent elsewhere."""
    plan = a_plan()
    large = replace(plan.groups[1], publish=Publish("a/{index}", size_max=40_000_000))

    assert {engine.max_packet_size for engine in cut(plan, 3)} == {16 << 20}
    larger = cut(replace(plan, groups=(plan.groups[0], large)), 3)
    assert {engine.max_packet_size for engine in larger} == {40_000_000 + (128 << 10)}


def test_only_one_process_sends_an_every_load() -> None:
    """One message every so often means one sender in the whole run."""
    shapes = [engine.load.shape for engine in cut(a_plan(publishers=9, load_=Every(every_s=20)), 3)]

    assert ["every", "idle", "idle"] == sorted(shapes)


def test_a_process_without_publishers_is_idle() -> None:
    """It must not wait for a schedule it has no part in."""
    assert [Idle(), Paced(rate=5.0)] == share_load(Paced(rate=5.0), [0, 3])


@given(st.integers(0, 10_000), st.lists(st.integers(0, 100), min_size=1, max_size=9))
def test_shares_are_whole_and_add_up(total: int, weights: list[int]) -> None:
    """Nothing is rounded away."""
    shares = share_out(total, weights)

    assert (total if sum(weights) else 0) == sum(shares)
    assert all(share == 0 for share, weight in zip(shares, weights, strict=True) if weight == 0)


def test_more_connections_than_ports_spread_over_loopback_addresses() -> None:
    """60,000 connections to one listener need five addresses at 12,600 ports each that are found at once."""
    engines = cut(a_plan(publishers=60_000), limits=HostLimits(open_files=100_000, source_ports=28_000))

    addresses = engines[0].groups[-1].source_addresses
    assert 5 == len(set(addresses))
    assert all(address.startswith("127.") for address in addresses)


def test_addresses_and_listeners_pair_up_in_every_way() -> None:
    """Both are taken in turn by index: with two listeners the number of addresses must be odd."""
    plan = a_plan(publishers=90_000)
    plan = replace(plan, groups=(replace(plan.groups[1], endpoints=("plain-1", "plain-2"), first_device=0),))

    engines = cut(plan, limits=HostLimits(open_files=100_000, source_ports=28_000))

    assert 5 == len(engines[0].groups[0].source_addresses)


def test_a_remote_server_with_too_few_ports_is_refused() -> None:
    """Addresses of 127.0.0.0/8 reach no other host."""
    plan = a_plan(publishers=60_000)

    with pytest.raises(RequirementError, match="source addresses"):
        slice_plan(plan, {"plain": Endpoint("plain", "192.0.2.1", 1883)}, run="run", limits=LIMITS)


def test_a_listener_the_server_lacks_is_named() -> None:
    """The runner must learn it before it starts a process."""
    with pytest.raises(ConfigError, match="plain"):
        slice_plan(a_plan(), {}, run="run", limits=LIMITS)


def test_the_scenarios_cipher_wins_over_the_servers_choice() -> None:
    """The address and the CA come from the server, version and cipher from the scenario."""
    plan = a_plan()
    plan = replace(plan, listeners=(ListenerPlan("plain", "tls", "1.2", "AES256-GCM-SHA384"),))
    offered = {"plain": Endpoint("plain", "127.0.0.1", 8883, Tls(version="1.3", ca="ca.crt"))}

    endpoint = slice_plan(plan, offered, run="run", limits=LIMITS)[0].endpoints[0]

    assert endpoint.tls == Tls(version="1.2", cipher="AES256-GCM-SHA384", ca="ca.crt")


def test_half_a_million_devices_are_cut_into_26_processes_of_20000_files() -> None:
    """The largest MessageSight point on a host with the usual limit."""
    plan = plan_points(load().find("messagesight/FANIN.Q0.PARTITIONS"), "published")[-1]

    engines = cut(plan, limits=HostLimits(open_files=20_000))

    assert 26 == len(engines)
    assert 512_100 == sum(group.count for engine in engines for group in engine.groups)


def placed(plan: RunPlan, *places: Place, host: str = "10.0.0.9") -> tuple[PlacedPlan, ...]:
    endpoints = {name: Endpoint(name, host, 1883) for name in plan.with_endpoint_names()}
    return place_plan(plan, endpoints, run="run", places=places)


def test_hosts_play_the_groups_of_their_roles() -> None:
    """Publishers on two hosts, subscribers on a third; numbers stay those of the whole run."""
    hosts = [Place("p1", LIMITS, subscribers=False), Place("p2", LIMITS, subscribers=False)]
    found = placed(a_plan(1000), *hosts, Place("s", LIMITS, publishers=False))

    assert [
        ("p1", "publishers", 500), ("p2", "publishers", 500), ("s", "subscribers", 10)
    ] == [(each.host, group.name, group.count) for each in found for group in each.plan.groups]  # fmt: skip
    assert [each.plan.process for each in found] == [0, 1, 2]
    assert [each.plan.groups[0].first_index for each in found] == [0, 500, 0]


def test_every_host_has_as_many_processes_as_its_own_limits_demand() -> None:
    """A host that may open fewer files needs more processes for the same devices."""
    small = Place("small", HostLimits(open_files=600, source_ports=28_000))
    found = placed(a_plan(2000, 0), Place("large", LIMITS), small)

    assert [each.host for each in found] == ["large", "small", "small"]


def test_a_group_that_no_host_may_play_is_refused() -> None:
    with pytest.raises(ConfigError, match="group subscribers: no host has the role subscribers"):
        placed(a_plan(), Place("p", LIMITS, subscribers=False))


def test_devices_connect_from_the_addresses_of_their_host() -> None:
    """Two addresses have twice the ports; with one too few the plan is refused before anything starts."""
    few = HostLimits(open_files=10_000, source_ports=1000)
    found = placed(a_plan(1700, 0), Place("a", few, source_addresses=("10.0.0.1", "10.0.0.2")))

    assert found[0].plan.groups[0].source_addresses == ("10.0.0.1", "10.0.0.2")
    with pytest.raises(RequirementError, match="need 2 source addresses, one has 1000 ports and 1 may be used"):
        placed(a_plan(1700, 0), Place("a", few, source_addresses=("10.0.0.1",)))
