"""Random small runs: every answer of the pipeline equals the plain computation."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from telemark.pipeline import analyze
from telemark.store.result_reader import ResultTables
from tests.support import oracle
from tests.support.placement import WAYS, take
from tests.support.run_builder import Rows, random_run, write

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

RUNS = 8  # of one job: the time of a test is that of the jobs, not of the runs
INTEGRITY = ("owed", "delivered", "lost", "duplicate", "reordered", "foreign", "violations", "exact")


def check_latency(rows: Rows, found: list[dict[str, Any]]) -> None:
    expected = oracle.durations(rows)

    assert set(expected) == {(row["measure"], row["phase"]) for row in found}
    for row in found:
        ordered = expected[row["measure"], row["phase"]]

        assert len(ordered) == row["count"]
        for figure, value in oracle.statistics(ordered).items():
            assert row[f"{figure}_us"] == pytest.approx(value, abs=1e-3), (row["measure"], figure)


def check_integrity(rows: Rows, found: list[dict[str, Any]]) -> None:
    known = {row["subscription"]: row for row in rows.subscriptions}
    expected = oracle.integrity(rows)

    assert expected == {
        row["subscription"]: {name: row[name] for name in INTEGRITY} for row in found if row["subscription"] in known
    }
    for row in found:  # deliveries to no subscription at all
        if row["subscription"] not in known:
            assert row["foreign"] == sum(d["subscription"] == row["subscription"] for d in rows.deliveries)


def check_offenders(rows: Rows, integrity: list[dict[str, Any]], found: list[dict[str, Any]]) -> None:
    counted = {kind: sum(row["kind"] == kind for row in found) for kind in ("lost", "reordered")}
    losses = [row["lost"] for row in integrity]

    if None not in losses and len(found) < 1000:
        assert counted["lost"] == sum(losses)
        assert counted["reordered"] == sum(row["reordered"] for row in integrity)
    for row in found:
        if row["kind"] == "duplicate":
            assert row["times"] >= 2


def check_seconds(rows: Rows, found: list[dict[str, Any]]) -> None:
    stamped = [row for row in rows.deliveries if not row["flags"] & 4]
    for row in found:
        due = sorted(
            (d["received_ns"] - d["intended_ns"] + 500) // 1000
            for d in stamped
            if max(d["intended_ns"] - oracle.START, 0) // 1_000_000_000 == row["second"]
        )
        if due:
            assert row["latency_p99_us"] == pytest.approx(oracle.percentile(due, 0.99), abs=1e-3)
            assert row["latency_mean_us"] == pytest.approx(sum(due) / len(due), abs=1e-3)
        counted = [c for c in rows.counters if c["second"] == row["second"]]
        if counted:
            assert row["sent"] == sum(c["sent"] for c in counted)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(seeds=st.lists(st.integers(0, 2**32), min_size=RUNS, max_size=RUNS, unique=True))
def test_random_runs_get_the_answers_of_a_plain_computation(spark: SparkSession, way: str, seeds: list[int]) -> None:
    """Counts are equal, percentiles too, wherever the deliveries are counted."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        take(way, patch)
        campaign = Path(folder) / "campaign"
        contents = {f"{number:03d}": random_run(seed) for number, seed in enumerate(seeds)}
        for name, rows in contents.items():
            write(campaign / name, rows)
        report = analyze([campaign])

        assert report.problems == {}
        results = ResultTables.open(campaign)
        for name, rows in contents.items():
            integrity = results.rows("integrity", [name])
            check_latency(rows, results.rows("latency", [name]))
            check_integrity(rows, integrity)
            check_offenders(rows, integrity, results.rows("offenders", [name]))
            check_seconds(rows, results.rows("intervals", [name]))
