"""The run folder while sampling threads write into it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from telemark.runner.health.counters import CounterSource
from telemark.runner.health.samples import Sample
from telemark.runner.run_record import RunRecord
from telemark.store.documents.run import RunFile
from telemark.store.integrity import check
from telemark.store.reader import read_records
from tests.support.run_builder import facts

SAMPLES = [Sample("host", "", "cpu_cores", 1.0)]


def test_samples_that_come_after_the_end_change_nothing(tmp_path: Path) -> None:
    """A sampling thread that was late wrote into a file that had its name already."""
    record = RunRecord(tmp_path / "001", facts(tmp_path / "001"))
    record.open()
    sink = record.health("here", "server")
    sink(1, SAMPLES)
    record.close("failed", "for a test")
    sink(2, SAMPLES)

    assert 1 == read_records(record.folder, "health").num_rows
    assert check(record.folder, RunFile.read(record.folder)) is None


def test_the_end_may_come_while_the_server_is_asked_for_the_first_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for a thread that had not been started ended the runner with an internal error."""
    source = CounterSource(dict, lambda _time, _samples: None)
    start = threading.Thread.start

    def wait_meanwhile(thread: threading.Thread) -> None:
        source.wait(0.1)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", wait_meanwhile)
    source.sample(1)
