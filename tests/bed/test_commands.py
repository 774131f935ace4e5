"""`search`, `calibrate` and `doctor` on a bed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.bed import PROGRAM, telemark, write_bed
from tests.support.machines import Machines

pytestmark = [pytest.mark.spark, pytest.mark.live, pytest.mark.timeout(900)]

ROLES = (("server",), ("publishers", "subscribers"))
ONE_CASE = f"""
import telemark.campaigns.calibrate as calibrate
from telemark.campaigns.calibration_plans import floor
calibrate.all_cases = lambda: [floor(0)]
{PROGRAM}"""


@pytest.mark.long  # a try takes 13 seconds, and there are four or five
def test_a_search_makes_all_its_tries_on_one_bed(bed_machines: Machines, tmp_path: Path) -> None:
    """Tries are analysed while the bed stays open; each is a run of both machines."""
    bed = write_bed(bed_machines, tmp_path, ROLES)
    rates = ("--start-rate", "50", "--max-rate", "100", "--resolution", "0.9", "--duration", "1")
    where = ("--out", str(tmp_path / "runs"), "--campaign", "c", "--bed", str(bed), "--json")
    search = ("search", "scalagent/multi-publisher", "--qos", "0", "--require", "lost == 0")
    code, printed = telemark(bed_machines, *search, *rates, *where)

    assert code in (0, 8), printed
    runs = [json.loads(path.read_text()) for path in (tmp_path / "runs/c").glob("*/run.json")]
    assert len(runs) > 1
    assert {run["state"] for run in runs} == {"complete"}
    assert {len(run["hosts"]) for run in runs} == {2}


def test_a_calibration_of_a_bed_is_kept_for_that_bed(
    bed_machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of its cases: measured on both machines, analysed, and stored under the bed's fingerprint."""
    monkeypatch.setenv("TELEMARK_CACHE", str(tmp_path / "cache"))
    bed = write_bed(bed_machines, tmp_path, ROLES)
    code, printed = telemark(bed_machines, "calibrate", "--bed", str(bed), "--json", program=ONE_CASE)

    assert code == 0, printed
    (stored,) = [json.loads(path.read_text()) for path in (tmp_path / "cache").glob("calibration-*.json")]
    assert stored["host"] == "a bed of 2"
    (figure,) = stored["figures"]
    assert (figure["kind"], figure["lost"]) == ("floor", 0)
    assert figure["rate"] > 0


def test_the_doctor_examines_every_host_for_its_part(bed_machines: Machines, tmp_path: Path) -> None:
    """The server's host must carry all devices, a load host its share."""
    bed = write_bed(bed_machines, tmp_path, (("server",), ("publishers",), ("subscribers",)))
    code, printed = telemark(bed_machines, "doctor", "--devices", "1000", "--bed", str(bed), "--json")
    found = json.loads(printed[printed.index("{") :])

    assert code == 0, printed
    assert [host["devices"] for host in found["hosts"]] == [1000, 500, 500]
    assert all(any(finding["name"] == "limit nofile" for finding in host["findings"]) for host in found["hosts"])
