"""Folders of the first format are analysed and reported like those of today."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from telemark.pipeline import analyze
from telemark.report.build import build_report
from telemark.store.documents.run import RunFile
from telemark.store.integrity import digests

DATA = Path(__file__).parents[1] / "data" / "format-1"
CAMPAIGNS = sorted(path.name for path in DATA.iterdir())


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_a_campaign_of_the_first_format_is_analysed_and_reported(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    """Nothing is lost, and the row has its headline."""
    campaign = Path(shutil.copytree(DATA / name, tmp_path / name))
    analysed = analyze([campaign])
    report = build_report([campaign])

    (row,) = report.rows
    assert (1, {}) == (len(analysed.analysed), analysed.problems)
    assert () == report.problems
    assert ("connect_rate" if name.startswith("connburst") else "received_rate") == row.headline.name
    assert row.value
    assert row.value > 0


def test_a_run_whose_records_were_changed_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """With the file's name; its numbers would be somebody else's."""
    campaign = Path(shutil.copytree(DATA / "load-loopback", tmp_path / "c"))
    run = next(path.parent for path in campaign.glob("*/run.json"))
    RunFile.read(run).with_changes(files=digests(run)).write(run)
    file = next(run.glob("deliveries/*.parquet"))
    file.write_bytes(file.read_bytes()[:-1] + b"!")

    (problem,) = analyze([campaign]).problems.values()

    assert f"deliveries/{file.name} was changed" in problem.message
