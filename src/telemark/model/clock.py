"""What the time of one host is on the clock of another: a piecewise linear correction with a guaranteed bound.

A host notes its time, asks the reference for its own, and notes the time of the answer. Whatever the two ways took,
the reference read its clock between the two notes. So the correction `reference - host` was at most `told - asked`
when the host asked, and at least `told - answered` when it was answered. Two clocks drift apart by at most a known
share of the time that passes, so each exchange limits the correction at every other time as well: by a cone that opens
with the drift. The intersection of all cones is what remains, and the truth is inside it, however unequal the ways
were. Its middle is the correction, its half width the error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from telemark.errors import DataError

DRIFT = 200e-6  # each of two clocks gains or loses at most 100 parts per million
STEP_NS = 50_000_000  # between the knots of a correction
MOST_KNOTS = 36_000  # of one host and run; longer runs get longer steps
_ROUNDING_NS = 2  # readings are whole nanoseconds, and so are the knots


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question and its answer: two readings of the host's clock around one of the reference. Nanoseconds."""

    asked_ns: int
    told_ns: int
    answered_ns: int


@dataclass(frozen=True, slots=True)
class Correction:
    """Add `correction_ns` to a host's time to get the reference's; linear between knots that are `step_ns` apart.

    The error of a knot holds for all times nearer to it than the next knot is.
    """

    first_ns: int  # the host's time of the first knot
    step_ns: int
    correction_ns: tuple[int, ...]
    error_ns: tuple[int, ...]

    def at(self, host_ns: int) -> tuple[int, int]:
        """Correction and error at a time of the host.

        Raises:
            DataError: the time is before the first or after the last knot.
        """
        knot, past_ns = divmod(host_ns - self.first_ns, self.step_ns)
        if not 0 <= knot < len(self.correction_ns) - 1:
            raise DataError(f"clock: no exchange around {host_ns} ns", hint="the run ended before its clocks were read")
        here, there = self.correction_ns[knot : knot + 2]
        return here + (there - here) * past_ns // self.step_ns, max(self.error_ns[knot : knot + 2])

    def to_host(self, reference_ns: int) -> int:
        """The host's time at a time of the reference, which may lie after the last knot."""
        last_ns = self.first_ns + self.step_ns * (len(self.correction_ns) - 1)
        guess_ns = reference_ns - self.correction_ns[-1]
        return guess_ns if guess_ns >= last_ns else reference_ns - self.at(max(guess_ns, self.first_ns))[0]

    @property
    def worst_error_ns(self) -> int:
        """The largest error of any time it covers."""
        return max(self.error_ns)


def correction(
    exchanges: Iterable[Exchange], *, first_ns: int | None = None, last_ns: int | None = None, drift: float = DRIFT
) -> Correction:
    """The correction that all exchanges of one host allow.

    Args:
        exchanges: in any order.
        first_ns: the host's time from which it is needed; the first question when None.
        last_ns: the host's time until which it is needed; the last answer when None.
        drift: by how much of the time that passes the two clocks part at most.

    Raises:
        DataError: there is no exchange, an answer came before its question, or no drift within the limit explains
            all exchanges.
    """
    found = sorted(exchanges, key=lambda exchange: exchange.asked_ns)
    _check(found)
    first = found[0].asked_ns if first_ns is None else min(first_ns, found[0].asked_ns)
    last = max(exchange.answered_ns for exchange in found)
    last = last if last_ns is None else max(last, last_ns)
    step_ns = max(STEP_NS, -(-(last - first) // MOST_KNOTS))
    times = range(first, last + step_ns + 1, step_ns)
    base = found[0].told_ns - found[0].asked_ns  # corrections may be days; floats are exact for what remains
    highest = _envelope([(each.asked_ns, each.told_ns - each.asked_ns - base) for each in found], times, drift)
    lowest = _envelope([(each.answered_ns, each.answered_ns - each.told_ns + base) for each in found], times, drift)
    limits = [(base - low, base + high) for low, high in zip(lowest, highest, strict=True)]
    if any(low > high for low, high in limits):
        raise DataError(
            f"clock: the exchanges contradict each other: the clocks part by more than {drift * 1e6:.0f} parts per "
            "million, or one was set back",
            hint="let the hosts' time service settle, or stop it for the run",
        )
    # Between two knots each limit rises by at most the drift: the straight line misses it by half a step's drift.
    between_ns = round(drift * step_ns / 2) + _ROUNDING_NS
    middles = tuple((low + high) // 2 for low, high in limits)
    return Correction(first, step_ns, middles, tuple((high - low + 1) // 2 + between_ns for low, high in limits))


def _check(exchanges: Sequence[Exchange]) -> None:
    if not exchanges:
        raise DataError("clock: 0 exchanges, expected at least 1")
    worst = min(exchange.answered_ns - exchange.asked_ns for exchange in exchanges)
    if worst < 0:
        raise DataError(f"clock: a round trip of {worst} ns, expected 0 or more", hint="use a monotonic clock")


def _envelope(points: Sequence[tuple[int, int]], times: Sequence[int], drift: float) -> list[int]:
    """At each of the times the least of `value + drift * distance` over all points: one sweep from either side."""
    stops = sorted([(time, value) for time, value in points] + [(time, None) for time in times], key=lambda s: s[0])
    forward = _sweep(stops, drift)
    backward = _sweep([(-time, value) for time, value in reversed(stops)], drift)[::-1]
    least = [min(pair) for pair in zip(forward, backward, strict=True)]
    return [round(value) for (_, given), value in zip(stops, least, strict=True) if given is None]


def _sweep(stops: Sequence[tuple[int, int | None]], drift: float) -> list[float]:
    """The least value that points passed so far leave at each stop, in ascending time."""
    least = float("inf")
    reached = []
    for (before, _), (time, value) in pairwise([stops[0], *stops]):
        least += drift * (time - before)
        least = least if value is None else min(least, value)
        reached.append(least)
    return reached
