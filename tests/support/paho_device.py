"""A device for tests, made of the paho client: every call waits for the server's answer, within a time limit."""

from __future__ import annotations

import queue
import ssl
import threading
import time
from types import TracebackType
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from telemark.model.plan import Endpoint
from telemark.servers.tiny_client import tls_context
from tests.support.waiting import PATIENCE_S as WAIT_S


class PahoDevice:
    """Connects on entering a with block, disconnects in order on leaving it."""

    def __init__(
        self,
        endpoint: Endpoint,
        client_id: str,
        *,
        version: str = "3.1.1",
        clean: bool = True,
        username: str | None = None,
        password: str | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._answers: dict[str, queue.Queue[Any]] = {kind: queue.Queue() for kind in ("connect", "subscribe")}
        self._granted: dict[int, Any] = {}
        self._lock = threading.Condition()
        self.received: list[paho.MQTTMessage] = []
        self._clean = clean
        self._five = version == "5"
        options = {} if self._five else {"clean_session": clean}
        protocol = paho.MQTTv5 if self._five else paho.MQTTv311
        self._client = paho.Client(CallbackAPIVersion.VERSION2, client_id, protocol=protocol, **options)
        self._client.on_connect = lambda _c, _u, _f, reason, _p: self._answers["connect"].put(reason)
        self._client.on_subscribe = lambda _c, _u, mid, reasons, _p: self._answers["subscribe"].put((mid, reasons))
        self._client.on_message = self._on_message
        if username:
            self._client.username_pw_set(username, password)
        if endpoint.tls is not None:
            context: ssl.SSLContext = tls_context(endpoint.tls)
            context.check_hostname = False  # paho always verifies the address it connects to
            self._client.tls_set_context(context)

    def __enter__(self) -> PahoDevice:
        options: dict[str, Any] = {}
        if self._five:
            properties = paho.Properties(paho.PacketTypes.CONNECT)
            properties.SessionExpiryInterval = 0 if self._clean else 600
            options = {"clean_start": self._clean, "properties": properties}
        self._client.connect(self._endpoint.host, self._endpoint.port, keepalive=60, **options)
        self._client.loop_start()
        reason = self._answers["connect"].get(timeout=WAIT_S)
        if reason.is_failure:
            self._close()
            raise ConnectionRefusedError(str(reason))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.disconnect()
        self._close()

    def _close(self) -> None:
        self._client.loop_stop()

    def subscribe(self, topic_filter: str, qos: int = 0) -> int:
        """Subscribe and return the QoS the server granted (128 and above: refused)."""
        self._client.subscribe(topic_filter, qos)
        _, reasons = self._answers["subscribe"].get(timeout=WAIT_S)
        return int(reasons[0].value)

    def publish(self, topic: str, payload: bytes, qos: int = 0) -> None:
        """Publish and wait until the server has taken it (QoS 1, 2) or it was sent (QoS 0)."""
        self._client.publish(topic, payload, qos).wait_for_publish(WAIT_S)

    def wait_for(self, count: int, timeout_s: float = WAIT_S) -> list[bytes]:
        """Payloads received so far, once there are `count` of them or the time is over."""
        deadline = time.monotonic() + timeout_s
        with self._lock:
            while len(self.received) < count and (left := deadline - time.monotonic()) > 0:
                self._lock.wait(left)
            return [each.payload for each in self.received]

    def _on_message(self, _client: paho.Client, _user: Any, message: paho.MQTTMessage) -> None:
        with self._lock:
            self.received.append(message)
            self._lock.notify_all()
