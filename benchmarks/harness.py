"""What the benchmarks of the native part share: the floor, the built-in server, real engine processes, the report.

Everything is measured on the real thing: an engine process as the runner starts it, writing its Parquet files, and
the built-in server in a process of its own.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from telemark._native import monotonic_ns
from telemark.model.plan import Endpoint, EnginePlan, Group, LoadShape, Publish, Subscription, Tls

LEAST_KEPT = 0.99  # of a planned rate: below that the host was too busy to tell a cost
HERE = Path(__file__).parent
SERVER = """
import sys
from telemark._native import Loopback
server = Loopback(sys.argv[1])
import json
print(json.dumps(server.start()), flush=True)
sys.stdin.read()
server.stop()
"""


def report(name: str, value: float, limit: float, holds: bool, **more: Any) -> None:
    """Print the one line of a benchmark."""
    print(json.dumps({"name": name, "value": round(value, 4), "limit": limit, "holds": holds, **more}))


class Floor:
    """The floor of this host, measured before and after, so that both sides of a ratio see the same machine."""

    def __init__(self, connections: int = 1000, seconds: float = 2.0) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._program = str(Path(self._folder.name) / "floor")
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            sys.exit("no C compiler found: install one (apt install gcc) to measure the floor")
        subprocess.run([compiler, "-O2", "-pthread", "-o", self._program, str(HERE / "floor.c")], check=True)
        self._arguments = [str(connections), "1", str(seconds)]
        self._measured: list[dict[str, float]] = []

    def measure(self) -> None:
        """Run the floor once."""
        line = subprocess.run([self._program, *self._arguments], check=True, capture_output=True, text=True).stdout
        self._measured.append(json.loads(line))

    def mean(self, field: str, last: int = 0) -> float:
        """Mean over the measurements made, or over the last few of them."""
        measured = self._measured[-last:]  # [-0:] is all of them
        return sum(result[field] for result in measured) / len(measured)


@contextmanager
def loopback(**config: Any) -> Iterator[dict[str, int]]:
    """The built-in server in a process of its own; gives the ports by listener name."""
    config.setdefault("listeners", [{"name": "plain", "port": 0}])
    command = [sys.executable, "-c", SERVER, json.dumps(config)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin
        assert server.stdout
        try:
            yield json.loads(server.stdout.readline())
        finally:
            server.stdin.close()
            server.wait(10)


def fan_in(port: int, publishers: int, load: LoadShape, **more: Any) -> EnginePlan:
    """So many publishers to one subscriber, QoS 0, 32 bytes, one engine thread."""
    subscriber = Group("subscriber", 1, client_id="s{index}", subscriptions=(Subscription("bench/#"),))
    publisher = Group("publishers", publishers, first_device=1, client_id="p{index}", publish=Publish("bench/{index}"))
    return plan(port, (subscriber, publisher), load=load, **more)


def plan(port: int, groups: tuple[Group, ...], tls: Tls | None = None, **more: Any) -> EnginePlan:
    """An engine plan for one process against this port."""
    endpoints = (Endpoint("plain", "127.0.0.1", port, tls),)
    return EnginePlan(run="benchmark", process=0, seed=1, endpoints=endpoints, groups=groups, **more)


class EngineRun:
    """One engine process: started with a plan, told when to begin, its records read back."""

    def __init__(self, engine_plan: EnginePlan) -> None:
        self._folder = tempfile.TemporaryDirectory()
        command = [sys.executable, "-m", "telemark.runner.engine_process"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process = psutil.Process(self._process.pid)
        self._say({"plan": json.loads(engine_plan.as_json()), "folder": self._folder.name})
        self.start_ns = 0

    def __enter__(self) -> EngineRun:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._folder.cleanup()

    def _say(self, order: Mapping[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def until(self, reached: Callable[[Mapping[str, Any]], bool], timeout_s: float = 40.0) -> Mapping[str, Any]:
        """Read the process's lines until one satisfies the condition."""
        assert self._process.stdout
        end = time.monotonic() + timeout_s
        for line in self._process.stdout:
            message = json.loads(line)
            if message["is"] == "failed":
                sys.exit(f"the engine failed: {message['message']}")
            if reached(message):
                return message
            if time.monotonic() > end:
                break
        sys.exit(f"the engine process did not get there within {timeout_s} s")

    def ready(self) -> None:
        """Wait for all devices to be connected; none may have failed."""
        status: dict[str, Any] = {}

        def all_ready(message: Mapping[str, Any]) -> bool:
            if message["is"] == "status":
                status.update(message)
            return message["is"] == "ready"

        self.until(all_ready, timeout_s=120.0)
        if status["failed"]:
            sys.exit(f"{status['failed']} of {status['devices']} devices could not connect")

    def begin(self) -> None:
        """Begin to send in a moment."""
        self.start_ns = monotonic_ns() + 100_000_000
        self._say({"do": "begin", "start_ns": self.start_ns})

    def set_rate(self, rate: float) -> None:
        """Another aggregate rate from now on."""
        self._say({"do": "set_rate", "rate": rate, "at_ns": monotonic_ns()})

    def halt(self) -> None:
        """Send nothing new, and wait until everything sent has arrived (at most 10 s: what is missing then is lost)."""
        self._say({"do": "halt"})
        end = time.monotonic() + 10
        self.until(
            lambda line: (
                (line["is"] == "status" and not line["sending"] and line["received"] >= line["sent"])
                or time.monotonic() > end
            )
        )

    def sleep_until(self, seconds: float) -> None:
        """Wait for so many seconds after the common start."""
        time.sleep(max(0.0, (self.start_ns - monotonic_ns()) / 1e9 + seconds))

    def finish(self) -> None:
        """Disconnect, and let the process end."""
        self._say({"do": "finish"})
        self.until(lambda message: message["is"] == "finished")
        self._process.wait(20)

    @property
    def folder(self) -> Path:
        """Where the process writes its records."""
        return Path(self._folder.name)

    def table(self, name: str) -> pa.Table:
        """All rows of a record table."""
        files = sorted((Path(self._folder.name) / name).glob("*.parquet"))
        return pa.concat_tables([pq.read_table(file) for file in files])

    def cpu_s(self) -> float:
        """CPU time the process has used, everything included: sending, receiving, recording, writing Parquet."""
        times = self.process.cpu_times()
        return float(times.user + times.system)


