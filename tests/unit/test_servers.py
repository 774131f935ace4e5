"""Names, ports, counters and options of servers, without starting one."""

from __future__ import annotations

import json
import socket
import ssl
from dataclasses import replace
from pathlib import Path

import pytest

from telemark.cli.main import main
from telemark.errors import ConfigError
from telemark.host.ports import free_ports, is_free
from telemark.model.plan import Tls
from telemark.servers import registry
from telemark.servers.artemis import Artemis
from telemark.servers.certificates import make_certificates, make_psk_file
from telemark.servers.contract import CAPABILITIES, ConsumerRequest, Listener, Login, StartRequest
from telemark.servers.jms import JmsAccess
from telemark.servers.options import recorded
from telemark.servers.prometheus import totals
from telemark.servers.remote import Remote
from telemark.servers.sys_topics import Reading, counters_from


def test_every_name_makes_an_adapter_that_declares_known_capabilities() -> None:
    """Adapters can be asked before anything is installed."""
    for name in registry.names():
        adapter = registry.make(name)
        assert adapter.capabilities() <= CAPABILITIES.keys(), name
        assert adapter.availability().how_to_get, name
        assert adapter.profile_note("fsync"), name


def test_an_unknown_server_is_answered_with_the_known_ones() -> None:
    """The message lists what can be named."""
    with pytest.raises(ConfigError, match="mosquitto, rabbitmq"):
        registry.make("mosqitto")


def test_the_servers_command_lists_all_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Data goes to stdout and can be parsed."""
    with pytest.raises(SystemExit) as ended:
        main(["servers", "--json"])

    rows = json.loads(capsys.readouterr().out)
    assert ended.value.code == 0
    assert [row["name"] for row in rows] == list(registry.names())
    assert {"available", "version", "capabilities", "profiles", "how_to_get"} <= rows[0].keys()


def test_ports_are_free_distinct_and_never_given_twice() -> None:
    """Two servers that start at once must not meet."""
    first, second = free_ports(20), free_ports(20)

    assert len({*first, *second}) == 40
    assert all(is_free(port) for port in first)


def test_a_port_somebody_listens_on_is_not_free() -> None:
    """SO_REUSEADDR must not make a used port look free."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert not is_free(server.getsockname()[1])


def test_counters_leave_out_the_watchers_own_share() -> None:
    """What the watcher received, its connection and its subscriptions are not the devices'."""
    readings = {
        "$SYS/broker/publish/messages/sent": Reading(130.0, False, messages_before=30, bytes_before=90),
        "$SYS/broker/publish/bytes/sent": Reading(5000.0, False, messages_before=31, bytes_before=100),
        "$SYS/broker/clients/connected": Reading(6.0, False, 32, 110),
        "$SYS/broker/subscriptions/count": Reading(9 + 4.0, False, 33, 120),
        "$SYS/broker/store/messages/count": Reading(50.0, False, 34, 130),
        "$SYS/broker/retained messages/count": Reading(45.0, False, 35, 140),
    }

    assert counters_from(readings) == {
        "messages_out": 100.0,
        "bytes_out": 4900.0,
        "connections": 5.0,
        "subscriptions": 4.0,
        "buffered_messages": 5.0,
    }


def test_counters_that_were_never_published_are_missing() -> None:
    """Missing is not zero."""
    assert counters_from({}) == {}


