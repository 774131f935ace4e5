"""The files our adapters write for ScalAgent's scenario hold what section 5 of its report sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from telemark.catalog import load, plan_points
from telemark.errors import ConfigError
from telemark.servers import registry
from telemark.servers.contract import Listener, StartRequest
from telemark.servers.local import LocalServer

Configure = Callable[[str, int], LocalServer]


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configure:
    """Write a server's configuration for the published size, without starting the server."""

    def configure(name: str, qos: int) -> LocalServer:
        (plan, *_) = plan_points(load().find("scalagent/multi-publisher"), "published", {"qos": qos})
        server = registry.make(name)
        assert isinstance(server, LocalServer)
        monkeypatch.setattr(type(server), "prepare", lambda self: None)
        monkeypatch.setattr(type(server), "launch", lambda self: None)
        listeners = tuple(Listener(each.name, each.security, each.socket_buffer) for each in plan.listeners)
        profile = "durable" if qos else "memory"
        server.start(StartRequest(tmp_path, profile, listeners, devices=2002, options=plan.server_options))
        return server

    return configure


def settings(path: Path, separator: str) -> dict[str, str]:
    lines = [line.partition(separator) for line in path.read_text().splitlines()]
    return {name.strip(): value.strip() for name, _, value in lines}


def test_mosquitto_has_no_limits_and_saves_every_second(configured: Configure) -> None:
    """Section 5.4; it cannot set socket buffers."""
    server = configured("mosquitto", 1)
    found = settings(server.directory / "mosquitto.conf", " ")

    assert found["persistence"] == "true"
    assert found["autosave_interval"] == "1"
    assert found["max_queued_messages"] == found["max_inflight_messages"] == "0"
    assert found.get("autosave_on_changes", "false") == "false"


def test_mosquitto_writes_nothing_at_qos_0(configured: Configure) -> None:
    """Persistence is enabled only when QoS 1 is tested."""
    server = configured("mosquitto", 0)

    assert "persistence" not in settings(server.directory / "mosquitto.conf", " ")


def test_rabbitmq_has_small_buffers_a_short_backlog_and_3_gb(configured: Configure) -> None:
    """Section 5.5: its listeners share one setting, which is that of the publishers."""
    server = configured("rabbitmq", 1)
    found = settings(server.directory / "rabbitmq.conf", "=")

    assert found["mqtt.tcp_listen_options.sndbuf"] == found["mqtt.tcp_listen_options.recbuf"] == "1024"
    assert found["mqtt.tcp_listen_options.backlog"] == "128"
    assert found["mqtt.tcp_listen_options.nodelay"] == "true"
    assert found["vm_memory_high_watermark.absolute"] == str(3 << 30)


def test_apollo_fixes_the_buffers_of_each_connector(configured: Configure) -> None:
    """Section 5.2."""
    server = configured("apollo", 0)
    broker = ElementTree.parse(server.directory / "etc" / "apollo.xml").getroot()
    connectors = {each.get("id"): each for each in broker.iter() if each.tag.endswith("connector")}

    assert connectors.keys() == {"plain-publishers", "plain-subscribers"}
    for name, size in (("plain-publishers", "1024"), ("plain-subscribers", "32768")):
        for side in ("receive", "send"):
            assert connectors[name].get(f"{side}_buffer_size") == size
            assert connectors[name].get(f"{side}_buffer_auto_tune") == "false"


def test_activemq_serves_publishers_with_nio_and_subscribers_with_threads(configured: Configure) -> None:
    """Section 5.1."""
    server = configured("activemq", 1)
    broker = ElementTree.parse(server.directory / "conf" / "activemq.xml").getroot()
    uris = {each.get("name"): str(each.get("uri")) for each in broker.iter() if each.tag.endswith("transportConnector")}

    assert uris["plain-publishers"].startswith("mqtt+nio://")
    assert "socketBufferSize=1024" in uris["plain-publishers"]
    assert uris["plain-subscribers"].startswith("mqtt://")
    assert "socketBufferSize=32768" in uris["plain-subscribers"]
    assert all("wireFormat.maxFrameSize=104857600" in uri for uri in uris.values())


def test_apollo_says_that_it_lacks_sync(tmp_path: Path) -> None:
    """The published size asks for fsync at QoS 1; the refusal names the profile the report used."""
    (plan, *_) = plan_points(load().find("scalagent/multi-publisher"), "published", {"qos": 1})
    server = registry.make("apollo")

    assert plan.profile == "fsync"
    with pytest.raises(ConfigError) as refused:
        server.start(StartRequest(tmp_path, plan.profile, (Listener("plain"),), devices=1))
    assert "--profile durable" in " ".join(refused.value.problems)


@pytest.mark.parametrize("mark", ["3x", "1.5", "-1", "0"])
def test_a_watermark_that_is_neither_share_nor_amount_is_refused(tmp_path: Path, mark: str) -> None:
    server = registry.make("rabbitmq", {"memory_watermark": mark})
    assert isinstance(server, LocalServer)
    server.prepare = lambda: None  # type: ignore[method-assign]

    with pytest.raises(ConfigError, match="memory_watermark"):
        server.start(StartRequest(tmp_path, "memory", (Listener("plain"),), devices=1))
