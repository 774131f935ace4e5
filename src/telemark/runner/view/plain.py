"""One line every few seconds, for logs and pipes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from telemark.host.text import visible
from telemark.model.plan import RunPlan
from telemark.runner.phases import Phase
from telemark.runner.progress import Progress, RunOutcome
from telemark.runner.view import words

EVERY_S = 5.0


class PlainLines:
    """Writes a line when a phase changes and every few seconds in between."""

    def __init__(self, output: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._output = output
        self._clock = clock
        self._due = 0.0
        self._phase: Phase | None = None

    def run_started(self, run: str, server: str, plan: RunPlan, number: int, of: int) -> None:
        self._phase, self._due = None, 0.0
        self._say(f"run {number} of {of}: {words.run(plan)} on {server}")

    def progress(self, progress: Progress) -> None:
        if progress.phase is self._phase and self._clock() < self._due:
            return
        self._phase, self._due = progress.phase, self._clock() + EVERY_S
        self._say(f"  {line(progress)}")

    def note(self, text: str) -> None:
        self._say(f"  note: {text}")

    def run_ended(self, outcome: RunOutcome) -> None:
        reason = f": {outcome.reason}" if outcome.reason else ""
        self._say(f"  {outcome.state}{reason} -> {outcome.folder}")
        if outcome.hint:
            self._say(f"  hint: {outcome.hint}")

    def _say(self, text: str) -> None:
        print(visible(text), file=self._output, flush=True)


def line(progress: Progress) -> str:
    """All that matters in one line."""
    totals = progress.totals
    if progress.phase in (Phase.START, Phase.CONNECT, Phase.HOLD, Phase.RENDEZVOUS):
        state = f"{words.devices(progress)}, {totals.failed:,} failed"
    else:
        state = (
            f"sent {words.count(totals.sent)}{words.rate(progress, progress.sent_rate)}, "
            f"received {words.count(totals.received)}{words.rate(progress, progress.received_rate)}, "
            f"{words.missing(progress)}, dropped {words.count(totals.dropped)}, "
            f"p50 {words.microseconds(totals.p50_us)}, p99 {words.microseconds(totals.p99_us)}"
        )
    server = f"server {words.cores(progress.server_cpu_cores)} {words.memory(progress.server_rss_bytes)}"
    clock = f"{words.seconds(progress.elapsed_s)}, at most {words.seconds(progress.remaining_s)} left"
    return f"{progress.phase:<10} [{clock}] {state}; {server}; engine {words.engine(progress)}"
