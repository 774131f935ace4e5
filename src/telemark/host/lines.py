"""A child process that is spoken to in JSON lines: orders on its input, messages on its output, chatter in a log."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Protocol, cast

from telemark.host.guardian import guarded

_CHUNK = 1 << 16


class Child(Protocol):
    """What is used of subprocess.Popen. Another host's children have it too."""

    pid: int

    @property
    def stdin(self) -> Any: ...
    @property
    def stdout(self) -> Any: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def kill(self) -> None: ...


Start = Callable[[Sequence[str], Path, Mapping[str, str]], Child]  # command, log, environment


def start_here(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> Child:
    """Start a program on this host."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as errors:
        return subprocess.Popen(
            command,
            env=guarded(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            # Ctrl-C reaches us only. No session of its own: the kernel would share the processor out by sessions
            # (autogroup), and the engine's short time slices would mean nothing beside a server's many threads.
            process_group=0,
        )


class LineProcess:
    """Starts the program and keeps its latest message of each kind (key `is`); of `failed`, the first.

    It gets a session of its own: Ctrl-C on the terminal reaches this program, which ends the other in order. Not for
    several threads at once.

    Args:
        command: program and arguments.
        log: file that receives its standard error.
        environment: added to this program's.
        start: how to start it; on this host unless given.
    """

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        environment: Mapping[str, str] | None = None,
        *,
        start: Start | None = None,
    ) -> None:
        self._child = (start or start_here)(command, log, environment or {})
        self.log = log
        self.latest: dict[str, dict[str, Any]] = {}
        self.ended = False
        self._rest = b""
        os.set_blocking(self.output.fileno(), False)

    @property
    def output(self) -> IO[bytes]:
        """Its standard output, for a selector."""
        return cast("IO[bytes]", self._child.stdout)

    @property
    def pid(self) -> int:
        """Process id."""
        return self._child.pid

    def order(self, message: Mapping[str, Any]) -> None:
        """Send one line. A process that has gone cannot hear: that it has gone is seen on its output."""
        with suppress(BrokenPipeError, ValueError):
            self._child.stdin.write(json.dumps(message).encode() + b"\n")
            self._child.stdin.flush()

    def close_input(self) -> None:
        """No more orders: programs of ours end then."""
        with suppress(BrokenPipeError, ValueError):
            self._child.stdin.close()

    def read(self) -> list[dict[str, Any]]:
        """Messages that have arrived since the last call; sets `ended` at the end of the output."""
        found: list[dict[str, Any]] = []
        while not self.ended:
            try:
                data = os.read(self.output.fileno(), _CHUNK)
            except BlockingIOError:
                break
            if not data:
                self._reap()
            *lines, self._rest = (self._rest + data).split(b"\n")
            found += [message for message in map(_message, lines) if message]
        for message in found:
            kind = str(message["is"])
            if kind != "failed" or kind not in self.latest:
                self.latest[kind] = message
        return found

    def wait_for(self, kind: str, timeout_s: float) -> dict[str, Any] | None:
        """The next message of a kind, taken out of `latest`; None when it failed, ended or said nothing in time."""
        deadline = time.monotonic() + timeout_s
        while True:
            self.read()
            left = deadline - time.monotonic()
            if kind in self.latest or self.ended or "failed" in self.latest or left <= 0:
                return self.latest.pop(kind, None)
            select.select([self.output], [], [], left)

    def wait_for_end(self, timeout_s: float) -> bool:
        """Read until it has ended; False when it has not in time."""
        deadline = time.monotonic() + timeout_s
        while not self.ended and (left := deadline - time.monotonic()) > 0:
            select.select([self.output], [], [], left)
            self.read()
        return self.ended

    def last_words(self, lines: int = 1) -> str:
        """How it ended, with the last lines of its log."""
        status = self._child.poll()
        how = f"was killed by signal {-status}" if status and status < 0 else f"ended with status {status}"
        with suppress(OSError):
            said = self.log.read_text(errors="replace").strip().splitlines()[-lines:]
            return ": ".join([how, *(["\n".join(said)] if said else [])])
        return how

    def kill(self) -> bool:
        """SIGKILL it when it is still there; True when it was."""
        running = self._child.poll() is None
        if running:
            self._child.kill()
        self._reap()
        return running

    def _reap(self) -> None:
        """The output has ended: so has the process, or it is about to."""
        self.ended = True
        for stream in (self._child.stdin, self._child.stdout):
            with suppress(BrokenPipeError, ValueError):
                stream.close() if stream else None
        try:
            self._child.wait(1.0)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        with suppress(OSError):
            if self.log.stat().st_size == 0:
                self.log.unlink()


def _message(line: bytes) -> dict[str, Any] | None:
    """The object of a line; None for something a library printed."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) and "is" in message else None
