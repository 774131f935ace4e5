"""One test over both places that hold results: a folder of this host, and one behind a URL."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from telemark.errors import DataError, RequirementError
from telemark.pipeline.result_files import LocalFiles
from telemark.pipeline.results import ResultFiles, ResultStore
from telemark.pipeline.spark.folders import HadoopFiles
from telemark.store.documents.analysed import Analysed
from telemark.store.result_reader import ResultTables
from telemark.store.results import RESULTS_VERSION, TABLES

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture(params=["local", "url"])
def files(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> ResultFiles:
    """Files of <tmp_path>/campaign/results."""
    folder = tmp_path / "campaign" / "results"
    if request.param == "local":
        return LocalFiles(str(folder))
    return HadoopFiles(spark, f"file://{folder}")


def points(run: str, rate: float) -> pa.Table:
    return pa.Table.from_pylist([{"campaign": "campaign", "run": run, "received_rate": rate}], schema=TABLES["points"])


def note(run: str, problem: str | None = None) -> Analysed:
    return Analysed(run, RESULTS_VERSION, "source", problem)


def test_what_was_written_is_read_again(files: ResultFiles, tmp_path: Path) -> None:
    """By the store and by reports; a second writing replaces the first; a run with a problem has no points."""
    store = ResultStore(files)
    assert store.note("001") is None
    assert 0 == store.points().num_rows

    for rate in (1.0, 2.0):
        store.write_run("001", {"points": points("001", rate)}, note("001"))
    store.write_run("002", {}, note("002", "damaged"))
    store.write_campaign("scaling", TABLES["scaling"].empty_table())

    assert note("001") == store.note("001")
    assert [2.0] == store.points()["received_rate"].to_pylist()
    results = ResultTables.open(tmp_path / "campaign")
    assert ("001",) == results.runs
    assert {"002": "damaged"} == results.problems
    assert [2.0] == [row["received_rate"] for row in results.rows("points")]


def test_the_old_note_goes_before_the_tables_change(
    files: ResultFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that finds a note finds the tables that belong to it, even when writing stops half way."""
    store = ResultStore(files)
    store.write_run("001", {"points": points("001", 1.0)}, note("001"))

    def full(path: str, content: bytes) -> None:
        raise RequirementError("disk full")

    monkeypatch.setattr(files, "write", full)
    with pytest.raises(RequirementError):
        store.write_run("001", {"points": points("001", 2.0)}, note("001"))

    assert store.note("001") is None


def test_parts_of_other_writers_are_replaced_and_strange_files_kept(files: ResultFiles, tmp_path: Path) -> None:
    """An older version wrote parts under other names; a user's own file is none of our business."""
    folder = tmp_path / "campaign" / "results" / "points" / "run=001"
    folder.mkdir(parents=True)
    pq.write_table(points("001", 7.0), folder / "part-00000-9a.snappy.parquet")
    (folder / "remarks.txt").write_text("mine")

    ResultStore(files).write_run("001", {"points": points("001", 1.0)}, note("001"))

    assert [1.0] == ResultTables.open(tmp_path / "campaign").table("points")["received_rate"].to_pylist()
    assert "mine" == (folder / "remarks.txt").read_text()


@pytest.mark.parametrize("link", ["results", "results/points", "results/points/run=001", "results/analysed"])
def test_a_link_in_the_results_is_refused_and_nothing_behind_it_changes(tmp_path: Path, link: str) -> None:
    """It led to somebody's project."""
    project = tmp_path / "project"
    (project / "run=001").mkdir(parents=True)
    for name in ("001.json", "run=001/part-00000.parquet", "part-7.parquet"):
        (project / name).write_text("mine")
    campaign = tmp_path / "campaign"
    (campaign / link).parent.mkdir(parents=True)
    (campaign / link).symlink_to(project)

    with pytest.raises(DataError, match="is a link"):
        ResultStore(LocalFiles(f"{campaign}/results")).write_run("001", {"points": points("001", 1.0)}, note("001"))

    assert ["mine"] * 3 == [path.read_text() for path in sorted(project.rglob("*")) if path.is_file()]
