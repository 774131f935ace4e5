"""Orders to a campaign under way: who may give them, what comes back, and what happens to those nobody carries out."""

from __future__ import annotations

import json
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from telemark.bed.remote_engine import RemoteEngine
from telemark.errors import ConfigError
from telemark.runner import control
from telemark.runner.conductor import RunControl
from telemark.runner.control import ControlSocket, ask_rate
from telemark.runner.phases import Phase
from telemark.runner.progress import Progress
from telemark.runner.totals import Totals
from telemark.store.layout import CONTROL_SOCKET
from tests.support.waiting import eventually

LOOK = Progress("r", Phase.MEASURE, 1.0, 3.0, Totals(), None, 0.0, 0.0)


class Run:
    """A run that looks at its orders until the test is over."""

    def __init__(self, commands: ControlSocket, problem: str | None = None) -> None:
        self.rates: list[float] = []
        self._problem = problem
        self._commands = commands
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._loop)

    def __enter__(self) -> Run:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _loop(self) -> None:
        while not self._end.wait(0.01):
            self._commands.steer(RunControl(LOOK, self._set_rate, lambda: None))

    def _set_rate(self, rate: float) -> int:
        if self._problem:
            raise ConfigError(self._problem)
        self.rates.append(rate)
        return 7


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Longer than the address of a socket may be."""
    long = tmp_path / ("campaign-" * 20)
    long.mkdir()
    return long


def test_an_order_reaches_the_run_and_only_its_user_may_give_it(folder: Path) -> None:
    inner: list[RunControl] = []
    with ControlSocket(folder, inner.append) as commands, Run(commands) as run:
        mode = (folder / CONTROL_SOCKET).stat().st_mode
        ask_rate(folder, 25000)

        assert (True, 0o600) == (stat.S_ISSOCK(mode), stat.S_IMODE(mode))
        assert [25000.0] == run.rates
        assert eventually(lambda: inner)
    assert not (folder / CONTROL_SOCKET).exists()


def test_the_runs_own_reason_comes_back(folder: Path) -> None:
    with ControlSocket(folder) as commands, Run(commands, "it drains"), pytest.raises(ConfigError, match="it drains"):
        ask_rate(folder, 5)


def test_an_order_that_nobody_looks_at_is_told_and_never_carried_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must not hit the next run by surprise."""
    monkeypatch.setattr(control, "ANSWER_S", 0.2)
    with ControlSocket(folder) as commands:
        with pytest.raises(ConfigError, match="no run is under way"):
            ask_rate(folder, 5)
        with Run(commands) as run:
            ask_rate(folder, 6)
            assert [6.0] == run.rates


def test_a_folder_without_a_campaign_process_is_told(folder: Path) -> None:
    """Also when a killed process left its socket behind, which the next one replaces."""
    with pytest.raises(ConfigError, match="no run is under way"):
        ask_rate(folder, 5)
    left = socket.socket(socket.AF_UNIX)
    with control._short(folder) as path:
        left.bind(path)
    left.close()
    with pytest.raises(ConfigError, match="no run is under way"):
        ask_rate(folder, 5)
    with ControlSocket(folder) as commands, Run(commands):
        ask_rate(folder, 5)


@pytest.mark.parametrize(
    "answer", [b"[" * 2000, b"\xff\n", b'{"problem": 5}\n', b""], ids=["deep", "bytes", "5", "end"]
)
def test_a_strangers_socket_in_the_folder_is_no_campaign(folder: Path, answer: bytes) -> None:
    with _stranger(folder, [answer]), pytest.raises(ConfigError):
        ask_rate(folder, 5)


def test_an_answer_that_drips_is_not_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte comes before each read gives up, a line never."""
    monkeypatch.setattr(control, "ANSWER_S", 0.1)
    with _stranger(folder, [b"x"] * 500), pytest.raises(ConfigError, match="no run is under way"):
        ask_rate(folder, 5)


@contextmanager
def _stranger(folder: Path, parts: list[bytes]) -> Iterator[None]:
    """A socket at the place of a campaign's that says this to the first who asks, in steps of 50 ms."""
    listener = socket.socket(socket.AF_UNIX)
    with control._short(folder) as path:
        listener.bind(path)
    listener.listen()
    ended = threading.Event()

    def say() -> None:
        client, _ = listener.accept()
        with suppress(OSError):
            for part in parts:
                client.sendall(part)
                if ended.wait(0.05):
                    break
            client.close()

    thread = threading.Thread(target=say, daemon=True)
    thread.start()
    yield
    ended.set()
    thread.join()
    listener.close()


@pytest.mark.parametrize("rate", [float("nan"), float("inf"), -1.0])
def test_a_rate_that_is_none_is_refused(folder: Path, rate: float) -> None:
    with pytest.raises(ConfigError, match="RATE is"):
        ask_rate(folder, rate)


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b'{"rate": "x"}', b'{"rate": true}', b"[" * 900, b'{"rate": -1}'])
def test_a_line_that_is_no_order_is_answered_and_changes_nothing(folder: Path, line: bytes) -> None:
    with ControlSocket(folder) as commands, Run(commands) as run, socket.socket(socket.AF_UNIX) as client:
        with control._short(folder) as path:
            client.connect(path)
        client.sendall(line + b"\n")
        answer = json.loads(client.makefile().readline())

        assert "cannot be understood" in answer["problem"]
        assert [] == run.rates


def test_an_engine_on_another_host_changes_at_the_time_of_its_own_clock() -> None:
    """Its clock is ahead by 900 seconds."""
    told: list[object] = []
    engine = RemoteEngine.__new__(RemoteEngine)
    engine._line = SimpleNamespace(own_time=lambda time_ns: time_ns + 900)  # type: ignore[assignment]
    engine.order = told.append  # type: ignore[method-assign, assignment]
    engine.set_rate(250.0, 100)

    assert [{"do": "set_rate", "rate": 250.0, "at_ns": 1000}] == told
