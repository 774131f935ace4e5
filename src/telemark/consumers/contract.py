"""What a kind of back-end consumers must offer.

Such consumers are not MQTT devices. They live in processes of their own, take part in the rendezvous, and leave the
same delivery rows as the engine in the run folder.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from telemark.model.plan import ConsumerPlan

CONSUMER_PROCESS = 1000  # the first consumer's number in the `process` column of counters


class BackendConsumers(Protocol):
    """The consumers of one run. The order of calls is start, go, stop; the others may come at any time between."""

    def start(self) -> None:
        """Connect and subscribe everything; returns when every subscription stands.

        Raises ConsumerError when the program cannot be built or started, or the server refuses us or a subscription.
        """
        ...

    def go(self, start_ns: int) -> None:
        """Let messages flow. Called before the devices begin to send; the run's seconds count from `start_ns`."""
        ...

    def received(self) -> int:
        """Messages received so far, by its latest report (at most about a second old)."""
        ...

    def poll(self) -> Mapping[str, float]:
        """Called about once a second by the runner: moves finished rows into the run folder and returns the newest
        health figures (heap_bytes, gc_count, gc_ms), for the health table's source `consumer`."""
        ...

    def pids(self) -> Sequence[int]:
        """Processes to watch."""
        ...

    def failure(self) -> str | None:
        """Why consuming has ended early; None while all is well."""
        ...

    def restart(self) -> None:
        """Start the consumers again after they died, on the same subscriptions. Leaves an event in the run folder."""
        ...

    def kill(self) -> None:
        """kill -9, as a crash would."""
        ...

    def stop(self) -> None:
        """End in order, record the rest, leave no process. Safe to call twice and after a failure."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerKind(ConsumerPlan):
    """A kind of consumers: its part of the plan with its needs and words, and the consumers of a run made of it."""

    @abstractmethod
    def make(self, access: Any, folder: Path) -> BackendConsumers:
        """The consumers of one run, not started yet.

        Args:
            access: what the server adapter's `access(kind)` returned: how to reach the server.
            folder: the run folder, for rows and logs.
        """
