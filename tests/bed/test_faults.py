"""What goes wrong on a bed ends the run soon, with host and reason, and leaves nothing running anywhere."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from telemark.errors import ExitCode
from telemark.store.documents.run import RunFile
from telemark.store.reader import read_records
from tests.support.bed import start_telemark, write_bed
from tests.support.machines import Machines, wait_for_words
from tests.support.waiting import PROMPT_S, eventually

pytestmark = [pytest.mark.spark, pytest.mark.live, pytest.mark.timeout(400)]

ROLES = (("server", "subscribers"), ("publishers",))
LOAD = ("load", "--server", "loopback", "--publishers", "20", "--rate", "2000", "--duration", "300", "--no-analyze")


class Campaign:
    """A run of five minutes on machines 1 and 2, in its measuring phase."""

    def __init__(self, machines: Machines, folder: Path, program: subprocess.Popen[str]) -> None:
        self.machines = machines
        self.folder = folder
        self.program = program

    @property
    def run(self) -> Path:
        """The run's folder."""
        return next(path.parent for path in (self.folder / "runs/c").glob("*/run.json"))

    def ours(self, *numbers: int) -> list[str]:
        """Command lines of Python processes on those machines: agents and their children."""
        found = []
        for process in [process for number in numbers for process in self.machines.processes(number)]:
            with suppress(psutil.NoSuchProcess):
                if "python" in process.name():
                    found.append(" ".join(process.cmdline()))
        return found

    def measuring(self) -> bool:
        """Whether messages arrive: machine 1 has records of them."""
        assert self.program.poll() is None, self.program.communicate()[0][-3000:]
        return any((self.folder / "scratch").glob("telemark-c/10.77.0.1/*/deliveries/*.parquet"))

    def ends(self) -> tuple[int, str]:
        """Exit code and words of the program, which must come soon."""
        begun = time.monotonic()
        printed, _ = self.program.communicate(timeout=120)
        assert time.monotonic() - begun < PROMPT_S, printed
        return self.program.returncode, printed

    def nothing_is_left(self) -> None:
        """No agent and no child on any machine, no file of theirs."""
        assert eventually(lambda: not self.ours(1, 2), PROMPT_S), self.ours(1, 2)
        assert [path for path in (self.folder / "scratch").rglob("*") if path.is_file()] == []


@contextmanager
def campaign(machines: Machines, folder: Path) -> Iterator[Campaign]:
    """The program, killed whatever the test did."""
    bed = write_bed(machines, folder, ROLES)
    out = ("--out", str(folder / "runs"), "--campaign", "c")
    with start_telemark(machines, *LOAD, "--bed", str(bed), *out) as program:
        try:
            made = Campaign(machines, folder, program)
            assert eventually(made.measuring, 180)
            yield made
        finally:
            program.kill()


def test_a_killed_worker_ends_the_run_by_name(bed_machines: Machines, tmp_path: Path) -> None:
    """kill -9 of the Spark worker: its executor goes too, and with it the agent. The other host's records are home."""
    with campaign(bed_machines, tmp_path) as running:
        workers = [each for each in bed_machines.processes(2) if "deploy.worker.Worker" in " ".join(each.cmdline())]
        for worker in workers:
            worker.kill()
        try:
            code, printed = running.ends()
            running.nothing_is_left()
        finally:  # the next test needs it
            bed_machines.start_worker(2)
            wait_for_words(bed_machines.folder / "spark-0.log", "Registering worker 10.77.0.2", 2)

    assert code == ExitCode.HOST_LOST, printed
    facts = RunFile.read(running.run)
    assert facts.state == "failed"
    assert str(facts.reason).startswith("host 10.77.0.2 ")
    assert read_records(running.run, "deliveries").num_rows > 0  # machine 1 received them


def test_a_link_that_is_down_ends_the_run_by_name(bed_machines: Machines, tmp_path: Path) -> None:
    """Three seconds without a word: what was sent meanwhile is not known well enough to be measured."""
    with campaign(bed_machines, tmp_path) as running:
        bed_machines.cut(2)
        try:
            time.sleep(3)  # the fault itself, no waiting for something
        finally:
            bed_machines.join(2)
        code, printed = running.ends()
        running.nothing_is_left()

    assert code == ExitCode.HOST_LOST, printed
    assert "host 10.77.0.2 has been silent for 2.5 s" in str(RunFile.read(running.run).reason)
    assert read_records(running.run, "deliveries").num_rows > 0


def test_a_killed_runner_leaves_no_process_and_no_file(bed_machines: Machines, tmp_path: Path) -> None:
    """kill -9 in the middle of a run: engines, server and agents end by themselves."""
    with campaign(bed_machines, tmp_path) as running:
        runner = next(each for each in bed_machines.processes(0) if str(tmp_path) in " ".join(each.cmdline()))
        runner.kill()
        running.nothing_is_left()
        assert eventually(lambda: not running.ours(0), PROMPT_S), running.ours(0)


def test_a_full_disk_on_one_host_ends_the_run_by_name(bed_machines: Machines, tmp_path: Path) -> None:
    """The publishers' records have no room; those of the other host are home and can be read."""
    small = tmp_path / "scratch/telemark-c/10.77.0.2"
    small.mkdir(parents=True)
    bed_machines.on_disk_of(2, "mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(small))
    try:
        with campaign(bed_machines, tmp_path) as running:
            with suppress(subprocess.CalledProcessError):  # it ends when nothing more fits
                bed_machines.on_disk_of(2, "dd", "if=/dev/zero", f"of={small}/filler", "bs=4096")
            code, printed = running.ends()
            assert eventually(lambda: not running.ours(1, 2), PROMPT_S), running.ours(1, 2)
    finally:
        bed_machines.on_disk_of(2, "umount", "-l", str(small))

    assert code != 0, printed
    reason = str(RunFile.read(running.run).reason)  # health sampler or engine, whoever needs room first
    assert reason.startswith("host 10.77.0.2: "), printed
    assert "no space left for " in reason
    assert read_records(running.run, "deliveries").num_rows > 0
