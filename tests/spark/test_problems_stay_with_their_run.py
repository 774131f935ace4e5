"""Damaged, empty, unfinished and future runs: each has its message, and the others are still analysed."""

from __future__ import annotations

import json
import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from telemark.errors import DataError
from telemark.pipeline import analyze
from telemark.pipeline.batch import RunBatch
from telemark.pipeline.run_tables import batch_tables
from telemark.store.bounds import local_bounds
from telemark.store.layout import LocalFolders, find_runs
from telemark.store.result_reader import ResultTables
from tests.support.run_builder import Rows, facts, random_run, write

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def damage_pages(path: Path) -> None:
    """Keep the end of the file, where its directory is, and spoil the rows."""
    data = bytearray(path.read_bytes())
    data[4 : len(data) // 3] = b"\xff" * (len(data) // 3 - 4)
    path.write_bytes(bytes(data))


def test_runs_are_told_apart_whatever_their_folders_are_called(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All in one job: names that URLs escape must not send it back to one job for each run.

    A name that is a pattern for others must not bring in their rows.
    """
    jobs: list[int] = []

    def counting(session: Any, batch: RunBatch, *rest: Any) -> Any:
        jobs.append(len(batch.runs))
        return batch_tables(session, batch, *rest)

    monkeypatch.setattr("telemark.pipeline.run_tables.batch_tables", counting)
    names = ["plain", "with blank", "100%", "100%25", "a+b", "ärger#1", "what?", "*", "[a-z]lain", "{plain,a+b}", "\\x"]
    for seed, name in enumerate(names):
        write(tmp_path / "campaign" / name, random_run(seed))

    report = analyze([tmp_path / "campaign"])

    assert jobs == [len(names)]
    assert report.problems == {}
    points = {row["run"]: row for row in ResultTables.open(tmp_path / "campaign").rows("points")}
    for seed in range(len(names)):
        write(tmp_path / "alone" / f"run{seed}", random_run(seed))
    analyze([tmp_path / "alone"])
    plain = {row["run"]: row for row in ResultTables.open(tmp_path / "alone").rows("points")}
    for seed, name in enumerate(names):
        assert _without_names(points[name]) == _without_names(plain[f"run{seed}"]), name


def _without_names(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("campaign", "run")}


def test_problem_runs_are_named_and_the_others_analysed(spark: SparkSession, tmp_path: Path) -> None:
    """One campaign with every kind of trouble."""
    campaign = tmp_path / "campaign"
    rows = random_run(11)
    assert len(rows.deliveries) > 50
    for name in ("good", "truncated", "spoiled", "newer", "half"):
        write(campaign / name, rows)
    truncated = next((campaign / "truncated" / "deliveries").glob("*.parquet"))
    truncated.write_bytes(truncated.read_bytes()[:100])
    for path in (campaign / "spoiled" / "deliveries").glob("*.parquet"):
        damage_pages(path)
    document = json.loads((campaign / "newer" / "run.json").read_text())
    (campaign / "newer" / "run.json").write_text(json.dumps(document | {"format": 99}))
    shutil.copy(truncated, campaign / "half" / "deliveries" / ".000-99999.parquet")  # a writer that never finished
    write(campaign / "empty", Rows())
    write(campaign / "interrupted", rows, state="interrupted", reason="Ctrl-C", phases={}, start_ns=None)

    report = analyze([campaign])

    assert {"truncated", "spoiled", "newer"} == {Path(folder).name for folder in report.problems}
    assert {"good", "half", "empty", "interrupted"} == {Path(folder).name for folder in report.analysed}
    assert all(isinstance(problem, DataError) for problem in report.problems.values())
    assert "damaged" in report.problems[str(campaign / "truncated")].message
    assert "format 99" in report.problems[str(campaign / "newer")].message
    results = ResultTables.open(campaign)
    assert {"truncated", "spoiled", "newer"} == set(results.problems)
    points = {row["run"]: row for row in results.rows("points")}
    assert points["good"]["owed"] == points["half"]["owed"]
    assert points["empty"]["received"] is None
    assert points["empty"]["engine_bound"] is False
    assert points["interrupted"]["integrity_exact"] is not True
    assert ("interrupted", "Ctrl-C") == (points["interrupted"]["state"], points["interrupted"]["reason"])


def test_analysed_runs_are_passed_over_until_they_change(spark: SparkSession, tmp_path: Path) -> None:
    """Also by another call; a new run.json or `again` makes them anew."""
    campaign = tmp_path / "campaign"
    write(campaign / "001", Rows())

    assert 1 == len(analyze([campaign]).analysed)
    second = analyze([campaign])
    assert (0, 1) == (len(second.analysed), len(second.skipped))
    facts(campaign / "001", notes=("changed",)).write(campaign / "001")
    assert 1 == len(analyze([campaign]).analysed)
    assert 1 == len(analyze([campaign], again=True).analysed)


def test_results_may_go_elsewhere(spark: SparkSession, tmp_path: Path) -> None:
    """A run folder on a read-only disk stays as it is."""
    write(tmp_path / "campaign" / "001", Rows())

    report = analyze([tmp_path / "campaign" / "001"], out=tmp_path / "elsewhere")

    assert (str(tmp_path / "elsewhere" / "campaign" / "results"),) == report.results
    assert not (tmp_path / "campaign" / "results").exists()
    assert 1 == ResultTables.open(tmp_path / "elsewhere" / "campaign").table("points").num_rows


@pytest.mark.parametrize("ending", ["swallowed", "as a failed job"])
def test_an_interrupt_is_no_problem_of_the_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """Ctrl-C reaches Spark too, and libraries may lose it; either way a sound run must not be called damaged."""
    write(tmp_path / "campaign" / "run", random_run(1))

    def interrupted(*arguments: Any) -> Any:
        for _ in range(2):  # an impatient user
            with suppress(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
        if ending == "as a failed job":
            raise RuntimeError("Job 1 cancelled")
        return batch_tables(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr("telemark.pipeline.run_tables.batch_tables", interrupted)
        with pytest.raises(KeyboardInterrupt):
            analyze([tmp_path / "campaign"])
    assert not (tmp_path / "campaign" / "results").exists()

    assert analyze([tmp_path / "campaign"]).problems == {}


def test_an_interrupt_cancels_the_jobs_that_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command ends at once instead of when the rows are read."""
    write(tmp_path / "campaign" / "run", random_run(1))
    cancelled: list[int] = []

    class Context:
        def cancelAllJobs(self) -> None:  # noqa: N802 - Spark's name
            cancelled.append(1)

    class Session:
        sparkContext = Context()  # noqa: N815 - Spark's name

        def __getattr__(self, name: str) -> Any:
            return getattr(spark, name)

    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    found = find_runs([tmp_path / "campaign"], LocalFolders())
    batch = RunBatch(tuple(found.runs))
    bounds = [local_bounds(tmp_path / "campaign" / "run")]
    monkeypatch.setattr("telemark.pipeline.run_tables._message_durations", interrupt)
    with pytest.raises(KeyboardInterrupt):
        batch_tables(Session, batch, bounds, LocalFolders())  # type: ignore[arg-type, return-value]
    assert cancelled == [1]
