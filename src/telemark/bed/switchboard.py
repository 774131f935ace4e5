"""The runner's end of all lines: hosts dial in, prove that they know the secret, and are spoken to by name."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from telemark._native import ClockResponder
from telemark.bed.encryption import RunnerIdentity, new_identity
from telemark.bed.frames import LONGEST_GREETING, LONGEST_LINE, Message, encode, read_frame
from telemark.bed.greeting import Handshake, new_challenge, new_secret, proves
from telemark.bed.host_line import HostLine
from telemark.bed.invitation import Invitation
from telemark.host.ports import is_loopback

GREETING_S = 30.0  # for a caller to prove who it is


class Switchboard:
    """Listens for the hosts of one campaign. Its own thread does the talking; methods are for other threads.

    Args:
        campaign: its name, part of every proof.
        address: the address hosts dial.
        port: its port; 0 for any free one.
        encrypted: whether lines are; when None, unless both ends are on one host.
        note: told in words of strangers who were refused.
    """

    def __init__(
        self,
        campaign: str,
        address: str,
        port: int = 0,
        *,
        encrypted: bool | None = None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.campaign = campaign
        self._secret = new_secret()
        self.lines: dict[str, HostLine] = {}
        self._note = note
        self._encrypted = not is_loopback(address) if encrypted is None else encrypted
        self._identity: RunnerIdentity | None = new_identity() if self._encrypted else None
        self._arrived = threading.Condition()
        self._numbers = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="switchboard", daemon=True)
        self._thread.start()
        try:
            self._server = self._run(self._listen(address, port))
            self.address: tuple[str, int] = self._server.sockets[0].getsockname()[:2]
            self._clock = ClockResponder(self.address)
        except OSError:
            self._stop()
            raise

    def invitation(self, scratch: str) -> Invitation:
        """What an agent must be told, over a way that nobody else can read."""
        return Invitation(self.campaign, *self.address, self._secret, self._encrypted, scratch)

    def wait_for(self, names: set[str], timeout_s: float, give_up: Callable[[], bool] = lambda: False) -> set[str]:
        """Names of those who have not dialled in when nobody came for so long, or when `give_up` says so."""
        there: set[str] = set()

        def news() -> bool:
            return set(self.lines) != there or give_up()

        with self._arrived:
            while not names <= (there := set(self.lines)) and not give_up():
                if not self._arrived.wait_for(news, timeout_s):
                    break
            return names - set(self.lines)

    def wake(self) -> None:
        """Let `wait_for` ask again whether to give up."""
        with self._arrived:
            self._arrived.notify_all()

    def close(self) -> None:
        """End every line, which ends every agent, and stop listening."""
        self._run(self._close())
        self._clock.close()
        self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5.0)
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30.0)

    async def _listen(self, address: str, port: int) -> asyncio.Server:
        context = self._identity.context if self._identity else None
        return await asyncio.start_server(self._meet, address, port, ssl=context, limit=LONGEST_LINE, backlog=1024)

    async def _close(self) -> None:
        self._server.close()
        for line in self.lines.values():
            line.hang_up("the campaign has ended")
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One caller. A line that is open when the campaign ends is cancelled, which asyncio would print."""
        with suppress(asyncio.CancelledError):
            await self._talk(reader, writer)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """From its first to its last word."""
        sender = writer.get_extra_info("peername")[0]
        line: HostLine | None = None
        try:
            async with asyncio.timeout(GREETING_S):
                line = await self._greet(reader, writer)
        except (OSError, EOFError, ValueError, TimeoutError, asyncio.IncompleteReadError) as error:
            self._note(f"refused a caller from {sender}: {error or 'it did not prove who it is in time'}")
        if line is not None:
            await line.serve(reader)
            self._clock.dismiss(line.number)
            self.wake()
        writer.close()
        with suppress(OSError, asyncio.CancelledError):
            await writer.wait_closed()

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> HostLine:
        challenge = new_challenge()
        writer.write(encode({"is": "hello", "challenge": challenge}))
        greeting, _ = await read_frame(reader, limit=LONGEST_GREETING)
        shake = self._handshake(greeting, challenge)
        if not proves(shake.agent_proof(self._secret), greeting.get("proof")):
            raise ValueError("it does not know the campaign's secret, or played an old greeting again")
        if shake.host in self.lines:
            raise ValueError(f"host {shake.host} is already there: one agent for each host")
        _never_wait_to_send(writer)
        self._numbers += 1
        line = HostLine(shake.host, self._numbers, self._loop, writer)
        self._clock.admit(line.number, shake.clock_key(self._secret))
        with self._arrived:
            self.lines[shake.host] = line
            self._arrived.notify_all()
        line.send({"is": "welcome", "proof": shake.runner_proof(self._secret), "line": line.number})
        return line

    def _handshake(self, greeting: Message, challenge: str) -> Handshake:
        texts = [greeting.get(name) for name in ("campaign", "host", "challenge")]
        if greeting.get("is") != "greeting" or not all(isinstance(text, str) and text for text in texts):
            raise ValueError("what it said is no greeting")
        campaign, host, answered = map(str, texts)
        if campaign != self.campaign:
            raise ValueError("it belongs to another campaign")
        return Handshake(campaign, host, challenge, answered, self._identity.fingerprint if self._identity else b"")


def _never_wait_to_send(writer: asyncio.StreamWriter) -> None:
    """Orders are short and must go out at once."""
    raw: socket.socket = writer.get_extra_info("socket")
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
