"""The runner's side of a host's servant: calls that wait for their result, and the newest health of the host."""

from __future__ import annotations

import itertools
import json
import threading
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from telemark.bed.host_line import HostLine, error_class
from telemark.bed.objects import pack, unpack
from telemark.errors import HostLostError
from telemark.runner.health.samples import Sample
from telemark.runner.hosts import Heard

CALL_S = 900.0  # a server may have to be downloaded there first


class ServantLink:
    """One servant. For any thread; calls are carried out one after the other."""

    def __init__(self, line: HostLine) -> None:
        self.line = line
        self.totals: dict[tuple[str, str], float] = {}  # newest health, by source and metric
        self.sampling_failed: str | None = None
        self.heard: Heard | None = None  # takes the samples of the run under way
        self._child = line.start_child(["-m", "telemark.bed.servant"], "servant.log", {})
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Future[Any]] = {}
        self._gone: str | None = None
        self._thread = threading.Thread(target=self._listen, name=f"servant-{line.host}", daemon=True)
        self._thread.start()

    def call(self, do: str, *arguments: Any, timeout_s: float = CALL_S) -> Any:
        """Call a method of `bed.servant.Servant` there.

        Raises:
            HostLostError: the host or the servant is gone. TelemarkError: what it raised there.
        """
        number, future = next(self._numbers), Future[Any]()
        self._waiting[number] = future
        if self._gone is not None:
            raise HostLostError(self._gone)
        try:
            self._child.stdin.write(
                json.dumps({"call": number, "do": do, "arguments": pack(arguments)}).encode() + b"\n"
            )
            self._child.stdin.flush()
            return future.result(timeout_s)
        except (BrokenPipeError, TimeoutError) as error:
            raise HostLostError(self.line.lost or f"host {self.line.host} did not answer {do}") from error
        finally:
            self._waiting.pop(number, None)

    def end(self) -> None:
        """Let it end; it takes what it started with it."""
        self._child.stdin.close()
        self._thread.join(10.0)

    def _listen(self) -> None:
        with self._child.stdout as lines:
            rest = b""
            while data := lines.read(1 << 16):
                *whole, rest = (rest + data).split(b"\n")
                for line in whole:
                    with suppress(ValueError):
                        self._hear(json.loads(line))
        self._gone = self.line.lost or f"host {self.line.host}: its servant ended with status {self._child.poll()}"
        for future in list(self._waiting.values()):
            future.set_exception(HostLostError(self._gone))

    def _hear(self, message: dict[str, Any]) -> None:
        if message["is"] == "health":
            self._hear_health([Sample(*sample) for sample in message["samples"]])
            return
        if message["is"] == "sampling_failed":
            self.sampling_failed = message["message"]
            return
        future = self._waiting.get(message["call"])
        if future is None:
            return
        if message["is"] == "returned":
            future.set_result(unpack(message["value"]))
        else:
            text = f"host {self.line.host}: {message['message']}"
            future.set_exception(error_class(message["kind"])(text, hint=message.get("hint")))

    def _hear_health(self, samples: list[Sample]) -> None:
        totals: dict[tuple[str, str], float] = {}
        for sample in samples:
            totals[sample.source, sample.metric] = totals.get((sample.source, sample.metric), 0.0) + sample.value
        self.totals |= totals
        if self.heard is not None:
            self.heard(self.line.host, samples)
