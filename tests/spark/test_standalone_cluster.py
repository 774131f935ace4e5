"""A real Spark cluster on loopback, one master and two workers from the pip package, gives the same results."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pyspark
import pytest

from telemark.store.result_reader import ResultTables
from tests.support.run_builder import random_run, write

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

LAUNCHER = Path(pyspark.__file__).parent / "bin" / "spark-class"


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def start(stack: ExitStack, folder: Path, name: str, *arguments: str) -> Path:
    """Start one daemon of the cluster in the foreground; returns its log."""
    log = folder / f"{name}.log"
    environment = os.environ | {
        "SPARK_HOME": str(LAUNCHER.parent.parent), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_WORKER_DIR": str(folder / name), "SPARK_LOCAL_DIRS": str(folder / name),
    }  # fmt: skip
    output = stack.enter_context(log.open("w"))
    process = subprocess.Popen([str(LAUNCHER), *arguments], env=environment, stdout=output, stderr=subprocess.STDOUT)
    stack.callback(process.wait, 30)
    stack.callback(process.terminate)
    return log


def wait_for(log: Path, words: str, count: int = 1) -> None:
    end = time.monotonic() + 120
    while len(re.findall(words, log.read_text())) < count:
        assert time.monotonic() < end, f"{words!r} did not appear:\n{log.read_text()[-2000:]}"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a master with two workers of one core each."""
    folder = tmp_path_factory.mktemp("cluster")
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        master = "org.apache.spark.deploy.master.Master"
        log = start(stack, folder, "master", master, "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        wait_for(log, "I have been elected leader")
        for number in (1, 2):
            worker = "org.apache.spark.deploy.worker.Worker"
            options = ("--cores", "1", "--memory", "1g", "--host", "127.0.0.1", "--webui-port", "0")
            start(stack, folder, f"worker{number}", worker, *options, url)
        wait_for(log, "Registering worker", 2)
        yield url


def analyse(folder: Path, out: Path, master: str) -> None:
    """In a process of its own: a process has one Spark session."""
    program = "from telemark.cli.main import main; main()"
    command = [sys.executable, "-c", program, "analyze", str(folder), "--master", master, "--out", str(out)]
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert 0 == ended.returncode, ended.stderr


def test_a_cluster_gives_the_results_of_one_machine(cluster: str, tmp_path: Path) -> None:
    """Row for row, in every table."""
    campaign = tmp_path / "campaign"
    for number in range(3):
        write(campaign / f"{number:03d}", random_run(20 + number))

    analyse(campaign, tmp_path / "cluster", cluster)
    analyse(campaign, tmp_path / "local", "local[2]")

    there, here = (ResultTables.open(tmp_path / where / "campaign") for where in ("cluster", "local"))
    assert ("000", "001", "002") == there.runs
    for table in ("points", "latency", "distribution", "intervals", "integrity", "offenders", "resources"):
        assert here.rows(table) == there.rows(table), table
