"""The line between runner and host agent: who is let in, what goes over it, and how each end notices the other's."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import socket
import ssl
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from telemark.bed.agent import serve
from telemark.bed.encryption import agent_context, fingerprint
from telemark.bed.greeting import Handshake
from telemark.bed.host_line import HostLine
from telemark.bed.invitation import Invitation
from telemark.bed.silence import SILENCE_S
from telemark.bed.switchboard import Switchboard
from telemark.errors import DataError, HostLostError

ECHO = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"


class Runner:
    """A switchboard with what it noted."""

    def __init__(self, folder: Path, *, encrypted: bool = False) -> None:
        self.notes: list[str] = []
        self.board = Switchboard("c", "127.0.0.1", encrypted=encrypted, note=self.notes.append)
        self.invitation = self.board.invitation(str(folder))

    @contextmanager
    def host(self, name: str = "h1") -> Iterator[tuple[HostLine, psutil.Process]]:
        """An agent in a process of its own, ended whatever the test did."""
        process = multiprocessing.get_context("spawn").Process(target=serve, args=(self.invitation, name), daemon=True)
        process.start()
        try:
            assert not self.board.wait_for({name}, 30)
            yield self.board.lines[name], psutil.Process(process.pid)
        finally:
            process.kill()
            process.join()


@pytest.fixture(params=[False, True], ids=["plain", "encrypted"])
def runner(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Runner]:
    made = Runner(tmp_path, encrypted=request.param)
    yield made
    made.board.close()


def wait_until(true: Callable[[], object], patience_s: float = 20.0) -> None:
    deadline = time.monotonic() + patience_s
    while not true():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.01)


def dial(runner: Runner) -> socket.socket:
    """A connection as an agent would make it."""
    raw = socket.create_connection((runner.invitation.address, runner.invitation.port), 10)
    return agent_context().wrap_socket(raw) if runner.invitation.encrypted else raw


def greeting(runner: Runner, line: socket.socket, secret: bytes, challenge: str, host: str = "h1") -> bytes:
    """A greeting that the secret vouches for."""
    seen = fingerprint(line.getpeercert(binary_form=True) or b"") if isinstance(line, ssl.SSLSocket) else b""
    shake = Handshake("c", host, challenge, "0" * 32, seen)
    said = {"is": "greeting", "campaign": "c", "host": host, "challenge": "0" * 32}
    return json.dumps(said | {"proof": shake.agent_proof(secret)}).encode() + b"\n"


def challenge_of(line: socket.socket) -> str:
    return str(json.loads(line.makefile("rb").readline())["challenge"])


def test_a_child_on_a_host_is_spoken_to_like_one_here(runner: Runner) -> None:
    """Input goes there, output comes back whole, and its end is known with its status."""
    with runner.host() as (line, _):
        child = line.start_child(["-c", ECHO], "run/logs/echo.log", {"GREETING": "hi"})
        said = json.dumps({"is": "text", "text": "x" * 300_000}).encode() + b"\n"
        child.stdin.write(said)
        child.stdin.flush()
        heard = b""
        while len(heard) < len(said):
            heard += os.read(child.stdout.fileno(), 1 << 20)
        child.stdin.close()

        assert heard == said
        assert child.wait(20) == 0
        with child.stdout:
            assert child.stdout.read() == b""


def test_a_stranger_without_the_secret_is_refused_and_noted(runner: Runner) -> None:
    """Whoever guesses learns nothing but that the line was closed."""
    with dial(runner) as line:
        line.sendall(greeting(runner, line, b"guess" * 6, challenge_of(line)))
        assert line.recv(1000) == b""

    wait_until(lambda: runner.notes)
    assert "refused a caller from 127.0.0.1" in runner.notes[0]
    assert "does not know the campaign's secret" in runner.notes[0]
    assert runner.board.lines == {}


def test_an_old_greeting_played_again_is_refused_and_noted(runner: Runner) -> None:
    """It was good for another challenge."""
    with dial(runner) as line:
        old = greeting(runner, line, runner.invitation.secret, challenge_of(line))
        line.sendall(old)
        assert b"welcome" in line.recv(1000)
    wait_until(lambda: runner.board.lines["h1"].lost)  # a dialler who says nothing more
    runner.board.lines.clear()
    with dial(runner) as line:
        line.sendall(old)
        challenge_of(line)
        assert line.recv(1000) == b""

    wait_until(lambda: runner.notes)
    assert "played an old greeting again" in runner.notes[0]


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\n\r\n", b"[]\n", b'{"is": "greeting"}\n', b"x" * 100_000 + b"\n"])
def test_nonsense_is_refused_and_noted(runner: Runner, said: bytes) -> None:
    """A port scanner does not disturb a campaign."""
    with dial(runner) as line:
        line.sendall(said)
        wait_until(lambda: runner.notes)

    with runner.host():
        assert list(runner.board.lines) == ["h1"]


def test_an_agent_does_not_work_for_a_runner_without_the_secret(tmp_path: Path) -> None:
    """Somebody else may listen at the runner's address."""

    async def impostor(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'{"is": "hello", "challenge": "00"}\n')
        await reader.readline()
        writer.write(b'{"is": "welcome", "proof": "00", "line": 1}\n')
        await reader.read()
        writer.close()

    async def meet() -> None:
        server = await asyncio.start_server(impostor, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        invitation = Invitation("c", "127.0.0.1", port, b"secret", False, str(tmp_path))
        async with server:
            await asyncio.to_thread(serve, invitation, "h1")

    with pytest.raises(HostLostError, match="does not know the campaign's secret"):
        asyncio.run(meet())


def test_the_secret_is_nowhere_to_be_read(runner: Runner, tmp_path: Path) -> None:
    """Not in a command line, an environment, a file or the words of the invitation."""
    with runner.host() as (line, agent):
        line.start_child(["-c", ECHO], "run/logs/echo.log", {}).stdout.close()
        family = [agent, *agent.children(recursive=True), psutil.Process()]
        shown = [" ".join(each.cmdline()) + str(each.environ()) for each in family]
        files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]

    secret = runner.invitation.secret
    assert not any(secret.hex() in text or repr(secret) in text for text in [*shown, repr(runner.invitation)])
    assert not any(secret in data or secret.hex().encode() in data for data in files)


