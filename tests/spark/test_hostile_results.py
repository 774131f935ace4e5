"""Folders made to harm: what analysis writes stays in its results, and one bad run does not stop the others."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from telemark.pipeline import analyze
from telemark.store.result_reader import ResultTables
from tests.support.run_builder import random_run, write

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def test_notes_are_not_written_through_a_link(spark: SparkSession, tmp_path: Path) -> None:
    """A folder named `package` with a broken run.json once overwrote ~/project/package.json."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "package.json").write_text("mine")
    (tmp_path / "c" / "package").mkdir(parents=True)
    (tmp_path / "c" / "package" / "run.json").write_text("x")
    (tmp_path / "c" / "results").mkdir()
    (tmp_path / "c" / "results" / "analysed").symlink_to(project)
    write(tmp_path / "c" / "good", random_run(1))

    report = analyze([tmp_path / "c"])

    assert {"package", "good"} == {Path(folder).name for folder in report.problems}
    assert [project / "package.json"] == list(project.iterdir())
    assert "mine" == (project / "package.json").read_text()


def test_a_linked_results_folder_stops_only_its_campaign(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing behind the link is removed."""
    project = tmp_path / "project"
    (project / "points" / "run=001").mkdir(parents=True)
    (project / "points" / "run=001" / "part-00001.parquet").write_text("mine")
    for name in ("bad", "good"):
        write(tmp_path / "campaigns" / name / "001", random_run(1))
    (tmp_path / "campaigns" / "bad" / "results").symlink_to(project)

    report = analyze([tmp_path / "campaigns"])

    assert [str(tmp_path / "campaigns" / "bad" / "001")] == list(report.problems)
    assert ("001",) == ResultTables.open(tmp_path / "campaigns" / "good").runs
    assert "mine" == (project / "points" / "run=001" / "part-00001.parquet").read_text()


@pytest.mark.parametrize("table", ["deliveries", "counters", "health", "connections", "subscriptions"])
@pytest.mark.parametrize("content", ["text", "nulls", "emptied", "no columns"])
def test_odd_records_are_a_problem_of_their_run(spark: SparkSession, tmp_path: Path, table: str, content: str) -> None:
    """Text for numbers, rows of nothing, an empty file, a file of another table: the neighbour is analysed."""
    for name in ("odd", "good"):
        write(tmp_path / "c" / name, random_run(11))
    folder = tmp_path / "c" / "odd" / table
    folder.mkdir(exist_ok=True)
    names = pq.read_schema(next(iter(folder.glob("*.parquet")))).names if any(folder.glob("*.parquet")) else ["value"]
    files = {
        "text": pa.table({name: ["x"] for name in names}),
        "nulls": pa.table({name: pa.nulls(5) for name in names}),
        "no columns": pa.table({"colour": ["red"]}),
    }
    path = folder / "900-00000.parquet"
    if content in files:
        pq.write_table(files[content], path)
    else:
        path.write_bytes(b"")

    report = analyze([tmp_path / "c"])

    assert str(tmp_path / "c" / "good") in report.analysed
    assert {"odd"} >= {Path(folder).name for folder in report.problems}
    if content in ("text", "emptied"):
        assert "odd" in {Path(folder).name for folder in report.problems}
