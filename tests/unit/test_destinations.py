"""Where devices connect to and from: several addresses of a server, and what `plan` and `run` refuse alike."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from telemark.campaigns import CampaignOptions
from telemark.campaigns.campaign import run_campaign
from telemark.catalog import load, plan_points
from telemark.cli.plan import command
from telemark.errors import ConfigError, RequirementError
from telemark.host.limits import HostLimits
from telemark.model.plan import RunPlan
from telemark.model.slicing import Place, place_plan
from telemark.runner.feasible import planned_endpoints, why_impossible
from telemark.servers import registry
from telemark.servers.server_url import every_address, read_url

FEW_PORTS = HostLimits(open_files=20_000, source_ports=100)
(BURST,) = load().select("messagesight/CONNBURST")


def burst(devices: int = 300) -> RunPlan:
    """The connection burst with so many devices."""
    return plan_points(BURST, "quick", {"devices": devices})[0]


@pytest.mark.parametrize(
    ("url", "places"),
    [
        ("mqtt://a", [("a", 1883)]),
        ("mqtts://a:1,b", [("a", 1), ("b", 8883)]),
        ("mqtt://[::1]:7,[fe80::2]", [("::1", 7), ("fe80::2", 1883)]),
    ],
)
def test_a_url_may_name_several_addresses(url: str, places: list[tuple[str, int]]) -> None:
    """Each with its own port, or the usual one."""
    assert places == read_url(url, "plain")[1]


@pytest.mark.parametrize("url", ["http://a:1", "mqtt://", "mqtt://a:1,,b:2", "mqtt://a:port", "mqtt://u:secret@a:1"])
def test_a_url_with_a_mistake_in_it_is_refused(url: str) -> None:
    """A password too, and it is not repeated."""
    with pytest.raises(ConfigError) as caught:
        read_url(url, "plain")

    assert "secret" not in caught.value.message or "@" not in url


def test_a_name_with_several_addresses_is_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the preferred family; certificates are still verified by the name."""

    def resolve(*_: Any, **__: Any) -> list[Any]:
        families = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET, "192.0.2.2"), (socket.AF_INET6, "2001:db8::1"))
        return [(family, socket.SOCK_STREAM, 6, "", (address, 0)) for family, address in families]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)

    assert [("192.0.2.1", "cluster"), ("192.0.2.2", "cluster")] == every_address("cluster")
    (secured,) = load().select("messagesight/CONNBURST.SEC")
    adapter = registry.make("mqtts://cluster:8883", {"ca": "ca.pem"})
    tls = [endpoint.tls for endpoint in planned_endpoints(plan_points(secured, "quick")[0], adapter).values()]
    assert {"cluster"} == {each.server_name for each in tls if each}


def test_devices_take_the_addresses_in_turn() -> None:
    """Both listeners of the case are the same two addresses: four endpoints for the engine."""
    plan = burst()
    endpoints = planned_endpoints(plan, registry.make("mqtt://127.0.0.1:1,127.0.0.1:2"))

    (placed,) = place_plan(plan, endpoints, run="r", places=[Place(limits=HostLimits())])

    assert [1, 2, 1, 2] == [endpoint.port for endpoint in placed.plan.endpoints]
    assert tuple(endpoint.name for endpoint in placed.plan.endpoints) == placed.plan.groups[0].endpoints


def test_ports_are_counted_for_each_address_not_for_each_name() -> None:
    """300 connections from one address to one port do not fit into 100 ports, whatever their listeners are called."""
    place = [Place(limits=FEW_PORTS)]

    alone = why_impossible(burst(), registry.make("mqtt://192.0.2.1:1883"), place)
    spread = why_impossible(burst(), registry.make("mqtt://192.0.2.1:1,192.0.2.1:2,192.0.2.1:3,192.0.2.1:4"), place)
    sources = tuple(f"192.0.2.{number}" for number in range(10, 15))
    named = why_impossible(burst(), registry.make("mqtt://192.0.2.1:1883"), [Place("", FEW_PORTS, True, True, sources)])

    assert "need 4 source addresses" in (alone or "")
    assert spread is None
    assert named is None


def test_run_refuses_before_anything_starts_what_plan_says_cannot_run(tmp_path: Path) -> None:
    """The same sentence, and no campaign folder."""
    reason = why_impossible(burst(), registry.make("mqtt://192.0.2.1:1883"), [Place(limits=FEW_PORTS)])
    options = CampaignOptions(limits=FEW_PORTS)

    with pytest.raises(RequirementError) as caught:
        run_campaign([burst()], ["mqtt://192.0.2.1:1883"], tmp_path / "runs", options=options)

    assert caught.value.message in (reason or "")
    assert not (tmp_path / "runs").exists()


def test_plan_takes_source_addresses_as_run_does() -> None:
    """128,000 devices need several; with them the answer is yes."""
    plan = ("messagesight/CONNBURST", "--size", "published", "--set", "vm=S", "--server", "mqtt://192.0.2.1:1")
    addresses = ",".join(f"192.0.2.{number}" for number in range(10, 28))

    without = CliRunner().invoke(command, plan).output
    given = CliRunner().invoke(command, [*plan, "--source-addresses", addresses]).output

    assert "can: no" in without
    assert "source addresses" in " ".join(without.split())
    assert "can: yes" in given or "GiB of memory" in given


def test_devices_on_this_host_get_so_many_source_addresses_that_connecting_stays_fast() -> None:
    """Half of the ports are found at once; the other half costs a search through all of them for each connection."""
    plan = burst(60)
    endpoints = planned_endpoints(plan, registry.make("mqtt://127.0.0.1:1"))

    (placed,) = place_plan(plan, endpoints, run="r", places=[Place(limits=FEW_PORTS)])

    assert len(placed.plan.groups[0].source_addresses) >= 2
