"""The runner's end of the line to one engine process."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from telemark.model.plan import EnginePlan

LOGS = "logs"  # folder of the run: standard error of engine processes
_CHUNK = 1 << 16


@dataclass(slots=True)
class EngineLink:
    """One engine process, what it said last, and the way to tell it something."""

    process: int
    child: subprocess.Popen[bytes]
    log: Path
    status: dict[str, Any] = field(default_factory=dict)
    ready: bool = False
    finished: bool = False
    failure: dict[str, str] | None = None
    ended: bool = False
    _rest: bytes = b""

    @classmethod
    def start(cls, plan: EnginePlan, folder: Path, command: Sequence[str], cpus: Sequence[int]) -> EngineLink:
        """Start the process and hand it its plan.

        It gets a session of its own: Ctrl-C on the terminal reaches the runner, which ends the run in order.
        """
        log = folder / LOGS / f"engine-{plan.process:03d}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as errors:
            child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
            )
        link = cls(plan.process, child, log)
        os.set_blocking(link.output.fileno(), False)
        link.order({"plan": asdict(plan), "folder": str(folder.absolute()), "cpus": list(cpus)})
        return link

    @property
    def output(self) -> IO[bytes]:
        """The process's standard output, for a selector."""
        assert self.child.stdout is not None  # made with a pipe
        return self.child.stdout

    @property
    def pid(self) -> int:
        """Process id."""
        return self.child.pid

    def order(self, message: Mapping[str, Any]) -> None:
        """Send one line. A process that has gone cannot hear: that it has gone is seen on its output."""
        assert self.child.stdin is not None  # made with a pipe
        with suppress(BrokenPipeError, ValueError):
            self.child.stdin.write(json.dumps(message).encode() + b"\n")
            self.child.stdin.flush()

    def read(self) -> Iterator[dict[str, Any]]:
        """Complete lines that have arrived, status lines included; sets `ended` at the end of the output."""
        while True:
            try:
                data = os.read(self.output.fileno(), _CHUNK)
            except BlockingIOError:
                return
            if not data:
                self._reap()
                return
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                message = self._understand(line)
                if message:
                    yield message

    def last_words(self) -> str:
        """How it ended, with the last line of its standard error."""
        status = self.child.poll()
        how = f"was killed by signal {-status}" if status and status < 0 else f"ended with status {status}"
        with suppress(OSError):
            lines = self.log.read_text(errors="replace").strip().splitlines()
            return f"{how}: {lines[-1]}" if lines else how
        return how

    def kill_if_running(self) -> bool:
        """SIGKILL a process that is still there; True when it was."""
        running = self.child.poll() is None
        if running:
            self.child.kill()
        self._reap()
        return running

    def _reap(self) -> None:
        """The output has ended: so has the process, or it is about to."""
        self.ended = True
        for stream in (self.child.stdin, self.child.stdout):
            with suppress(BrokenPipeError, ValueError):
                stream.close() if stream else None
        try:
            self.child.wait(1.0)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        with suppress(OSError):
            if self.log.stat().st_size == 0:
                self.log.unlink()

    def _understand(self, line: bytes) -> dict[str, Any] | None:
        try:
            message = json.loads(line)
        except ValueError:
            return None  # something a library printed; not ours
        if not isinstance(message, dict):
            return None
        match message.get("is"):
            case "status":
                self.status = message
            case "ready":
                self.ready = True
            case "finished":
                self.finished = True
            case "failed":
                self.failure = self.failure or message
        return message
