"""The replicated pair: what was acknowledged outlives the live server."""

from __future__ import annotations

from pathlib import Path

import pytest

from telemark.servers.artemis import Artemis
from telemark.servers.contract import Listener, StartRequest
from tests.support.paho_device import PahoDevice

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]


def test_the_backup_takes_over_with_every_acknowledged_message(tmp_path: Path) -> None:
    """After kill -9 of the live server the same address serves again and delivers what was acknowledged."""
    server = Artemis({"heap": "512m"})
    if not server.availability().available:
        pytest.skip(f"artemis is not installed: {server.availability().how_to_get}")
    server.start(StartRequest(tmp_path, "durable", (Listener("plain"),), devices=5, ha=True))
    try:
        endpoint = server.endpoints()["plain"]
        assert len(server.pids()) == 2
        with PahoDevice(endpoint, "absent", clean=False) as absent:
            absent.subscribe("kept", 1)
        with PahoDevice(endpoint, "publisher") as publisher:
            for number in range(20):
                publisher.publish("kept", b"%d" % number, 1)

        server.fail_over()

        assert server.alive()
        assert len(server.pids()) == 1
        with PahoDevice(endpoint, "absent", clean=False) as absent:
            assert [b"%d" % number for number in range(20)] == absent.wait_for(20)
    finally:
        server.stop()

    assert not server.alive()
