"""What the engine puts on the wire, read by a program nobody here wrote: tshark's MQTT dissector."""

from __future__ import annotations

import socket
import struct
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from telemark.campaigns import run_campaign
from telemark.host.ports import free_ports
from telemark.model.plan import RunPlan, Will
from telemark.model.plan.shapes.paced import Paced
from tests.support.requirements import require_program
from tests.support.truth import plan, publishers, subscribers
from tests.support.waiting import eventually

CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP, SUBSCRIBE, SUBACK, DISCONNECT = (
    1, 2, 3, 4, 5, 6, 7, 8, 9, 14,
)  # fmt: skip
FIELDS = ("mqtt.msgtype", "mqtt.clientid", "mqtt.ver", "mqtt.topic", "mqtt.qos", "mqtt.willtopic", "_ws.malformed")
MESSAGES, PUBLISHERS = 60, 3


def talk(version: str, qos: int, port: int) -> RunPlan:
    """A short run with everything a device says: will, QoS flows, subscriptions, leaving."""
    will = Will("truth/will", qos=qos)
    groups = (
        subscribers("sub", 1, "truth/+", qos),
        publishers(PUBLISHERS, qos, will=will),
    )
    load = Paced(rate=float(MESSAGES), limit=MESSAGES)
    made = plan(f"wire-{version}-{qos}", tuple(replace(group, version=version) for group in groups), load)
    return replace(made, server_options={"port": port})


@contextmanager
def captured(port: int, file: Path) -> Iterator[None]:
    """Packets of one port on the loopback interface, from before the run to after it."""
    command = [require_program("tshark"), "-i", "lo", "-f", f"tcp port {port}", "-w", str(file), "-B", "64", "-q"]
    capture = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert capture.stderr is not None
    words = ""
    for line in capture.stderr:
        words += line
        if "Capturing on" in line:
            break
    else:
        capture.wait()
        pytest.skip(f"packets cannot be captured here: {words.strip()[-200:]}")
    try:
        wait_for_own_packet(port, file)
        yield
        wait_for_own_packet(port, file)
    finally:
        capture.terminate()
        capture.wait()
        capture.stderr.close()


def wait_for_own_packet(port: int, file: Path) -> None:
    """Knock at the port, where nobody listens now, until a knock is in the capture: packets are written in order."""
    knocks: list[bytes] = []

    def captured_one() -> bool:
        with socket.socket() as knocking:
            knocking.bind(("127.0.0.1", 0))
            knocks.append(struct.pack(">HH", knocking.getsockname()[1], port))
            knocking.connect_ex(("127.0.0.1", port))
        seen = file.read_bytes() if file.exists() else b""
        return any(knock in seen for knock in knocks)

    assert eventually(captured_one)


def dissected(file: Path, port: int) -> dict[str, Counter[str]]:
    """How often each value of each field occurs in the capture, as tshark reads it."""
    command = ["tshark", "-r", str(file), "-d", f"tcp.port=={port},mqtt", "-Y", "mqtt or _ws.malformed", "-T", "fields"]
    wanted = [word for name in FIELDS for word in ("-e", name)]
    done = subprocess.run(
        [*command, "-E", "separator=/t", "-E", "occurrence=a", "-E", "aggregator=;", *wanted],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, Counter[str]] = {name: Counter() for name in FIELDS}
    for line in done.stdout.splitlines():
        for name, values in zip(FIELDS, line.split("\t"), strict=True):
            found[name].update(value for value in values.split(";") if value)
    return found


LEVELS = (0, 1, 2)
FLOWS = {0: (), 1: (PUBACK,), 2: (PUBREC, PUBREL, PUBCOMP)}


def expected_types() -> dict[int, int]:
    """Packets of three runs: every message goes to the server and on to the subscriber, each with its QoS flow."""
    runs, devices = len(LEVELS), PUBLISHERS + 1
    once = dict.fromkeys((CONNECT, CONNACK, DISCONNECT), runs * devices) | {SUBSCRIBE: runs, SUBACK: runs}
    flows = Counter({kind: 2 * MESSAGES for qos in LEVELS for kind in FLOWS[qos]})
    return once | {PUBLISH: runs * 2 * MESSAGES} | flows


@pytest.mark.parametrize("version", ["3.1.1", "5"])
def test_tshark_reads_what_the_engine_says(tmp_path: Path, version: str) -> None:
    """Packet types and counts, client ids, versions, topics and QoS are those of the plans; nothing is malformed."""
    (port,) = free_ports(1)
    file = tmp_path / "runs.pcapng"
    with captured(port, file):
        outcome = run_campaign([talk(version, qos, port) for qos in LEVELS], ["loopback"], tmp_path)
    assert ["complete"] * len(LEVELS) == [run.state for run in outcome.runs]
    found = dissected(file, port)

    runs = len(LEVELS)
    assert expected_types() == {int(kind): count for kind, count in found["mqtt.msgtype"].items()}
    clients = {"sub-0", *(f"pub-{index}" for index in range(PUBLISHERS))}
    assert dict.fromkeys(clients, runs) == found["mqtt.clientid"]
    assert {"4" if version == "3.1.1" else "5": runs * (PUBLISHERS + 1)} == found["mqtt.ver"]
    topics = {f"truth/{index}": runs * 2 * MESSAGES // PUBLISHERS for index in range(PUBLISHERS)}
    assert topics | {"truth/+": runs} == found["mqtt.topic"]
    assert {str(qos): 2 * MESSAGES for qos in LEVELS} == found["mqtt.qos"]
    assert {"truth/will": runs * PUBLISHERS} == found["mqtt.willtopic"]
    assert not found["_ws.malformed"]
