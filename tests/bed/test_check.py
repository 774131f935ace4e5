"""`telemark bed check` on real machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from telemark.errors import ExitCode
from telemark.store.documents.run import RunFile
from tests.support.bed import ROLES, telemark, write_bed
from tests.support.machines import Machines

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def test_every_host_is_shown_and_a_missing_one_is_named(bed_machines: Machines, tmp_path: Path) -> None:
    """Machine 5 does not exist; the others are looked at all the same. Their clocks' true offsets are known."""
    more = {2: 'source_addresses = ["10.77.0.2", "10.9.9.9"]', 3: 'cpus = "99"'}
    bed = write_bed(bed_machines, tmp_path, (*ROLES, ("publishers",)), wait=30, more=more)
    code, printed = telemark(bed_machines, "bed", "check", str(bed), "--json")

    assert code == ExitCode.HOST_LOST, printed
    hosts = json.loads(printed[printed.index("{") :])["hosts"]
    assert [host["reachable"] for host in hosts] == [True, True, True, True, False]
    assert hosts[4]["problems"][0].startswith(
        "not reached: no free slot, and nothing new for 30 s; Spark has 10.77.0.1"
    )
    assert hosts[1]["problems"] == ["source address 10.9.9.9 is not one of its own"]
    assert hosts[2]["problems"][0].startswith("CPU 99 is not there")
    for number, offset_s in enumerate(bed_machines.offsets_s, 1):
        host = hosts[number - 1]
        assert abs(host["clock_offset_ns"] - offset_s * 10**9) <= host["clock_error_ns"] < 50_000_000
        assert bed_machines.address(number) in host["facts"]["addresses"]
        assert host["facts"]["open_files"] > 100


def test_a_bed_runs_from_the_packed_archive(bed_machines: Machines, tmp_path: Path) -> None:
    """Code and libraries of the hosts are those that Spark unpacked there; a run is complete with them."""
    archive = tmp_path / "packed.tar.gz"
    code, printed = telemark(bed_machines, "bed", "pack", "-o", str(archive))
    assert code == 0, printed
    bed = write_bed(bed_machines, tmp_path, (("server",), ("publishers", "subscribers")), archive=archive)
    code, printed = telemark(bed_machines, "bed", "check", str(bed), "--json")
    assert code == 0, printed
    places = [host["facts"]["code"] for host in json.loads(printed[printed.index("{") :])["hosts"]]
    out = ("--out", str(tmp_path / "runs"), "--campaign", "c", "--no-analyze", "--bed", str(bed))
    code, printed = telemark(bed_machines, "load", "--server", "loopback", "--rate", "100", "--duration", "1", *out)

    assert code == 0, printed
    assert all(str(bed_machines.folder / f"worker-{number}") in places[number - 1] for number in (1, 2)), places
    (run,) = [RunFile.read(path.parent) for path in (tmp_path / "runs/c").glob("*/run.json")]
    assert run.state == "complete"
