"""Writes result tables: into a local folder, or through Spark to a URL.

The tables of a run are complete before its note is written, and the note goes before they change: a reader that finds
a note finds the tables that belong to it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from telemark.errors import DataError, RequirementError
from telemark.pipeline.hadoop import HadoopFolders
from telemark.store.layout import Folders, unfinished
from telemark.store.result_reader import ANALYSED, Analysed
from telemark.store.results import TABLES


class ResultStore(Protocol):
    """Where the results of one campaign go."""

    def note(self, run: str) -> Analysed | None:
        """What is known about a run's results; None when nothing."""
        ...

    def write_run(self, run: str, tables: Mapping[str, pa.Table], note: Analysed) -> None:
        """Replace the tables of a run, then its note."""
        ...

    def write_campaign(self, name: str, table: pa.Table) -> None:
        """Replace a table of the whole campaign."""
        ...

    def points(self) -> pa.Table:
        """The points of all analysed runs."""
        ...


class LocalResults:
    """Results in a folder of this host."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def note(self, run: str) -> Analysed | None:
        try:
            return Analysed.parse(self._note(run).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            return None

    def write_run(self, run: str, tables: Mapping[str, pa.Table], note: Analysed) -> None:
        try:
            self._note(run).unlink(missing_ok=True)
            for name, table in tables.items():
                self._replace(self._folder / name / f"run={run}", table)
            self._note(run).parent.mkdir(parents=True, exist_ok=True)
            temporary = self._note(run).with_name(f".{run}.{os.getpid()}")
            temporary.write_text(note.as_json(), encoding="utf-8")
            temporary.replace(self._note(run))
        except OSError as error:
            raise RequirementError(f"results cannot be written to {self._folder}: {error}", hint="use --out") from error

    def write_campaign(self, name: str, table: pa.Table) -> None:
        try:
            self._replace(self._folder / name, table)
        except OSError as error:
            raise RequirementError(f"results cannot be written to {self._folder}: {error}", hint="use --out") from error

    def points(self) -> pa.Table:
        folder = self._folder / "points"
        runs = sorted(path.name.removeprefix("run=") for path in folder.glob("run=*"))
        notes = {run: self.note(run) for run in runs}
        files = [
            path
            for run in runs
            if (note := notes[run]) is not None and note.problem is None
            for path in sorted((folder / f"run={run}").glob("*.parquet"))
        ]
        schema = TABLES["points"]
        return pa.concat_tables(
            [pq.read_table(path, partitioning=None).cast(schema) for path in files] or [schema.empty_table()]
        )

    def _note(self, run: str) -> Path:
        return self._folder / ANALYSED / f"{run}.json"

    @staticmethod
    def _replace(folder: Path, table: pa.Table) -> None:
        """A new folder takes the old one's place; readers pass over names with a dot in front."""
        fresh = folder.with_name(f".{folder.name}.{os.getpid()}")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        pq.write_table(table, fresh / "part-00000.parquet", compression="zstd")
        if folder.exists():
            shutil.rmtree(folder)
        fresh.rename(folder)


class SparkResults:
    """Results behind a URL: small tables, one file each, written by Spark."""

    def __init__(self, spark: SparkSession, url: str) -> None:
        self._spark = spark
        self._url = url
        self._folders = HadoopFolders(spark)

    def note(self, run: str) -> Analysed | None:
        try:
            return Analysed.parse(self._folders.read_text(self._note(run)))
        except DataError:
            return None

    def write_run(self, run: str, tables: Mapping[str, pa.Table], note: Analysed) -> None:
        for name, table in tables.items():
            self._write(table, f"{self._url}/{name}/run={run}")
        self._folders.write_text(self._note(run), note.as_json())

    def write_campaign(self, name: str, table: pa.Table) -> None:
        self._write(table, f"{self._url}/{name}")

    def points(self) -> pa.Table:
        runs = [name for name in self._folders.children(f"{self._url}/points") if not unfinished(name)]
        paths = [f"{self._url}/points/{name}" for name in runs]
        schema = TABLES["points"]
        return (
            self._spark.read.parquet(*paths).toArrow().select(schema.names).cast(schema)
            if paths
            else schema.empty_table()
        )

    def _note(self, run: str) -> str:
        return f"{self._url}/{ANALYSED}/{run}.json"

    def _write(self, table: pa.Table, url: str) -> None:
        self._spark.createDataFrame(table).coalesce(1).write.mode("overwrite").parquet(url)


def result_store(folder: str, spark: SparkSession | None, folders: Folders) -> ResultStore:
    """The store for a results folder: local, or what Spark reaches."""
    if isinstance(folders, HadoopFolders) and spark is not None:
        return SparkResults(spark, folder)
    return LocalResults(folder)
