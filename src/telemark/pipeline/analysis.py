"""`analyze`: run folders in, result tables out. Runs that are analysed already are passed over.

Modules that import pyspark are imported where they are needed: Java starts before, and meanwhile.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from telemark.errors import DataError, RequirementError, TelemarkError
from telemark.host.interruption import Interruption
from telemark.pipeline.batch import RunBatch, batches
from telemark.pipeline.result_files import LocalFiles
from telemark.pipeline.results import ResultFiles, ResultStore
from telemark.pipeline.spark.session import need_java, prepare_session, start_session
from telemark.pipeline.tables.comparison import comparison_rows
from telemark.pipeline.tables.scaling import scaling_rows
from telemark.store.bounds import Bounds, local_bounds
from telemark.store.documents.analysed import Analysed
from telemark.store.integrity import check
from telemark.store.layout import RESULTS, Folders, LocalFolders, RunFolder, find_runs, is_url
from telemark.store.results import RESULTS_VERSION, TABLES

if TYPE_CHECKING:
    from telemark.pipeline.run_tables import Tables

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
        KeyboardInterrupt: a signal came; runs analysed before keep their results.
    """
    need_java()  # before anything is read: the answer must not come after minutes
    remote = any(is_url(str(path)) for path in [*paths, *([out] if out else [])])
    folders = _remote_folders(master) if remote else LocalFolders()
    found = find_runs(paths, folders)
    analysis = _Analysis(master, folders, out, progress or (lambda *_: None), dict(found.problems))
    return analysis.run(found.runs, again)


def _remote_folders(master: str | None) -> Folders:
    from telemark.pipeline.spark.folders import HadoopFolders  # noqa: PLC0415 - imports pyspark

    return HadoopFolders(start_session(master))


class _Analysis:
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
        self._interruption = Interruption()
        self._stores: dict[str, ResultStore] = {}
        self._done: list[str] = []
        self._total = 0
        self._quick = False

    def run(self, runs: Sequence[RunFolder], again: bool) -> AnalysisReport:
        with self._interruption, self._interruption.allowed():
            return self._run(runs, again)

    def _run(self, runs: Sequence[RunFolder], again: bool) -> AnalysisReport:
        for folder, problem in self._problems.items():
            self._note_problem(folder, problem)
        fresh = [run for run in runs if again or not self._current(run)]
        self._total = len(fresh)
        for batch, bounds in self._batches(fresh):
            self._analyse(batch, bounds)
        changed = {self._results_of(folder) for folder in self._done}
        for folder in sorted(changed):
            self._campaign_tables(folder)
        skipped = tuple(run.folder for run in runs if run not in fresh)
        results = tuple(dict.fromkeys(self._results_of(run.folder) for run in runs))
        return AnalysisReport(tuple(self._done), skipped, self._problems, results)

    def _batches(self, runs: Sequence[RunFolder]) -> Iterable[tuple[RunBatch, tuple[Bounds, ...]]]:
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
        prepare_session(self._master, quick=self._quick)
        for batch in batches(usable, weights, BATCH_DELIVERIES):
            yield batch, tuple(bounds[run.folder] for run in batch.runs)

    def _bounds(self, run: RunFolder) -> Bounds:
        if isinstance(self._folders, LocalFolders):
            if problem := check(Path(run.folder), run.facts):
                raise problem.error()
            return local_bounds(Path(run.folder))
        from telemark.pipeline.spark.bounds import spark_bounds  # noqa: PLC0415 - imports pyspark

        return spark_bounds(start_session(self._master), run, self._folders)

    def _analyse(self, batch: RunBatch, bounds: tuple[Bounds, ...]) -> None:
        """Analyse the batch; when that fails, each of its runs alone, so that one cannot take others with it."""
        names = batch.runs[0].name if len(batch.runs) == 1 else f"{len(batch.runs)} runs from {batch.runs[0].name} on"
        self._progress(len(self._done), self._total, names)
        try:
            found = self._tables(batch, bounds)
        except RequirementError:
            raise  # Spark does not start: no other run would fare better
        except Exception as error:
            self._interruption.check()  # jobs that were cancelled say nothing about their run
            if len(batch.runs) == 1:
                self._failed(batch.runs[0], _data_error(batch.runs[0], error))
                return
            self._progress(
                len(self._done), self._total, f"each run alone, since together: {str(error).splitlines()[0]}"
            )
            for run, bound in zip(batch.runs, bounds, strict=True):
                self._analyse(RunBatch((run,)), (bound,))
            return
        self._interruption.check()
        for run in batch.runs:
            self._write(run, found[run.folder])

    def _tables(self, batch: RunBatch, bounds: tuple[Bounds, ...]) -> dict[str, Tables]:
        from telemark.pipeline.run_tables import batch_tables  # noqa: PLC0415 - imports pyspark

        return batch_tables(lambda: start_session(self._master, quick=self._quick), batch, bounds, self._folders)

    def _write(self, run: RunFolder, tables: Tables) -> None:
        try:
            with self._interruption.shield():
                self._store(run.folder).write_run(run.name, tables, self._note(run))
        except DataError as error:  # a link is in the way
            self._problems[run.folder] = error
            return
        self._done.append(run.folder)
        self._progress(len(self._done), self._total, run.name)

    def _failed(self, run: RunFolder, error: TelemarkError) -> None:
        self._problems[run.folder] = error
        self._note_problem(run.folder, error)

    def _note_problem(self, folder: str, error: TelemarkError) -> None:
        """Leave word for the reports; a results folder that cannot be written is told by the next run that succeeds."""
        name = folder.rsplit("/", 1)[-1]
        with suppress(DataError):  # a link is in the way
            self._store(folder).write_run(name, {}, Analysed(name, RESULTS_VERSION, "", error.message))

    def _note(self, run: RunFolder) -> Analysed:
        return Analysed(run.name, RESULTS_VERSION, fingerprint(run))

    def _current(self, run: RunFolder) -> bool:
        note = self._store(run.folder).note(run.name)
        return note == self._note(run) and run.facts.state != "running"

    def _store(self, run_folder: str) -> ResultStore:
        folder = self._results_of(run_folder)
        if folder not in self._stores:
            local = isinstance(self._folders, LocalFolders)
            self._stores[folder] = ResultStore(LocalFiles(folder) if local else self._remote_files(folder))
        return self._stores[folder]

    def _remote_files(self, folder: str) -> ResultFiles:
        from telemark.pipeline.spark.folders import HadoopFiles  # noqa: PLC0415 - imports pyspark

        return HadoopFiles(start_session(self._master), folder)

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
