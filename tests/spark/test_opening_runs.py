"""telemark.open, telemark sql, and folders behind URLs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

import telemark
from telemark.cli.analyze import command as analyze_command
from telemark.cli.sql import command as sql_command
from telemark.errors import ConfigError, DataError
from telemark.pipeline import analyze
from telemark.pipeline.opened import query_rows
from telemark.pipeline.spark.reading import has_files
from telemark.store.layout import LocalFolders, find_runs
from telemark.store.result_reader import ResultTables
from tests.support.run_builder import Rows, random_run, write

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def campaign(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two analysed runs, one of them with a share group."""
    folder = tmp_path_factory.mktemp("open") / "campaign"
    write(folder / "001", random_run(11))
    write(folder / "002", Rows())
    analyze([folder])
    return folder


def test_opened_tables_carry_campaign_and_run(campaign: Path) -> None:
    """Records and results alike; a table without rows is empty, not an error."""
    opened = telemark.open(campaign)

    assert ("001", "002") == opened.runs
    row = opened.deliveries.groupBy("campaign", "run").count().collect()[0]
    assert ("campaign", "001", len(random_run(11).deliveries)) == tuple(row)
    assert {"001", "002"} == {row.run for row in opened.points.select("run").collect()}
    assert 0 == opened.acks.count()
    with pytest.raises(AttributeError, match="no table 'colours'"):
        _ = opened.colours
    with pytest.raises(DataError, match="no run in"):
        telemark.open(campaign / "results")


def test_sql_prints_rows_to_stdout(campaign: Path) -> None:
    """As JSON lines, CSV or a table."""
    query = "select run, count(*) as n from deliveries group by run"
    found = CliRunner().invoke(sql_command, [query, str(campaign), "--format", "json"], catch_exceptions=False)

    assert [{"run": "001", "n": len(random_run(11).deliveries)}] == [json.loads(found.stdout)]
    shown = CliRunner().invoke(sql_command, ["select run from points order by run", str(campaign), "--limit", "1"])
    assert "001" in shown.stdout
    assert "002" not in shown.stdout
    assert "only the first 1" in shown.stderr
    wrong = CliRunner().invoke(sql_command, ["select colour from points", str(campaign)])
    assert isinstance(wrong.exception, ConfigError)


def test_the_analyze_command_prints_where_results_are(campaign: Path) -> None:
    """And passes over what is done."""
    found = CliRunner().invoke(analyze_command, [str(campaign)], catch_exceptions=False)

    assert f"{campaign}/results\n" == found.stdout
    assert "already done 2" in found.stderr


def test_a_folder_behind_a_url_gives_the_same_results(campaign: Path, tmp_path: Path) -> None:
    """Read and written through Spark's own file systems."""
    report = analyze([f"file://{campaign}"], out=f"file://{tmp_path}/out")

    assert {} == report.problems
    there, here = ResultTables.open(tmp_path / "out" / "campaign"), ResultTables.open(campaign)
    for table in ("points", "latency", "distribution", "intervals", "integrity", "offenders", "resources"):
        assert here.rows(table) == there.rows(table), table
    again = analyze([f"file://{campaign}"], out=f"file://{tmp_path}/out")
    assert 2 == len(again.skipped)


def test_a_pipe_among_the_records_is_refused(tmp_path: Path) -> None:
    """Spark would pass over it: the answer would lack its rows without a word."""
    write(tmp_path / "c/001", random_run(11))
    os.mkfifo(tmp_path / "c/001/deliveries/999-00000.parquet")

    with pytest.raises(DataError, match=r"999-00000\.parquet is not a regular file"):
        has_files(find_runs([tmp_path / "c"]).runs[0], "deliveries", LocalFolders())


def test_records_of_other_types_are_named_as_the_reason(spark: SparkSession, tmp_path: Path) -> None:
    """Text in place of numbers is bad data, not a defect of this program."""
    write(tmp_path / "c/001", random_run(11))
    path = next((tmp_path / "c/001/deliveries").glob("*.parquet"))
    pq.write_table(pa.table({name: ["x"] for name in pq.read_schema(path).names}), path)

    with pytest.raises(DataError, match="the records cannot be read"):
        query_rows(telemark.open(tmp_path / "c"), "select max(stream) from deliveries", 1)
