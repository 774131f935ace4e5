"""Several machines on one: network namespaces joined by a bridge, each with a clock of its own, and Spark on them.

Everything lives in namespaces made here (10.77.0.0/24) and is gone when the `with` block ends, whatever happened in it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pyspark

CHECKOUT = Path(__file__).parents[2]
RUNNER = "10.77.0.254"
MASTER = f"spark://{RUNNER}:7077"
LAUNCHER = Path(pyspark.__file__).parent / "bin" / "spark-class"
_COUNT = iter(range(1000))


def why_not() -> str | None:
    """Why machines cannot be made here; None when they can."""
    if os.geteuid() != 0:
        return "network and time namespaces need root"
    if missing := [name for name in ("ip", "unshare") if shutil.which(name) is None]:
        return f"needs the programs {', '.join(missing)} (Debian: apt install iproute2 util-linux)"
    probe = ["unshare", "--net", "--time", "--fork", "--monotonic", "5", "true"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    return f"namespaces are not allowed here: {done.stderr.strip()}" if done.returncode else None


@dataclass(slots=True)
class Machines:
    """A runner's machine with a bridge, and others behind it."""

    folder: Path
    offsets_s: Sequence[int]  # of each host's CLOCK_MONOTONIC
    prefix: str = field(default_factory=lambda: f"tmk{os.getpid()}x{next(_COUNT)}")
    _started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def address(self, number: int) -> str:
        """Of the host with that number, from 1."""
        return f"10.77.0.{number}"

    def make(self) -> None:
        """Namespaces, bridge and links."""
        _ip("netns", "add", self._space(0))
        self.on(0, "ip", "link", "set", "lo", "up")
        self.on(0, "ip", "link", "add", "bridge", "type", "bridge")
        self.on(0, "ip", "address", "add", f"{RUNNER}/24", "dev", "bridge")
        self.on(0, "ip", "link", "set", "bridge", "up")
        for number in range(1, len(self.offsets_s) + 1):
            self._make_host(number)

    def _make_host(self, number: int) -> None:
        _ip("netns", "add", self._space(number))
        self.on(0, "ip", "link", "add", f"to{number}", "type", "veth", "peer", "eth0", "netns", self._space(number))
        self.on(0, "ip", "link", "set", f"to{number}", "master", "bridge", "up")
        self.on(number, "ip", "link", "set", "lo", "up")
        self.on(number, "ip", "address", "add", f"{self.address(number)}/24", "dev", "eth0")
        self.on(number, "ip", "link", "set", "eth0", "up")

    def _space(self, number: int) -> str:
        return f"{self.prefix}-{number}"

    def on(self, number: int, *command: str) -> str:
        """Run a command in a machine's network (0: the runner's) and return what it prints."""
        full = ["ip", "netns", "exec", self._space(number), *command]
        return subprocess.run(full, check=True, capture_output=True, text=True).stdout

    def command(self, number: int, command: Sequence[str]) -> list[str]:
        """The command as it runs on a machine, with its network and its clock."""
        clock = (
            []
            if number == 0
            else ["unshare", "--time", "--fork", "--kill-child", "--monotonic", str(self.offsets_s[number - 1])]
        )
        return ["ip", "netns", "exec", self._space(number), *clock, *command]

    def start(
        self, number: int, command: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> subprocess.Popen[bytes]:
        """Start a program that runs until the machines are removed."""
        with log.open("ab") as output:
            started = subprocess.Popen(
                self.command(number, command), env=os.environ | dict(environment), stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self._started.append(started)
        return started

    def on_disk_of(self, number: int, *command: str) -> None:
        """Run a command that sees the file systems of a machine's Spark worker, mounts included."""
        worker = next(each for each in self.processes(number) if "deploy.worker.Worker" in " ".join(each.cmdline()))
        subprocess.run(["nsenter", "--mount", "--target", str(worker.pid), *command], check=True, capture_output=True)

    def cut(self, number: int) -> None:
        """Take a host's link down."""
        self.on(0, "ip", "link", "set", f"to{number}", "down")

    def join(self, number: int) -> None:
        """Take it up again."""
        self.on(0, "ip", "link", "set", f"to{number}", "up")

    def processes(self, number: int) -> list[psutil.Process]:
        """Everything that runs in a machine's network."""
        found = []
        for pid in map(int, _ip("netns", "pids", self._space(number)).split()):
            with suppress(psutil.NoSuchProcess):
                found.append(psutil.Process(pid))
        return found

    def remove(self) -> None:
        """Kill what runs on the machines, and the machines."""
        spaces = [name for name in _ip("netns", "list").split() if name.startswith(f"{self.prefix}-")]
        for name in spaces:
            for pid in map(int, _ip("netns", "pids", name).split()):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for started in self._started:
            started.kill()
            started.wait(30)
        for name in spaces:
            _ip("netns", "delete", name)

    def start_spark(self) -> None:
        """A standalone master on the runner's machine and a worker with one core on each host."""
        self._daemon(0, RUNNER, "org.apache.spark.deploy.master.Master", "--port", "7077")
        wait_for_words(self.folder / "spark-0.log", "I have been elected leader")
        for number in range(1, len(self.offsets_s) + 1):
            self.start_worker(number)
        wait_for_words(self.folder / "spark-0.log", "Registering worker", len(self.offsets_s))

    def start_worker(self, number: int) -> None:
        """The Spark worker of a host."""
        worker = "org.apache.spark.deploy.worker.Worker"
        self._daemon(number, self.address(number), worker, "--cores", "1", "--memory", "1g", MASTER)

    def _daemon(self, number: int, address: str, name: str, *arguments: str) -> None:
        environment = {
            "SPARK_HOME": str(LAUNCHER.parent.parent),
            "SPARK_LOCAL_IP": address,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_WORKER_DIR": str(self.folder / f"worker-{number}"),
            "SPARK_LOCAL_DIRS": str(self.folder / f"worker-{number}"),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": f"{CHECKOUT / 'src'}:{CHECKOUT}",
        }
        command = [str(LAUNCHER), name, "--host", address, "--webui-port", "0", *arguments]
        self.start(number, command, environment, self.folder / f"spark-{number}.log")


def wait_for_words(log: Path, words: str, count: int = 1, patience_s: float = 120.0) -> None:
    """Until a log shows the words so many times."""
    deadline = time.monotonic() + patience_s
    while len(re.findall(words, log.read_text())) < count:
        assert time.monotonic() < deadline, f"{words!r} did not appear:\n{log.read_text()[-2000:]}"
        time.sleep(0.1)


@contextmanager
def machines(folder: Path, offsets_s: Sequence[int], *, spark: bool = True) -> Iterator[Machines]:
    """Machines for a test."""
    made = Machines(folder, offsets_s)
    try:
        made.make()
        if spark:
            made.start_spark()
        yield made
    finally:
        made.remove()


def _ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout
