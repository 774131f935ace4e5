"""The runner's end of the line to one host: orders and their answers, children's output, its clock, its silence."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from telemark import errors
from telemark.bed.frames import Message, encode, read_frame
from telemark.bed.remote_child import RemoteChild
from telemark.bed.silence import BEAT_S, SILENCE_S, Silence
from telemark.errors import HostLostError, TelemarkError
from telemark.model.clock import Correction, Exchange, correction

ORDER_S = 60.0  # for an order to be carried out, unless it says otherwise
# Exchanges that the present correction is made of: two seconds of them. Clocks may drift, so older ones limit little.
_RECENT = 20


class HostLine:
    """One host. Methods are for any thread but the switchboard's, unless they say otherwise."""

    def __init__(self, host: str, number: int, loop: asyncio.AbstractEventLoop, writer: asyncio.StreamWriter) -> None:
        self.host = host
        self.number = number
        self.exchanges: list[Exchange] = []
        self.lost: str | None = None  # why, in words
        self._loop = loop
        self._writer = writer
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Future[tuple[Message, bytes]]] = {}
        self._children: dict[int, RemoteChild] = {}
        self._silence = Silence()

    def ask(self, order: Mapping[str, Any], payload: bytes = b"", timeout_s: float = ORDER_S) -> tuple[Message, bytes]:
        """Give an order and wait for its answer.

        Raises:
            HostLostError: the line broke. TelemarkError: the order failed there, with the class it had there.
        """
        number = next(self._numbers)
        future: Future[tuple[Message, bytes]] = Future()
        self._waiting[number] = future
        self.tell({**order, "order": number}, payload)
        try:
            answer, data = future.result(timeout_s)
        except TimeoutError as error:
            raise HostLostError(f"host {self.host} did not answer `{order.get('do')}` in {timeout_s:.0f} s") from error
        finally:
            self._waiting.pop(number, None)
        if answer["is"] == "failed":
            raise error_class(answer["kind"])(f"host {self.host}: {answer['message']}", hint=answer.get("hint"))
        return answer, data

    def tell(self, order: Mapping[str, Any], payload: bytes = b"") -> None:
        """Give an order that has no answer."""
        if self.lost is not None:
            raise HostLostError(self.lost)
        self._loop.call_soon_threadsafe(self.send, order, payload)

    def start_child(self, arguments: list[str], log: str, environment: Mapping[str, str]) -> RemoteChild:
        """Start a Python program of ours there; `arguments` follow the interpreter."""
        number = next(self._numbers)
        child = RemoteChild(number, self, self._loop)
        self._children[number] = child
        order = {"do": "start", "child": number, "arguments": arguments, "log": log, "environment": dict(environment)}
        child.pid = int(self.ask(order)[0]["pid"])
        return child

    def correction(self) -> Correction:
        """Its clock as the latest exchanges show it."""
        return correction(self.exchanges[-_RECENT:])

    def forget_old_exchanges(self) -> None:
        """Keep what the present correction is made of: those of earlier runs are in their folders."""
        del self.exchanges[:-_RECENT]

    def own_time(self, runner_ns: int) -> int:
        """A time of the runner on the host's clock."""
        return self.correction().to_host(runner_ns)

    def runner_time(self, host_ns: int) -> int:
        """A recent time of the host on the runner's clock."""
        return host_ns + self.correction().correction_ns[-1]

    # -- in the switchboard's thread ---------------------------------------------------------------------------------

    def send(self, message: Mapping[str, Any], payload: bytes = b"") -> None:
        """Write one frame."""
        if not self._writer.is_closing():
            self._writer.write(encode(message, payload))

    async def serve(self, reader: asyncio.StreamReader) -> None:
        """Hear the host until the line ends."""
        beat = asyncio.ensure_future(self._beat())
        reason = "closed its line"
        try:
            while True:
                message, payload = await read_frame(reader)
                self._silence.heard()
                self._hear(message, payload)
        except (EOFError, asyncio.IncompleteReadError, OSError) as error:
            reason = f"closed its line ({error})" if isinstance(error, OSError) else reason
        except (ValueError, KeyError) as error:
            reason = f"sent what is no message: {error}"
        finally:
            beat.cancel()
            self.hang_up(f"host {self.host} {reason}")

    async def _beat(self) -> None:
        """Be heard, and notice when the host is not."""
        while (left_s := self._silence.left_s()) > 0:
            self.send({"do": "beat"})
            await asyncio.sleep(min(BEAT_S, left_s))
        self.hang_up(
            f"host {self.host} has been silent for {SILENCE_S:g} s: its agent, its machine or the link is gone"
        )
        self._writer.transport.abort()

    def hang_up(self, reason: str) -> None:
        """Everything that waits for the host learns that it is gone."""
        if self.lost is not None:
            return
        self.lost = reason
        for future in list(self._waiting.values()):
            if not future.done():
                future.set_exception(HostLostError(reason))
        for child in self._children.values():
            child.gone(None)
        self._writer.close()

    def _hear(self, message: Message, payload: bytes) -> None:
        match message["is"]:
            case "output":
                self._children[message["child"]].heard(payload)
            case "ended":
                self._children[message["child"]].gone(message["status"])
            case "beat":
                self.exchanges += map(Exchange, *message["exchanges"])  # columns
            case "done" | "failed":
                future = self._waiting.get(message["order"])
                if future is not None and not future.done():
                    future.set_result((message, payload))


def error_class(name: str) -> type[TelemarkError]:
    """The class an error had on its host; what is none of ours there is none here."""
    found = getattr(errors, name, None)
    return found if isinstance(found, type) and issubclass(found, TelemarkError) else TelemarkError
