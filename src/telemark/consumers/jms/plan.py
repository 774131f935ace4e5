"""JMS consumers in a plan."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from telemark.consumers.contract import BackendConsumers, ConsumerKind
from telemark.model.keys import Meaning
from telemark.servers.jms import JmsAccess

UNITS = {"m": 1 << 20, "g": 1 << 30}
HEAP = re.compile(r"\d+[mMgG]")
# No flag that runs a program, loads code or reads a file: scenario files travel.
FLAG = re.compile(r"-X(?:ms|mn|ss)\d+[kKmMgG]?|-XX:(?:[+-]\w+|(?!On|Flags=|VMOptionsFile=)\w+=[\w.%]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class JmsConsumers(ConsumerKind):
    """Consumers that receive through JMS, all in one JVM."""

    kind: ClassVar[str] = "jms"

    subscription: Annotated[
        Literal["plain", "durable", "shared", "shared-durable"], Meaning("kind of subscription")
    ] = "plain"
    share_name: Annotated[str, Meaning("name of the shared subscription")] = "telemark"
    receive: Annotated[Literal["listener", "blocking"], Meaning("asynchronous listener or blocking receive")] = (
        "listener"
    )
    acknowledge: Annotated[Literal["auto", "client", "dups-ok", "transacted", "least"], Meaning("acknowledgement")] = (
        "auto"
    )
    acknowledge_every: Annotated[int, Meaning("messages per acknowledgement or transaction", minimum=1)] = 1
    prefetch: Annotated[int, Meaning("messages the client library may hold")] = 1000
    payload: Annotated[int, Meaning("bytes of a message, for clients whose prefetch counts bytes", minimum=1)] = 32
    heap: Annotated[str, Meaning("largest Java heap, as -Xmx takes it: 512m, 20g")] = "1g"
    jvm_flags: Annotated[str, Meaning("further flags of the JVM, separated by spaces")] = "-XX:+UseParallelGC"

    def problems(self) -> Iterator[str]:
        if not HEAP.fullmatch(self.heap):
            yield f"heap: found {self.heap!r}, expected a number with m or g, for example 2g"
        for flag in self.jvm_flags.split():
            if not FLAG.fullmatch(flag):
                yield f"jvm_flags: found {flag!r}, expected -Xms, -Xmn, -Xss, -XX:+NAME, -XX:-NAME or -XX:NAME=VALUE"

    @property
    def memory_bytes(self) -> int:
        return int(self.heap[:-1]) * UNITS[self.heap[-1].lower()] if HEAP.fullmatch(self.heap) else 0

    @property
    def share(self) -> str | None:
        return self.share_name if self.subscription.startswith("shared") else None

    @property
    def durable(self) -> bool:
        return self.subscription.endswith("durable")

    def needs(self) -> frozenset[str]:
        # not super(): a dataclass with slots is another class than the one super() was compiled for
        return ConsumerKind.needs(self) | ({"jms-shared"} if self.share else set())

    def describe(self) -> str:
        return (
            f"JMS consumer: {self.subscription} subscription to {self.topic}, acknowledges {self.acknowledge}, "
            f"every {self.acknowledge_every}, prefetch {self.prefetch:,}" + (", over TLS" if self.tls else "")
        )

    def make(self, access: JmsAccess, folder: Path) -> BackendConsumers:
        from telemark.consumers.jms.application import JmsApplication  # noqa: PLC0415 - plans need no JVM

        return JmsApplication(self, access, folder)
