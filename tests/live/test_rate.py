"""`telemark rate`: a paced run over two engine processes changes at one time, and the records tell."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from telemark.cli.main import telemark
from telemark.errors import ConfigError
from telemark.pipeline import analyze
from telemark.store.documents.run import RunFile
from telemark.store.layout import CONTROL_SOCKET
from telemark.store.reader import read_records
from telemark.store.result_reader import ResultTables
from tests.support.telemark_program import TelemarkProgram

pytestmark = pytest.mark.live

OLD, NEW = 200, 600


def test_the_rate_changes_at_one_time_in_all_processes_and_the_records_tell(tmp_path: Path) -> None:
    """Messages due before the change keep the old rate's times, those after it the new one's; none is lost."""
    arguments = ["load", "--server", "loopback", "--publishers", "4", "--rate", str(OLD), "--duration", "6"]
    more = ["--processes", "2", "--no-analyze", "--out", str(tmp_path), "--campaign", "c"]
    with TelemarkProgram(*arguments, *more) as program:
        program.wait_for_phase("measure")
        done = CliRunner().invoke(telemark, ["rate", "c", str(NEW), "--out", str(tmp_path)])
        assert 0 == done.exit_code, done.output
        assert 0 == program.wait(), program.errors
    run = Path(program.ended()["folder"])
    facts = RunFile.read(run)
    (change,) = facts.rate_changes
    events = {row["kind"]: row for row in read_records(run, "events").to_pylist()}
    due = sorted(read_records(run, "deliveries", ["intended_ns"])["intended_ns"].to_pylist())
    before = [time_ns for time_ns in due if time_ns < change["at_ns"]]
    after = [time_ns for time_ns in due if time_ns >= change["at_ns"]]
    seconds_before = (change["at_ns"] - (facts.start_ns or 0)) / 1e9
    seconds_after = (facts.phases["measure"][1] - change["at_ns"]) / 1e9

    assert (2, NEW) == (facts.processes, change["rate"])
    assert facts.phases["measure"][0] < change["at_ns"] < facts.phases["measure"][1]
    assert change["at_ns"] == events["rate_changed"]["time_ns"]
    assert "rate_late" not in events
    assert len(before) == pytest.approx(OLD * seconds_before, abs=3)
    assert len(after) == pytest.approx(NEW * seconds_after, abs=3)
    assert not (tmp_path / "c" / CONTROL_SOCKET).exists()

    analyze([tmp_path / "c"])
    rows = [row for row in ResultTables.open(tmp_path / "c").rows("intervals") if row["phase"] == "measure"]
    whole = {stretch: [row["intended"] for row in rows if row["rate_stretch"] == stretch] for stretch in (0, 1)}

    assert {0, 1} == {row["rate_stretch"] for row in rows}
    assert all(count == pytest.approx(OLD, abs=3) for count in whole[0][:-1])
    assert all(count == pytest.approx(NEW, abs=3) for count in whole[1][1:])


def test_a_load_without_a_rate_says_so(tmp_path: Path) -> None:
    """A closed loop is paced by the server."""
    arguments = ["load", "--server", "loopback", "--unpaced", "--window", "1", "--duration", "2", "--no-analyze"]
    with TelemarkProgram(*arguments, "--out", str(tmp_path), "--campaign", "c") as program:
        program.wait_for_phase("measure")
        done = CliRunner().invoke(telemark, ["rate", "c", "5", "--out", str(tmp_path)])
        assert isinstance(done.exception, ConfigError)
        assert "no rate to change" in done.exception.message
        assert 0 == program.wait(), program.errors
