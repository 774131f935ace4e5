"""Mosquitto, RabbitMQ and Artemis described in a file give the figures that their adapters give."""

from __future__ import annotations

import getpass
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from telemark.campaigns import CampaignOptions, run_campaign
from telemark.catalog import load, plan_points
from telemark.host.ports import free_ports
from telemark.servers import registry
from telemark.servers.contract import Listener, ServerAdapter, StartRequest
from telemark.servers.process import ServerProcess
from tests.support.integrity import count
from tests.support.paho_device import PahoDevice
from tests.support.requirements import require, require_program
from tests.support.waiting import eventually

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

HERE = Path(__file__).parents[2] / "docs" / "examples" / "servers"


def started(name: str, folder: Path) -> ServerAdapter:
    adapter = registry.make(name, {"heap": "512m"} if name == "artemis" else {})
    require(adapter.availability().available, f"{name} is not installed: {adapter.availability().how_to_get}")
    adapter.start(StartRequest(folder, "durable", (Listener("plain"),), devices=20))
    return adapter


def described(adapter: ServerAdapter, folder: Path) -> ServerAdapter:
    """The same server once more, reached by its description."""
    endpoint = adapter.endpoints()["plain"]
    page = {"rabbitmq": "_metrics_port", "artemis": "_management_port"}[adapter.name]
    found = getattr(adapter, page)
    options = {"port": endpoint.port, "page": found() if callable(found) else found}
    other = registry.make(str(HERE / f"{adapter.name}.toml"), options)
    other.start(StartRequest(folder, "durable", (Listener("plain"),), devices=20))
    return other


@pytest.fixture(params=["rabbitmq", "artemis"])
def both(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[ServerAdapter, ServerAdapter]]:
    adapter = started(request.param, tmp_path / "server")
    try:
        yield adapter, described(adapter, tmp_path)
    finally:
        adapter.stop()


def test_pages_give_what_the_adapter_gives(both: tuple[ServerAdapter, ServerAdapter]) -> None:
    """After traffic with one device present, one absent and one slow: every counter the adapter has, and no other.

    The heap is not on a page: an adapter reads it from the log of the JVM that it started.
    """
    adapter, other = both
    endpoint = adapter.endpoints()["plain"]
    for owed in (7, 3):
        with PahoDevice(endpoint, f"absent-{owed}", clean=False) as absent:
            absent.subscribe(f"owed/{owed}", 1)
    with PahoDevice(endpoint, "present") as present:
        present.subscribe("owed/#", 1)
        with PahoDevice(endpoint, "publisher") as publisher:
            for owed in (7, 3):
                for number in range(owed):
                    publisher.publish(f"owed/{owed}", b"%d" % number, 1)
            present.wait_for(10)

        def the_same() -> bool:
            theirs, ours = dict(adapter.counters()), dict(other.counters())
            theirs.pop("heap_bytes", None)
            return theirs == ours and theirs.get("messages_in") == 10 and theirs.get("largest_queue") == 7

        assert eventually(the_same), f"{adapter.counters()} {other.counters()}"


def test_topics_give_what_the_adapter_gives(tmp_path: Path) -> None:
    """The same run on a Mosquitto of ours and on one that others started, reached by its description."""
    require_program("mosquitto")
    (point, *_) = plan_points(load().find("scalagent/multi-publisher"), "quick", {"qos": 1, "duration": 1})
    port = free_ports(1)[0]
    conf = tmp_path / "mosquitto.conf"
    lines = (
        f"listener {port} 127.0.0.1",
        "allow_anonymous true",
        "sys_interval 1",
        "max_queued_messages 0",
        f"user {getpass.getuser()}",
    )
    conf.write_text("\n".join(lines) + "\n")
    program = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin") or "mosquitto"
    process = ServerProcess("mosquitto", [program, "-c", str(conf)], tmp_path / "mosquitto.log")
    process.start()
    try:
        process.wait_for_port("127.0.0.1", port, 20)
        options = CampaignOptions(server_options={"port": port, "counter_lag": 2.5})
        there = run_campaign([point], [str(HERE / "mosquitto.toml")], tmp_path, campaign="there", options=options)
    finally:
        process.stop(5)
    here = run_campaign([point], ["mosquitto"], tmp_path, campaign="here")

    assert [(None, "complete")] * 2 == [(outcome.runs[0].reason, outcome.runs[0].state) for outcome in (here, there)]
    folders = [outcome.runs[0].folder for outcome in (here, there)]
    sent = [count(folder).sent for folder in folders]
    exact = [{name: last(folder)[name] for name in ("messages_in", "messages_out")} for folder in folders]
    assert sent[0] == sent[1] > 0
    assert exact[0] == exact[1] == {"messages_in": sent[0], "messages_out": sent[0]}
    assert last(folders[0]).keys() == last(folders[1]).keys()


def last(folder: Path) -> dict[str, float]:
    """Last value of each of the server's own counters."""
    import pyarrow.dataset as ds  # noqa: PLC0415 - only here

    table = ds.dataset(folder / "health").to_table(filter=ds.field("source") == "counters").sort_by("time_ns")
    return {row["metric"]: row["value"] for row in table.to_pylist()}
