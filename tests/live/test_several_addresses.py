"""One server with several addresses: devices are spread over all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from telemark.servers import registry
from telemark.servers.contract import Listener, ServerAdapter, StartRequest
from tests.support.integrity import count
from tests.support.telemark_program import TelemarkProgram

pytestmark = pytest.mark.live

DEVICES = "20"


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[ServerAdapter]]:
    """Two built-in servers, which stand for two addresses of one."""
    with ExitStack() as held:
        found = []
        for number in range(2):
            adapter = registry.make("loopback")
            adapter.start(StartRequest(tmp_path / f"server{number}", "memory", (Listener("plain"),), devices=100))
            held.callback(adapter.stop)
            found.append(adapter)
        yield found


def test_devices_are_on_both_addresses_and_nothing_is_lost(tmp_path: Path, servers: list[ServerAdapter]) -> None:
    """Each publisher and its subscriber have equal indices, so they meet at the same address."""
    ports = [adapter.endpoints()["plain"].port for adapter in servers]
    url = "mqtt://" + ",".join(f"127.0.0.1:{port}" for port in ports)
    each = (
        "--publishers",
        str(DEVICES),
        "--subscribers",
        str(DEVICES),
        "--topic",
        "t/{index}",
        "--filter",
        "t/{index}",
    )
    where = ("--server", url, "--out", str(tmp_path / "runs"), "--campaign", "c", "--no-analyze")
    load = ("--rate", "200", "--qos", "1", "--duration", "1", "--warmup", "0.2")
    with TelemarkProgram("load", *each, *load, *where) as program:
        code = program.wait()
    counted = count(next((tmp_path / "runs/c").glob("*/run.json")).parent)
    shares = [adapter.counters()["messages_in"] for adapter in servers]

    assert code == 0, program.errors
    assert (240, 0) == (counted.sent, counted.lost)
    assert [120, 120] == shares
