"""live.json: what a watcher in another process sees of a running campaign."""

from __future__ import annotations

import os
import time
from pathlib import Path

from telemark.errors import ExitCode
from telemark.model.plan import Idle, Phases, RunPlan
from telemark.runner.phases import Phase
from telemark.runner.progress import Progress, RunOutcome, Silence
from telemark.runner.totals import Totals
from telemark.runner.view.live import LiveTrace
from telemark.store.documents import live as live_file

PLAN = RunPlan("suite", "case", "publishers=1", "quick", 1, {}, (), Idle(), Phases())


def look(second: float) -> Progress:
    """One look at a run."""
    return Progress("001-x", Phase.MEASURE, second, 3.0, Totals(connected=5, sent=10), 2, 100.0, 99.0)


def test_the_trace_follows_the_run_and_goes_with_it(tmp_path: Path) -> None:
    """Written about once a second, removed at the end."""
    now = [0.0]
    trace = LiveTrace(tmp_path, Silence(), lambda: now[0])
    trace.run_started("001-x", "mosquitto", PLAN, 1, 2)
    for now[0] in (0.0, 0.4, 1.1, 2.2):
        trace.progress(look(now[0]))
    seen = live_file.read(tmp_path)
    trace.run_ended(RunOutcome("001-x", tmp_path, "complete", None, None, ExitCode.PASSED))

    assert seen is not None
    assert [0.0, 1.1, 2.2] == [sample[0] for sample in seen.samples]
    assert len(live_file.COLUMNS) == len(seen.samples[0])
    assert ("mosquitto", 10) == (seen.server, seen.totals["sent"])
    assert live_file.read(tmp_path) is None


def test_a_disk_that_refuses_does_not_disturb_the_run(tmp_path: Path) -> None:
    """Watching is never worth a failed run."""
    trace = LiveTrace(tmp_path / "gone", Silence())
    trace.run_started("001-x", "mosquitto", PLAN, 1, 1)
    trace.progress(look(0.0))
    trace.run_ended(RunOutcome("001-x", tmp_path, "complete", None, None, ExitCode.PASSED))


def test_old_samples_are_forgotten(tmp_path: Path) -> None:
    """A run of hours must not make a file of megabytes."""
    file = live_file.LiveFile("001-x", "mosquitto", "", 1, 1)
    for number in range(live_file.KEPT + 50):
        file.add([number])

    assert live_file.KEPT == len(file.samples)
    assert [live_file.KEPT + 49] == file.samples[-1]


def test_a_trace_that_nobody_renews_is_of_a_campaign_that_was_killed(tmp_path: Path) -> None:
    """It must not pass for a running one for ever."""
    live_file.LiveFile("001-x", "mosquitto", "", 1, 1).write(tmp_path)
    assert live_file.read(tmp_path) is not None

    long_ago = time.time() - live_file.DEAD_AFTER_S - 1
    os.utime(tmp_path / live_file.LIVE_FILE, (long_ago, long_ago))

    assert live_file.read(tmp_path) is None


def test_a_file_that_cannot_be_understood_is_no_live_run(tmp_path: Path) -> None:
    """Half-written, foreign or of a newer format."""
    for content in ("{", "[]", '{"format": 99}'):
        (tmp_path / live_file.LIVE_FILE).write_text(content)
        assert live_file.read(tmp_path) is None
