"""Record tables of run folders as DataFrames with explicit schemas.

Spark itself passes over files whose names begin with a dot or an underscore: the unfinished ones. A column that an
older format did not have is null. A table without files is an empty DataFrame.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from telemark.errors import DataError
from telemark.pipeline.batch import Batch
from telemark.store.layout import Folders, RunFolder, unfinished
from telemark.store.schemas import TABLES


def spark_schema(schema: pa.Schema) -> StructType:
    """The Spark form of an Arrow schema; everything nullable, as files from strangers may be."""
    plain = pa.schema([pa.field(field.name, field.type) for field in schema])
    return from_arrow_schema(plain)


def has_files(run: RunFolder, table: str, folders: Folders) -> bool:
    """Whether a record table of a run has at least one complete file."""
    return any(name.endswith(".parquet") and not unfinished(name) for name in folders.children(run.table(table)))


def run_table(spark: SparkSession, run: RunFolder, table: str) -> DataFrame:
    """One record table of one run."""
    return spark.read.schema(spark_schema(TABLES[table])).parquet(run.table(table))


def union(
    spark: SparkSession,
    runs: Sequence[RunFolder],
    table: str,
    folders: Folders,
    mark: Callable[[DataFrame, int], DataFrame],
) -> DataFrame:
    """One record table of several runs; `mark` adds the columns that tell them apart."""
    parts = [
        mark(run_table(spark, run, table), place) for place, run in enumerate(runs) if has_files(run, table, folders)
    ]
    if not parts:
        return mark(spark.createDataFrame([], spark_schema(TABLES[table])), 0).limit(0)
    return reduce(DataFrame.unionByName, parts)


class Records:
    """The record tables of a batch. Every DataFrame has `r`, the run's place in the batch.

    One scan reads the files of all runs: Spark makes one program for them and warms it up once. A union of scans would
    be a program for each run, and runs are often too short to warm one up.
    """

    def __init__(self, spark: SparkSession, batch: Batch, folders: Folders) -> None:
        self.spark = spark
        self.batch = batch
        self._folders = folders

    def table(self, name: str) -> DataFrame:
        """A record table with `r`."""
        places = {run.table(name): place for place, run in self.batch if has_files(run, name, self._folders)}
        schema = spark_schema(TABLES[name])
        if not places:
            return self.spark.createDataFrame([], schema).selectExpr("*", "0 as r")
        frame = self.spark.read.schema(schema).parquet(*places)
        if len(places) == 1:
            return frame.selectExpr("*", f"{next(iter(places.values()))} as r")
        return self._told_apart(frame, places)

    def _told_apart(self, frame: DataFrame, places: Mapping[str, int]) -> DataFrame:
        """Add `r` by the file a row comes from. A file that belongs to no run stops the job rather than be left out."""
        listed = frame.inputFiles()
        # Rows name a local file with one slash after the scheme, the list with three.
        files = [*listed, *(each.replace("file:///", "file:/", 1) for each in listed if each.startswith("file:///"))]
        runs = pa.array([place_of(file, places) for file in files], pa.int32())
        table = pa.table({"file": pa.array(files), "r": runs})
        named = frame.selectExpr("*", "_metadata.file_path as file")
        joined = named.join(F.broadcast(self.spark.createDataFrame(table)), "file", "left")
        known = "coalesce(r, cast(raise_error(concat('file of no run: ', file)) as int)) as r"
        return joined.selectExpr(*frame.columns, known)


def place_of(file: str, places: Mapping[str, int]) -> int:
    """The run a file belongs to. `file` is a URL as Spark writes it, the keys of `places` are folders as users do."""
    parent = _plain(unquote(file).rpartition("/")[0])
    for folder, place in places.items():
        if _plain(folder) == parent:
            return place
    raise DataError(f"{file} belongs to none of the runs that were opened")


def _plain(folder: str) -> str:
    """One way of writing a folder: absolute when it is local, with scheme and host when it is not."""
    if "://" in folder and not folder.startswith("file:"):
        return folder.rstrip("/")
    return os.path.abspath(folder.removeprefix("file:"))  # noqa: PTH100 - Spark does not follow links either
