"""The servant of a host: `python -m telemark.bed.servant`, started by the agent, once for a campaign.

It holds what must act on its own host: the server adapter, back-end consumers and the health sampler. Calls come as
JSON lines on standard input, one at a time, and their results go out as lines. It ends, and everything it started
with it, when its input ends.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, cast

from telemark.bed.objects import pack, unpack
from telemark.consumers.contract import BackendConsumers, ConsumerKind
from telemark.errors import TelemarkError
from telemark.runner.doctor import examine
from telemark.runner.engine_process import Say, speaker
from telemark.runner.health import HealthSampler
from telemark.runner.health.samples import Sample
from telemark.runner.health.sources import run_sources
from telemark.runner.pinning import pin_process
from telemark.servers.contract import ServerAdapter
from telemark.servers.local import LocalServer
from telemark.servers.options import Option
from telemark.store.writer import RecordWriter


@dataclass(slots=True)
class _Health:
    """Samples of this host into its own record files, and up the line."""

    host: str
    role: str
    writer: RecordWriter
    say: Say

    def write(self, time_ns: int, samples: list[Sample]) -> None:
        where = {"host": self.host, "role": self.role}
        try:
            self.writer.write_rows("health", [{"time_ns": time_ns, **sample._asdict(), **where} for sample in samples])
        except TelemarkError as error:  # a full disk, for one: the run must hear of it and end
            self.say({"is": "sampling_failed", "message": error.message})
            raise
        self.say({"is": "health", "samples": samples})


class Servant:
    """What the runner may call; see `bed.servants` for its side."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._adapter: ServerAdapter | None = None
        self._consumers: BackendConsumers | None = None
        self._figures: Mapping[str, float] = {}
        self._engines: Sequence[int] = ()
        self._sampler: HealthSampler | None = None
        self._writer: RecordWriter | None = None
        self._consumer_cpus: Sequence[int] = ()

    def set_environment(self, values: Mapping[str, str]) -> None:
        """Passwords that logins name by variables."""
        os.environ.update(values)

    def adopt(self, kind: type[LocalServer], options: Mapping[str, Option]) -> None:
        """The server of the next run is here."""
        self._adapter = cast("ServerAdapter", kind(options))

    def adapter(self, method: str, *arguments: Any) -> Any:
        """Call the server adapter."""
        return getattr(self._adapter, method)(*arguments)

    def make_consumers(self, plan: ConsumerKind, access: object, folder: Path, cpus: Sequence[int]) -> None:
        """The consumers of the next run are here."""
        self._consumers = plan.make(access, folder)
        self._consumer_cpus = cpus

    def consumers(self, method: str, *arguments: Any) -> Any:
        """Call the consumers."""
        assert self._consumers is not None  # made before they are called
        result = getattr(self._consumers, method)(*arguments)
        if method == "poll":
            self._figures = result
        if method == "start":
            for pid in self._consumers.pids():
                pin_process(pid, self._consumer_cpus)
        return result

    def watch(self, folder: Path, process: int, host: str, role: str, ports: Sequence[int]) -> None:
        """Sample this host for the next run."""
        self._writer = RecordWriter(folder, process, roll_seconds=5.0)
        adapter = self._adapter
        sources = run_sources(
            server=adapter.pids if adapter else lambda: (),
            engine=lambda: self._engines,
            consumer=lambda: self._consumers.pids() if self._consumers else (),
            figures=lambda: self._figures,
            ports=ports,
        )
        health = _Health(host, role, self._writer, self._say)
        self._sampler = HealthSampler(sources, health.write, counters=adapter.counters if adapter else None)
        self._sampler.start()

    def watch_engines(self, pids: Sequence[int]) -> None:
        """Engine processes of this host, started by its agent."""
        self._engines = pids

    def stop_watching(self, wait_s: float) -> None:
        """Take the last samples and close their file."""
        if self._sampler is not None and self._writer is not None:
            self._sampler.stop(wait_s=wait_s)
            self._writer.close()
        self._sampler = self._writer = None
        self._engines = ()

    def examine(self, devices: int, out: str) -> list[dict[str, str | None]]:
        """The doctor's findings on this host."""
        return [finding.as_dict() for finding in examine(devices, Path(out))]

    def end_run(self) -> None:
        """Forget the run's server and consumers, which have been stopped."""
        self._adapter = self._consumers = None
        self._figures = {}

    def end(self) -> None:
        """Stop whatever is left."""
        for part in (self._consumers, self._adapter):
            if part is not None:
                part.kill()

    def serve(self, calls: TextIO) -> None:
        """Answer calls until there are no more."""
        for line in calls:
            call = json.loads(line)
            try:
                result = getattr(self, call["do"])(*unpack(call["arguments"]))
                self._say({"is": "returned", "call": call["call"], "value": pack(result)})
            except TelemarkError as error:
                raised = {"kind": type(error).__name__, "message": error.message, "hint": error.hint}
                self._say({"is": "raised", "call": call["call"], **raised})
            except Exception as error:  # a defect of ours must not look like a lost host
                traceback.print_exc()
                self._say({"is": "raised", "call": call["call"], "kind": "TelemarkError", "message": repr(error)})


def main() -> None:
    """Serve until the input ends."""
    servant = Servant(speaker(sys.stdout))
    try:
        servant.serve(sys.stdin)
    finally:
        servant.end()


if __name__ == "__main__":
    main()
