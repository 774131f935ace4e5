"""Spark starts while the last run of a campaign is being closed: its start costs seconds of a core.

It never starts while messages are sent or awaited, because it would disturb what is measured.
"""

from __future__ import annotations

from contextlib import suppress

from telemark.errors import RequirementError
from telemark.model.plan import RunPlan
from telemark.pipeline.analysis import QUICK_DELIVERIES
from telemark.pipeline.spark.session import prepare_session
from telemark.runner.phases import Phase
from telemark.runner.progress import Progress, RunListener, RunOutcome


class AnalysisAhead:
    """A listener that prepares the analysis when the last run has received its last message."""

    def __init__(self, inner: RunListener) -> None:
        self._inner = inner
        self._last = self._prepared = False
        self._received = self._received_before = 0  # by this run, and by those before it

    def run_started(self, run: str, server: str, plan: RunPlan, number: int, of: int) -> None:
        self._last = number == of
        self._inner.run_started(run, server, plan, number, of)

    def progress(self, progress: Progress) -> None:
        self._received = progress.totals.received
        if self._last and progress.phase is Phase.STOP:
            self._prepare()
        self._inner.progress(progress)

    def note(self, text: str) -> None:
        self._inner.note(text)

    def run_ended(self, outcome: RunOutcome) -> None:
        self._received_before += self._received
        self._inner.run_ended(outcome)

    def _prepare(self) -> None:
        if self._prepared:
            return
        self._prepared = True
        with suppress(RequirementError):  # the analysis itself says what is missing
            prepare_session(quick=self._received_before + self._received <= QUICK_DELIVERIES)
