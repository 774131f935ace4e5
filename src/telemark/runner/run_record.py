"""The run folder while the run is under way: run.json, the runner's own rows, and a little room to close it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa

from telemark import __version__
from telemark.errors import ConfigError, RequirementError, TelemarkError
from telemark.host.facts import host_facts, software_versions
from telemark.model.clock import Exchange
from telemark.model.plan import Endpoint, RunPlan
from telemark.runner.engine_link import LOGS
from telemark.runner.health.samples import Sample
from telemark.servers.contract import ServerAdapter, WithProfiles
from telemark.store.atomic import sync_tree
from telemark.store.documents.run import RunFile
from telemark.store.integrity import digests
from telemark.store.layout import SERVER_FOLDER
from telemark.store.writer import RecordWriter

RUNNER_PROCESS = 999  # the runner's number in the names of record files
RUNNER_IN_ROWS = -1  # and in the events table
_RESERVE = ".reserve"  # removed before run.json is written for the last time, so that a full disk has room for it
_RESERVE_BYTES = 1 << 18


class RunRecord:
    """One run folder from its making to its closing. After `close` nothing in it changes."""

    def __init__(self, folder: Path, facts: RunFile) -> None:
        self.folder = folder
        self._facts = facts
        self._events = RecordWriter(folder, RUNNER_PROCESS)
        self._health = RecordWriter(folder, RUNNER_PROCESS, roll_seconds=5.0)
        self._writing = Lock()  # sampling threads write while the run goes on; a slow one may still do so at its end
        self._closed = False

    @property
    def facts(self) -> RunFile:
        """run.json as it is now."""
        return self._facts

    def open(self) -> None:
        """Make the folder and its first run.json, state running.

        Raises:
            ConfigError: the folder exists. RequirementError: it cannot be made or the disk is full.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=False)
            (self.folder / _RESERVE).write_bytes(b"\0" * _RESERVE_BYTES)
            self._facts.write(self.folder)
        except FileExistsError as error:
            raise ConfigError(f"run folder {self.folder} exists already", hint="choose another --campaign") from error
        except OSError as error:
            raise RequirementError(
                f"run folder {self.folder}: {error.strerror}", hint="choose another --out"
            ) from error

    def update(self, **changes: Any) -> None:
        """Change facts of run.json while the run goes on."""
        self._facts = self._facts.with_changes(**changes)
        self._facts.write(self.folder)

    def write_tables(self, tables: Mapping[str, pa.Table]) -> None:
        """Whole tables that exist before the start (streams, subscriptions, audiences); they are on disk on return."""
        with RecordWriter(self.folder, RUNNER_PROCESS) as writer:
            for name, table in tables.items():
                for batch in table.to_batches():
                    writer.write(name, batch)

    def event(self, kind: str, detail: str, time_ns: int | None = None) -> None:
        """Something happened that the rows must tell, now or at `time_ns`. A disk that is full is told elsewhere."""
        time_ns = time.monotonic_ns() if time_ns is None else time_ns
        row = {"time_ns": time_ns, "process": RUNNER_IN_ROWS, "device": -1, "kind": kind, "detail": detail}
        with self._writing, suppress(TelemarkError):
            if not self._closed:
                self._events.write_rows("events", [row])

    def health(self, host: str, role: str) -> Callable[[int, list[Sample]], None]:
        """A sampler's sink; samplers of several hosts may write at once.

        Samples that come after the end are left out: their file has its name already.
        """
        where = {"host": host, "role": role}

        def write(time_ns: int, samples: list[Sample]) -> None:
            rows = [{"time_ns": time_ns, **sample._asdict(), **where} for sample in samples]
            with self._writing:
                if not self._closed:
                    self._health.write_rows("health", rows)

        return write

    def clock(self, exchanges: Mapping[str, Sequence[Exchange]]) -> None:
        """Exchanges of clock readings with every host of a bed."""
        rows = [{"host": host, **asdict(each)} for host, found in exchanges.items() for each in found]
        with RecordWriter(self.folder, RUNNER_PROCESS) as writer:
            writer.write_rows("clock", rows)

    def close(self, state: str, reason: str | None, **changes: Any) -> None:
        """Finish every file and write the last run.json. Safe to call twice; works on a full disk.

        Raises:
            RequirementError: the folder cannot be written at all; run.json still says `running`.
        """
        with self._writing:
            if self._closed:
                return
            self._closed = True
        try:
            (self.folder / _RESERVE).unlink(missing_ok=True)
            for writer in (self._events, self._health):
                with suppress(TelemarkError):  # what is complete stays readable; the reason of the end is known already
                    writer.close()
            shutil.rmtree(self.folder / SERVER_FOLDER / "data", ignore_errors=True)
            self._remove_unfinished()
            sync_tree(self.folder)  # logs too; run.json, which says that the run has ended, comes last
            self.update(state=state, reason=reason, ended_at=utc_now(), files=digests(self.folder), **changes)
        except OSError as error:
            raise RequirementError(f"{self.folder}: run.json cannot be closed: {error.strerror}") from error

    def _remove_unfinished(self) -> None:
        """Half-written files of a process that died, which nobody can read; a log folder without logs."""
        for path in self.folder.glob("*/.*.parquet"):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            (self.folder / LOGS).rmdir()


def first_facts(plan: RunPlan, run: str, campaign: str, repeat: int, pinning: dict[str, Any]) -> RunFile:
    """run.json before the server is known."""
    return RunFile(
        run=run,
        campaign=campaign,
        suite=plan.suite,
        scenario=plan.scenario,
        point=plan.point,
        size=plan.size,
        parameters=plan.parameters,
        repeat=repeat,
        seed=plan.seed,
        plan=plan.as_dict(),
        thresholds=plan.thresholds,
        notes=plan.notes,
        host=host_facts(),
        versions=software_versions(),
        pinning=pinning,
        started_at=utc_now(),
        clock={"source": "CLOCK_MONOTONIC", "hosts": [{"host": host_facts()["name"], "offset_ns": 0, "error_ns": 0}]},
        telemark_version=__version__,
    )


def server_facts(adapter: ServerAdapter, plan: RunPlan) -> dict[str, Any]:
    """The server's part of run.json, once it listens."""
    return {
        "name": adapter.name,
        "version": adapter.availability().version,
        "profile": plan.profile if isinstance(adapter, WithProfiles) else "",  # what others set up is not known
        "profile_note": adapter.profile_note(plan.profile),
        "capabilities": sorted(adapter.capabilities()),
        "endpoints": {name: _endpoint(endpoint) for name, endpoint in adapter.endpoints().items()},
    }


def _endpoint(endpoint: Endpoint) -> dict[str, Any]:
    security = "none" if endpoint.tls is None else "psk" if endpoint.tls.psk_file else "tls"
    verified = endpoint.tls is None or endpoint.tls.verify
    return {"host": endpoint.host, "port": endpoint.port, "security": security, "verified": verified}


def utc_now() -> str:
    """The time of day, for people; never for measuring."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
