"""A kind of consumers that telemark does not have: what one file must hold to add it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from telemark.consumers.contract import CONSUMER_PROCESS, BackendConsumers, ConsumerKind
from telemark.model.keys import Meaning
from telemark.store.writer import RecordWriter

MESSAGES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Pigeons(ConsumerKind):
    """Consumers that carry messages on foot."""

    kind: ClassVar[str] = "pigeons"
    memory_bytes: ClassVar[int] = 1_000_000

    loft: Annotated[Literal["north", "south"], Meaning("where they live")] = "north"

    @property
    def share(self) -> str:
        return self.loft

    def describe(self) -> str:
        return f"pigeon of the {self.loft} loft, takes {self.topic}"

    def make(self, access: str, folder: Path) -> BackendConsumers:
        return Flock(self, access, folder)


class Flock:
    """Receives three messages of stream 0 as soon as it is let go."""

    def __init__(self, plan: Pigeons, access: str, folder: Path) -> None:
        self._plan = plan
        self._access = access
        self._writer = RecordWriter(folder, CONSUMER_PROCESS)
        self._received = 0

    def start(self) -> None:
        assert self._access == f"the {self._plan.loft} window"

    def go(self, start_ns: int) -> None:
        now, number = time.monotonic_ns(), self._plan.first_subscription
        row = {"stream": 0, "intended_ns": now, "sent_ns": now, "received_ns": now, "subscription": number}
        row |= {"size": 32, "qos": 0, "flags": 0}
        self._writer.write_rows("deliveries", [row | {"sequence": sequence} for sequence in range(MESSAGES)])
        self._received = MESSAGES

    def received(self) -> int:
        return self._received

    def poll(self) -> Mapping[str, float]:
        return {}

    def pids(self) -> Sequence[int]:
        return []

    def failure(self) -> str | None:
        return None

    def restart(self) -> None:
        self.start()

    def kill(self) -> None:
        self._received = 0

    def stop(self) -> None:
        self._writer.close()
