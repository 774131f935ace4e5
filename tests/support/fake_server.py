"""A server adapter without a server: everything the runner asks of one, decided by the test."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from telemark.model.plan import Endpoint, Profile
from telemark.servers.contract import Availability, StartRequest
from telemark.servers.options import LOCAL, MAX_QUEUED


class FakeServer:
    """Listens nowhere. `dead` may be set at any time; `calls` remembers what was asked.

    Args:
        offers: its capabilities.
        on_start: called by `start`, to fail or to wait.
    """

    name = "fake"
    options = (*LOCAL, MAX_QUEUED)

    def __init__(
        self,
        offers: frozenset[str] = frozenset({"mqtt-3.1.1"}),
        on_start: Callable[[], None] | None = None,
    ) -> None:
        self.offers = offers
        self.dead = False
        self.calls: list[str] = []
        self.request: StartRequest | None = None
        self._on_start = on_start

    def capabilities(self) -> frozenset[str]:
        return self.offers

    def availability(self) -> Availability:
        return Availability(True, "1.0", "it is always there")

    def prepare(self) -> None:
        self.calls.append("prepare")

    def profile_note(self, profile: Profile) -> str:
        return f"{profile} means nothing here"

    def start(self, request: StartRequest) -> None:
        self.calls.append("start")
        self.request = request
        (request.directory / "data").mkdir(parents=True)
        Path(request.directory / "fake.conf").write_text("listen nowhere\n")
        if self._on_start:
            self._on_start()

    def endpoints(self) -> Mapping[str, Endpoint]:
        listeners = self.request.listeners if self.request else ()
        return {each.name: Endpoint(each.name, "127.0.0.1", 1) for each in listeners}

    def pids(self) -> Sequence[int]:
        return [os.getpid()]

    def alive(self) -> bool:
        return not self.dead

    def counters(self) -> Mapping[str, float]:
        return {"messages_in": 10.0}

    def access(self, kind: str) -> object | None:
        return None

    def stop(self) -> None:
        self.calls.append("stop")

    def kill(self) -> None:
        self.calls.append("kill")

    def restart(self) -> None:
        self.calls.append("restart")

    def log_tail(self, lines: int = 20) -> str:
        return "segmentation fault\n" if self.dead else ""
