"""A listener that writes progress to live.json for other processes and passes everything on."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from telemark.model.plan import RunPlan
from telemark.runner.progress import Progress, RunListener, RunOutcome
from telemark.store.documents import live as live_file
from telemark.store.documents.live import LiveFile

EVERY_S = 1.0  # often enough to watch, too seldom to be noticed by what is measured


class LiveTrace:
    """Writes progress to live.json about once a second. A disk that cannot be written does not disturb the run."""

    def __init__(self, campaign: Path, inner: RunListener, clock: Callable[[], float] = time.monotonic) -> None:
        self._campaign = campaign
        self._inner = inner
        self._clock = clock
        self._file: LiveFile | None = None
        self._written = float("-inf")

    def run_started(self, run: str, server: str, plan: RunPlan, number: int, of: int) -> None:
        self._file = LiveFile(run, server, plan.point, number, of)
        self._written = float("-inf")
        self._inner.run_started(run, server, plan, number, of)

    def progress(self, progress: Progress) -> None:
        self._inner.progress(progress)
        if self._file is None or self._clock() - self._written < EVERY_S:
            return
        self._written = self._clock()
        self._file.remaining_s = progress.remaining_s
        self._file.totals = asdict(progress.totals)
        self._file.add(_sample(progress))
        with suppress(OSError):
            self._file.write(self._campaign)

    def note(self, text: str) -> None:
        self._inner.note(text)

    def run_ended(self, outcome: RunOutcome) -> None:
        self._file = None
        with suppress(OSError):
            live_file.remove(self._campaign)
        self._inner.run_ended(outcome)


def _sample(progress: Progress) -> list[float | int | str | None]:
    """One row in the order of live_file.COLUMNS."""
    totals = progress.totals
    return [
        round(progress.elapsed_s, 2), str(progress.phase), round(progress.sent_rate, 1),
        round(progress.received_rate, 1), totals.p50_us, totals.p99_us, progress.server_cpu_cores,
        progress.server_rss_bytes, progress.engine_cpu_cores, totals.connected, progress.outstanding,
    ]  # fmt: skip
