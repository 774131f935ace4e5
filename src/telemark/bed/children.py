"""The children of a host agent: started, fed, heard and ended."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from telemark.host.guardian import guarded

GRACE_S = 3.0  # for children to close their records when the agent ends
_CHUNK = 1 << 16


class Children:
    """Python programs of ours, each with its number; what they print goes up the line at once."""

    def __init__(self, send: Callable[..., None]) -> None:
        self._send = send
        self._processes: dict[int, asyncio.subprocess.Process] = {}
        self._relays: set[asyncio.Task[None]] = set()

    async def start(self, number: int, arguments: Sequence[str], log: Path, environment: Mapping[str, str]) -> int:
        """Start one; returns its process id."""
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable, *arguments,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=errors,
                env=guarded(environment), process_group=0,
            )  # fmt: skip
        self._processes[number] = process
        relay = asyncio.ensure_future(self._relay(number, process, log))
        self._relays.add(relay)
        relay.add_done_callback(self._relays.discard)
        return process.pid

    async def _relay(self, number: int, process: asyncio.subprocess.Process, log: Path) -> None:
        assert process.stdout is not None  # made with a pipe
        while data := await process.stdout.read(_CHUNK):
            self._send({"is": "output", "child": number}, data)
        status = await process.wait()
        self._processes.pop(number, None)
        self._send({"is": "ended", "child": number, "status": status})
        with suppress(OSError):
            if log.stat().st_size == 0:
                log.unlink()

    def write(self, number: int, data: bytes) -> None:
        """To its standard input. One that has ended cannot hear; its end was told."""
        process = self._processes.get(number)
        if process is not None and process.stdin is not None:
            process.stdin.write(data)

    def close_input(self, number: int) -> None:
        """The end of its standard input."""
        process = self._processes.get(number)
        if process is not None and process.stdin is not None:
            process.stdin.close()

    def signal(self, number: int, signal: int) -> None:
        """Send it a signal."""
        process = self._processes.get(number)
        if process is not None:
            with suppress(ProcessLookupError):
                process.send_signal(signal)

    async def end(self) -> None:
        """Close their input, which ends programs of ours in order; kill those who do not."""
        for number in list(self._processes):
            self.close_input(number)
        if self._relays:
            await asyncio.wait(self._relays, timeout=GRACE_S)
        for process in list(self._processes.values()):
            with suppress(ProcessLookupError):
                process.kill()
        if self._relays:
            await asyncio.wait(self._relays, timeout=GRACE_S)
