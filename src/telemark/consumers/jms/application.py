"""The JMS consumers of one run: a JVM with the consumer program, whose rows become the run folder's deliveries."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from telemark.consumers.contract import CONSUMER_PROCESS
from telemark.consumers.jms.build import consumer_jar
from telemark.consumers.jms.jvm import ConsumerJvm
from telemark.consumers.jms.plan import JmsConsumers
from telemark.consumers.jms.rows import RowFileReader
from telemark.consumers.receipts import counter_rows
from telemark.errors import ConsumerError
from telemark.host.secrets import read_secret
from telemark.model.pattern import expand
from telemark.servers.jms import JmsAccess
from telemark.store.writer import RecordWriter

CONSUMER_EVENTS = -2  # `process` of a consumer's events
LOG = "jms-consumer.log"


def settings_for(plan: JmsConsumers, access: JmsAccess, rows_file: Path) -> dict[str, Any]:
    """The consumer program's settings (see Settings.java). The password is not among them."""
    login, tls = access.login, access.tls
    return {
        "provider": access.provider,
        "url": access.url,
        "username": login.username if login else None,
        "password_env": ConsumerJvm.PASSWORD_VARIABLE if login and login.password else None,
        "tls": {"ca": tls.ca, "verify": tls.verify} if tls else None,
        "consumers": [
            {"topic": expand(plan.topic, index), "subscription": plan.first_subscription + index}
            for index in range(plan.count)
        ],
        "subscription": plan.subscription,
        "share_name": plan.share_name,
        "receive": plan.receive,
        "acknowledge": plan.acknowledge,
        "acknowledge_every": plan.acknowledge_every,
        "prefetch": plan.prefetch,
        "payload": plan.payload,
        "qos": plan.qos,
        "rows_file": str(rows_file),
    }


class JmsApplication:
    """Keeps the contract of `consumers/contract.py`.

    Args:
        plan: what to consume and how.
        access: how to reach the server.
        folder: the run folder.
    """

    def __init__(self, plan: JmsConsumers, access: JmsAccess, folder: Path) -> None:
        self._plan = plan
        self._access = access
        self._folder = folder
        self._writer = RecordWriter(folder, CONSUMER_PROCESS)
        self._jvm: ConsumerJvm | None = None
        self._rows: RowFileReader | None = None
        self._rows_files: list[Path] = []
        self._recorded = 0  # rows taken from the rows files so far
        self._received_before = 0  # by JVMs that have ended
        self._start_ns = 0  # of the run
        self._subscribed_since = 0
        self._stopped = False

    def start(self) -> None:
        """See the contract."""
        rows_file = self._folder / f".jms-rows-{len(self._rows_files)}"
        self._rows_files.append(rows_file)
        self._rows = RowFileReader(rows_file)
        self._jvm = ConsumerJvm(
            os.pathsep.join(filter(None, (str(consumer_jar(self._access.api)), self._access.classpath))),
            settings_for(self._plan, self._access, rows_file),
            self._folder / LOG,
            flags=(f"-Xmx{self._plan.heap}", *self._plan.jvm_flags.split()),
            password=self._password(),
        )
        try:
            ready = self._jvm.wait_ready()
            self._jvm.check_clock()
        except ConsumerError:
            self._jvm.stop(unsubscribe=False)
            raise
        if ready != self._plan.count:
            raise ConsumerError(f"{self._plan.count} JMS consumers were asked for, {ready} subscribed")
        self._subscribed_since = time.monotonic_ns()

    def _password(self) -> str | None:
        secret = self._access.login.password if self._access.login else None
        return read_secret(secret.env, secret.file) if secret else None

    def go(self, start_ns: int) -> None:
        """See the contract."""
        self._start_ns = start_ns
        self._running().go()

    def _running(self) -> ConsumerJvm:
        if self._jvm is None:
            raise ConsumerError("the JMS consumers were not started")
        return self._jvm

    def received(self) -> int:
        """See the contract."""
        counters = self._jvm.counters() if self._jvm else {}
        return self._received_before + int(counters.get("received", 0))

    def poll(self) -> Mapping[str, float]:
        """See the contract."""
        self._collect()
        counters = self._jvm.counters() if self._jvm else {}
        return {name: float(counters[name]) for name in ("heap_bytes", "gc_count", "gc_ms") if name in counters}

    def _collect(self) -> None:
        if self._rows is not None:
            for batch in self._rows.read().to_batches():
                self._writer.write("deliveries", batch)
                self._writer.write_rows("counters", counter_rows(batch, self._start_ns, CONSUMER_PROCESS))
                self._recorded += batch.num_rows
        self._writer.tick()

    def pids(self) -> Sequence[int]:
        """See the contract."""
        return [self._jvm.pid] if self._jvm else []

    def failure(self) -> str | None:
        """See the contract."""
        error = self._jvm.failure() if self._jvm and not self._stopped else None
        return None if error is None else error.message

    def kill(self) -> None:
        """See the contract."""
        self._running().kill()

    def restart(self) -> None:
        """See the contract. Messages in flight to the dead JVM are the server's to deliver again."""
        self._event("consumer_died", self.failure() or "stopped for a restart")
        self._end_of_jvm(unsubscribe=False)
        self.start()
        self.go(self._start_ns)
        self._event("consumer_restarted", f"{self._plan.count} consumers subscribed again")

    def _event(self, kind: str, detail: str) -> None:
        row = {"time_ns": time.monotonic_ns(), "process": CONSUMER_EVENTS, "device": -1, "kind": kind, "detail": detail}
        self._writer.write_rows("events", [row | {"code": None}])

    def _end_of_jvm(self, *, unsubscribe: bool) -> None:
        """Stop it, take its last rows, and note how long its subscriptions were in force."""
        if self._jvm is None:
            return
        self._jvm.stop(unsubscribe=unsubscribe)
        self._collect()
        self._received_before = self._recorded
        until = time.monotonic_ns()
        numbers = range(self._plan.first_subscription, self._plan.first_subscription + self._plan.count)
        self._writer.write_rows(
            "subscribed",
            [{"subscription": n, "from_ns": self._subscribed_since, "until_ns": until} for n in numbers],
        )
        self._jvm = None

    def stop(self) -> None:
        """See the contract."""
        if self._stopped:
            return
        self._stopped = True
        failure = self._jvm.failure() if self._jvm else None
        if failure is not None:
            self._event("consumer_died", failure.message)
        self._end_of_jvm(unsubscribe=failure is None)
        self._writer.close()
        for rows_file in self._rows_files:
            rows_file.unlink(missing_ok=True)
