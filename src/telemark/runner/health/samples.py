"""The small things all health sources share."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

WATCHING_SHARE = 0.01  # of one core: what a single expensive sample may cost on average


class Sample(NamedTuple):
    """One value of one metric; becomes a row of the `health` table."""

    source: str
    instance: str
    metric: str
    value: float


class Source(Protocol):
    """Something that can be sampled. Called from one thread, about once a second."""

    def sample(self, now_ns: int) -> list[Sample]:
        """What can be known now. What cannot is left out; nothing is raised for a process that has gone."""
        ...


class Throttle:
    """Makes a slow sample rarer, so that watching does not disturb what is watched.

    A sample that took t seconds is next taken t / share seconds later, at the earliest.
    """

    def __init__(self, share: float = WATCHING_SHARE, clock: Callable[[], float] = time.monotonic) -> None:
        self._share = share
        self._clock = clock
        self._not_before = 0.0

    def due(self) -> bool:
        """Whether the next sample may be taken now."""
        return self._clock() >= self._not_before

    def spent(self, started: float) -> None:
        """Tell that a sample begun at `started` (same clock) has ended now."""
        now = self._clock()
        self._not_before = started + (now - started) / self._share

    def start(self) -> float:
        """The clock's time, to be handed to `spent`."""
        return self._clock()
