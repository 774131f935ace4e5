"""`telemark load` against a server that runs already, plain and secured."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from telemark.model.plan import Endpoint
from telemark.pipeline import analyze
from telemark.servers import registry
from telemark.servers.contract import Listener, ServerAdapter, StartRequest
from telemark.store.documents.run import RunFile
from telemark.store.result_reader import ResultTables
from tests.support.integrity import count
from tests.support.metrics_pages import BUSY, CORES, RESIDENT_BYTES, metrics_pages
from tests.support.telemark_program import TelemarkProgram
from tests.support.waiting import PROMPT_S

pytestmark = pytest.mark.live


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerAdapter]:
    """The built-in server, started by nobody the runner knows."""
    adapter = registry.make("loopback")
    listeners = (Listener("plain"), Listener("tls", "tls"))
    adapter.start(StartRequest(tmp_path / "server", "memory", listeners, devices=100))
    yield adapter
    adapter.stop()


def load(folder: Path, endpoint: Endpoint, *more: str) -> TelemarkProgram:
    """Ad-hoc load of a second."""
    settings = ("--publishers", "5", "--rate", "200", "--qos", "1", "--duration", "1", "--warmup", "0.2")
    where = ("--host", endpoint.host, "--port", str(endpoint.port), "--out", str(folder / "runs"), "--campaign", "c")
    return TelemarkProgram("load", *settings, *where, "--no-analyze", *more)


def run_folder(folder: Path) -> Path:
    """The only run of the campaign."""
    return next((folder / "runs/c").glob("*/run.json")).parent


def test_a_running_server_is_used_and_left_running(tmp_path: Path, server: ServerAdapter) -> None:
    """Every message is recorded; the server is neither configured nor stopped."""
    with load(tmp_path, server.endpoints()["plain"]) as program:
        code = program.wait()
    counted = count(run_folder(tmp_path))

    assert code == 0
    assert counted.sent == 240
    assert counted.lost == 0
    assert server.alive()


def test_a_secured_server_is_verified_and_the_password_is_not_recorded(
    tmp_path: Path, server: ServerAdapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The CA is given; the password stays in the environment: no file of the run holds it."""
    monkeypatch.setenv("TELEMARK_TEST_PASSWORD", "hunter2-hunter2")
    endpoint = server.endpoints()["tls"]
    login = ("--username", "device-{index}", "--password-env", "TELEMARK_TEST_PASSWORD")
    with load(tmp_path, endpoint, "--tls", "--ca", str(endpoint.tls and endpoint.tls.ca), *login) as program:
        code = program.wait()
    files = [path for path in (tmp_path / "runs").rglob("*") if path.is_file()]

    assert code == 0, program.errors
    assert count(run_folder(tmp_path)).lost == 0
    assert [path for path in files if b"hunter2-hunter2" in path.read_bytes()] == []


def test_a_certificate_nobody_vouches_for_is_refused_with_the_remedy(tmp_path: Path, server: ServerAdapter) -> None:
    """Verification is on unless switched off by name; exit code 5."""
    with load(tmp_path, server.endpoints()["tls"], "--tls") as program:
        code = program.wait()
    facts = RunFile.read(run_folder(tmp_path))

    assert code == 5
    assert "certificate" in (facts.reason or "")


def test_a_running_server_that_dies_is_noticed_by_its_silence(tmp_path: Path, server: ServerAdapter) -> None:
    """Nobody watches its process; the run still ends promptly, with the reason."""
    with load(tmp_path, server.endpoints()["plain"], "--duration", "60") as program:
        program.wait_for_phase("measure")
        started = time.monotonic()
        server.kill()
        code = program.wait()
        took = time.monotonic() - started
        survivors = program.survivors()
    facts = RunFile.read(run_folder(tmp_path))

    assert code == 5
    assert took < PROMPT_S
    assert "disconnected all 6 devices in phase measure" in (facts.reason or "")
    assert survivors == []


def test_a_server_elsewhere_is_known_by_its_pages(tmp_path: Path, server: ServerAdapter) -> None:
    """CPU and memory are the server's, its host's cores decide, and the load generator's do not."""
    with (
        metrics_pages() as url,
        load(tmp_path, server.endpoints()["plain"], "--server-metrics", f"{url}/node,{url}/server") as program,
    ):
        assert program.wait() == 0, program.errors
    analyze([tmp_path / "runs/c"])
    point = ResultTables.open(tmp_path / "runs/c").rows("points")[0]

    assert ("127.0.0.1", CORES) == (point["server_host"], point["host_cores"])
    assert point["host_core_busy_max"] == pytest.approx(BUSY, abs=0.05)
    assert point["server_rss_bytes_max"] == RESIDENT_BYTES
    assert point["load_host_busy_mean"] is not None
    assert point["network_bytes"] < 100_000  # those of eth0 there, not what this host sent
