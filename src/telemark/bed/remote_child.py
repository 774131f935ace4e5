"""A child process on another host, with the part of subprocess.Popen that `host.lines` uses."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from telemark.errors import HostLostError

if TYPE_CHECKING:
    from telemark.bed.host_line import HostLine

_NO_STATUS = -signal.SIGKILL  # of a child whose host is lost: it has been ended there, nobody knows how


class RemoteChild:
    """Its output arrives in a pipe of ours, so that whoever listens to processes can listen to it."""

    def __init__(self, number: int, line: HostLine, loop: asyncio.AbstractEventLoop) -> None:
        self.number = number
        self.pid = 0  # on its host
        self._line = line
        self._loop = loop
        reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        self.stdout: IO[bytes] = os.fdopen(reading, "rb", buffering=0)
        self.stdin = _Input(self)
        self._status = _NO_STATUS
        self._ended = threading.Event()
        self._unwritten = b""

    def poll(self) -> int | None:
        """Exit status; None while it runs."""
        return self._status if self._ended.is_set() else None

    def wait(self, timeout: float | None = None) -> int:
        """Exit status, once it has ended."""
        if not self._ended.wait(timeout):
            raise subprocess.TimeoutExpired(f"child {self.number} on {self._line.host}", timeout or 0.0)
        return self._status

    def kill(self) -> None:
        """SIGKILL; a host that is lost has ended it by itself."""
        with suppress(BrokenPipeError):
            self.tell({"do": "signal", "child": self.number, "signal": int(signal.SIGKILL)})

    def tell(self, order: dict[str, object], payload: bytes = b"") -> None:
        """One order about it. Raises BrokenPipeError when its host is lost."""
        try:
            self._line.tell(order, payload)
        except HostLostError as error:
            raise BrokenPipeError(error.message) from error

    # -- in the switchboard's thread ---------------------------------------------------------------------------------

    def heard(self, data: bytes) -> None:
        """Output arrived. What the pipe cannot take yet waits: the switchboard must never block."""
        self._unwritten += data
        self._write()

    def gone(self, status: int | None) -> None:
        """It has ended, or (without a status) its host is lost."""
        if not self._ended.is_set():
            self._status = _NO_STATUS if status is None else status
            self._ended.set()
            self._write()

    def _write(self) -> None:
        try:
            while self._unwritten:
                self._unwritten = self._unwritten[os.write(self._writing, self._unwritten) :]
        except BlockingIOError:
            self._loop.add_writer(self._writing, self._write)
            return
        except BrokenPipeError:  # nobody listens any more
            self._unwritten = b""
        self._loop.remove_writer(self._writing)
        if self._ended.is_set():
            os.close(self._writing)


class _Input:
    """Its standard input: written bytes are sent when flushed."""

    def __init__(self, child: RemoteChild) -> None:
        self._child = child
        self._data = b""

    def write(self, data: bytes) -> int:
        self._data += data
        return len(data)

    def flush(self) -> None:
        data, self._data = self._data, b""
        self._child.tell({"do": "input", "child": self._child.number}, data)

    def close(self) -> None:
        with suppress(BrokenPipeError):
            self._child.tell({"do": "close", "child": self._child.number})
