"""The native engine's interface without an engine, for tests of what surrounds it."""

from __future__ import annotations

import threading
from collections.abc import Sequence


class FakeColumn:
    """A column of texts."""

    def __init__(self, name: str, values: Sequence[str]) -> None:
        self.name = name
        self._values = list(values)

    def values(self) -> list[str]:
        return self._values


class FakeBatch:
    """One event row: enough to see that rows pass through."""

    table = "events"
    rows = 1

    def __init__(self, kind: str, detail: str) -> None:
        self.kind, self.detail = kind, detail

    def columns(self) -> list[FakeColumn]:
        return [FakeColumn("kind", [self.kind]), FakeColumn("detail", [self.detail])]


class FakeEngine:
    """Remembers what it was told; hands out the batches it was given.

    Args:
        batches: what `drain` returns, one list for each call; an exception among them is raised.
    """

    def __init__(self, batches: Sequence[list[FakeBatch] | Exception] = ()) -> None:
        self.told: list[tuple[str, object]] = []
        self._batches = list(batches)
        self._finished = threading.Event()
        self.received_for_credit = 0
        self.sent = 0

    def connect(self) -> None:
        self.told.append(("connect", None))

    def begin(self, start_ns: int) -> None:
        self.told.append(("begin", start_ns))

    def set_rate(self, rate: float, at_ns: int) -> int:
        self.told.append(("set_rate", rate))
        return at_ns

    def credit(self, messages: int) -> None:
        self.told.append(("credit", messages))

    def halt(self) -> None:
        self.told.append(("halt", None))

    def finish(self) -> None:
        self.told.append(("finish", None))
        self._finished.set()

    def flush(self) -> None:
        self.told.append(("flush", None))

    def status(self) -> dict[str, int | bool]:
        return {
            "devices": 2, "connected": 2, "ready": 2, "failed": 0, "finished": self._finished.is_set(),
            "received_for_credit": self.received_for_credit, "sent": self.sent, "dropped": 0,
        }  # fmt: skip

    def latency_last_second(self) -> tuple[int, int, int]:
        return 5, 100, 900

    def drain(self, timeout_s: float) -> list[FakeBatch]:
        if not self._batches:
            self._finished.wait(timeout_s)
            return []
        batch = self._batches.pop(0)
        if isinstance(batch, Exception):
            raise batch
        return batch
