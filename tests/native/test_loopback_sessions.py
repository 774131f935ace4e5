"""The built-in server against paho clients: sessions, wills, takeover, keep-alive, client ids."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.loopback import CONNECT, HOST, PUBLISH, WILL, Device, Running, properties, running
from tests.support.waiting import PATIENCE_S, eventually

BOTH = pytest.mark.parametrize("version", ["3.1.1", "5"])


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    """One server for the module; tests use client ids and topics of their own."""
    with running(threads=2) as started:
        yield started


def durable(server: Running, client_id: str, version: str, **options: Any) -> Device:
    """A device whose session outlives its connection."""
    if version == "5":
        options["properties"] = properties(CONNECT, SessionExpiryInterval=600)
    return Device(server.port, client_id, version=version, clean=False, **options)


@BOTH
@pytest.mark.parametrize("qos", [1, 2])
def test_a_session_keeps_messages_for_an_absent_device(server: Running, version: str, qos: int) -> None:
    """QoS 1 and 2 messages published meanwhile come in order after the reconnect; the subscription is still there."""
    name = f"absent-{version}-{qos}"
    with durable(server, name, version) as device:
        assert not device.session_present
        device.subscribe(name, 2)
    with Device(server.port) as publisher:
        for number in range(20):
            publisher.publish(name, str(number), qos)
    with durable(server, name, version) as again:
        assert again.session_present
        assert again.wait_for(20) == [str(number).encode() for number in range(20)]
        assert {message.qos for message in again.received} == {qos}
    assert server.counter("buffered_messages") == 0


@BOTH
def test_unacknowledged_messages_come_again_with_the_dup_flag(server: Running, version: str) -> None:
    """A message sent and not acknowledged is sent again on the resumed session, marked as a duplicate."""
    name = f"again-{version}"
    lost = durable(server, name, version)
    lost.client.manual_ack_set(True)
    with lost, Device(server.port) as publisher:
        lost.subscribe(name, 1)
        publisher.publish(name, b"important", 1)
        assert lost.wait_for(1) == [b"important"]
        lost.vanish()
    with durable(server, name, version) as again:
        assert again.wait_for(1) == [b"important"]
        assert again.received[0].dup


@BOTH
def test_a_clean_start_forgets_the_old_session(server: Running, version: str) -> None:
    """Neither subscriptions nor messages are left after a clean start."""
    name = f"clean-{version}"
    with durable(server, name, version) as device:
        device.subscribe(name, 1)
    with Device(server.port, name, version=version) as clean, Device(server.port) as publisher:
        assert not clean.session_present
        publisher.publish(name, b"lost", 1)
        assert clean.settle() == []


def test_a_session_ends_at_its_expiry(server: Running) -> None:
    """MQTT 5: after the expiry interval the session is gone."""
    short = {"version": "5", "clean": False, "properties": properties(CONNECT, SessionExpiryInterval=1)}
    before = server.counter("sessions")
    with Device(server.port, "expiring", **short) as device:
        device.subscribe("expiring", 1)
        assert server.counter("sessions") == before + 1
    assert eventually(lambda: server.counter("sessions") == before)
    with Device(server.port, "expiring", **short) as again:
        assert not again.session_present


def test_an_expired_message_is_not_delivered(server: Running) -> None:
    """MQTT 5: a queued message older than its expiry interval is dropped."""
    with durable(server, "stale", "5") as device:
        device.subscribe("stale", 1)
    with Device(server.port, version="5") as publisher:
        publisher.publish("stale", b"old", 1, properties=properties(PUBLISH, MessageExpiryInterval=1))
        publisher.publish("stale", b"fresh", 1, properties=properties(PUBLISH, MessageExpiryInterval=100))
        time.sleep(1.1)  # nothing tells that a message has expired; longer would do as well
    with durable(server, "stale", "5") as again:
        assert again.settle() == [b"fresh"]


@BOTH
def test_the_newer_connection_takes_the_session_over(server: Running, version: str) -> None:
    """A second connection with the same client id ends the first; MQTT 5 says why."""
    name = f"takeover-{version}"
    with durable(server, name, version) as first:
        first.subscribe(name, 1)
        with durable(server, name, version) as second:
            assert second.session_present
            assert first.ended.wait(PATIENCE_S)
            if version == "5":
                assert first.end_reason.value == 0x8E
            second.publish(name, b"to the newer", 1)
            assert second.wait_for(1) == [b"to the newer"]
            assert first.received == []


@BOTH
def test_a_will_is_sent_when_its_device_vanishes_and_not_when_it_leaves(server: Running, version: str) -> None:
    """An unexpected end of the connection publishes the will, a DISCONNECT discards it."""
    topic = f"will{version}"
    with Device(server.port, version=version) as watcher:
        watcher.subscribe(f"{topic}/#", 1)
        for name in ("left", "vanished"):
            device = Device(server.port, name + version, version=version)
            device.client.will_set(f"{topic}/{name}", name, 1, retain=name == "vanished")
            with device:
                if name == "vanished":
                    device.vanish()
                    assert watcher.wait_for(1) == [b"vanished"]

        assert watcher.settle() == [b"vanished"]
    with Device(server.port) as late:
        late.subscribe(f"{topic}/#")
        assert late.settle() == [b"vanished"]
        late.publish(f"{topic}/vanished", b"", 1, retain=True)


def test_a_delayed_will_waits_and_is_forgotten_when_the_device_returns(server: Running) -> None:
    """MQTT 5: the will comes after its delay, unless the session was resumed before."""

    def make(name: str) -> Device:
        device = durable(server, name, "5")
        device.client.will_set(f"late/{name}", name, 1, properties=properties(WILL, WillDelayInterval=2))
        return device

    with Device(server.port) as watcher:
        watcher.subscribe("late/#", 1)
        began = time.monotonic()
        for name in ("returns", "stays-away"):
            device = make(name)
            device.open()
            device.vanish()
        with make("returns"):
            assert watcher.wait_for(1) == [b"stays-away"]
            assert time.monotonic() - began > 1.9
            assert watcher.settle() == [b"stays-away"]


@BOTH
def test_a_silent_device_is_disconnected_after_one_and_a_half_keep_alives(server: Running, version: str) -> None:
    """Without a packet for 1.5 x keep-alive the connection ends and the will is sent; pings keep it."""
    level = 4 if version == "3.1.1" else 5
    extra = b"\x00" if level == 5 else b""
    body = b"\x00\x04MQTT" + bytes([level, 0x02, 0, 1]) + extra + b"\x00\x06silent"
    with Device(server.port, version=version, keepalive=1) as pinging:
        with socket.create_connection((HOST, server.port), timeout=PATIENCE_S) as silent:
            began = time.monotonic()
            silent.sendall(bytes([0x10, len(body)]) + body)
            assert silent.recv(1) == b"\x20"
            while silent.recv(4096):
                pass
            assert time.monotonic() - began > 1.4
        assert not pinging.ended.is_set()


@BOTH
def test_an_empty_client_id_gets_one_from_the_server(server: Running, version: str) -> None:
    """A zero-length client id is accepted with a clean start; MQTT 5 is told the assigned one."""
    with Device(server.port, "", version=version) as first, Device(server.port, "", version=version) as second:
        if version == "5":
            names = {device.connack[2].AssignedClientIdentifier for device in (first, second)}
            assert len(names) == 2
        first.subscribe("anonymous")
        second.publish("anonymous", b"x", 1)
        assert first.wait_for(1) == [b"x"]


def test_an_empty_client_id_with_an_old_session_is_refused(server: Running) -> None:
    """MQTT 3.1.1: without a clean session the answer is return code 2, and the connection ends."""
    with socket.create_connection((HOST, server.port), timeout=PATIENCE_S) as raw:
        raw.sendall(b"\x10\x0c\x00\x04MQTT\x04\x00\x00\x3c\x00\x00")
        assert raw.recv(16) == b"\x20\x02\x00\x02"
        assert raw.recv(16) == b""


def test_an_unknown_protocol_level_is_refused(server: Running) -> None:
    """Return code 1: unacceptable protocol version."""
    with socket.create_connection((HOST, server.port), timeout=PATIENCE_S) as raw:
        raw.sendall(b"\x10\x0d\x00\x04MQTT\x63\x02\x00\x3c\x00\x01a")
        assert raw.recv(16) == b"\x20\x02\x00\x01"
        assert raw.recv(16) == b""


def test_qos_2_messages_sent_again_are_delivered_once(server: Running) -> None:
    """A PUBLISH repeated before its PUBREL is acknowledged again but not routed again."""
    with Device(server.port) as watcher, socket.create_connection((HOST, server.port), timeout=PATIENCE_S) as raw:
        watcher.subscribe("twice", 2)
        raw.sendall(b"\x10\x0f\x00\x04MQTT\x04\x02\x00\x3c\x00\x03raw")
        assert raw.recv(4, socket.MSG_WAITALL) == b"\x20\x02\x00\x00"
        for first_byte in (0x34, 0x3C):  # the second one with DUP
            raw.sendall(bytes([first_byte]) + b"\x0a\x00\x05twice\x00\x09x")
            assert raw.recv(4, socket.MSG_WAITALL) == b"\x50\x02\x00\x09"
        raw.sendall(b"\x62\x02\x00\x09")
        assert raw.recv(4, socket.MSG_WAITALL) == b"\x70\x02\x00\x09"

        assert watcher.settle() == [b"x"]
