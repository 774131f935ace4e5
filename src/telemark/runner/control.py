"""Orders to a campaign that is under way, through a Unix socket in its folder.

Only the user who makes the runs (and root) may give orders: the socket's mode is 0600, and the kernel says who is at
the other end. A request is one line of JSON, `{"rate": 25000}`, and so is the answer.
"""

from __future__ import annotations

import json
import math
import os
import queue
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswerError
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from telemark.errors import ConfigError, TelemarkError
from telemark.runner.conductor import RunControl, Steering
from telemark.store.layout import CONTROL_SOCKET

ANSWER_S = 3.0  # a run looks at its orders four times a second; without a run nobody looks
LONGEST = 1024  # bytes of a request or an answer
NOTHING_RUNS = "no run is under way in this campaign now"


class ControlSocket:
    """Listens until closed; `steer` is called from the loop of each run and carries the orders out.

    Args:
        folder: of the campaign, which this process holds.
        inner: another one who steers the runs.
    """

    def __init__(self, folder: Path, inner: Steering | None = None) -> None:
        self._folder = folder
        self._inner = inner
        self._orders: queue.SimpleQueue[tuple[float, Future[int]]] = queue.SimpleQueue()
        self._ended = threading.Event()
        (folder / CONTROL_SOCKET).unlink(missing_ok=True)  # of a process that was killed
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with _short(folder) as path:
            self._socket.bind(path)
        (folder / CONTROL_SOCKET).chmod(0o600)
        self._socket.listen(4)
        self._thread = threading.Thread(target=self._serve, name="control", daemon=True)
        self._thread.start()

    def steer(self, control: RunControl) -> None:
        """Carry out what was asked for since the last call."""
        with suppress(queue.Empty):
            while True:
                rate, answer = self._orders.get_nowait()
                if answer.set_running_or_notify_cancel():
                    _carry_out(control, rate, answer)
        if self._inner is not None:
            self._inner(control)

    def close(self) -> None:
        """Listen no more."""
        self._ended.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._thread.join()
        self._socket.close()
        with suppress(OSError):
            (self._folder / CONTROL_SOCKET).unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _serve(self) -> None:
        """One client at a time: there is no reason for many, and so they cannot take up anything."""
        while not self._ended.is_set():
            with suppress(OSError):
                client, _ = self._socket.accept()
                with client:
                    client.settimeout(ANSWER_S)
                    client.sendall(json.dumps(self._answer(client)).encode() + b"\n")

    def _answer(self, client: socket.socket) -> Mapping[str, Any]:
        if _peer(client) not in (0, os.geteuid()):
            return {"problem": "only the user who makes the runs may change them"}
        try:
            rate = _read_rate(json.loads(_read_line(client)))
        except (ValueError, RecursionError) as error:
            return {"problem": f"the request cannot be understood: {error}"}
        answer = Future[int]()
        self._orders.put((rate, answer))
        try:
            return {"at_ns": answer.result(ANSWER_S)}
        except TelemarkError as error:
            return {"problem": error.message}
        except NoAnswerError:
            return {"problem": NOTHING_RUNS} if answer.cancel() else {"at_ns": answer.result()}


def _carry_out(control: RunControl, rate: float, answer: Future[int]) -> None:
    try:
        answer.set_result(control.set_rate(rate))
    except TelemarkError as error:
        answer.set_exception(error)


def ask_rate(folder: Path, rate: float) -> None:
    """Ask the campaign in this folder for a new rate. Returns when its engine processes have been told.

    Raises:
        ConfigError: nobody makes runs there, or the run cannot change its rate; the message says why.
    """
    if not math.isfinite(rate) or rate < 0:
        raise ConfigError(f"RATE is {rate:g}, expected 0 or more messages a second")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(2 * ANSWER_S)
        try:
            with _short(folder) as path:
                line.connect(path)
            line.sendall(json.dumps({"rate": rate}).encode() + b"\n")
            answer = json.loads(_read_line(line))
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigError(
                f"{folder}: {NOTHING_RUNS}", hint="`telemark run` and `telemark load` listen while they make runs"
            ) from error
    if not isinstance(answer, dict) or "at_ns" not in answer:
        problem = answer.get("problem") if isinstance(answer, dict) else None
        raise ConfigError(f"{folder}: {problem or 'the answer cannot be understood'}")


def _read_rate(request: Any) -> float:
    rate = request.get("rate") if isinstance(request, dict) else None
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 <= rate < math.inf:
        raise ValueError(f"rate is {rate}, expected 0 or more")
    return float(rate)


def _read_line(line: socket.socket) -> bytes:
    """The line that the other side sends in time, however slowly it does."""
    found, until = b"", time.monotonic() + (line.gettimeout() or 0.0)
    while b"\n" not in found and len(found) < LONGEST and (data := line.recv(LONGEST)):
        found += data
        line.settimeout(max(0.001, until - time.monotonic()))
    return found.partition(b"\n")[0]


def _peer(client: socket.socket) -> int:
    """The user at the other end."""
    _, user, _ = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return int(user)


@contextmanager
def _short(folder: Path) -> Iterator[str]:
    """A path of the socket that is short enough for its address, however long the folder's is."""
    number = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{number}/{CONTROL_SOCKET}"
    finally:
        os.close(number)
