"""`analyze`: run folders in, result tables out. Runs that are analysed already are passed over."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from telemark.errors import DataError, TelemarkError
from telemark.pipeline.batch import Batch, batches
from telemark.pipeline.batch_job import Tables, analyse_batch
from telemark.pipeline.comparison import comparison_rows
from telemark.pipeline.deliveries import Numbering
from telemark.pipeline.hadoop import HadoopFolders
from telemark.pipeline.read import has_files, run_table
from telemark.pipeline.results import ResultStore, result_store
from telemark.pipeline.scaling import scaling_rows
from telemark.pipeline.session import java_version, start_session
from telemark.store.bounds import Bounds, local_bounds
from telemark.store.layout import RESULTS, Folders, LocalFolders, RunFolder, find_runs, is_url
from telemark.store.result_reader import Analysed
from telemark.store.results import RESULTS_VERSION, TABLES

BATCH_DELIVERIES: Final = 30_000_000  # runs share a Spark job up to this many rows
QUICK_DELIVERIES: Final = 1_000_000  # together: below this the session is set up to be ready soon

Progress = Callable[[int, int, str], None]  # runs done, runs in all, what happens now


@dataclass(frozen=True, slots=True)
class AnalysisReport:
    """What became of every run that was found."""

    analysed: tuple[str, ...] = ()  # run folders
    skipped: tuple[str, ...] = ()  # analysed before
    problems: dict[str, TelemarkError] = field(default_factory=dict)  # run folder -> why it has no results
    results: tuple[str, ...] = ()  # result folders, one per campaign


def analyze(
    paths: Sequence[Path | str],
    *,
    master: str | None = None,
    out: Path | str | None = None,
    again: bool = False,
    progress: Progress | None = None,
) -> AnalysisReport:
    """Analyse every run under the paths.

    Args:
        paths: run folders, campaign folders, folders of campaigns, local patterns or URLs.
        master: Spark master; default: all cores of this host.
        out: results go to `<out>/<campaign>/results` instead of into the campaign's folder.
        again: also analyse what is analysed already.
        progress: told about every step.

    Raises:
        DataError: a path holds no run.
        RequirementError: Java is missing, or results cannot be written.
    """
    java_version()  # before anything is read: the answer must not come after minutes
    remote = any(is_url(str(path)) for path in [*paths, *([out] if out else [])])
    folders: Folders = HadoopFolders(start_session(master)) if remote else LocalFolders()
    found = find_runs(paths, folders)
    job = _Job(master, folders, out, progress or (lambda *_: None), dict(found.problems))
    return job.run(found.runs, again)


class _Job:
    """One call of `analyze`."""

    def __init__(
        self,
        master: str | None,
        folders: Folders,
        out: Path | str | None,
        progress: Progress,
        problems: dict[str, DataError],
    ) -> None:
        self._master = master
        self._folders = folders
        self._out = None if out is None else str(out)
        self._progress = progress
        self._problems: dict[str, TelemarkError] = dict(problems)
        self._stores: dict[str, ResultStore] = {}
        self._done: list[str] = []
        self._total = 0
        self._quick = False

    def run(self, runs: Sequence[RunFolder], again: bool) -> AnalysisReport:
        for folder, problem in self._problems.items():
            self._note_problem(folder, problem)
        fresh = [run for run in runs if again or not self._current(run)]
        self._total = len(fresh)
        for batch, numbering in self._batches(fresh):
            self._analyse(batch, numbering)
        changed = {self._results_of(run.folder) for run in fresh}
        for folder in sorted(changed):
            self._campaign_tables(folder)
        skipped = tuple(run.folder for run in runs if run not in fresh)
        results = tuple(dict.fromkeys(self._results_of(run.folder) for run in runs))
        return AnalysisReport(tuple(self._done), skipped, self._problems, results)

    def _batches(self, runs: Sequence[RunFolder]) -> Iterable[tuple[Batch, Numbering]]:
        if not runs:
            return
        self._progress(0, self._total, "looking at the files")
        bounds: dict[str, Bounds] = {}
        for run in runs:
            try:
                bounds[run.folder] = self._bounds(run)
            except DataError as error:
                self._failed(run, error)
        usable = [run for run in runs if run.folder in bounds]
        weights = [bounds[run.folder].deliveries for run in usable]
        self._quick = sum(weights) <= QUICK_DELIVERIES
        for batch in batches(usable, weights, BATCH_DELIVERIES):
            yield batch, Numbering(tuple(bounds[run.folder] for run in batch.runs))

    def _bounds(self, run: RunFolder) -> Bounds:
        if isinstance(self._folders, HadoopFolders):
            return spark_bounds(start_session(self._master), run, self._folders)
        return local_bounds(Path(run.folder))

    def _analyse(self, batch: Batch, numbering: Numbering) -> None:
        """Analyse the batch; when that fails, each of its runs alone, so that one cannot take others with it."""
        names = batch.runs[0].name if len(batch.runs) == 1 else f"{len(batch.runs)} runs from {batch.runs[0].name} on"
        self._progress(len(self._done), self._total, names)
        spark = start_session(self._master, quick=self._quick)
        try:
            found = analyse_batch(spark, batch, numbering, self._folders)
        except Exception as error:
            if len(batch.runs) == 1:
                self._failed(batch.runs[0], _data_error(batch.runs[0], error))
                return
            self._progress(
                len(self._done), self._total, f"each run alone, since together: {str(error).splitlines()[0]}"
            )
            for run, bound in zip(batch.runs, numbering.bounds, strict=True):
                self._analyse(Batch((run,)), Numbering((bound,)))
            return
        for run in batch.runs:
            self._write(run, found[run.folder])

    def _write(self, run: RunFolder, tables: Tables) -> None:
        self._store(run.folder).write_run(run.name, tables, self._note(run))
        self._done.append(run.folder)
        self._progress(len(self._done), self._total, run.name)

    def _failed(self, run: RunFolder, error: TelemarkError) -> None:
        self._problems[run.folder] = error
        self._note_problem(run.folder, error)

    def _note_problem(self, folder: str, error: TelemarkError) -> None:
        """Leave word for the reports; a results folder that cannot be written is told by the next run that succeeds."""
        name = folder.rsplit("/", 1)[-1]
        self._store(folder).write_run(name, {}, Analysed(name, RESULTS_VERSION, "", error.message))

    def _note(self, run: RunFolder) -> Analysed:
        return Analysed(run.name, RESULTS_VERSION, fingerprint(run))

    def _current(self, run: RunFolder) -> bool:
        note = self._store(run.folder).note(run.name)
        return note == self._note(run) and run.facts.state != "running"

    def _store(self, run_folder: str) -> ResultStore:
        folder = self._results_of(run_folder)
        if folder not in self._stores:
            spark = start_session(self._master) if isinstance(self._folders, HadoopFolders) else None
            self._stores[folder] = result_store(folder, spark, self._folders)
        return self._stores[folder]

    def _results_of(self, run_folder: str) -> str:
        campaign = run_folder.rsplit("/", 1)[0]
        if self._out is None:
            return f"{campaign}/{RESULTS}"
        return f"{self._out.rstrip('/')}/{campaign.rsplit('/', 1)[-1]}/{RESULTS}"

    def _campaign_tables(self, folder: str) -> None:
        """Tables over all runs of a campaign, from their points."""
        store = self._stores[folder]
        points = store.points().to_pylist()
        store.write_campaign("scaling", pa.Table.from_pylist(scaling_rows(points), schema=TABLES["scaling"]))
        store.write_campaign("comparison", pa.Table.from_pylist(comparison_rows(points), schema=TABLES["comparison"]))


def fingerprint(run: RunFolder) -> str:
    """Changes when run.json does: after the end of a run nothing else in its folder changes."""
    return hashlib.sha256(run.facts.as_json().encode()).hexdigest()[:16]


def spark_bounds(spark: SparkSession, run: RunFolder, folders: Folders) -> Bounds:
    """`local_bounds` for a folder that only Spark can read: one pass over a few columns."""
    if not has_files(run, "deliveries", folders):
        return Bounds(**_largest(spark, run, folders, "subscriptions", ("subscription", "share")))
    table = run_table(spark, run, "deliveries")
    stamped = F.when(F.col("intended_ns") > 0, F.col("intended_ns"))
    row = _one(
        table.agg(
            F.count(F.lit(1)).alias("deliveries"),
            F.lit(1 << 40).alias("rows"),  # not counted: such folders are never small
            *[F.max(name).alias(name) for name in ("stream", "sequence", "subscription")],
            F.coalesce(F.min(stamped), F.lit(0)).alias("first_intended_ns"),
            F.coalesce(F.max(stamped), F.lit(0)).alias("last_intended_ns"),
        )
    )
    owners = _largest(spark, run, folders, "subscriptions", ("subscription", "share"))
    row["subscription"] = max(row["subscription"], owners.pop("subscription"))
    return Bounds(**row, **owners)


def _largest(
    spark: SparkSession, run: RunFolder, folders: Folders, table: str, columns: tuple[str, ...]
) -> dict[str, int]:
    if not has_files(run, table, folders):
        return dict.fromkeys(columns, -1)
    frame = run_table(spark, run, table)
    return _one(frame.agg(*[F.coalesce(F.max(name), F.lit(-1)).alias(name) for name in columns]))


def _one(frame: DataFrame) -> dict[str, int]:
    rows: list[dict[str, int]] = frame.toArrow().to_pylist()
    return rows[0]


def _data_error(run: RunFolder, error: Exception) -> TelemarkError:
    """What to tell about a run that Spark could not work through."""
    if isinstance(error, TelemarkError):
        return error
    text = str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    full = next((line for line in lines if "No space left on device" in line), None)
    if full:
        return DataError(f"{run.folder}: no disk space for the analysis", hint="free space, or set SPARK_LOCAL_DIRS")
    cause = next(
        (line for line in reversed(lines) if line.startswith("Caused by:")), lines[0] if lines else repr(error)
    )
    return DataError(f"{run.folder} cannot be analysed: {cause[:300]}", hint="is a record file damaged? copy it again")
