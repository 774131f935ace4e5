"""One adapter per tool that `peers.py` measures: where it comes from, its command lines, how its output is read.

Adapters say only what a tool itself says. What a tool cannot do is None, and the table shows a dash.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from telemark.host.cache import cache_folder

FOLDER = cache_folder() / "peers"
CARGO = FOLDER / "cargo"
LOCUST_VENV = FOLDER / "locust"
HOST, TOPIC = "127.0.0.1", "bench"
PAYLOAD = 32
Programs = list[list[str]]  # side by side; the last one is waited for, the others are ended after it


@dataclass(frozen=True)
class Task:
    """A load: so many publishers to one subscriber, QoS 0."""

    port: int
    publishers: int
    rate: int  # messages a second, all publishers together; 0: as fast as the tool can
    seconds: int
    folder: Path  # for what the tool writes


@dataclass(frozen=True)
class Told:
    """What a tool says at the end; None: it does not say."""

    p95_ms: float | None = None
    p99_ms: float | None = None
    lost: int | None = None


class Peer(Protocol):
    """A tool, as `peers.py` needs it."""

    name: str
    remark: str  # what a reader must know to compare its figures
    publishers: int  # of the loads at 20,000/s and without a limit
    crowds: tuple[int, int]  # connections between which memory is compared; the larger one is connected at once
    subscribes: bool  # whether it receives, too
    paces: bool  # whether it can send at a given rate
    installs: ClassVar[Programs]  # commands that install it; empty: from the system's packages

    def missing(self) -> str | None:
        """Why it cannot run here, or None."""
        ...

    def load(self, task: Task) -> Programs:
        """Command lines of a load."""
        ...

    def latency_load(self, task: Task) -> Programs:
        """Command lines of the load that tells latencies."""
        ...

    def connects(self, task: Task) -> Programs:
        """Command lines that connect as many clients as possible at once."""
        ...

    def told(self, output: str) -> Told:
        """What the last program's output says."""
        ...


class Tool(ABC):
    """What most adapters have in common: one kind of load serves for everything."""

    program: Path | str
    installs: ClassVar[Programs] = []
    subscribes = True
    paces = True

    def missing(self) -> str | None:
        """The program must be found."""
        return None if shutil.which(self.program) else f"{self.program} is not installed"

    @abstractmethod
    def load(self, task: Task) -> Programs:
        """Command lines of a load."""

    def latency_load(self, task: Task) -> Programs:
        """The same as any load."""
        return self.load(task)

    def connects(self, task: Task) -> Programs:
        """The same as any load."""
        return self.load(task)


class Telemark(Tool):
    """This project, as a user calls it: it records every message and ends with the card."""

    name = "telemark"
    remark = "records every message, analysis included in the time to result"
    program = sys.executable
    publishers, crowds = 1000, (10, 5000)

    def load(self, task: Task) -> Programs:
        """Paced, or a closed loop."""
        pace = ["--rate", str(task.rate)] if task.rate else ["--unpaced", "--window", "4000"]
        options = {"port": task.port, "publishers": task.publishers, "duration": task.seconds, "payload": PAYLOAD}
        given = [text for name, value in options.items() for text in (f"--{name}", str(value))]
        main = [self.program, "-c", "from telemark.cli.main import main; main()", "load"]
        return [[*main, *given, *pace, "--warmup", "0", "--out", str(task.folder)]]

    def told(self, output: str) -> Told:
        """The two rows of the card: rates and latencies, then integrity."""
        rows = [line.split() for line in output.splitlines() if line.startswith("remote ")]
        if len(rows) < 2:
            return Told()
        return Told(_number(rows[0][5]), _number(rows[0][6]), int(rows[1][1].replace(",", "")))


class Mqttv5(Tool):
    """`mqttv5 bench`, from the Rust registry."""

    name = "mqttv5-cli 0.29.0"
    remark = (
        "latencies in a mode of its own with one publisher; connections one after the other except in a mode of its own"
    )
    program = str(CARGO / "bin" / "mqttv5")
    installs: ClassVar[Programs] = [
        ["cargo", "install", "--locked", "--version", "0.29.0", "--root", str(CARGO), "mqttv5-cli"]
    ]
    publishers, crowds = 1000, (10, 1000)

    def _bench(self, task: Task, mode: str, *more: str) -> Programs:
        times = ["--duration", str(task.seconds), "--warmup", "0"]
        server = ["--host", HOST, "--port", str(task.port), "--topic", TOPIC, "--payload-size", str(PAYLOAD)]
        return [[self.program, "bench", "--mode", mode, *server, *times, *more]]

    def load(self, task: Task) -> Programs:
        """Rate 0 saturates."""
        return self._bench(task, "throughput", "--publishers", str(task.publishers), "--rate", str(task.rate))

    def latency_load(self, task: Task) -> Programs:
        """Only its latency mode tells percentiles."""
        return self._bench(task, "latency", "--rate", str(task.rate))

    def connects(self, task: Task) -> Programs:
        """Fifty workers that connect again and again."""
        return self._bench(task, "connections", "--concurrency", "50")

    def told(self, output: str) -> Told:
        """One JSON document."""
        try:
            results = json.loads(output)["results"]
        except (ValueError, KeyError):
            return Told()
        if "p99_us" in results:
            return Told(results["p95_us"] / 1000, results["p99_us"] / 1000)
        return Told(lost=results["published"] - results["received"]) if "published" in results else Told()


