"""Which rate to try next: ramp from below, bracket, bisect, confirm. Pure: it never sees a server.

A rate *holds* when the case's rule holds at it. The search assumes that a rate above one that does not hold does not
hold either, and protects that assumption against noise: a failure counts only when a second try fails too, and the
answer is the highest rate that survived a full-length hold.

A rate at which the engine was the limit says nothing about the server, but it is an upper bound of the search all the
same: the server may fail at a lower rate, which the engine can make. Only when it does not is there no peak.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal


class Stage(Enum):
    """What the next try is for."""

    RAMP = "ramp"
    BISECT = "bisect"
    CONFIRM = "confirm"


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a search starts and when it stops."""

    start: float  # first rate, well below the expected peak
    ceiling: float  # never tried above: the engine's own ceiling, or the user's limit
    growth: float = 2.0  # factor from one ramp step to the next, in (1, 2]
    resolution: float = 0.05  # bisect until (failed - held) / failed is at most this
    step_back: float = 0.95  # factor after a rate failed its full-length hold
    tries: int = 40  # give up after so many
    step: float = 0.0  # only multiples of this are tried; 0: any rate

    def whole(self, rate: float) -> float:
        """The nearest rate below that may be tried."""
        return rate if not self.step else max(self.step, rate // self.step * self.step)


@dataclass(frozen=True, slots=True)
class Try:
    """One rate to run, and why."""

    rate: float
    stage: Stage
    repeated: bool = False  # a second look at a rate that failed once


Ending = Literal["confirmed", "nothing held", "ceiling reached", "engine bound", "gave up"]


@dataclass(slots=True)
class Bracket:
    """The state of a search. Call `next`, run it, call `report`; `next` is None when the search is over."""

    limits: Limits
    held: float = 0.0  # highest rate that held in a short try
    failed: float = math.inf  # lowest rate that failed twice
    bound: float = math.inf  # lowest rate at which the engine was the limit
    confirmed: float | None = None
    ending: Ending | None = None
    history: list[tuple[Try, bool]] = field(default_factory=list)
    _doubt: Try | None = None  # failed once

    @property
    def above(self) -> float:
        """The lowest rate known not to hold, whichever side was the limit."""
        return min(self.failed, self.bound)

    def tries_left(self, further: float) -> int:
        """How many tries are still to make, if no rate above `further` times the highest known one holds."""
        if self.ending is not None:
            return 0
        limits = self.limits
        known = self.held or min(limits.start, self.above / 2)
        failed = self.above
        ramp = 0 if self.held else 1
        if math.isinf(failed):
            failed = min(known * further, limits.ceiling) * limits.growth
            steps = math.ceil(math.log(max(failed / known, 1.0), limits.growth))
            ramp += steps + 1  # the last step fails and is repeated
            known = failed / limits.growth
        bisect = math.ceil(math.log2(max((failed - known) / failed / limits.resolution, 1.0)))
        confirm = 1
        return ramp + bisect + bisect // 2 + confirm  # half of the bisected rates fail and are repeated

    def next(self) -> Try | None:
        """The next rate to run; None when the search has ended (see `ending`)."""
        if self.ending is not None:
            return None
        if len(self.history) >= self.limits.tries:
            self.ending = "gave up"
            return None
        if self._doubt is not None:
            return Try(self._doubt.rate, self._doubt.stage, repeated=True)
        return self._fresh()

    def _fresh(self) -> Try:
        limits = self.limits
        if self.held == 0.0:
            # Below the start every step halves: the first rate that holds becomes the floor of the bracket.
            return Try(limits.whole(limits.start if math.isinf(self.above) else self.above / 2), Stage.RAMP)
        if math.isinf(self.above):
            higher = limits.whole(min(self.held * limits.growth, limits.ceiling))
            return Try(higher, Stage.RAMP) if higher > self.held else Try(self.held, Stage.CONFIRM)
        middle = limits.whole((self.above + self.held) / 2)
        if (self.above - self.held) / self.above > limits.resolution and middle > self.held:
            return Try(middle, Stage.BISECT)
        return Try(self.held, Stage.CONFIRM)

    def report(self, tried: Try, holds: bool) -> None:
        """Take the result of a try."""
        self.history.append((tried, holds))
        if holds:
            self._doubt = None
            self._held(tried)
        elif not tried.repeated:
            self._doubt = tried
        else:
            self._doubt = None
            self._failed(tried)

    def report_bound(self, tried: Try) -> None:
        """The engine was the limit of a try, and of its repetitions."""
        self.history.append((tried, False))
        self._doubt = None
        self.bound = min(self.bound, tried.rate)
        self._step_back(tried)

    def _held(self, tried: Try) -> None:
        self.held = max(self.held, tried.rate)
        if tried.stage is not Stage.CONFIRM:
            return
        self.confirmed = tried.rate
        if tried.rate >= self.limits.whole(self.limits.ceiling):
            self.ending = "ceiling reached"
        else:
            self.ending = "confirmed" if self.failed <= self.bound else "engine bound"

    def _failed(self, tried: Try) -> None:
        self.failed = min(self.failed, tried.rate)
        self._step_back(tried)

    def _step_back(self, tried: Try) -> None:
        if tried.stage is Stage.CONFIRM:
            # It held for a short while only: short tries above are void as well.
            self.held = self.limits.whole(min(tried.rate * self.limits.step_back, tried.rate - self.limits.step))
        lowest = max(self.limits.start / 256, self.limits.step)
        if self.above <= lowest and (self.held == 0.0 or self.held >= self.above):
            self.ending = "nothing held" if self.failed <= self.bound else "engine bound"