@dataclass(frozen=True)
class Spent:
    """What an engine process spent on messages of a known rate."""

    us_per_message: float  # processor time
    rate_kept: float  # messages received over messages planned
    lost: int


def spend(run: EngineRun, rate: float, settle_s: float = 1.0, seconds: float = 3.0) -> Spent:
    """Play the whole run: begin, settle, measure, end."""
    return spend_together((run,), rate, settle_s, seconds)


def spend_together(runs: Sequence[EngineRun], rate: float, settle_s: float = 1.0, seconds: float = 3.0) -> Spent:
    """The same for several processes side by side; the rate is that of all."""
    for run in runs:
        run.ready()
    for run in runs:
        run.begin()
    runs[-1].sleep_until(settle_s)
    before, start_ns = sum(run.cpu_s() for run in runs), monotonic_ns()
    runs[-1].sleep_until(settle_s + seconds)
    used, end_ns = sum(run.cpu_s() for run in runs) - before, monotonic_ns()
    for run in runs:
        run.halt()
        run.finish()
    count = sum(_received(run, start_ns, end_ns) for run in runs)
    return Spent(used * 1e6 / count, count / (rate * (end_ns - start_ns) / 1e9), sum(lost(run) for run in runs))


def _received(run: EngineRun, start_ns: int, end_ns: int) -> int:
    received = run.table("deliveries")["received_ns"]
    within = pc.and_(pc.greater_equal(received, start_ns), pc.less(received, end_ns))
    return int(pc.sum(within).as_py())


def whole_seconds(counters: pa.Table, first: int, last: int) -> list[dict[str, int]]:
    """The counter rows of the seconds first to last - 1, in order."""
    rows = [row for row in counters.to_pylist() if first <= row["second"] < last]
    if len(rows) != last - first:
        sys.exit(f"expected counters of {last - first} seconds, found {len(rows)}")
    return sorted(rows, key=lambda row: row["second"])


def lost(run: EngineRun) -> int:
    """Messages sent and never received: one subscriber owes itself every one of them."""
    deliveries = run.table("deliveries").group_by(["stream", "sequence"]).aggregate([])
    sent = sum(run.table("senders")["sent"].to_pylist())
    return int(sent - deliveries.num_rows)
