"""The built-in server in this process, and paho devices whose every option a test can set."""

from __future__ import annotations

import http.client
import json
import queue
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from telemark._native import Loopback
from tests.support.waiting import PATIENCE_S as WAIT_S

HOST = "127.0.0.1"
VERSIONS = {"3.1.1": paho.MQTTv311, "5": paho.MQTTv5}


@dataclass(frozen=True)
class Running:
    """A started server."""

    ports: dict[str, int]

    @property
    def port(self) -> int:
        return self.ports["plain"]

    def get(self, path: str) -> Any:
        """The answer of the control interface as data."""
        status, data = self.ask("GET", path)
        assert status == 200, data
        return data

    def post(self, path: str, data: Any) -> Any:
        status, answer = self.ask("POST", path, json.dumps(data))
        assert status == 200, answer
        return answer

    def ask(self, method: str, path: str, body: str | None = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(HOST, self.ports["control"], timeout=WAIT_S)
        try:
            connection.request(method, path, body)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def counter(self, name: str) -> int:
        return int(self.get("/counters")[name])


@contextmanager
def running(**config: Any) -> Iterator[Running]:
    """Start a server with this configuration, stop it at the end."""
    server = Loopback(json.dumps({"listeners": [{"name": "plain"}]} | config))
    try:
        yield Running(dict(server.start()))
    finally:
        server.stop()


def properties(kind: int, **values: Any) -> Properties:
    """MQTT 5 properties by paho's names."""
    made = Properties(kind)
    for name, value in values.items():
        setattr(made, name, value)
    return made


class Device:
    """A paho client whose calls wait for the server's answer. Use it as a context manager."""

    def __init__(
        self, port: int, client_id: str = "", *, version: str = "3.1.1", clean: bool = True, **connect: Any
    ) -> None:
        self.five = version == "5"
        options = {} if self.five else {"clean_session": clean}
        self.client = paho.Client(
            CallbackAPIVersion.VERSION2, client_id, protocol=VERSIONS[version], reconnect_on_failure=False, **options
        )
        self.received: list[paho.MQTTMessage] = []
        self.connack: Any = None
        self.ended = threading.Event()
        self.end_reason: Any = None
        self._port = port
        self._clean = clean
        self._connect = connect
        self._changed = threading.Condition()
        self._connacks: queue.Queue[Any] = queue.Queue()
        self._subacks: queue.Queue[Any] = queue.Queue()
        self._unsubacks: queue.Queue[Any] = queue.Queue()
        self.client.on_connect = lambda *answer: self._connacks.put(answer[2:])
        self.client.on_subscribe = lambda *answer: self._subacks.put(answer[3])
        self.client.on_unsubscribe = lambda *answer: self._unsubacks.put(answer[3])
        self.client.on_message = self._on_message
        self.client.on_disconnect = self._on_disconnect

    def open(self) -> Any:
        """Connect and return (flags, reason, properties) of the CONNACK."""
        options: dict[str, Any] = {"keepalive": 60} | self._connect
        if self.five:
            options["clean_start"] = self._clean
        self.client.connect(HOST, self._port, **options)
        self.client.loop_start()
        self.connack = self._connacks.get(timeout=WAIT_S)
        return self.connack

    def __enter__(self) -> Device:
        flags, reason, _ = self.open()
        assert not reason.is_failure, (flags, reason)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Disconnect in order. Safe to call when the connection is gone."""
        self.client.disconnect()
        self._end()

    def _end(self) -> None:
        self.client.loop_stop()
        self.client._reset_sockets()  # paho leaves this to the garbage collector, which warns of open sockets

    def vanish(self) -> None:
        """Lose the connection without a DISCONNECT."""
        self.client.socket().shutdown(socket.SHUT_RDWR)
        self._end()

    @property
    def session_present(self) -> bool:
        return bool(self.connack[0].session_present)

    def subscribe(self, topic_filter: str, qos: int = 0, **options: Any) -> int:
        """Subscribe; the granted QoS or the reason (128 and above: refused)."""
        self.client.subscribe(topic_filter, **(options or {"qos": qos}))
        return int(self._subacks.get(timeout=WAIT_S)[0].value)

    def unsubscribe(self, topic_filter: str) -> Any:
        self.client.unsubscribe(topic_filter)
        return self._unsubacks.get(timeout=WAIT_S)

    def publish(self, topic: str, payload: bytes | str, qos: int = 0, **options: Any) -> None:
        """Publish and wait until the server has taken it (QoS 1, 2) or it was written (QoS 0)."""
        self.client.publish(topic, payload, qos, **options).wait_for_publish(WAIT_S)

    def wait_for(self, count: int, timeout_s: float = WAIT_S) -> list[bytes]:
        """Payloads received so far, once there are `count` or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: len(self.received) >= count, timeout_s)
            return [message.payload for message in self.received]

    def settle(self, *publishers: Device) -> list[bytes]:
        """Payloads received when everything published so far has come.

        Each publisher sends a marker after its messages; this device waits for all of them. Nobody acknowledges QoS 0,
        so only a marker on the publisher's own connection shows that the server has read its messages.
        """
        marker = f"settle/{id(self)}/{time.monotonic_ns()}"
        self.subscribe(f"{marker}/#")
        markers = {f"{marker}/{number}" for number, _ in enumerate(publishers or (self,))}
        for number, publisher in enumerate(publishers or (self,)):
            publisher.publish(f"{marker}/{number}", b"settled", 1)
        with self._changed:
            assert self._changed.wait_for(lambda: markers <= {each.topic for each in self.received}, WAIT_S)
            return [each.payload for each in self.received if not each.topic.startswith("settle/")]

    def received_of(self, topic: str) -> list[paho.MQTTMessage]:
        return [message for message in self.received if message.topic == topic]

    def wait_until_received(self, topic: str, count: int) -> bool:
        """Whether exactly so many messages of a topic have come, soon."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self.received_of(topic)) == count, WAIT_S)

    def _on_message(self, _client: paho.Client, _user: Any, message: paho.MQTTMessage) -> None:
        with self._changed:
            self.received.append(message)
            self._changed.notify_all()

    def _on_disconnect(self, _client: Any, _user: Any, _flags: Any, reason: Any, _properties: Any) -> None:
        self.end_reason = reason
        self.ended.set()


CONNECT, PUBLISH, SUBSCRIBE, WILL = (
    PacketTypes.CONNECT,
    PacketTypes.PUBLISH,
    PacketTypes.SUBSCRIBE,
    PacketTypes.WILLMESSAGE,
)
