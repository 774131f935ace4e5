"""The small record tables of a batch, in the driver's memory as Arrow tables.

Spark is for what grows with the messages (deliveries, acknowledgements, connections). What grows with seconds or
devices fits into memory, and a Spark job over it would take longer than all the work in it.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from telemark.pipeline.batch import Batch
from telemark.pipeline.read import has_files, run_table
from telemark.store.layout import Folders, LocalFolders, RunFolder
from telemark.store.reader import read_records
from telemark.store.schemas import TABLES


class SmallTables:
    """Record tables by run, read when they are asked for: from this host directly, from elsewhere through Spark."""

    def __init__(self, spark: SparkSession, batch: Batch, folders: Folders) -> None:
        self._spark = spark
        self._batch = batch
        self._folders = folders
        self._read: dict[tuple[int, str], pa.Table] = {}

    def table(self, place: int, name: str) -> pa.Table:
        """One record table of the run at this place of the batch."""
        if (place, name) not in self._read:
            self._read[place, name] = self._load(self._batch.runs[place], name)
        return self._read[place, name]

    def columns(self, place: int, name: str, *columns: str) -> list[list[int]]:
        """Columns of a table as plain lists: loops over them need no row objects."""
        table = self.table(place, name)
        return [table[column].to_pylist() for column in columns]

    def _load(self, run: RunFolder, name: str) -> pa.Table:
        if isinstance(self._folders, LocalFolders):
            return read_records(Path(run.folder), name)
        if not has_files(run, name, self._folders):
            return TABLES[name].empty_table()
        return run_table(self._spark, run, name).toArrow()
