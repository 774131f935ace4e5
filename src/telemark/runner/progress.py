"""What a run tells while it runs, and who listens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from telemark.errors import ExitCode
from telemark.model.plan import RunPlan
from telemark.runner.phases import Phase
from telemark.runner.totals import Totals


@dataclass(frozen=True, slots=True)
class Progress:
    """One look at a run. Values that are not known are None."""

    run: str
    phase: Phase
    elapsed_s: float  # since the run began
    remaining_s: float | None  # of this phase, at most
    totals: Totals
    outstanding: int | None  # owed for what was sent, not yet received: lost when the run ends so
    sent_rate: float  # messages a second, over a little more than the last second
    received_rate: float
    connect_rate: float = 0.0  # devices that became ready a second, likewise
    server_cpu_cores: float | None = None
    server_rss_bytes: float | None = None
    engine_cpu_cores: float | None = None


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How one run ended."""

    run: str
    folder: Path
    state: str  # complete, failed or interrupted
    reason: str | None
    hint: str | None
    exit_code: ExitCode


class RunListener(Protocol):
    """Shows what happens. Must return quickly: it is called from the loop that steers the run."""

    def run_started(self, run: str, server: str, plan: RunPlan, number: int, of: int) -> None:
        """A run begins: its number among those of the campaign."""
        ...

    def progress(self, progress: Progress) -> None:
        """About four times a second."""
        ...

    def note(self, text: str) -> None:
        """Something worth a line."""
        ...

    def run_ended(self, outcome: RunOutcome) -> None:
        """A run is over and its folder closed."""
        ...


class Silence:
    """A listener that shows nothing."""

    def run_started(self, run: str, server: str, plan: RunPlan, number: int, of: int) -> None: ...
    def progress(self, progress: Progress) -> None: ...
    def note(self, text: str) -> None: ...
    def run_ended(self, outcome: RunOutcome) -> None: ...
