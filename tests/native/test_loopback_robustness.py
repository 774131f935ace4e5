"""The built-in server survives garbage, slow readers and its own end."""

from __future__ import annotations

import http.client
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import telemark
from telemark._native import Loopback
from tests.support.loopback import HOST, Device, Running, running
from tests.support.waiting import PATIENCE_S, eventually

CONNECT_3 = b"\x10\x0f\x00\x04MQTT\x04\x02\x00\x3c\x00\x03raw"
CONNECT_5 = b"\x10\x10\x00\x04MQTT\x05\x02\x00\x3c\x00\x00\x03raw"
PIECES = [
    CONNECT_3,
    CONNECT_5,
    b"\x30\x08\x00\x04rob/payl"[:10],
    b"\x32\x09\x00\x03a/b\x00\x01xx",
    b"\x34\x09\x00\x03a/b\x00\x01xx",
    b"\x82\x08\x00\x01\x00\x03a/#\x01",
    b"\x82\x12\x00\x02\x00\x0d$share/g/a/+#\x00",
    b"\xa2\x07\x00\x01\x00\x03a/#",
    b"\x40\x02\x00\x01",
    b"\x50\x02\x00\x01",
    b"\x62\x02\x00\x01",
    b"\x70\x02\x00\x01",
    b"\xc0\x00",
    b"\xe0\x00",
    b"\xf0\x00",
    b"\xff\xff\xff\xff\x7f",
    b"\x30\xff\xff\xff\x7f",
]
conversations = st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=40)), max_size=12).map(b"".join)


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(threads=2) as started:
        yield started


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(beginning=st.sampled_from([b"", CONNECT_3, CONNECT_5]), data=conversations, cut=st.integers(1, 60))
def test_no_bytes_of_a_client_can_stop_the_server(server: Running, beginning: bytes, data: bytes, cut: int) -> None:
    """Whatever comes, in whatever pieces: the server goes on answering others."""
    with socket.create_connection((HOST, server.port), timeout=PATIENCE_S) as raw, suppress(OSError):
        sent = beginning + data
        for place in range(0, len(sent), cut):
            raw.sendall(sent[place : place + cut])
        raw.shutdown(socket.SHUT_WR)
        while raw.recv(65_536):
            pass

    assert server.get("/health")["status"] == "ok"


def test_the_server_still_routes_after_all_that(server: Running) -> None:
    """Nothing of the garbage is left behind: no connection, no waiting message."""
    with Device(server.port) as device:
        device.subscribe("after", 2)
        device.publish("after", b"well", 2)

        assert device.wait_for(1) == [b"well"]
    assert eventually(lambda: server.counter("connections") == 0)
    assert server.counter("buffered_messages") == 0


@pytest.mark.parametrize("request_bytes", [b"\r\n\r\n", b"GET", b"GET /nothing HTTP/1.1\r\n\r\n", b"\x00" * 100])
def test_a_strange_request_gets_an_error_and_no_more(server: Running, request_bytes: bytes) -> None:
    """The control interface answers 4xx or closes, and stays."""
    with socket.create_connection((HOST, server.ports["control"]), timeout=PATIENCE_S) as raw:
        raw.sendall(request_bytes)
        raw.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            assert raw.recv(65_536)[:10] in (b"", b"HTTP/1.1 4")

    assert server.get("/health")["status"] == "ok"


@pytest.mark.parametrize(
    "headers",
    [{"Host": "example.org"}, {"Origin": "http://example.org"}, {"Origin": "null"}],
    ids=["another name", "another site", "a local page"],
)
def test_a_web_page_cannot_set_faults(server: Running, headers: dict[str, str]) -> None:
    """A browser says which host it was asked for and where the page comes from; only our own names are served."""
    control = http.client.HTTPConnection(HOST, server.ports["control"], timeout=PATIENCE_S)
    control.request("POST", "/faults", json.dumps({"drop": 2}), headers)

    assert control.getresponse().status == 421
    control.close()
    assert server.get("/faults")["settings"]["drop"] is None


def test_what_a_slow_subscriber_does_not_read_is_bounded_and_counted() -> None:
    """QoS 0: the queue stops at its limit, the rest is dropped and counted, and in = out + dropped + waiting."""
    messages, payload = 20_000, b"x" * 1000
    narrow = [{"name": "plain", "socket_buffer": 4096}]
    with (
        running(max_queued_messages=500, listeners=narrow) as server,
        socket.socket() as slow,
        Device(server.port) as publisher,
    ):
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect((HOST, server.port))
        slow.sendall(CONNECT_3 + b"\x82\x09\x00\x01\x00\x04slow\x00")
        assert slow.recv(9, socket.MSG_WAITALL)[4] == 0x90
        for _ in range(messages):
            publisher.client.publish("slow", payload)
        assert eventually(lambda: server.counter("messages_in") == messages)

        counters = server.get("/counters")
        waiting, dropped = counters["buffered_messages"], counters["messages_dropped"]
        assert dropped > messages // 2
        assert waiting <= 500
        assert counters["messages_out"] + dropped + waiting == messages
        assert (counters["deepest"][0]["depth"], counters["deepest"][0]["dropped"]) == (waiting, dropped)


def test_an_idle_server_uses_no_cpu() -> None:
    """With connected devices and nothing to do, its threads sleep."""
    with running(threads=2) as server:
        idle = [socket.create_connection((HOST, server.port)) for _ in range(50)]
        for number, raw in enumerate(idle):
            raw.sendall(CONNECT_3[:-3] + struct.pack("!3s", b"%03d" % number))
            assert raw.recv(4, socket.MSG_WAITALL) == b"\x20\x02\x00\x00"
        before = resource.getrusage(resource.RUSAGE_SELF)
        time.sleep(1)  # idleness has to last to be measured
        after = resource.getrusage(resource.RUSAGE_SELF)
        for raw in idle:
            raw.close()

    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.05


def test_a_port_in_use_is_a_clear_error(server: Running) -> None:
    """The message names the listener and the address."""
    second = Loopback(json.dumps({"listeners": [{"name": "plain", "port": server.port}]}))
    with pytest.raises(OSError, match=rf"plain.*{server.port}"):
        second.start()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_program_says_its_ports_and_ends_in_order(number: signal.Signals) -> None:
    """One JSON line when ready and nothing for people, certificates included; Ctrl-C ends it with status 0."""
    program_text = "from telemark.cli.main import main; main()"
    command = [sys.executable, "-c", program_text, "loopback", "--port", "0", "--tls-port", "0", "--json"]
    environment = os.environ | {"PYTHONPATH": str(Path(telemark.__file__).parent.parent)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout is not None
        ports = json.loads(program.stdout.readline())["ports"]
        with Device(ports["plain"]) as device:
            device.subscribe("cli", 1)
            device.publish("cli", b"there", 1)
            assert device.wait_for(1) == [b"there"]
        program.send_signal(number)
        _, said = program.communicate(timeout=PATIENCE_S)

    assert program.returncode == 0, said
    assert said == b""
