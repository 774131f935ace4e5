"""Bounds of the numbers of a run that lies behind a URL: Spark reads what a local folder tells by its files' ends."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from telemark.pipeline.spark.reading import has_files, run_table
from telemark.store.bounds import Bounds
from telemark.store.layout import Folders, RunFolder


def spark_bounds(spark: SparkSession, run: RunFolder, folders: Folders) -> Bounds:
    """`local_bounds` for a folder that only Spark can read: one pass over a few columns."""
    if not has_files(run, "deliveries", folders):
        return Bounds(**_largest(spark, run, folders, "subscriptions", ("subscription", "share")))
    table = run_table(spark, run, "deliveries")
    stamped = F.when(F.col("intended_ns") > 0, F.col("intended_ns"))
    row = _one(
        table.agg(
            F.count(F.lit(1)).alias("deliveries"),
            *[F.max(name).alias(name) for name in ("stream", "sequence", "subscription")],
            F.coalesce(F.min(stamped), F.lit(0)).alias("first_intended_ns"),
            F.coalesce(F.max(stamped), F.lit(0)).alias("last_intended_ns"),
        )
    )
    owners = _largest(spark, run, folders, "subscriptions", ("subscription", "share"))
    row["acks"] = run_table(spark, run, "acks").count() if has_files(run, "acks", folders) else 0
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
