"""How many messages a second one core of a JMS consumer takes from Artemis, and the ratio to an MQTT consumer there.

Both consumers have a durable subscription to the same topics and are away while the engine publishes; the server keeps
every message for both. Then each comes back alone and takes what waits, as fast as it can. The first quarter is left
out: the JVM is still compiling then. Value = messages per CPU second of the JVM; 64 bytes, QoS 0, one consumer.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from bisect import bisect_left
from pathlib import Path

import psutil
import pyarrow.parquet as pq
from harness import EngineRun, plan, report

from telemark.consumers.jms.application import JmsApplication
from telemark.consumers.jms.plan import JmsConsumers
from telemark.model.plan import Group, Publish, Subscription
from telemark.model.plan.shapes.paced import Paced
from telemark.servers import registry
from telemark.servers.contract import ConsumerRequest, Listener, ServerAdapter, StartRequest

MESSAGES, RATE, PUBLISHERS, BYTES = 300_000, 20_000, 50, 64
LIMIT = 50_000
FIRST = 0.25  # share of the messages that is left out
TIMEOUT_S = 60.0


class CpuWatch:
    """CPU time of a process, sampled often enough to be read at any moment afterwards."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self._samples: list[tuple[int, float]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            times = self._process.cpu_times()
            self._samples.append((time.monotonic_ns(), times.user + times.system))

    def stop(self) -> None:
        """Sample no more."""
        self._stop.set()
        self._thread.join()

    def at(self, moment_ns: int) -> float:
        """CPU seconds used up to a moment."""
        place = min(bisect_left(self._samples, (moment_ns, 0.0)), len(self._samples) - 1)
        return self._samples[place][1]


def per_core_second(received_ns: list[int], watch: CpuWatch) -> tuple[float, float]:
    """(messages per CPU second, messages per second) after the first quarter."""
    moments = sorted(received_ns)
    skip = int(len(moments) * FIRST)
    count = len(moments) - skip
    cpu = watch.at(moments[-1]) - watch.at(moments[skip])
    return count / cpu, count / ((moments[-1] - moments[skip]) / 1e9)


def subscriber(port: int) -> EngineRun:
    """An MQTT device with a kept session."""
    group = Group(
        "subscriber", 1, client_id="mqtt-consumer", clean_start=False, subscriptions=(Subscription("bench/#", 1),)
    )
    return EngineRun(plan(port, (group,)))


def publish(port: int) -> None:
    """All messages, waiting for the server where it pushes back."""
    group = Group("publishers", PUBLISHERS, client_id="p{index}", publish=Publish("bench/{index}", 0, BYTES))
    load = Paced(rate=RATE, limit=MESSAGES, max_lateness_s=TIMEOUT_S)
    with EngineRun(plan(port, (group,), load=load)) as run:
        run.ready()
        run.begin()
        run.until(lambda message: message.get("sent", 0) >= MESSAGES, TIMEOUT_S)
        run.finish()


def drain_mqtt(port: int) -> tuple[float, float]:
    """Take what waits for the MQTT consumer."""
    with subscriber(port) as run:
        watch = CpuWatch(run.process.pid)
        run.until(lambda message: message.get("received", 0) >= MESSAGES, TIMEOUT_S)
        watch.stop()
        run.finish()
        return per_core_second(run.table("deliveries")["received_ns"].to_pylist(), watch)


def drain_jms(consumers: JmsApplication, folder: Path) -> tuple[float, float]:
    """Take what waits for the JMS consumer."""
    consumers.restart()
    watch = CpuWatch(consumers.pids()[0])
    end = time.monotonic() + TIMEOUT_S
    while consumers.received() < MESSAGES and time.monotonic() < end:
        consumers.poll()
        time.sleep(0.2)
    watch.stop()
    consumers.stop()
    received = pq.read_table(folder / "deliveries")["received_ns"].to_pylist()
    if len(received) != MESSAGES:
        sys.exit(f"{MESSAGES} messages waited for the JMS consumer, {len(received)} arrived")
    return per_core_second(received, watch)


def measure(server: ServerAdapter, folder: Path) -> None:
    """Subscribe both, publish, drain one after the other."""
    access = server.access("jms")
    if access is None:
        sys.exit("this server has no JMS")
    port = server.endpoints()["plain"].port
    wanted = JmsConsumers(count=1, topic="bench/#", subscription="durable", acknowledge="dups-ok", prefetch=100_000)
    consumers = JmsApplication(wanted, access, folder)
    consumers.start()
    consumers.kill()
    with subscriber(port) as run:
        run.ready()
        run.finish()
    publish(port)
    jms, jms_rate = drain_jms(consumers, folder)
    mqtt, mqtt_rate = drain_mqtt(port)
    report(
        "jms_rate",
        jms,
        LIMIT,
        jms >= LIMIT,
        unit="messages per CPU second of the JVM",
        messages_per_s=round(jms_rate),
        mqtt_messages_per_s=round(mqtt_rate),
        ratio_to_mqtt=round(jms_rate / mqtt_rate, 3),
        mqtt_per_core_second=round(mqtt),
        messages=MESSAGES,
    )


def main() -> None:
    """Start Artemis, measure, stop it."""
    server = registry.make("artemis", {})
    server.prepare()
    with tempfile.TemporaryDirectory() as scratch:
        records = Path(scratch) / "run"
        records.mkdir()
        try:
            server.start(
                StartRequest(
                    Path(scratch) / "server", "memory", (Listener("plain"),), 200, consumers=ConsumerRequest("jms")
                )
            )
            measure(server, records)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
