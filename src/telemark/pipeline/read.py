"""Record tables of run folders as DataFrames with explicit schemas.

Spark itself passes over files whose names begin with a dot or an underscore: the unfinished ones. A column that an
older format did not have is null. A table without files is an empty DataFrame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

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

    `deliveries`, `acks` and others that need it also have `start_ns` of their run and the phase windows as literals:
    see `with_phase`.
    """

    def __init__(self, spark: SparkSession, batch: Batch, folders: Folders) -> None:
        self.spark = spark
        self.batch = batch
        self._folders = folders

    def table(self, name: str) -> DataFrame:
        """A record table with `r`."""
        return self.marked(name, lambda frame, _: frame)

    def has(self, name: str) -> bool:
        """Whether any run of the batch has rows of a table: saves a job over nothing."""
        return any(has_files(run, name, self._folders) for run in self.batch.runs)

    def marked(self, name: str, mark: Callable[[DataFrame, RunFolder], DataFrame]) -> DataFrame:
        """A record table with `r` and what `mark` adds from the facts of each run."""
        runs = self.batch.runs
        return union(
            self.spark,
            runs,
            name,
            self._folders,
            lambda frame, place: mark(frame, runs[place]).withColumn("r", F.lit(place)),
        )
