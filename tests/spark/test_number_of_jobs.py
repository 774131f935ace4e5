"""How many Spark jobs an analysis takes: each costs a tenth of a second or more, however little it does."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from telemark.pipeline import analyze
from telemark.store.result_reader import ResultTables
from tests.support.placement import WAYS, take

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from synthetic_run import Wanted, make

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

MOST_JOBS = dict(zip(WAYS, (1, 4, 8), strict=True))
WANTED = Wanted(messages=50_000, rate=10_000, streams=100, lost=12, duplicate=7, reordered=5, processes=2)


def jobs_so_far(spark: SparkSession) -> int:
    """Jobs this session has started."""
    return int(spark._jsc.sc().dagScheduler().numTotalJobs())


@pytest.mark.parametrize("way", WAYS)
def test_the_analysis_of_a_run_takes_few_jobs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """With lost, doubled and late messages to be named."""
    take(way, monkeypatch, part_rows=50_000)
    make(tmp_path / "campaign" / "001", WANTED)
    before = jobs_so_far(spark)

    report = analyze([tmp_path / "campaign"])

    assert {} == report.problems
    (point,) = ResultTables.open(tmp_path / "campaign").rows("points")
    assert (12, 7, 5) == (point["lost"], point["duplicate"], point["reordered"])
    assert jobs_so_far(spark) - before <= MOST_JOBS[way]
