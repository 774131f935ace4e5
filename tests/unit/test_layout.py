"""Names of runs and campaigns, and how they are found again."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from telemark.errors import DataError
from telemark.store.documents.run import RunFile
from telemark.store.layout import campaign_name, find_runs, is_url, run_name, slug


def make_run(folder: Path) -> Path:
    RunFile(run=folder.name, campaign=folder.parent.name, state="complete").write(folder)
    return folder


def test_names_hold_only_safe_characters() -> None:
    """They become folders, URLs and table values."""
    assert "a-b.c" == slug("a/:/b.c")
    assert "x" == slug("///")
    assert "003-mosquitto-multi-publisher-publishers-4000-qos-1-r2" == run_name(
        3, "mosquitto", "multi-publisher", "publishers=4000 qos=1", 2
    )
    assert "20260102-030405-scalagent" == campaign_name("scalagent", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))


def test_runs_are_found_from_run_campaign_out_folder_and_pattern(tmp_path: Path) -> None:
    """Whatever the user points at; results and unfinished folders are no runs."""
    runs = [make_run(tmp_path / "out" / "c1" / name) for name in ("001", "002")]
    make_run(tmp_path / "out" / "c1" / ".hidden")
    (tmp_path / "out" / "c1" / "results" / "points").mkdir(parents=True)
    names = [str(run) for run in runs]

    assert names[:1] == [run.folder for run in find_runs([runs[0]]).runs]
    for place in (tmp_path / "out" / "c1", tmp_path / "out", str(tmp_path / "out" / "c*")):
        assert names == [run.folder for run in find_runs([place]).runs]
    found = find_runs([runs[0], tmp_path / "out"]).runs
    assert names == [run.folder for run in found]
    assert ("c1", "001") == (found[0].campaign, found[0].name)


def test_a_run_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    """It is named with its problem."""
    make_run(tmp_path / "c" / "001")
    broken = tmp_path / "c" / "002"
    broken.mkdir()
    (broken / "run.json").write_text("{")

    found = find_runs([tmp_path / "c"])

    assert ["001"] == [run.name for run in found.runs]
    assert [str(broken)] == list(found.problems)


def test_a_path_without_runs_is_an_error(tmp_path: Path) -> None:
    """Silence would look like success."""
    with pytest.raises(DataError, match="no run in"):
        find_runs([tmp_path])


@pytest.mark.parametrize(
    ("path", "answer"),
    [("hdfs://h/x", True), ("file:/tmp", True), ("s3a://b", True), ("/tmp/x", False), ("a/b", False)],
)
def test_urls_are_told_from_paths(path: str, answer: bool) -> None:
    """A URL names its store."""
    assert answer == is_url(path)
