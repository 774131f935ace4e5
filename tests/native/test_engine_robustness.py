"""The engine when things go wrong around it: a stalled server, Ctrl-C, a process that dies."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import psutil
import pytest

from telemark._native import Engine, decode, expand, monotonic_ns, topic_matches
from telemark.model.plan.shapes.paced import Paced
from tests.support.engine import Played, engine_plan, limited, play, publisher, subscriber
from tests.support.loopback import Running, running
from tests.support.waiting import PATIENCE_S, PROMPT_S, eventually

MS = 1_000_000


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    """One built-in server for all tests of this file."""
    with running() as found:
        yield found


def test_a_stalled_server_shows_in_latency_and_not_in_the_schedule(server: Running) -> None:
    """Due messages go on by the clock while the server stands still: their latency counts from the intended time."""
    server.post("/faults", {"stall": [{"seconds": 0.5, "at": 0.2}]})
    late = Paced(rate=500.0, max_lateness_s=PATIENCE_S)
    plan = engine_plan(server.port, subscriber(), publisher(5), load=late, send_for_s=1.0)
    played = play(plan)
    server.post("/faults", {})
    rows = sorted(played.rows("deliveries"), key=lambda row: row["intended_ns"])
    assert len(rows) == 500
    assert [row["intended_ns"] - played.start_ns for row in rows] == [number * 2 * MS for number in range(500)]
    assert max(row["received_ns"] - row["intended_ns"] for row in rows) > 400 * MS


def test_a_full_socket_is_never_waited_for(server: Running) -> None:
    """While the server does not read, messages wait, get too late and are dropped; later ones get through."""
    server.post("/faults", {"stall": [{"seconds": 1.5, "at": 0.0}]})
    groups = subscriber("big"), publisher(2, topic="big", size=200_000, send_buffer=16_384)
    load = Paced(rate=200.0, max_lateness_s=0.2)
    played = Played(engine_plan(server.port, *groups, load=load, send_for_s=2.5))
    played.connect()
    played.begin()
    played.until(lambda status: status["intended"] == 500 and not status["sending"])
    played.until(lambda status: status["received"] == status["sent"])
    server.post("/faults", {})
    status = played.finish().engine.status()
    assert status["dropped"] > 0
    assert status["sent"] + status["dropped"] == 500
    by_stream: dict[int, list[int]] = {}
    for stream, sequence in played.messages():
        by_stream.setdefault(stream, []).append(sequence)
    for sequences in by_stream.values():
        assert sequences == list(range(len(sequences)))  # dropped messages use no number
    counters = played.rows("counters")
    assert sum(row["pushed_back"] for row in counters) > 0
    assert sum(row["dropped"] for row in counters) == status["dropped"]


def test_rows_are_available_while_running(server: Running) -> None:
    """flush hands over what is there, so that little is lost if the process dies."""
    played = Played(engine_plan(server.port, subscriber(), publisher(1), load=Paced(rate=200.0)))
    played.connect()
    played.begin()
    played.until(lambda status: status["received"] >= 20)
    played.engine.flush()
    assert eventually(lambda: played.drain(0.1) and played.table("deliveries").num_rows >= 20)
    played.finish()


def test_the_live_latency_is_of_the_last_second(server: Running) -> None:
    """For display: count, median, 99th percentile, in order."""
    played = Played(engine_plan(server.port, subscriber(), publisher(1), load=Paced(rate=500.0)))
    played.connect()
    played.begin()
    seen: list[tuple[int, int, int]] = []

    def measured() -> int:
        played.drain(0.05)
        seen.append(played.engine.latency_last_second())
        return seen[-1][0]

    assert eventually(measured)
    _, p50, p99 = seen[-1]
    assert 0 < p50 <= p99
    played.finish()


def test_nothing_more_comes_after_the_end(server: Running) -> None:
    """After finish: the rest, then nothing; finishing twice does no harm."""
    played = play(engine_plan(server.port, subscriber(), publisher(1), load=limited(3)))
    assert played.engine.drain(0.5) == []
    played.engine.finish()
    assert played.engine.status()["finished"]


def test_columns_are_read_only_and_outlive_their_engine(server: Running) -> None:
    """The buffer protocol hands memory over without a copy; nobody may write into it."""
    plan = engine_plan(server.port, subscriber(), publisher(1), load=limited(5))
    engine = Engine(plan.as_json())
    engine.connect()
    while engine.status()["ready"] < 2:
        time.sleep(0.01)
    engine.begin(monotonic_ns())
    while engine.status()["received"] < 5:
        time.sleep(0.01)
    engine.finish()
    batches = {batch.table: batch for batch in engine.drain(1.0)}
    columns = {column.name: column for column in batches["deliveries"].columns()}
    del engine, batches
    view = memoryview(columns["sequence"])
    assert view.readonly
    assert (view.format, view.tolist()) == ("q", [0, 1, 2, 3, 4])
    assert columns["sequence"].valid is None
    with pytest.raises(TypeError, match="string columns"):
        columns["sequence"].values()


INTERRUPTED = """
import signal, sys, time
from telemark._native import Engine, monotonic_ns
signal.signal(signal.SIGINT, signal.default_int_handler)  # the shell of a background job has switched it off
engine = Engine(sys.argv[1])
moment = sys.argv[2]
try:
    engine.connect()
    print("connecting", flush=True)
    if moment == "connect":
        engine.drain(60)
    while engine.status()["ready"] < engine.status()["devices"]:
        time.sleep(0.01)
    engine.begin(monotonic_ns())
    print("sending", flush=True)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        engine.drain(60)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    engine.finish()
    rows = sum(batch.rows for batch in engine.drain(1) if batch.table == "senders")
    print("rows", rows, flush=True)
