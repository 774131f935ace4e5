"""Published cases with server, publishers, subscribers and consumers on machines of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from telemark.errors import ExitCode
from telemark.store.documents.run import RunFile
from telemark.store.reader import read_records
from telemark.store.result_reader import ResultTables
from tests.support.bed import telemark, write_bed
from tests.support.integrity import count
from tests.support.machines import MASTER, Machines
from tests.support.requirements import require_server

pytestmark = [pytest.mark.spark, pytest.mark.live, pytest.mark.timeout(900)]


VERDICTS = (ExitCode.PASSED, ExitCode.THRESHOLD_FAILED, ExitCode.NO_VERDICT)  # a busy machine decides which


def runs_of(machines: Machines, folder: Path, campaign: str, *arguments: str) -> list[Path]:
    """Run folders of a campaign that was made and analysed on the runner's machine."""
    code, printed = telemark(machines, *arguments, "--out", str(folder), "--campaign", campaign)
    assert code in VERDICTS, printed
    if "--bed" in arguments:  # the machines share a disk
        assert f"analyzing on {MASTER}: all hosts of the bed can read {folder / campaign}" in printed
        assert "analyzing on this host" not in printed, printed
    return sorted(path.parent for path in (folder / campaign).glob("*/run.json"))


def points_of(campaign: Path) -> list[dict[str, Any]]:
    """The analysed points of the campaign."""
    return ResultTables.open(campaign).rows("points")


def integrity(campaign: Path) -> list[list[int]]:
    """Of every point."""
    return [[point[name] for name in ("lost", "duplicate", "reordered")] for point in points_of(campaign)]


CASES = {
    "scalagent": ("run", "scalagent/multi-publisher", "--qos", "0,1", "--server", "loopback", "--duration", "2"),
    "messagesight": ("run", "messagesight/FANIN.Q0.PARTITIONS", "--server", "loopback", "--duration", "2"),
    "jms": ("run", "fanin-jms/TPUT.FANIN.JMS", "--server", "artemis", "--payload", "64", "--duration", "2"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_case_loses_nothing_on_several_machines(case: str, bed_machines: Machines, tmp_path: Path) -> None:
    """As on one host, all that was sent arrived once; every host's health and exchanges of clocks are in the folder."""
    if case == "jms":
        require_server("artemis")
    bed = write_bed(bed_machines, tmp_path)
    folders = runs_of(bed_machines, tmp_path, "bed", *CASES[case], "--bed", str(bed))
    runs_of(bed_machines, tmp_path, "one-host", *CASES[case])
    points = points_of(tmp_path / "bed")

    assert integrity(tmp_path / "bed") == integrity(tmp_path / "one-host")

    hosts = {bed_machines.address(number) for number in (1, 2, 3, 4)}
    assert len(folders) == len(points) >= 1
    for folder, point in zip(folders, points, strict=True):
        facts, counted = RunFile.read(folder), count(folder)
        assert (facts.state, counted.lost, counted.duplicate) == ("complete", 0, 0)
        assert counted.sent > 0
        assert [point[name] for name in ("sent", "lost", "duplicate", "reordered")] == [counted.sent, 0, 0, 0]
        assert {host["host"] for host in facts.hosts} == hosts
        assert point["server_host"] == bed_machines.address(1)
        assert set(read_records(folder, "health")["host"].to_pylist()) == hosts
        assert set(read_records(folder, "clock")["host"].to_pylist()) == hosts


@pytest.mark.alone
def test_a_known_delay_is_found_across_clocks_that_are_hours_apart(bed_machines: Machines, tmp_path: Path) -> None:
    """The median is the server's delay plus the way, within 0.3 ms and the stated error; the floor is measured too."""
    load = ("load", "--server", "loopback", "--publishers", "5", "--rate", "200", "--duration", "2", "--warmup", "1")
    bed = str(write_bed(bed_machines, tmp_path))
    medians = []
    for name, faults in (("floor", ()), ("delayed", ("--option", "faults=delay=5ms"))):
        runs_of(bed_machines, tmp_path, name, *load, *faults, "--bed", bed)
        medians += points_of(tmp_path / name)

    floor, delayed = (point["latency_p50_us"] for point in medians)
    errors_us = sum(point["clock_error_us"] for point in medians)
    assert floor > -medians[0]["clock_error_us"]
    assert delayed - floor == pytest.approx(5000, abs=300 + errors_us)
