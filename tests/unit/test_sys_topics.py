"""The watcher of a server's own counters, against servers that misbehave."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from telemark.model.plan import Endpoint
from telemark.servers.sys_topics import SysWatcher
from telemark.servers.terms import Term

CONNACK, SUBACK = bytes([0x20, 2, 0, 0]), bytes([0x90, 3, 0, 1, 0])
TOPIC = "$SYS/broker/clients/connected"
COUNTERS = {"connections": (Term(TOPIC),)}


def publish(topic: bytes, payload: bytes) -> bytes:
    body = len(topic).to_bytes(2, "big") + topic + payload
    return bytes([0x30, len(body)]) + body


class Server:
    """Lets one client in after the other; sends to the newest."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.clients: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                for answer in (CONNACK, SUBACK):
                    client.recv(4096)
                    client.sendall(answer)
                self.clients.append(client)

    def send(self, data: bytes, connection: int = 0) -> None:
        wait_until(lambda: len(self.clients) > connection)
        self.clients[connection].sendall(data)

    def close(self) -> None:
        self._listener.close()
        for client in self.clients:
            client.close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def watcher(server: Server) -> Iterator[SysWatcher]:
    made = SysWatcher(Endpoint("plain", "127.0.0.1", server.port), COUNTERS)
    made.start()
    yield made
    made.stop()


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not true() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert true()


@pytest.mark.parametrize("bad", [publish(b"\xff\xfe", b"1"), bytes([0x30, 1, 0])], ids=["no text", "too short"])
def test_a_bad_topic_does_not_end_the_watching(server: Server, watcher: SysWatcher, bad: bytes) -> None:
    """The connection is made anew; what was read on the old one is forgotten meanwhile."""
    server.send(publish(TOPIC.encode(), b"5"))
    wait_until(lambda: TOPIC in watcher.readings())
    server.send(bad)
    wait_until(lambda: TOPIC not in watcher.readings())
    server.send(publish(TOPIC.encode(), b"7 clients"), connection=1)

    wait_until(lambda: TOPIC in watcher.readings())
    assert 7.0 == watcher.readings()[TOPIC].value
    assert 1 == watcher.readings()[TOPIC].messages_before


def test_values_that_are_no_numbers_are_passed_over(server: Server, watcher: SysWatcher) -> None:
    """Not a number and infinity are none."""
    for payload in (b"nan", b"inf", b"", b"mosquitto 2", b"7 clients"):
        server.send(publish(TOPIC.encode(), payload))

    wait_until(lambda: TOPIC in watcher.readings())
    assert 7.0 == watcher.readings()[TOPIC].value


def test_topics_that_nobody_asked_for_are_not_kept(server: Server, watcher: SysWatcher) -> None:
    """A server may send any number of them."""
    for number in range(100):
        server.send(publish(b"flood/%d" % number, b"1"))
    server.send(publish(TOPIC.encode(), b"7"))

    wait_until(lambda: TOPIC in watcher.readings())
    assert [TOPIC] == list(watcher.readings())


def test_a_packet_without_end_is_not_collected(server: Server, watcher: SysWatcher) -> None:
    """A header that promises 256 MB: the connection is given up long before, and made anew."""
    server.send(b"\x30\xff\xff\xff\x7f\x00\x01a")
    with suppress(OSError):
        for _ in range(256):
            server.clients[0].sendall(bytes(1 << 20))
    server.send(publish(TOPIC.encode(), b"7"), connection=1)

    wait_until(lambda: TOPIC in watcher.readings())


def test_old_counters_go_with_the_server(server: Server, watcher: SysWatcher) -> None:
    """They must not pass for present ones."""
    server.send(publish(TOPIC.encode(), b"7"))
    wait_until(lambda: bool(watcher.readings()))
    server.close()

    wait_until(lambda: not watcher.connected())
    assert {} == watcher.readings()