"""


@pytest.mark.parametrize("moment", ["connect", "sending"])
def test_ctrl_c_works_at_every_moment(server: Running, moment: str) -> None:
    """A wait inside the engine ends within a moment, and the rows can still be taken."""
    rate = 1.0 if moment == "connect" else 0.0
    plan = engine_plan(server.port, publisher(20), load=Paced(rate=50.0), connect_rate=rate)
    command = [sys.executable, "-c", INTERRUPTED, plan.as_json(), moment]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        awaited = "connecting\n" if moment == "connect" else "sending\n"
        while process.stdout.readline() != awaited:
            pass
        assert eventually(lambda: psutil.Process(process.pid).status() == psutil.STATUS_SLEEPING)  # in the wait
        os.kill(process.pid, signal.SIGINT)
        begun = time.monotonic()
        assert process.stdout.readline() == "interrupted\n"
        assert time.monotonic() - begun < PROMPT_S
        assert process.stdout.readline() == "rows 20\n"
        assert process.wait(PATIENCE_S) == 0


def test_a_plain_tcp_server_of_another_protocol_is_a_protocol_error() -> None:
    """Garbage instead of CONNACK ends the attempt with words, not the engine."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.recv(100)
            connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        played = Played(engine_plan(listener.getsockname()[1], publisher(1), load=Paced(rate=1.0)))
        status = played.connect()
        thread.join()
    assert status["failed"] == 1
    assert [row["kind"] for row in played.finish().rows("events")] == ["protocol_error"]


def test_the_helpers_agree_with_the_engine() -> None:
    """Patterns, filters and packets are read by the same code that sends and receives."""
    assert expand("p{index/10}/v{sequence%3}", 25, 7) == "p2/v1"
    assert topic_matches("$share/g/a/+", "a/b")
    assert not topic_matches("a/+", "a/b/c")
    assert decode(b"\xc0\x00\xd0\x00", "5") == ["Pingreq", "Pingresp"]
    with pytest.raises(ValueError, match="incomplete"):
        decode(b"\x30\x7f", "3.1.1")
    with pytest.raises(ValueError, match=r"3\.1\.1"):
        decode(b"", "4")
