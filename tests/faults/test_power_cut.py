"""The power is cut at 50 random moments of a campaign: what is marked complete is readable, whole and correct.

The campaign's folder lies on a disk that forgets everything that was not synced (`tests/support/forgetful_disk.py`).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from telemark.errors import ExitCode
from telemark.store.documents.analysed import ANALYSED, Analysed
from telemark.store.documents.campaign import CAMPAIGN_FILE, read_campaign
from telemark.store.documents.reading import Problem, required
from telemark.store.documents.run import RUN_FILE, RunFile, read_run
from telemark.store.integrity import check
from telemark.store.layout import RESULTS
from telemark.store.reader import damaged_files
from telemark.store.results import TABLES
from tests.support.forgetful_disk import mounted
from tests.support.requirements import require, require_program
from tests.support.telemark_program import TelemarkProgram
from tests.support.waiting import PATIENCE_S

pytestmark = pytest.mark.live

SCENARIO = Path(__file__).with_name("two_points.toml")
MOMENTS = 50
MAY_BE_LOST = {".lock", "live.json"}  # who holds the folder, what is shown while it grows
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 7))]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_marked_complete_survives_a_power_cut(tmp_path: Path, seed: int) -> None:
    """Two runs and their analysis; the last cut is after the program has ended, and loses nothing."""
    require(Path("/dev/fuse").exists(), "/dev/fuse is missing")
    require_program("fusermount3")
    with mounted(tmp_path / "disk", MOMENTS, seed) as disk:
        run = ("run", str(SCENARIO), "--server", "loopback", "--out", str(disk.folder / "new/runs"), "--campaign", "c")
        with TelemarkProgram(*run) as program:
            code = program.wait(4 * PATIENCE_S)
            assert code in (ExitCode.PASSED, ExitCode.NO_VERDICT), program.errors  # a busy host gets no verdict
        truth = disk.folder / "new/runs/c"
        complete = disk.cut(tmp_path / "end") / "new/runs/c"
        marked = [marked_complete(cut / "new/runs/c", truth) for cut in disk.moments(tmp_path / "moments")]

        assert len(marked) == MOMENTS
        assert files(truth) - files(complete) == set()
        assert marked_complete(complete, truth) == {"001", "000", "campaign", "analysed 000", "analysed 001"}
    assert any("000" in names for names in marked), "every moment was before the first run had ended"


def marked_complete(campaign: Path, truth: Path) -> set[str]:
    """What a folder after the cut says is complete; all of it is as it was written."""
    names = set()
    if (campaign / CAMPAIGN_FILE).exists():
        listed = required(read_campaign(campaign))
        names |= {run.run[:3] for run in listed.runs if run.state == "complete"}
        names |= {"campaign"} if listed.state == "complete" else set()
    closed = {path.parent.name[:3] for path in campaign.glob(f"*/{RUN_FILE}") if closed_run(path.parent, truth)}
    assert names - {"campaign"} <= closed, "campaign.json lists a run as complete that is not there"
    for path in campaign.glob("*/*/*.parquet"):
        original = truth / path.relative_to(campaign)
        assert path.name.startswith((".", "_")) or path.read_bytes() == original.read_bytes(), path
    return names | {f"analysed {name[:3]}" for name in analysed_runs(campaign, truth)}


def closed_run(folder: Path, truth: Path) -> bool:
    """Whether run.json says that the run has ended; then every file is there as it was written."""
    facts = read_run(folder)
    assert not isinstance(facts, Problem), facts
    assert damaged_files(folder) == {}
    if facts.state == "running":
        return False
    assert facts == RunFile.read(truth / folder.name)
    assert facts.files
    assert check(folder, facts) is None
    return True


def analysed_runs(campaign: Path, truth: Path) -> set[str]:
    """Runs whose results have a note; then all of their tables are there."""
    notes = list((campaign / RESULTS / ANALYSED).glob("*.json"))
    for note in notes:
        assert isinstance(Analysed.parse(note.read_bytes()), Analysed)
        written = {table for table in TABLES if (truth / RESULTS / table / f"run={note.stem}").is_dir()}
        assert written
        for table in written:
            part = Path(RESULTS, table, f"run={note.stem}", "part-00000.parquet")
            assert (campaign / part).read_bytes() == (truth / part).read_bytes()
    return {note.stem for note in notes}


def files(folder: Path) -> set[tuple[str, bytes]]:
    """Every file that must not be lost, with its content."""
    found = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {(str(name), path.read_bytes()) for name, path in found.items() if name.name not in MAY_BE_LOST}


def test_the_disk_forgets(tmp_path: Path) -> None:
    """Otherwise the test above would prove nothing."""
    require(Path("/dev/fuse").exists(), "/dev/fuse is missing")
    require_program("fusermount3")
    with mounted(tmp_path / "disk") as disk:
        (disk.folder / "folder").mkdir()
        (disk.folder / "folder/file").write_text(json.dumps("not synced"))

        assert list(disk.cut(tmp_path / "cut").iterdir()) == []
