"""Reads campaign folders for reports: run.json files and result tables, one run at a time.

A run that is damaged or of a newer format becomes a `Problem` with a remedy; the other runs are still read.
Nothing found in a folder is trusted to be well formed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from telemark.errors import DataError
from telemark.model.case import Case
from telemark.report.case import case_of
from telemark.report.format import one_line
from telemark.report.headline import Headline, headline_of
from telemark.report.model import Problem
from telemark.store.documents.run import RUN_FILE, RunFile
from telemark.store.layout import RESULTS, unfinished
from telemark.store.result_reader import PER_CAMPAIGN, ResultTables
from telemark.store.results import TABLES

Rows = list[dict[str, Any]]
PER_RUN = tuple(name for name in TABLES if name not in PER_CAMPAIGN)


@dataclass(frozen=True)
class RunSource:
    """One run: the content of its run.json and its rows of every result table."""

    folder: Path
    name: str
    facts: Mapping[str, Any]
    tables: Mapping[str, Rows] = field(default_factory=dict)
    unanalysed: str = ""  # why there are no result rows; empty when there are

    @property
    def point(self) -> Mapping[str, Any] | None:
        """The run's row of the points table; None when it was not analysed."""
        rows = self.tables.get("points") or []
        return rows[0] if rows else None

    @cached_property
    def case(self) -> Case:
        """What the run says about its test case."""
        return case_of(self.facts)

    @property
    def headline(self) -> Headline:
        """Which figure is the run's result."""
        return headline_of(self.case)

    def rows(self, table: str) -> Rows:
        """The run's rows of one result table, empty when there are none."""
        return self.tables.get(table, [])


@dataclass(frozen=True)
class CampaignSource:
    """One campaign folder as far as it could be read."""

    folder: Path
    name: str
    runs: tuple[RunSource, ...]
    comparison: Rows
    scaling: Rows
    problems: tuple[Problem, ...]


def open_campaigns(paths: Iterable[Path]) -> tuple[list[CampaignSource], list[Problem]]:
    """Read every campaign; a path that holds none becomes a problem and does not stop the others."""
    campaigns: list[CampaignSource] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            campaigns.append(open_campaign(path))
        except DataError as error:
            problems.append(problem_of(path, error))
    return campaigns, problems


def open_campaign(path: Path, tables: Iterable[str] = PER_RUN) -> CampaignSource:
    """Read one campaign folder, or a single run of it when the path is a run folder.

    Args:
        path: the folder.
        tables: the result tables to read; a comparison or a list needs few of them.

    Raises:
        DataError: there is no run in it.
    """
    path = path.resolve()
    folder, only = (path.parent, path.name) if (path / RUN_FILE).exists() else (path, None)
    names = [only] if only else run_names(folder)
    if not names:
        raise DataError(
            f"{path}: expected a campaign folder with runs in it, found no {RUN_FILE}",
            hint="give the folder that `telemark run` printed",
        )
    reader = _Reader(folder, tuple(tables))
    runs = [run for name in names if (run := reader.run(name))]
    comparison, scaling = reader.rows("comparison"), reader.rows("scaling")
    return CampaignSource(folder, folder.name, tuple(runs), comparison, scaling, tuple(reader.problems))


def run_names(folder: Path) -> list[str]:
    """Names of the run folders of a campaign, in order; empty when there is no such folder."""
    if not folder.is_dir():
        return []
    try:
        children = [child for child in folder.iterdir() if child.name != RESULTS and not unfinished(child.name)]
        return sorted(child.name for child in children if (child / RUN_FILE).is_file() and not child.is_symlink())
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error}") from error


def problem_of(path: Path, error: DataError) -> Problem:
    """An error about a folder as a line of the report."""
    return Problem(path.name or str(path), one_line(error.message, 400), one_line(error.hint or "", 300))


class _Reader:
    """Reads the runs of one campaign and collects what is wrong with them."""

    def __init__(self, folder: Path, tables: tuple[str, ...]) -> None:
        self.folder = folder
        self.wanted = tables
        self.problems: list[Problem] = []
        try:
            self.results: ResultTables | None = ResultTables.open(folder)
        except (DataError, OSError):
            self.results = None  # every run then says that it was not analysed

    def run(self, name: str) -> RunSource | None:
        try:
            facts = asdict(RunFile.read(self.folder / name))
        except DataError as error:
            self.problems.append(problem_of(self.folder / name, error))
            return None
        missing = self._why_missing(name)
        tables = {} if missing else {table: self.rows(table, name) for table in self.wanted}
        return RunSource(self.folder / name, name, facts, tables, missing)

    def rows(self, table: str, run: str | None = None) -> Rows:
        if self.results is None:
            return []
        try:
            return self.results.rows(table, [run] if run else None)
        except DataError as error:
            self.problems.append(problem_of(self.folder / (run or RESULTS), error))
            return []

    def _why_missing(self, run: str) -> str:
        if self.results is None or run not in (*self.results.runs, *self.results.problems, *self.results.outdated):
            return "it was not analysed: `telemark analyze` makes its numbers"
        if run in self.results.outdated:
            return "it was analysed by another version: `telemark analyze` makes its numbers again"
        problem = self.results.problems.get(run)
        return f"its analysis failed: {one_line(problem, 300)}" if problem else ""
