"""What the engine puts on the wire, read by a program nobody here wrote: tshark's MQTT dissector."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from telemark.model.plan import Load, RunPlan, Will
from telemark.runner import run_campaign
from telemark.servers.ports import free_ports
from tests.support.truth import plan, publishers, subscribers

CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP, SUBSCRIBE, SUBACK, DISCONNECT = (
    1, 2, 3, 4, 5, 6, 7, 8, 9, 14,
)  # fmt: skip
FIELDS = ("mqtt.msgtype", "mqtt.clientid", "mqtt.ver", "mqtt.topic", "mqtt.qos", "mqtt.willtopic", "_ws.malformed")
MESSAGES, PUBLISHERS = 60, 3

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


def talk(version: str, qos: int, port: int) -> RunPlan:
    """A short run with everything a device says: will, QoS flows, subscriptions, leaving."""
    will = Will("truth/will", qos=qos)
    groups = (
        subscribers("sub", 1, "truth/+", qos),
        publishers(PUBLISHERS, qos, will=will),
    )
    load = Load("paced", rate=float(MESSAGES), limit=MESSAGES)
    made = plan(f"wire-{version}-{qos}", tuple(replace(group, version=version) for group in groups), load)
    return replace(made, server_options={"port": port})


@contextmanager
def captured(port: int, file: Path) -> Iterator[None]:
    """Packets of one port on the loopback interface, from before the run to after it."""
    command = ["tshark", "-i", "lo", "-f", f"tcp port {port}", "-w", str(file), "-B", "64", "-q"]
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
    deadline = time.monotonic() + 20
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1.0)  # the only way to know that the filter is in force would be to send packets of our own
    try:
        yield
        time.sleep(1.0)
    finally:
        capture.terminate()
        capture.wait()
        capture.stderr.close()


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