def test_artemis_reports_no_messages_out_once_a_queue_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts by queue and forgets the count with the queue, while the other queues may well have grown by more."""
    samples = iter([(2, 10), (3, 20), (2, 25), (3, 90)])

    def next_sample(*_: object) -> dict[str, float]:
        queues, acknowledged = next(samples)
        return {"QueueCount": queues, "TotalMessagesAcknowledged": acknowledged, "ConnectionCount": 1}

    monkeypatch.setattr("telemark.servers.jolokia.read", next_sample)
    monkeypatch.setattr("telemark.servers.jolokia.Queues.counters", lambda *_: {})
    server = Artemis()

    assert [10.0, 20.0, None, None] == [server.counters().get("messages_out") for _ in range(4)]


def test_prometheus_samples_are_summed_over_their_labels() -> None:
    """Comments, text without numbers and NaN are passed over."""
    page = '# HELP a b\na_total{x="1} 2"} 3\na_total{x="2"} 4 1700000000\nplain 7\nnan_metric NaN\nbroken\n'

    assert totals(page) == {"a_total": 7.0, "plain": 7.0}


def test_a_remote_listener_must_fit_its_url() -> None:
    """A TLS listener needs an mqtts URL of its own."""
    request = StartRequest(Path(), "memory", (Listener("tls", "tls"),), devices=1)

    with pytest.raises(ConfigError, match="needs security tls") as caught:
        registry.make("mqtt://127.0.0.1:1").start(request)

    assert "url_tls=mqtts://" in (caught.value.hint or "")


def test_unknown_options_of_a_remote_server_are_refused() -> None:
    """A misspelt option must not be ignored in silence."""
    with pytest.raises(ConfigError, match="option pasword is not known"):
        Remote({"url": "mqtt://localhost", "pasword": "x"})


def test_a_remote_server_takes_jms_consumers_by_its_jms_url() -> None:
    """The URL makes it able to; the provider is asked for, and TLS material without TLS is a mistake."""
    request = StartRequest(Path(), "memory", (), devices=1, consumers=ConsumerRequest("jms"))
    options = {"url": "mqtt://localhost", "jms_url": "ssl://localhost:1"}

    assert "jms" in Remote(options).capabilities()
    assert "jms" not in Remote({"url": "mqtt://localhost"}).capabilities()
    with pytest.raises(ConfigError, match="jms_url and jms_provider"):
        Remote(options).start(request)
    with pytest.raises(ConfigError, match="connect without TLS"):
        Remote(options | {"jms_provider": "activemq", "jms_ca": "ca.pem"}).start(request)

    server = Remote(options | {"jms_provider": "mine.properties", "jms_ca": "ca.pem", "username": "app"})
    server.start(replace(request, consumers=ConsumerRequest("jms", tls=True)))
    assert server.access("jms") == JmsAccess("mine.properties", "ssl://localhost:1", Login("app"), Tls(ca="ca.pem"))


def test_certificates_are_made_once_and_kept_private(tmp_path: Path) -> None:
    """A restarted server shows the same certificate; others cannot read the keys."""
    made = make_certificates(tmp_path / "c", clients=1)
    first = made.server.read_bytes()

    again = make_certificates(tmp_path / "c", clients=1)

    assert first == again.server.read_bytes()
    assert (tmp_path / "c").stat().st_mode & 0o077 == 0
    context = ssl.create_default_context(cafile=str(made.ca))
    context.load_cert_chain(tmp_path / "c" / "client-0.crt", tmp_path / "c" / "client-0.key")


def test_every_device_has_a_key_of_its_own(tmp_path: Path) -> None:
    """The key file holds one random key for each identity, readable by the owner only."""
    tls = make_psk_file(tmp_path / "psk.txt", 3)

    rows = dict(line.split(":") for line in (tmp_path / "psk.txt").read_text().splitlines())
    assert list(rows) == ["device-0", "device-1", "device-2"]
    assert len(set(rows.values())) == 3
    assert (tmp_path / "psk.txt").stat().st_mode & 0o077 == 0
    assert (tls.psk_identity, tls.version) == ("device-{index}", "1.2")


@pytest.mark.parametrize("name", registry.names())
def test_an_option_that_a_server_does_not_declare_is_refused_with_those_it_does(name: str) -> None:
    """It was ignored, and the run looked as if it had been in force."""
    with pytest.raises(ConfigError, match=r"option hepa is not known, expected one of .*") as caught:
        registry.make(name, {"hepa": "2g"})

    assert all(option.name in caught.value.message for option in registry.make(name).options if option.recorded)
    assert all(option.meaning for option in registry.make(name).options)


def test_an_option_of_another_type_is_refused() -> None:
    """Before anything starts."""
    with pytest.raises(ConfigError, match="mosquitto: option max_queued_messages is 'many', expected int"):
        registry.make("mosquitto", {"max_queued_messages": "many"})
    with pytest.raises(ConfigError, match="remote: option verify is 'perhaps', expected bool"):
        registry.make("mqtts://localhost:8883", {"verify": "perhaps"})


def test_each_server_of_a_campaign_gets_the_options_it_declares() -> None:
    """One that none of them declares is refused."""
    shares = registry.share_options(["mosquitto", "artemis"], {"heap": "2g", "max_queued_messages": 5})

    assert {"mosquitto": {"max_queued_messages": 5}, "artemis": {"heap": "2g", "max_queued_messages": 5}} == shares
    with pytest.raises(ConfigError, match="mosquitto, artemis: option queues is not known"):
        registry.share_options(["mosquitto", "artemis"], {"queues": "quorum"})


def test_what_is_set_for_a_server_is_recorded_but_not_where_it_is_or_who_we_are() -> None:
    """Addresses and credentials do not change what is measured."""
    options = registry.make("remote").options
    given = {"url": "mqtt://h:1", "username": "u", "password_env": "P", "verify": False, "cipher": "X"}

    assert {"verify": False, "cipher": "X"} == recorded(options, given)
    assert {} == recorded(registry.make("loopback").options, {"port": 1883, "port_tls": 8883})