def test_a_host_dials_in_once(runner: Runner) -> None:
    """Two agents of one host would share its clock's name and its folder."""
    with runner.host(), dial(runner) as line:
        line.sendall(greeting(runner, line, runner.invitation.secret, challenge_of(line)))
        assert line.recv(1000) == b""

    assert "already there" in runner.notes[0]


def test_a_killed_agent_is_noticed_and_its_children_end(runner: Runner) -> None:
    """kill -9: the guardian ends what the agent cannot."""
    with runner.host() as (line, agent):
        started = line.start_child(["-c", ECHO], "run/logs/echo.log", {})
        child = psutil.Process(started.pid)
        started.stdout.close()
        agent.kill()
        wait_until(lambda: line.lost, 10)
        wait_until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, 10)

    assert str(line.lost).startswith("host h1 ")
    with pytest.raises(HostLostError, match="host h1"):
        line.ask({"do": "facts"})


def test_a_silent_agent_is_lost_within_seconds(runner: Runner) -> None:
    """Nothing was closed, as when a cable is pulled: stopped, it neither answers nor ends."""
    with runner.host() as (line, agent):
        child = line.start_child(["-c", ECHO], "run/logs/echo.log", {})
        agent.send_signal(signal.SIGSTOP)
        wait_until(lambda: line.lost, 10)

    assert line.lost == f"host h1 has been silent for {SILENCE_S:g} s: its agent, its machine or the link is gone"
    assert child.wait(1) < 0
    with child.stdout:
        assert child.stdout.read() == b""


def test_an_agent_ends_with_its_children_when_the_runner_hangs_up(runner: Runner, tmp_path: Path) -> None:
    """A runner that is gone needs no hosts; nothing is left on them."""
    with runner.host() as (line, agent):
        started = line.start_child(["-c", ECHO], "run/logs/echo.log", {})
        child = psutil.Process(started.pid)
        started.stdout.close()
        runner.board._run(runner.board._close())
        wait_until(lambda: not agent.is_running() or agent.status() == psutil.STATUS_ZOMBIE, 10)
        wait_until(lambda: not child.is_running(), 10)

    assert list(tmp_path.iterdir()) == []


def test_files_are_listed_with_digest_and_come_whole(runner: Runner, tmp_path: Path) -> None:
    """Larger than one frame; nothing outside of the host's folder can be had."""
    data = os.urandom(5 << 20)
    with runner.host() as (line, _):
        line.ask({"do": "put", "path": "run/a"}, b"small")
        program = f"import sys; open('{tmp_path}/telemark-c/h1/run/b', 'wb').write(sys.stdin.buffer.read())"
        child = line.start_child(["-c", program], "run/logs/writer.log", {})
        for start in range(0, len(data), 1 << 20):
            child.stdin.write(data[start : start + (1 << 20)])
            child.stdin.flush()
        child.stdin.close()
        assert child.wait(20) == 0
        child.stdout.close()
        files = line.ask({"do": "list", "folder": "run"})[0]["files"]
        first = line.ask({"do": "get", "path": "run/b", "offset": 0})[1]
        rest = line.ask({"do": "get", "path": "run/b", "offset": len(first)})[1]
        with pytest.raises(DataError, match=r"host h1: \.\./\.\./x: expected a path inside"):
            line.ask({"do": "get", "path": "../../x", "offset": 0})

    assert [("run/a", 5), ("run/b", len(data))] == [(file["path"], file["size"]) for file in files]
    assert first + rest == data


def test_a_host_tells_what_it_has(runner: Runner) -> None:
    """Limits and versions are compared before anything starts."""
    with runner.host() as (line, _):
        facts = line.ask({"do": "facts"})[0]["facts"]

    assert facts["cores"] >= 1
    assert facts["open_files"] > 100
    assert facts["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))


def test_the_clock_of_a_host_is_known_soon_and_well(runner: Runner) -> None:
    """Both ends are on one clock here: the correction is zero within its error, and the error is small."""
    with runner.host() as (line, _):
        wait_until(lambda: len(line.exchanges) > 20)
        found = line.correction()

    assert abs(found.correction_ns[0]) <= found.error_ns[0]
    assert found.error_ns[0] < 50_000_000
