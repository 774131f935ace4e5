"""The native engine driven by a test: a plan in, all its rows out, bounded in time."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from telemark._native import Batch, Engine, monotonic_ns
from telemark.model.plan import Endpoint, EnginePlan, Group, LoadShape, Publish, Subscription, Tls
from telemark.model.plan.shapes.paced import Paced
from telemark.store.schemas import TABLES
from tests.support.native_batches import native_batch
from tests.support.requirements import require_program
from tests.support.waiting import PATIENCE_S, eventually


def engine_plan(port: int, *groups: Group, tls: Tls | None = None, **more: Any) -> EnginePlan:
    """A plan of one process against one endpoint, with devices numbered through."""
    numbered, device = [], 0
    for group in groups:
        numbered.append(replace(group, first_device=device))
        device += group.count
    endpoints = (Endpoint("plain", "127.0.0.1", port, tls),)
    options = {"connect_rate": 0.0, "connect_timeout_s": PATIENCE_S} | more
    return EnginePlan(run="test", process=0, seed=7, endpoints=endpoints, groups=tuple(numbered), **options)


def subscriber(filter_: str = "t/#", qos: int = 0, count: int = 1, **more: Any) -> Group:
    """Devices that subscribe to one filter."""
    return Group("subscribers", count, client_id="s{index}", subscriptions=(Subscription(filter_, qos),), **more)


def publisher(count: int = 1, qos: int = 0, topic: str = "t/{index}", **more: Any) -> Group:
    """Devices that publish; options of `Publish` and of `Group` may be mixed."""
    options = {name: more.pop(name) for name in tuple(more) if name in Publish.__dataclass_fields__}
    return Group("publishers", count, client_id="p{index}", publish=Publish(topic, qos, **options), **more)


class Played:
    """An engine at work, and its rows when it has finished."""

    def __init__(self, plan: EnginePlan, secrets: Mapping[str, str] | None = None) -> None:
        self.engine = Engine(plan.as_json(), secrets)
        self.batches: list[Batch] = []
        self.start_ns = 0

    def drain(self, timeout_s: float = 0.0) -> bool:
        """Take finished batches; false when there was none."""
        batches = self.engine.drain(timeout_s)
        self.batches += batches
        return bool(batches)

    def until(self, condition: Callable[[Mapping[str, Any]], bool], timeout_s: float = PATIENCE_S) -> Mapping[str, Any]:
        """Poll the status until it satisfies the condition."""
        end = time.monotonic() + timeout_s
        while not condition(status := self.engine.status()):
            assert time.monotonic() < end, f"not reached: {status}"
            self.drain(0.02)
        return status

    def connect(self) -> Mapping[str, Any]:
        """Connect, and wait until every device is ready or given up."""
        self.engine.connect()
        return self.until(lambda status: status["ready"] + status["failed"] >= status["devices"])

    def begin(self, in_s: float = 0.02) -> None:
        self.start_ns = monotonic_ns() + int(in_s * 1e9)
        self.engine.begin(self.start_ns)

    def finish(self) -> Played:
        """Disconnect and take all remaining rows."""
        self.engine.finish()
        while self.drain():
            pass
        return self

    def table(self, name: str) -> pa.Table:
        found = [native_batch(batch) for batch in self.batches if batch.table == name]
        return pa.Table.from_batches(found, TABLES[name])

    def rows(self, name: str) -> list[dict[str, Any]]:
        return self.table(name).to_pylist()

    def messages(self) -> list[tuple[int, int]]:
        """(stream, sequence) of every delivery, in order of receipt."""
        return [(row["stream"], row["sequence"]) for row in self.rows("deliveries")]


def play(plan: EnginePlan, received: int | None = None, secrets: Mapping[str, str] | None = None) -> Played:
    """Connect, send everything the (limited) load asks for, wait for `received` deliveries, finish."""
    played = Played(plan, secrets)
    status = played.connect()
    assert status["failed"] == 0, played.finish().rows("events")
    played.begin()
    played.until(lambda status: status["intended"] > 0 or plan.load.shape == "idle")
    played.until(lambda status: not status["sending"])
    expected = played.engine.status()["sent"] if received is None else received
    played.until(lambda status: status["received"] >= expected)
    if any(group.publish and group.publish.qos for group in plan.groups):
        played.until(lambda status: status["acked"] >= status["sent"])
    return played.finish()


def limited(messages: int, rate: float = 2_000.0) -> LoadShape:
    """A paced load of so many messages, all of them sent however late the machine lets them be."""
    return Paced(rate=rate, limit=messages, max_lateness_s=PATIENCE_S)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def mosquitto(folder: Path, *lines: str) -> Iterator[int]:
    """Debian's Mosquitto on a free port, with more lines of configuration; gives the port."""
    program = require_program("mosquitto")
    port = free_port()
    config = folder / "mosquitto.conf"
    base = ["persistence false", "max_queued_messages 0", "max_inflight_messages 0", f"listener {port} 127.0.0.1"]
    if os.geteuid() == 0:
        base.insert(0, "user root")  # it could not read the tests' files otherwise
    if not any(line.startswith("allow_anonymous") for line in lines):
        base.insert(0, "allow_anonymous true")
    config.write_text("\n".join([*base, *lines]) + "\n")
    process = subprocess.Popen([program, "-c", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for_port(port)
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def wait_for_port(port: int) -> None:
    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    assert eventually(listens), f"nothing listens at port {port}"


def plan_dict(plan: EnginePlan) -> dict[str, Any]:
    """The plan as the engine reads it, to be spoilt by a test."""
    data: dict[str, Any] = json.loads(plan.as_json())
    return data
