"""Reads the counters a server publishes under `$SYS`, in a thread of its own.

The watcher is itself a client of the server: it counts what it receives, so that its own share can be taken out of
the server's counts.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from telemark.errors import TelemarkError
from telemark.model.plan import Endpoint
from telemark.servers.terms import Counters, Term, add_up
from telemark.servers.tiny_client import Published, TinyClient

KEEP_ALIVE_S = 60
RETRY_S = 0.5
# Mosquitto's names, which several other servers use too. One subscription each, so that the watcher gets little else.
MOSQUITTO: Counters = {
    "messages_in": (Term("$SYS/broker/publish/messages/received"),),
    "messages_out": (Term("$SYS/broker/publish/messages/sent"),),
    "messages_dropped": (Term("$SYS/broker/publish/messages/dropped"),),
    "bytes_in": (Term("$SYS/broker/publish/bytes/received"),),
    "bytes_out": (Term("$SYS/broker/publish/bytes/sent"),),
    "connections": (Term("$SYS/broker/clients/connected"),),
    "subscriptions": (Term("$SYS/broker/subscriptions/count"),),
    "buffered_messages": (
        Term("$SYS/broker/store/messages/count"),
        Term("$SYS/broker/retained messages/count", minus=True),
    ),
}


@dataclass(frozen=True, slots=True)
class Reading:
    """Last value of one topic, and what the watcher had received before it.

    A retained value is older than the connection: nothing in it is the watcher's doing.
    """

    value: float
    retained: bool
    messages_before: int
    bytes_before: int


class SysWatcher:
    """Subscribes to the topics that counters are made of and keeps the last number of each."""

    def __init__(
        self, endpoint: Endpoint, counters: Counters, username: str | None = None, password: str | None = None
    ) -> None:
        self._endpoint = endpoint
        self._counters = counters
        self._topics = tuple(dict.fromkeys(term.name for terms in counters.values() for term in terms))
        self._login = (username, password)
        self._readings: dict[str, Reading] = {}
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._connected = False
        self._messages = self._bytes = 0  # received so far, by all connections

    def start(self) -> None:
        """Connect now, so that a refusal is reported here; then read in the background."""
        client = self._open()
        self._ending.clear()
        self._thread = threading.Thread(target=self._watch, args=(client,), name="sys-topics", daemon=True)
        self._thread.start()

    def _open(self) -> TinyClient:
        client = TinyClient(self._endpoint, f"telemark-sys-{time.monotonic_ns() % 10**9}", keep_alive_s=KEEP_ALIVE_S)
        client.open(*self._login).subscribe(*self._topics)
        return client

    def readings(self) -> dict[str, Reading]:
        """Last readings by topic; topics that were never published are missing."""
        with self._lock:
            return dict(self._readings)

    def counters(self) -> dict[str, float]:
        """The counters, without the watcher's own share."""
        return counters_from(self.readings(), self._counters)

    def connected(self) -> bool:
        """Whether values come in at present."""
        return self._connected

    def stop(self) -> None:
        """Disconnect. Safe to call twice. What was read is forgotten: a stopped server has no counters."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join(timeout=2)
            self._thread = None
        with self._lock:
            self._readings.clear()

    def _watch(self, client: TinyClient) -> None:
        """Read until told to stop. A connection that breaks, or on which no MQTT comes, is made anew."""
        while True:
            self._connected = True
            with suppress(OSError, TelemarkError), client:
                self._read(client)
            with self._lock:  # old values must not pass for present ones
                self._readings.clear()
            self._connected = False
            while not self._ending.wait(RETRY_S):
                with suppress(OSError, TelemarkError):
                    client = self._open()
                    break
            else:
                return

    def _read(self, client: TinyClient) -> None:
        last_ping = time.monotonic()
        while not self._ending.is_set():
            if time.monotonic() - last_ping > KEEP_ALIVE_S / 3:
                client.ping()
                last_ping = time.monotonic()
            message = client.receive(0.2)
            if message is not None:
                self._keep(message)
                self._messages += 1
                self._bytes += len(message.payload)

    def _keep(self, message: Published) -> None:
        """Note the number in a message; texts such as the server's version are passed over."""
        if message.topic not in self._topics:  # nobody asked for it, and there may be any number of them
            return
        with suppress(ValueError, IndexError), self._lock:
            value = float(message.payload.split()[0])
            if not math.isfinite(value):
                return
            before = (0, 0) if message.retained else (self._messages, self._bytes)
            self._readings[message.topic] = Reading(value, message.retained, *before)


def counters_from(readings: Mapping[str, Reading], counters: Counters = MOSQUITTO) -> dict[str, float]:
    """Contract names from topics, without the watcher's own share."""
    values = {topic: reading.value for topic, reading in readings.items()}
    topics = len({term.name for terms in counters.values() for term in terms})
    found = {}
    for name, terms in counters.items():
        value = add_up(terms, lambda term: values.get(term.name))
        if value is not None:
            found[name] = max(0.0, value - _own_share(name, readings[terms[0].name], topics))
    return found


def _own_share(name: str, reading: Reading, topics: int) -> int:
    """What of a counter is the watcher's doing; a retained value is older than its connection."""
    now = {"connections": 1, "subscriptions": topics}
    before = {"messages_out": reading.messages_before, "bytes_out": reading.bytes_before}
    return before.get(name, 0 if reading.retained else now.get(name, 0))
