"""The host agent: dials the runner, starts what it asks for, relays lines, and ends with all of its children.

It ends when the line breaks, when the runner says so or is silent, and when the process that started it has gone. Its
children are guarded (`host.guardian`), so that they end also when the agent itself is killed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import telemark
from telemark._native import ClockAsker
from telemark.bed.children import Children
from telemark.bed.clock_service import ask_clock
from telemark.bed.encryption import agent_context, fingerprint
from telemark.bed.frames import LONGEST_LINE, Message, encode, read_frame
from telemark.bed.greeting import Handshake, new_challenge, proves
from telemark.bed.host_files import HostFiles
from telemark.bed.invitation import Invitation
from telemark.bed.shared_folder import peek
from telemark.bed.silence import BEAT_S, RUNNER_SILENCE_S, Silence
from telemark.errors import HostLostError, TelemarkError
from telemark.host.facts import host_facts, software_versions
from telemark.host.java import java_version
from telemark.host.limits import read_host
from telemark.host.ports import own_addresses

DIAL_S = 30.0  # for the runner to answer and to prove who it is


def serve(invitation: Invitation, host: str) -> None:
    """Be the agent of a host until the runner has no more use for it.

    Raises:
        HostLostError: the runner cannot be reached, does not know the secret, or is lost.
    """
    asyncio.run(_serve(invitation, host))


async def _serve(invitation: Invitation, host: str) -> None:
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(DIAL_S):
            reader, writer = await _dial(invitation)
            shake, line = await _greet(reader, writer, invitation, host)
    except (OSError, EOFError, ValueError, KeyError, TimeoutError) as error:
        if writer is not None:
            writer.transport.abort()
        where = f"{invitation.address}:{invitation.port}"
        raise HostLostError(
            f"host {host} cannot reach the runner at {where}: {error or 'no answer'}",
            hint="the hosts of a bed must reach the address `runner` of the bed file by TCP and UDP",
        ) from error
    key = shake.clock_key(invitation.secret)
    asker = ask_clock((invitation.address, invitation.port), line, key)
    agent = _Agent(host, reader, writer, HostFiles(invitation.scratch, invitation.campaign, host), asker)
    try:
        await agent.work()
    finally:
        await asyncio.to_thread(asker.close)
        await agent.end()


async def _dial(invitation: Invitation) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    context = agent_context() if invitation.encrypted else None
    reader, writer = await asyncio.open_connection(invitation.address, invitation.port, ssl=context, limit=LONGEST_LINE)
    raw: socket.socket = writer.get_extra_info("socket")
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return reader, writer


async def _greet(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, invitation: Invitation, host: str
) -> tuple[Handshake, int]:
    """Prove that we know the secret, and have the runner prove the same."""
    encrypted = writer.get_extra_info("ssl_object")
    seen = fingerprint(encrypted.getpeercert(binary_form=True)) if encrypted else b""
    hello, _ = await read_frame(reader)
    shake = Handshake(invitation.campaign, host, str(hello["challenge"]), new_challenge(), seen)
    proof = shake.agent_proof(invitation.secret)
    who = {"is": "greeting", "campaign": shake.campaign, "host": host, "challenge": shake.answered}
    writer.write(encode({**who, "proof": proof}))
    welcome, _ = await read_frame(reader)
    if not proves(shake.runner_proof(invitation.secret), welcome.get("proof")):
        raise ValueError("who answered there does not know the campaign's secret")
    return shake, int(welcome["line"])


class _Agent:
    """The work of one agent once it was welcomed."""

    def __init__(
        self,
        host: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        files: HostFiles,
        clock: ClockAsker,
    ) -> None:
        self._host = host
        self._clock = clock
        self._reader = reader
        self._writer = writer
        self._files = files
        self._children = Children(self._send)
        self._silence = Silence(RUNNER_SILENCE_S)
        self._orders: Mapping[str, Callable[[Message, bytes], Awaitable[tuple[Message, bytes]]]] = {
            "start": self._start,
            "facts": self._facts,
            "put": self._put,
            "list": self._list,
            "get": self._get,
            "remove": self._remove,
            "peek": self._peek,
        }

    async def work(self) -> None:
        """Obey until the line ends. Raises HostLostError when it broke."""
        beat = asyncio.ensure_future(self._beat())
        for number in (signal.SIGTERM, signal.SIGHUP):  # Spark ends its Python programs so: there is time to tidy up
            with suppress(RuntimeError, ValueError):  # not in the main thread: signals are somebody else's
                asyncio.get_running_loop().add_signal_handler(number, self._writer.transport.abort)
        try:
            while True:
                message, payload = await read_frame(self._reader)
                self._silence.heard()
                if message["do"] == "end":
                    return
                self._obey(message, payload)
        except (EOFError, OSError, asyncio.IncompleteReadError) as error:
            raise HostLostError(f"host {self._host}: the line to the runner broke: {error}") from error
        finally:
            beat.cancel()

    async def end(self) -> None:
        """End all children and leave nothing behind."""
        await self._children.end()
        self._files.remove_all()
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _beat(self) -> None:
        """Be heard, hand on the clock's exchanges, and notice a runner or a parent that has gone."""
        parent = os.getppid()
        while (left_s := self._silence.left_s()) > 0 and os.getppid() == parent:
            self._send({"is": "beat", "exchanges": self._clock.drain()})
            await asyncio.sleep(min(BEAT_S, left_s))
        self._writer.transport.abort()  # `work` sees the end of the line

    def _send(self, message: Mapping[str, Any], payload: bytes = b"") -> None:
        if not self._writer.is_closing():
            self._writer.write(encode(message, payload))

    def _obey(self, message: Message, payload: bytes) -> None:
        match message["do"]:
            case "beat":
                pass
            case "input":
                self._children.write(message["child"], payload)
            case "close":
                self._children.close_input(message["child"])
            case "signal":
                self._children.signal(message["child"], message["signal"])
            case _:
                task = asyncio.ensure_future(self._answer(message, payload))
                task.add_done_callback(lambda done: done.exception())

    async def _answer(self, message: Message, payload: bytes) -> None:
        number = message.get("order")
        try:
            answer, data = await self._orders[message["do"]](message, payload)
            self._send({"is": "done", "order": number, **answer}, data)
        except TelemarkError as error:
            failure = {"kind": type(error).__name__, "message": error.message, "hint": error.hint}
            self._send({"is": "failed", "order": number, **failure})
        except Exception as error:
            self._send({"is": "failed", "order": number, "kind": "TelemarkError", "message": repr(error)})

    async def _start(self, message: Message, _: bytes) -> tuple[Message, bytes]:
        log = self._files.path(message["log"])
        pid = await self._children.start(message["child"], message["arguments"], log, message["environment"])
        return {"pid": pid}, b""

    async def _facts(self, message: Message, _: bytes) -> tuple[Message, bytes]:
        return {"facts": await asyncio.to_thread(_facts) | {"folder": str(self._files.folder)}}, b""

    async def _put(self, message: Message, payload: bytes) -> tuple[Message, bytes]:
        await asyncio.to_thread(self._files.put, message["path"], payload)
        return {}, b""

    async def _list(self, message: Message, _: bytes) -> tuple[Message, bytes]:
        return {"files": await asyncio.to_thread(self._files.list, message["folder"])}, b""

    async def _get(self, message: Message, _: bytes) -> tuple[Message, bytes]:
        return {}, await asyncio.to_thread(self._files.get, message["path"], message["offset"])

    async def _remove(self, message: Message, _: bytes) -> tuple[Message, bytes]:
        await asyncio.to_thread(self._files.remove, message["folder"])
        return {}, b""

    async def _peek(self, message: Message, _: bytes) -> tuple[Message, bytes]:
        return {}, await asyncio.to_thread(peek, message["path"])


def _facts() -> dict[str, Any]:
    """What this host has."""
    found = read_host()
    return {
        "host": host_facts(),
        "versions": software_versions(),
        "code": telemark.__path__[0],
        "java": java_version(),
        "cores": found.cores,
        "cpus": sorted(os.sched_getaffinity(0)),
        "memory_bytes": found.memory_bytes,
        "open_files": found.limits.open_files,
        "source_ports": found.limits.source_ports,
        "addresses": own_addresses(),
    }
