"""`telemark.open(path)`: the records and results of runs as DataFrames, for notebooks and for `telemark sql`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from telemark.errors import ConfigError, DataError
from telemark.pipeline.spark.folders import HadoopFolders
from telemark.pipeline.spark.read_only import require_query, require_read_only
from telemark.pipeline.spark.reading import parquet, spark_schema, union
from telemark.pipeline.spark.session import start_session
from telemark.store.layout import RESULTS, Folders, FoundRuns, LocalFolders, RunFolder, find_runs, is_url, unfinished
from telemark.store.result_reader import PER_CAMPAIGN
from telemark.store.results import TABLES as RESULT_TABLES
from telemark.store.schemas import TABLES as RECORD_TABLES

NAMES = (*RECORD_TABLES, *RESULT_TABLES)


class Opened:
    """Runs that were opened. Every table is an attribute: `opened.deliveries`, `opened.points`.

    Record tables get the columns `campaign` and `run` in front; result tables have them. A table without rows is an
    empty DataFrame. Nothing is read before a DataFrame is used.
    """

    def __init__(self, spark: SparkSession, found: FoundRuns, folders: Folders) -> None:
        self.spark = spark
        self.problems = found.problems
        self._runs = found.runs
        self._folders = folders

    @property
    def runs(self) -> tuple[str, ...]:
        """Names of the runs."""
        return tuple(run.name for run in self._runs)

    def table(self, name: str) -> DataFrame:
        """A record table or result table by name."""
        if name in RECORD_TABLES:
            return self._records(name)
        if name in RESULT_TABLES:
            return self._results(name)
        raise ConfigError(f"no table {name!r}", hint=f"tables are {', '.join(NAMES)}")

    def sql(self, query: str) -> DataFrame:
        """The answer to a query over all tables, each under its own name."""
        for name in NAMES:
            if name in query.lower():  # making a view of a table nobody asks for takes time, too
                self.table(name).createOrReplaceTempView(name)
        return self.spark.sql(query)

    def __getattr__(self, name: str) -> DataFrame:
        if name in NAMES:
            return self.table(name)
        raise AttributeError(f"{type(self).__name__} has no table {name!r}; tables are {', '.join(NAMES)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *NAMES]

    def _records(self, name: str) -> DataFrame:
        def mark(frame: DataFrame, number: int) -> DataFrame:
            run = self._runs[number]
            return frame.select(F.lit(run.campaign).alias("campaign"), F.lit(run.name).alias("run"), "*")

        return union(self.spark, self._runs, name, self._folders, mark)

    def _results(self, name: str) -> DataFrame:
        folders = [folder for run in self._runs for folder in self._result_folders(run, name)]
        if not folders:
            return self.spark.createDataFrame([], spark_schema(RESULT_TABLES[name]))
        return parquet(self.spark, RESULT_TABLES[name], *dict.fromkeys(folders))

    def _result_folders(self, run: RunFolder, name: str) -> list[str]:
        folder = f"{run.campaign_folder}/{RESULTS}/{name}"
        folder = folder if name in PER_CAMPAIGN else f"{folder}/run={run.name}"
        files = [child for child in self._folders.children(folder) if not unfinished(child)]
        return [folder] if files else []


def open_runs(*paths: Path | str, master: str | None = None) -> Opened:
    """Open run folders, campaign folders, patterns or URLs.

    Raises:
        DataError: a path holds no run, or none that can be read.
    """
    spark = start_session(master)
    folders: Folders = HadoopFolders(spark) if any(is_url(str(path)) for path in paths) else LocalFolders()
    found = find_runs(paths, folders)
    if not found.runs:
        first: Sequence[DataError] = list(found.problems.values())
        raise first[0]
    return Opened(spark, found, folders)


def query_rows(opened: Opened, query: str, limit: int) -> tuple[list[str], list[tuple[object, ...]], bool]:
    """(column names, rows, whether there are more) of a query; limit 0 means all.

    Raises:
        ConfigError: the query does more than read, Spark does not understand it, or it fails.
        DataError: a file is damaged or holds other types.
    """
    try:
        require_query(opened.spark, query)
        answer = opened.sql(query)
        require_read_only(answer)
        names = list(answer.columns)
        rows = [tuple(row) for row in (answer.limit(limit + 1) if limit else answer).collect()]
    except PySparkException as error:
        raise ConfigError(f"the query cannot be answered: {str(error).strip().splitlines()[0]}") from error
    except Py4JJavaError as error:  # Spark could not read a file, so its own words for queries do not fit
        reason = str(error.java_exception.getMessage()).strip().splitlines()[0]
        raise DataError(f"the records cannot be read: {reason}", hint="telemark verify names damaged files") from error
    return names, rows[:limit] if limit else rows, bool(limit) and len(rows) > limit
