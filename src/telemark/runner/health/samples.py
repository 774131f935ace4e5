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

    A sample that took t seconds of CPU is next taken t / share seconds later, but never later than `longest_s`: a
    value that is costly is still better than none.
    """

    def __init__(
        self,
        share: float = WATCHING_SHARE,
        longest_s: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
        cpu_clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self._share = share
        self._longest_s = longest_s
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._not_before = 0.0
        self._began = (0.0, 0.0)

    def due(self) -> bool:
        """Whether the next sample may be taken now; when it may, its cost is counted from here to `spent`."""
        self._began = self._clock(), self._cpu_clock()
        return self._began[0] >= self._not_before

    def spent(self) -> None:
        """The sample is taken. CPU time counts, not time: a busy host must not make samples rarer."""
        began, cpu_began = self._began
        cost = self._cpu_clock() - cpu_began
        self._not_before = began + min(cost / self._share, self._longest_s)
