"""A synthetic run with planted faults: Spark, DuckDB and the plan of the generator agree."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from telemark.pipeline import analyze
from telemark.store.documents.run import RunFile
from telemark.store.result_reader import ResultTables
from tests.support.placement import WAYS, take

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from duckdb_tables import answers, connect, make_tables
from synthetic_run import Wanted, make

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

WANTED = Wanted(
    messages=250_000, rate=50_000, streams=500, subscriptions=3, lost=40, duplicate=30, reordered=20, processes=2
)


@pytest.mark.parametrize("way", WAYS)
def test_planted_faults_are_found_and_duckdb_agrees(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Wherever the deliveries are counted."""
    take(way, monkeypatch, part_rows=50_000)
    run = tmp_path / "campaign" / "001"
    planted = make(run, WANTED)
    assert {} == analyze([run]).problems
    results = ResultTables.open(run.parent)
    database = connect(run)
    make_tables(database, RunFile.read(run))
    peer = answers(database)
    point = results.rows("points")[0]

    for name in ("lost", "duplicate", "reordered"):
        assert planted[name] == point[name] == peer[name]
    theirs = {(row["measure"], row["phase"]): row for row in peer["latency"]}
    delivered = [row for row in results.rows("latency") if row["measure"] in ("latency", "service_time", "send_delay")]
    assert len(theirs) == len(delivered)
    for row in delivered:
        other = theirs[row["measure"], row["phase"]]
        assert other["count"] == row["count"]
        for figure in ("min", "mean", "p50", "p95", "p99", "p999", "p9999", "max"):
            assert row[f"{figure}_us"] == pytest.approx(float(other[figure]), abs=1e-3)
    assert _named(results) == {"lost": 40, "duplicate": 30, "reordered": 20}
    assert sum(row["count"] for row in results.rows("distribution") if row["measure"] == "latency") == 249_990


def _named(results: ResultTables) -> dict[str, int]:
    """Offenders by kind, each message once."""
    rows = results.rows("offenders")
    assert len({(row["kind"], row["stream"], row["sequence"]) for row in rows}) == len(rows)
    return {kind: sum(row["kind"] == kind for row in rows) for kind in ("lost", "duplicate", "reordered")}
