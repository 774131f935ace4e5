"""How far two hosts' clocks are apart: an exchange of readings, as network time does it.

One side notes its time, asks the other for its own, and notes the time of the answer. Whatever the way there and back
cost, the other clock was read between the two: so the offset lies between `told - answered` and `told - asked`, and
half of the round trip bounds the error of the middle, however unequal the two ways were. Of many exchanges the
shortest is the best. Clocks of one host need none of this: CLOCK_MONOTONIC is the same for all its processes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from telemark.errors import DataError

EXCHANGES = 32
DRIFT = 100e-6  # two quartz clocks part by less than this share of the time that passes


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question and its answer: two readings of the asking clock around one of the other. Nanoseconds."""

    asked_ns: int
    told_ns: int
    answered_ns: int

    @property
    def round_trip_ns(self) -> int:
        """What the exchange took, by the asking clock."""
        return self.answered_ns - self.asked_ns


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """The other clock less ours: it is within `error_ns` of `offset_ns`."""

    offset_ns: int
    error_ns: int

    def widened(self, seconds: float) -> ClockOffset:
        """The same offset some time before or after the exchange: the clocks may have drifted apart."""
        return ClockOffset(self.offset_ns, self.error_ns + round(seconds * 1e9 * DRIFT))

    def as_host(self, host: str) -> dict[str, Any]:
        """An entry of `clock.hosts` in run.json."""
        return {"host": host, "offset_ns": self.offset_ns, "error_ns": self.error_ns}


SAME_HOST = ClockOffset(0, 0)


def estimate(exchanges: Iterable[Exchange]) -> ClockOffset:
    """The offset by the shortest exchange, with the bound that holds whatever the delays were.

    Raises:
        DataError: there is no exchange, or one whose answer came before its question.
    """
    found = list(exchanges)
    if not found:
        raise DataError("clock offset: 0 exchanges, expected at least 1")
    best = min(found, key=lambda exchange: exchange.round_trip_ns)
    if best.round_trip_ns < 0:
        raise DataError(
            f"clock offset: a round trip of {best.round_trip_ns} ns, expected 0 or more", hint="use a monotonic clock"
        )
    middle_ns, odd = divmod(best.asked_ns + best.answered_ns, 2)
    return ClockOffset(best.told_ns - middle_ns, (best.round_trip_ns + 1) // 2 + odd)


def measure(
    ask: Callable[[], int], times: int = EXCHANGES, now_ns: Callable[[], int] = time.monotonic_ns
) -> ClockOffset:
    """Ask the other side for its time so often; `ask` returns its reading in nanoseconds."""
    exchanges = []
    for _ in range(times):
        asked_ns = now_ns()
        told_ns = ask()
        exchanges.append(Exchange(asked_ns, told_ns, now_ns()))
    return estimate(exchanges)