class RustMqttBenchmark(Tool):
    """mqtt-benchmark from the Rust registry: publishes a number of messages, as fast as it can."""

    name = "mqtt-benchmark 0.2.4 (Rust)"
    remark = "publishes only, without pace or duration; tells neither latency nor loss"
    program = str(CARGO / "bin" / "mqtt-benchmark")
    installs: ClassVar[Programs] = [
        ["cargo", "install", "--locked", "--version", "0.2.4", "--root", str(CARGO), "mqtt-benchmark"]
    ]
    publishers, crowds = 100, (10, 200)
    subscribes = paces = False
    most = 5_000_000  # messages: more than it sends while it is watched

    def load(self, task: Task) -> Programs:
        """It counts messages, not seconds: so many that watching ends first, or as many as the rate asks for."""
        each = (task.rate * task.seconds or self.most) // task.publishers
        count = ["--size", str(max(1, each)), "--client-num", str(task.publishers)]
        common = ["--broker", f"localhost:{task.port}", "--topic", TOPIC, "--qos", "0", "--payload", "x" * PAYLOAD]
        return [[self.program, *common, *count]]

    def told(self, output: str) -> Told:
        """A mean rate only."""
        return Told()


class Locust(Tool):
    """Locust with its MQTT user class, from PyPI."""

    name = "Locust 2.47.0"
    remark = "its response time of a QoS 0 publish ends when the message has left, not when it arrives"
    program = str(LOCUST_VENV / "bin" / "locust")
    installs: ClassVar[Programs] = [
        [sys.executable, "-m", "venv", str(LOCUST_VENV)],
        [str(LOCUST_VENV / "bin" / "pip"), "install", "--quiet", "locust==2.47.0", "paho-mqtt==2.2.0"],
    ]
    publishers, crowds = 100, (10, 300)
    file = Path(__file__).parent / "peer_locust.py"

    def load(self, task: Task) -> Programs:
        """One user is the subscriber; the publishers' pace goes through the environment."""
        users = ["--users", str(task.publishers + 1), "--spawn-rate", str(task.publishers + 1)]
        each = task.rate / task.publishers if task.rate else 0
        set_ = [f"PEER_PORT={task.port}", f"PEER_RATE={each}", f"PEER_PAYLOAD={PAYLOAD}"]
        ends = ["--headless", "--only-summary", "--run-time", f"{task.seconds}s", "--stop-timeout", "1"]
        return [["env", *set_, self.program, "-f", str(self.file), *users, *ends]]

    def told(self, output: str) -> Told:
        """The percentile table: 50, 66, 75, 80, 90, 95, 98, 99 percent and more."""
        found = re.findall(r"^MQTT +publish +([\d. ]+)$", output, re.MULTILINE)
        tables = [row.split() for row in found if len(row.split()) >= 11]
        return Told(float(tables[-1][5]), float(tables[-1][7])) if tables else Told()


class Mosquitto(Tool):
    """Mosquitto's own clients: a process for each connection, from the system's packages."""

    name = "Mosquitto clients"
    remark = "a process for each connection, 20 publishers; tells neither latency nor loss"
    program = "mosquitto_pub"
    publishers, crowds = 20, (5, 50)

    def _subscriber(self, task: Task) -> list[str]:
        return ["mosquitto_sub", "-h", HOST, "-p", str(task.port), "-t", f"{TOPIC}/#"]

    def load(self, task: Task) -> Programs:
        """Every publisher repeats one message; without a rate it repeats without a pause."""
        common = ["mosquitto_pub", "-h", HOST, "-p", str(task.port), "-m", "x" * PAYLOAD]
        each = task.rate * task.seconds // task.publishers if task.rate else 1_000_000
        pause = ["--repeat-delay", f"{task.publishers / task.rate:.6f}"] if task.rate else []
        repeat = ["--repeat", str(max(1, each)), *pause]
        publishers = [[*common, "-t", f"{TOPIC}/{index}", *repeat] for index in range(task.publishers)]
        return [self._subscriber(task), *publishers]

    def connects(self, task: Task) -> Programs:
        """Subscribers: they stay connected."""
        return [self._subscriber(task) for _ in range(task.publishers)]

    def told(self, output: str) -> Told:
        """Nothing."""
        return Told()


def _number(text: str) -> float | None:
    """A cell of the card."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


REFUSED = "no adapter: the Go module could not be downloaded when the adapters were written"
WITHOUT_ADAPTER = {
    "omq": REFUSED,
    "mqtt-stresser": REFUSED,
    "mqtt-benchmark (Go)": REFUSED,
    "MQTTX bench": "no adapter: the npm registry had no mqttx-cli when the adapters were written",
}
PEERS: list[Peer] = [Telemark(), Mqttv5(), RustMqttBenchmark(), Locust(), Mosquitto()]


def install(peer: Peer) -> None:
    """Run what installs it; a failure is named in the table as a missing peer."""
    for command in peer.installs:
        if subprocess.run(command, check=False).returncode:
            return
