"""Moves finished batches from the native engine into the run folder, in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from telemark._native import Batch, Engine, EngineFailure
from telemark.store.series import NativeWriter

DRAIN_WAIT_S = 0.2
FLUSH_EVERY_S = 2.0  # rows the engine still holds are handed over
ROLL_EVERY_S = 4.0  # files are closed: a process killed with SIGKILL loses at most the sum of both
TOLD_EVENTS = 5  # the first ones are told to the runner, so that a failed run can say why

Say = Callable[[Mapping[str, Any]], None]


class Recorder:
    """Drains the engine until it has finished. `failure` is set when it cannot go on (a full disk, a dead thread)."""

    def __init__(self, engine: Engine, folder: Path, process: int, say: Say) -> None:
        self._engine = engine
        self._writer = NativeWriter(folder, process, roll_seconds=ROLL_EVERY_S)
        self._say = say
        self._told = 0
        self._finishing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="records", daemon=True)
        self.failure: BaseException | None = None
        self.engine_health: dict[str, float] = {}  # of the newest second handed over; for display

    def start(self) -> None:
        """Begin to record."""
        self._thread.start()

    def finish(self) -> BaseException | None:
        """After `Engine.finish`: write the rest and close the files. The failure, if there was one."""
        self._finishing.set()
        self._thread.join()
        return self.failure

    def _run(self) -> None:
        try:
            self._record()
        except Exception as error:
            self.failure = error
        try:
            if isinstance(self.failure, EngineFailure):
                self._rescue()
            self._writer.close()
        except Exception as error:
            self.failure = self.failure or error

    def _record(self) -> None:
        flushed = time.monotonic()
        while True:
            ending = self._finishing.is_set() and bool(self._engine.status()["finished"])
            batches = self._engine.drain(DRAIN_WAIT_S)
            self._write(batches)
            if ending and not batches:
                return
            self._writer.tick()
            if time.monotonic() - flushed >= FLUSH_EVERY_S and not self._finishing.is_set():
                flushed = time.monotonic()
                self._engine.flush()

    def _rescue(self) -> None:
        """What was recorded before a native thread failed is still there."""
        while batches := self._engine.drain(0.0):
            self._write(batches)

    def _write(self, batches: list[Batch]) -> None:
        for batch in batches:
            self._writer.write(batch)
            if batch.table == "events" and self._told < TOLD_EVENTS:
                self._tell_events(batch)
            if batch.table == "counters" and batch.rows:
                self._note_health(batch)

    def _note_health(self, batch: Batch) -> None:
        newest = {column.name: memoryview(column)[-1] for column in batch.columns()}
        self.engine_health = {
            "send_delay_max_us": newest["send_delay_max_ns"] / 1000,
            "loop_lag_max_us": newest["loop_lag_max_ns"] / 1000,
        }

    def _tell_events(self, batch: Batch) -> None:
        columns = {column.name: column for column in batch.columns() if column.name in ("kind", "detail")}
        for kind, detail in zip(columns["kind"].values(), columns["detail"].values(), strict=True):
            if self._told < TOLD_EVENTS:
                self._told += 1
                self._say({"is": "event", "kind": kind, "detail": detail})
