"""Spark starts ahead of the analysis, but never while something is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from telemark.campaigns.ahead import AnalysisAhead
from telemark.errors import ExitCode, RequirementError
from telemark.model.plan import Group, Idle, Phases, RunPlan
from telemark.runner.phases import Phase
from telemark.runner.progress import Progress, RunOutcome, Silence
from telemark.runner.totals import Totals

PLAN = RunPlan("s", "c", "p=1", "quick", 1, {}, (Group("g", 1),), Idle(), Phases())
OUTCOME = RunOutcome("r", Path("r"), "complete", None, None, ExitCode.PASSED)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each start of a session was meant to be a quick one."""
    found: list[bool] = []
    monkeypatch.setattr("telemark.campaigns.ahead.prepare_session", lambda *, quick: found.append(quick))
    return found


def play(listener: AnalysisAhead, number: int, of: int, received: int) -> None:
    """A run as its listener sees it, up to the end of the drain."""
    listener.run_started("r", "loopback", PLAN, number, of)
    for phase in (Phase.CONNECT, Phase.WARMUP, Phase.MEASURE, Phase.DRAIN):
        listener.progress(Progress("r", phase, 1.0, None, Totals(received=received), None, 0.0, 0.0))


def stop(listener: AnalysisAhead, received: int) -> None:
    for _ in range(2):
        listener.progress(Progress("r", Phase.STOP, 1.0, None, Totals(received=received), None, 0.0, 0.0))
    listener.run_ended(OUTCOME)


def test_it_starts_once_when_the_last_run_is_being_closed(started: list[bool]) -> None:
    """Not in a measure phase, not in a drain, not between runs."""
    listener = AnalysisAhead(Silence())
    play(listener, 1, 2, 10)
    stop(listener, 10)
    play(listener, 2, 2, 10)
    assert started == []
    stop(listener, 10)
    assert started == [True]


def test_many_messages_are_no_quick_analysis(started: list[bool]) -> None:
    """The messages of all runs count."""
    listener = AnalysisAhead(Silence())
    for number in (1, 2):
        play(listener, number, 2, 600_000)
        stop(listener, 600_000)
    assert started == [False]


def test_without_java_the_run_is_not_disturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The analysis says what is missing, after the run's folder is closed."""

    def no_java(*, quick: bool) -> None:
        raise RequirementError("Java 17 or later expected, found none")

    monkeypatch.setattr("telemark.campaigns.ahead.prepare_session", no_java)
    listener = AnalysisAhead(Silence())
    play(listener, 1, 1, 10)
    stop(listener, 10)
