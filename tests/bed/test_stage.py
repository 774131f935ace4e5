"""The barrier stage on real machines: agents everywhere, clocks known, nothing left behind, no secret anywhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.machines import CHECKOUT, MASTER, RUNNER, Machines
from tests.support.waiting import PROMPT_S

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

# Opens a bed, tells what it found as one JSON line, and ends when its input does.
PROGRAM = """
import json, sys, time
from pathlib import Path
from telemark.bed.bed_file import read_bed
from telemark.bed.bed import open_bed
from telemark.errors import TelemarkError
notes = []
try:
    with open_bed(read_bed(Path(sys.argv[1])), "campaign", notes.append) as bed:
        hosts = {}
        for name, line in bed.lines.items():
            while len(line.exchanges) < 30:
                time.sleep(0.05)
            clock = line.correction()
            facts = line.ask({"do": "facts"})[0]["facts"]
            hosts[name] = {"correction_ns": clock.correction_ns[-1], "error_ns": clock.error_ns[-1], "facts": facts}
        secret = bed.board.invitation("").secret.hex()
        print(json.dumps({"hosts": hosts, "port": bed.board.address[1], "secret": secret}), flush=True)
        sys.stdin.read()
except TelemarkError as error:
    print(json.dumps({"error": error.message, "hint": error.hint}), flush=True)
print(json.dumps(notes), flush=True)
"""


class RunnerProgram:
    """The program above on the runner's machine."""

    def __init__(self, machines: Machines, folder: Path, hosts: Sequence[int], wait: int = 60, **settings: str) -> None:
        bed = folder / "bed.toml"
        tables = "".join(
            f'[[hosts]]\nhost = "{machines.address(number)}"\nroles = ["publishers"]\n' for number in hosts
        )
        chosen = {"spark.executor.memory": "512m", **settings}
        lines = "".join(f'"{name}" = "{value}"\n' for name, value in chosen.items())
        where = f'spark = "{MASTER}"\nrunner = "{RUNNER}"\nscratch = "{folder}/scratch"\nwait = {wait}\n'
        bed.write_text(f"{where}[settings]\n{lines}{tables}")
        self.child = subprocess.Popen(
            machines.command(0, [sys.executable, "-c", PROGRAM, str(bed)]),
            env=os.environ | {"PYTHONPATH": str(CHECKOUT / "src")}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def __enter__(self) -> RunnerProgram:
        return self

    def __exit__(self, *_: object) -> None:
        self.child.kill()
        for stream in (self.child.stdin, self.child.stdout, self.child.stderr):
            assert stream is not None
            stream.close()
        self.child.wait()

    def line(self) -> Any:
        assert self.child.stdout is not None
        text = self.child.stdout.readline()
        assert self.child.stderr is not None
        assert text, self.child.stderr.read()[-3000:]
        return json.loads(text)

    def opened(self) -> Any:
        """What it found once the bed is open."""
        line = self.line()
        assert "hosts" in line, line
        return line

    def end(self) -> Any:
        """Its notes."""
        assert self.child.stdin is not None
        self.child.stdin.close()
        return self.line()


def agents(machines: Machines, numbers: Sequence[int]) -> list[str]:
    """Command lines of the Python processes on those machines."""
    found = []
    for process in [process for number in numbers for process in machines.processes(number)]:
        with suppress(psutil.NoSuchProcess):
            if "python" in process.name():
                found.append(" ".join(process.cmdline()))
    return found


def wait_for_none(machines: Machines, numbers: Sequence[int], patience_s: float = PROMPT_S) -> None:
    """No agent and no child is left on the machines."""
    deadline = time.monotonic() + patience_s
    while left := agents(machines, numbers):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def test_clocks_of_all_hosts_are_known_within_their_error(bed_machines: Machines, tmp_path: Path) -> None:
    """The namespaces' offsets are the truth; the stated error must hold it and be small."""
    with RunnerProgram(bed_machines, tmp_path, [1, 2, 3, 4]) as program:
        found = program.opened()["hosts"]
        notes = program.end()

    for number, offset_s in enumerate(bed_machines.offsets_s, 1):
        host = found[bed_machines.address(number)]
        assert abs(host["correction_ns"] + offset_s * 10**9) <= host["error_ns"], host
        assert host["error_ns"] < 20_000_000
    assert notes == []
    wait_for_none(bed_machines, [1, 2, 3, 4])
    assert not (tmp_path / "scratch").exists() or list((tmp_path / "scratch").iterdir()) == []


def test_the_secret_is_not_in_the_event_log_nor_in_any_command(bed_machines: Machines, tmp_path: Path) -> None:
    """Spark writes down settings, properties and plans; process lists are everybody's."""
    log = tmp_path / "events"
    log.mkdir()
    events = {"enabled": "true", "dir": f"file://{log}", "compress": "false"}
    with RunnerProgram(
        bed_machines, tmp_path, [1, 2], **{f"spark.eventLog.{name}": value for name, value in events.items()}
    ) as program:
        secret = program.opened()["secret"]
        family = [process for number in (0, 1, 2) for process in bed_machines.processes(number)]
        shown = [" ".join(process.cmdline()) + str(process.environ()) for process in family]
        program.end()
        program.child.wait(60)

    written = [path.read_bytes() for path in log.rglob("*") if path.is_file()]
    assert any(b"SparkListenerStageSubmitted" in data for data in written)
    assert not any(secret.encode() in data or bytes.fromhex(secret) in data for data in written)
    assert not any(secret in text for text in shown)


def test_a_killed_runner_leaves_nothing_on_the_hosts(bed_machines: Machines, tmp_path: Path) -> None:
    """kill -9 of the runner: agents see their line break and end within seconds, and Spark ends its executors."""
    with RunnerProgram(bed_machines, tmp_path, [1, 2]) as program:
        program.opened()
        assert agents(bed_machines, [1, 2])
        program.child.kill()
        wait_for_none(bed_machines, [1, 2])


def test_a_stranger_on_another_machine_is_refused_and_noted(bed_machines: Machines, tmp_path: Path) -> None:
    """It can reach the port, and that is all."""
    caller = (
        "import socket, ssl, sys\n"
        "context = ssl._create_unverified_context()\n"
        f"raw = socket.create_connection(('{RUNNER}', int(sys.argv[1])))\n"
        "line = context.wrap_socket(raw)\n"
        'line.recv(1000); line.sendall(b\'{"is": "greeting", "campaign": "campaign", "host": "x", '
        '"challenge": "0", "proof": "0"}\\n\'); print(line.recv(1000))'
    )
    with RunnerProgram(bed_machines, tmp_path, [1]) as program:
        port = program.opened()["port"]
        answer = bed_machines.on(3, sys.executable, "-c", caller, str(port))
        notes = program.end()

    assert answer == "b''\n"
    assert [
        "refused a caller from 10.77.0.3: it does not know the campaign's secret, or played an old greeting again"
    ] == notes


def test_a_host_without_a_worker_is_named(bed_machines: Machines, tmp_path: Path) -> None:
    """Before anything starts, with what Spark has instead."""
    with RunnerProgram(bed_machines, tmp_path, [1, 9], wait=10) as program:
        problem = program.line()

    assert re.search(r"no free slot on .*10\.77\.0\.9, and nothing new for 10 s", problem["error"])
    assert "Spark worker" in problem["hint"]
