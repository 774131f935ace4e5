"""Small sums over the record tables of a batch that `points` needs: connections and refusals."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from telemark.pipeline.read import Records

REFUSALS = ("connect_refused", "subscribe_refused", "publish_refused")


def connections(records: Records) -> DataFrame:
    """(r, connections, connect_failures, first_ns, last_ns): devices that got in, and attempts that failed."""
    ok = F.col("result") == "ok"
    devices = (
        records.table("connections")
        .groupBy("r", "device")
        .agg(
            F.max(ok).alias("ok"),
            F.count_if(~ok).alias("failures"),
            F.min("started_ns").alias("first_ns"),
            F.min(F.when(ok, F.col("connack_ns"))).alias("last_ns"),
        )
    )
    return devices.groupBy("r").agg(
        F.count_if("ok").alias("connections"),
        F.sum("failures").alias("connect_failures"),
        F.min("first_ns").alias("first_ns"),
        F.max("last_ns").alias("last_ns"),
    )


def refusals(records: Records) -> DataFrame:
    """(r, refusals): connects, subscriptions and messages the server refused."""
    return (
        records.table("events")
        .where(F.col("kind").isin(*REFUSALS))
        .groupBy("r")
        .agg(F.count(F.lit(1)).alias("refusals"))
    )
