"""When the other end of a line counts as lost: it said nothing for a while that we ourselves were awake."""

from __future__ import annotations

import time

BEAT_S = 0.5  # each side says something at least that often
SILENCE_S = 2.5  # after that long without a word a host is lost
RUNNER_SILENCE_S = 6.0  # and the runner: it has many lines to care for, and a host that waits disturbs nobody


class Silence:
    """How long the other end has been silent.

    A program that was held up itself (a busy or stopped machine) finds words waiting for it: only as much of such a
    pause counts as between two of its own beats, so that it reads before it judges.
    """

    def __init__(self, limit_s: float = SILENCE_S) -> None:
        self._limit_s = limit_s
        self._silent_s = 0.0
        self._since = time.monotonic()

    def heard(self) -> None:
        """A word came."""
        self._silent_s = 0.0
        self._since = time.monotonic()

    def left_s(self) -> float:
        """Ask at every beat: how much longer the silence may last; 0 or less when the other end is lost."""
        now = time.monotonic()
        self._silent_s += min(now - self._since, 2 * BEAT_S)
        self._since = now
        return self._limit_s - self._silent_s
