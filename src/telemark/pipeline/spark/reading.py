"""Record tables of run folders as DataFrames with explicit schemas.

Spark itself passes over files whose names begin with a dot or an underscore: the unfinished ones. A column that an
older format did not have is null. A table without files is an empty DataFrame.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, reduce
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from telemark.errors import DataError
from telemark.pipeline.batch import RunBatch
from telemark.pipeline.messages.clocks import PROCESS, MessageClocks
from telemark.pipeline.tables.clocks import process_of
from telemark.pipeline.tables.records import RunRecords
from telemark.store.layout import Folders, LocalFolders, RunFolder, unfinished
from telemark.store.reader import read_file, record_files
from telemark.store.schemas import TABLES

_PATTERN = re.compile(r"[]{}[*?\\]")


def spark_schema(schema: pa.Schema) -> StructType:
    """The Spark form of an Arrow schema; everything nullable, as files from strangers may be."""
    plain = pa.schema([pa.field(field.name, field.type) for field in schema])
    return from_arrow_schema(plain)


def parquet(spark: SparkSession, schema: pa.Schema, *folders: str) -> DataFrame:
    r"""Files of folders. A name is a name: Spark would take `*` for a pattern, and read files of other runs twice.

    Its option against patterns reads every folder once more for each name that looks like one, hence the `\`.
    """
    return spark.read.schema(spark_schema(schema)).parquet(*(_PATTERN.sub(r"\\\g<0>", folder) for folder in folders))


def has_files(run: RunFolder, table: str, folders: Folders) -> bool:
    """Whether a record table of a run has at least one complete file.

    Raises:
        DataError: one on this host is a link or no regular file. Spark would pass over a pipe and follow a link.
    """
    if isinstance(folders, LocalFolders):
        return bool(record_files(Path(run.folder), table))
    return any(name.endswith(".parquet") and not unfinished(name) for name in folders.children(run.table(table)))


def run_table(spark: SparkSession, run: RunFolder, table: str) -> DataFrame:
    """One record table of one run."""
    return parquet(spark, TABLES[table], run.table(table))


def run_records(session: Callable[[], SparkSession], run: RunFolder, folders: Folders) -> RunRecords:
    """Small record tables of a run: from this host directly, from elsewhere through Spark."""
    if isinstance(folders, LocalFolders):
        return RunRecords(run.facts, partial(_parts_here, Path(run.folder)))
    return RunRecords(run.facts, partial(_parts_by_spark, session, run, folders))


def _parts_here(folder: Path, name: str) -> Iterator[tuple[int, pa.Table]]:
    for path in record_files(folder, name):
        yield process_of(path.name), read_file(path, TABLES[name])


def _parts_by_spark(
    session: Callable[[], SparkSession], run: RunFolder, folders: Folders, name: str
) -> Iterator[tuple[int, pa.Table]]:
    if not has_files(run, name, folders):
        return
    rows = run_table(session(), run, name).selectExpr("*", PROCESS).toArrow()
    for process in rows["written_by"].unique().to_pylist():
        yield process, rows.filter(pc.equal(rows["written_by"], process)).drop_columns("written_by")


def union(
    spark: SparkSession,
    runs: Sequence[RunFolder],
    table: str,
    folders: Folders,
    mark: Callable[[DataFrame, int], DataFrame],
) -> DataFrame:
    """One record table of several runs; `mark` adds the columns that tell them apart."""
    parts = [
        mark(run_table(spark, run, table), number) for number, run in enumerate(runs) if has_files(run, table, folders)
    ]
    if not parts:
        return mark(spark.createDataFrame([], spark_schema(TABLES[table])), 0).limit(0)
    return reduce(DataFrame.unionByName, parts)


class Records:
    """The record tables of a batch. Every DataFrame has `r`, the run's number in the batch.

    One scan reads the files of all runs: Spark makes one program for them and warms it up once. A union of scans would
    be a program for each run, and runs are often too short to warm one up.
    """

    def __init__(
        self, spark: SparkSession, batch: RunBatch, folders: Folders, clocks: MessageClocks | None = None
    ) -> None:
        self.spark = spark
        self.batch = batch
        self._folders = folders
        self._clocks = clocks

    def table(self, name: str) -> DataFrame:
        """A record table with `r`, on the runner's clock."""
        frame = self._with_runs(name, [PROCESS] if self._clocks else [])
        return self._clocks.correct(name, frame) if self._clocks else frame

    def _with_runs(self, name: str, others: list[str]) -> DataFrame:
        runs = {run.table(name): number for number, run in self.batch if has_files(run, name, self._folders)}
        if not runs:
            empty = self.spark.createDataFrame([], spark_schema(TABLES[name])).selectExpr("*", "0 as r")
            return empty.selectExpr("*", "0 as written_by") if others else empty
        frame = parquet(self.spark, TABLES[name], *runs)
        if len(runs) == 1:
            return frame.selectExpr("*", f"{next(iter(runs.values()))} as r", *others)
        return self._with_run(frame, runs, others)

    def _with_run(self, frame: DataFrame, runs: Mapping[str, int], others: list[str]) -> DataFrame:
        """Add `r` by the file a row comes from. A file that belongs to no run stops the job rather than be left out."""
        listed = frame.inputFiles()
        # Rows name a local file with one slash after the scheme, the list with three.
        files = [*listed, *(each.replace("file:///", "file:/", 1) for each in listed if each.startswith("file:///"))]
        numbers = pa.array([run_of_file(file, runs) for file in files], pa.int32())
        table = pa.table({"file": pa.array(files), "r": numbers})
        named = frame.selectExpr("*", "_metadata.file_path as file", *others)
        joined = named.join(F.broadcast(self.spark.createDataFrame(table)), "file", "left")
        known = "coalesce(r, cast(raise_error(concat('file of no run: ', file)) as int)) as r"
        return joined.selectExpr(*frame.columns, known, *(["written_by"] if others else []))


def run_of_file(file: str, runs: Mapping[str, int]) -> int:
    """The run a file belongs to. `file` is a URL as Spark writes it, the keys of `runs` are folders as users do."""
    parent = _plain(unquote(file).rpartition("/")[0])
    for folder, number in runs.items():
        if _plain(folder) == parent:
            return number
    raise DataError(f"{file} belongs to none of the runs that were opened")


def _plain(folder: str) -> str:
    """One way of writing a folder: absolute when it is local, with scheme and host when it is not."""
    if "://" in folder and not folder.startswith("file:"):
        return folder.rstrip("/")
    return os.path.abspath(folder.removeprefix("file:"))  # noqa: PTH100 - Spark does not follow links either
