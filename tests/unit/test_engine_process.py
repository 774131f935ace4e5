"""The engine process around a stand-in for the native engine."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

import pytest

from telemark._native import EngineFailure
from telemark.errors import RequirementError
from telemark.runner import recording
from telemark.runner.engine_process import EngineProcess, speaker
from telemark.runner.recording import Recorder
from tests.support.fake_native import FakeBatch, FakeEngine
from tests.support.waiting import eventually


@pytest.fixture(autouse=True)
def _own_signals() -> Iterator[None]:
    """An engine process takes the signals; here they belong to the test program."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class WriterOfKinds:
    """Stands in for the record writer: notes the kinds, or finds the disk full."""

    def __init__(self, error: Exception | None = None) -> None:
        self.kinds: list[str] = []
        self.closed = False
        self._error = error

    def write(self, batch: FakeBatch) -> None:
        if self._error:
            raise self._error
        self.kinds.append(batch.kind)

    def tick(self) -> None: ...

    def close(self) -> None:
        self.closed = True


class Played:
    """An engine process that was played to its end."""

    def __init__(
        self, engine: FakeEngine, control: TextIO, monkeypatch: pytest.MonkeyPatch, error: Exception | None = None,
        *, plan: Mapping[str, Any] | None = None, said: list[Mapping[str, Any]] | None = None,
    ) -> None:  # fmt: skip
        self.engine = engine
        self.writer = WriterOfKinds(error)
        monkeypatch.setattr(recording, "NativeWriter", lambda *_, **__: self.writer)
        self.said = [] if said is None else said
        recorder = Recorder(engine, Path("nowhere"), 0, self.said.append)  # type: ignore[arg-type]
        process = EngineProcess(plan or {}, engine, recorder, self.said.append)  # type: ignore[arg-type]
        self.status = process.run(control)

    def said_kinds(self) -> list[str]:
        return [message["is"] for message in self.said if message["is"] != "status"]


def lines(*orders: Mapping[str, Any]) -> io.StringIO:
    """Control lines; the input ends after them."""
    return io.StringIO("".join(json.dumps(order) + "\n" for order in orders))


def test_orders_reach_the_engine_and_records_reach_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is told in order; at the end all batches are written and the files closed."""
    rate = {"do": "set_rate", "rate": 5.0, "at_ns": 9}
    control = lines({"do": "begin", "start_ns": 7}, rate, {"do": "halt"}, {"do": "finish"})
    batches = [[FakeBatch("note", "a")], [FakeBatch("note", "b")]]
    played = Played(FakeEngine(batches), control, monkeypatch)

    assert played.status == 0
    assert [order for order, _ in played.engine.told if order != "flush"] == [
        "connect", "begin", "set_rate", "halt", "halt", "finish",
    ]  # fmt: skip
    assert played.writer.kinds == ["note", "note"]
    assert played.writer.closed
    assert played.said_kinds()[-1] == "finished"


def test_the_end_of_the_input_means_that_the_runner_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It finishes in order, alone."""
    played = Played(FakeEngine(), lines(), monkeypatch)

    assert played.status == 0
    assert ("finish", None) in played.engine.told


def test_a_full_disk_is_told_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends by itself: nobody has to ask it."""
    read_end, write_end = os.pipe()
    full = RequirementError("no space left for deliveries", hint="free some")
    with os.fdopen(read_end) as control:
        played = Played(FakeEngine([[FakeBatch("note", "a")]]), control, monkeypatch, error=full)
        os.close(write_end)
    failed = next(message for message in played.said if message["is"] == "failed")

    assert played.status == 1
    assert (failed["kind"], failed["hint"]) == ("RequirementError", "free some")


def test_what_was_recorded_before_a_native_thread_failed_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The batches after the failure are rescued, then the failure is told."""
    batches = [[FakeBatch("note", "a")], EngineFailure("reactor 0: no memory"), [FakeBatch("note", "b")]]
    read_end, write_end = os.pipe()
    with os.fdopen(read_end) as control:
        played = Played(FakeEngine(batches), control, monkeypatch)
        os.close(write_end)

    assert played.status == 1
    assert played.writer.kinds == ["note", "note"]
    assert "reactor 0: no memory" in str(played.said[-1]["message"])


def test_the_first_events_are_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that fails can say why before anybody reads its tables; a flood of events is not told."""
    events = [[FakeBatch("connect_refused", f"device {number}")] for number in range(9)]
    played = Played(FakeEngine(events), lines(), monkeypatch)
    told = [message["detail"] for message in played.said if message["is"] == "event"]

    assert told == [f"device {number}" for number in range(recording.TOLD_EVENTS)]


def test_received_messages_are_relayed_for_credits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is new is told."""
    engine = FakeEngine()
    read_end, write_end = os.pipe()
    said: list[Mapping[str, Any]] = []

    def relayed() -> list[int]:
        return [message["messages"] for message in said if message["is"] == "received"]

    def receive_more() -> None:
        for received in (100, 150):
            engine.received_for_credit = received
            eventually(lambda received=received: sum(relayed()) == received)
        os.close(write_end)

    thread = threading.Thread(target=receive_more)
    with os.fdopen(read_end) as control:
        thread.start()
        Played(engine, control, monkeypatch, plan={"relay_credits": True}, said=said)
    thread.join()

    assert relayed() == [100, 50]


def test_the_time_a_limited_load_stopped_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as the limit is reached, with the time it was seen."""
    engine = FakeEngine()
    engine.sent = 100
    read_end, write_end = os.pipe()
    said: list[Mapping[str, Any]] = []

    def end_when_told() -> None:
        eventually(lambda: any(message.get("stopped_ns") for message in said))
        os.close(write_end)

    thread = threading.Thread(target=end_when_told)
    before = time.monotonic_ns()
    with os.fdopen(read_end) as control:
        thread.start()
        Played(engine, control, monkeypatch, plan={"load": {"limit": 100}}, said=said)
    thread.join()
    last = [message for message in said if message["is"] == "status"][-1]

    assert before < last["stopped_ns"] < time.monotonic_ns()


def test_a_runner_that_does_not_listen_is_no_error() -> None:
    """Its end of the input tells more clearly that it has gone."""

    class Closed(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    speaker(Closed())({"is": "status"})


def test_an_engine_process_does_without_arrow() -> None:
    """Its memory is part of what a run costs: the native side writes the records."""
    heavy = "{'pyarrow', 'numpy', 'telemark.catalog', 'telemark.report', 'telemark.pipeline'}"
    code = f"import sys, telemark.runner.engine_process; print(sorted({heavy} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert loaded.strip() == "[]"
