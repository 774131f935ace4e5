"""Reads the counters a server publishes under `$SYS`, in a thread of its own.

The watcher is itself a client of the server: it counts what it receives, so that its own share can be taken out of
the server's counts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from telemark.errors import TelemarkError
from telemark.model.plan import Endpoint
from telemark.servers.tiny_client import Published, TinyClient

KEEP_ALIVE_S = 60
# Mosquitto's names, which several other servers use too. One subscription each, so that the watcher gets little else.
TOPICS = {
    "messages_in": "$SYS/broker/publish/messages/received",
    "messages_out": "$SYS/broker/publish/messages/sent",
    "messages_dropped": "$SYS/broker/publish/messages/dropped",
    "bytes_in": "$SYS/broker/publish/bytes/received",
    "bytes_out": "$SYS/broker/publish/bytes/sent",
    "connections": "$SYS/broker/clients/connected",
    "subscriptions": "$SYS/broker/subscriptions/count",
    "stored": "$SYS/broker/store/messages/count",
    "retained": "$SYS/broker/retained messages/count",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """Last value of one topic, and what the watcher had received before it on this connection.

    A retained value is older than the connection: nothing in it is the watcher's doing.
    """

    value: float
    retained: bool
    messages_before: int
    bytes_before: int


class SysWatcher:
    """Subscribes to topics and keeps the last number of each."""

    def __init__(
        self, endpoint: Endpoint, topics: Sequence[str], username: str | None = None, password: str | None = None
    ) -> None:
        self._endpoint = endpoint
        self._topics = tuple(topics)
        self._login = (username, password)
        self._readings: dict[str, Reading] = {}
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Connect now, so that a refusal is reported here; then read in the background."""
        client = TinyClient(self._endpoint, f"telemark-sys-{time.monotonic_ns() % 10**9}", keep_alive_s=KEEP_ALIVE_S)
        client.open(*self._login)
        client.subscribe(*self._topics)
        self._ending.clear()
        self._thread = threading.Thread(target=self._read, args=(client,), name="sys-topics", daemon=True)
        self._thread.start()

    def readings(self) -> dict[str, Reading]:
        """Last readings by topic; topics that were never published are missing."""
        with self._lock:
            return dict(self._readings)

    def connected(self) -> bool:
        """Whether values still come in."""
        return self._thread is not None and self._thread.is_alive()

    def stop(self) -> None:
        """Disconnect. Safe to call twice. What was read is forgotten: a stopped server has no counters."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join(timeout=2)
            self._thread = None
        with self._lock:
            self._readings.clear()

    def _read(self, client: TinyClient) -> None:
        messages, payload_bytes, last_ping = 0, 0, time.monotonic()
        with suppress(OSError, TelemarkError), client:
            while not self._ending.is_set():
                if time.monotonic() - last_ping > KEEP_ALIVE_S / 3:
                    client.ping()
                    last_ping = time.monotonic()
                message = client.receive(0.2)
                if message is None:
                    continue
                self._keep(message, messages, payload_bytes)
                messages += 1
                payload_bytes += len(message.payload)
        if not self._ending.is_set():  # the server went away: old values must not pass for present ones
            with self._lock:
                self._readings.clear()

    def _keep(self, message: Published, messages: int, payload_bytes: int) -> None:
        """Note the number in a message; texts such as the server's version are passed over."""
        with suppress(ValueError, IndexError), self._lock:
            value = float(message.payload.split()[0])
            before = (0, 0) if message.retained else (messages, payload_bytes)
            self._readings[message.topic] = Reading(value, message.retained, *before)


def counters_from(readings: Mapping[str, Reading]) -> dict[str, float]:
    """Contract names from topics, without the watcher's own share."""
    found = {name: readings[topic] for name, topic in TOPICS.items() if topic in readings}
    counters = {name: reading.value for name, reading in found.items() if name not in ("stored", "retained")}
    for name, own in (("connections", 1), ("subscriptions", len(TOPICS))):
        if name in found and not found[name].retained:
            counters[name] -= own
    if "messages_out" in found:
        counters["messages_out"] -= found["messages_out"].messages_before
    if "bytes_out" in found:
        counters["bytes_out"] -= found["bytes_out"].bytes_before
    if "stored" in found and "retained" in found:
        counters["buffered_messages"] = max(0.0, found["stored"].value - found["retained"].value)
    return counters
