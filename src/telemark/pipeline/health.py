"""Health samples, by second and over a phase: the processes of one side are summed, cores compared.

A process may be sampled at uneven times, so its samples are averaged within a second first; then the processes (or
queues, or disks) of one source are put together.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from telemark.pipeline.batch import PHASES
from telemark.pipeline.histogram import phase_code
from telemark.pipeline.read import Records
from telemark.store.layout import RunFolder

# (source, metric) -> (column of `intervals`, how its instances become one number)
SECOND_METRICS: Final[dict[tuple[str, str], tuple[str, str]]] = {
    ("server", "cpu_cores"): ("server_cpu_cores", "all"),
    ("server", "rss_bytes"): ("server_rss_bytes", "all"),
    ("server", "pss_bytes"): ("server_pss_bytes", "all"),
    ("engine", "cpu_cores"): ("engine_cpu_cores", "all"),
    ("host", "cpu_busy"): ("host_cpu_busy_max_core", "largest"),
    ("counters", "buffered_messages"): ("buffered_messages", "all"),
}


def _timed(frame: DataFrame, run: RunFolder) -> DataFrame:
    time = F.col("time_ns")
    start = F.lit(run.facts.start_ns or 0)
    # Floor, not division: seconds before the common start are negative.
    second = F.call_function("div", time - start - F.pmod(time - start, F.lit(1_000_000_000)), F.lit(1_000_000_000))
    connect = run.facts.phases.get("connect")
    before = F.lit(False) if connect is None else time <= F.lit(connect[0])
    return frame.withColumns({"second": second.cast("int"), "phase": phase_code(run, time), "before": before})


def by_second(records: Records) -> DataFrame:
    """(r, source, metric, second, phase, before, all, largest, mean) of every metric."""
    samples = records.marked("health", _timed)
    names = ["r", "source", "metric", "second", "phase", "before"]
    each = samples.groupBy(*names, "instance").agg(F.avg("value").alias("value"), F.sum("value").alias("total"))
    return each.groupBy(*names).agg(
        F.sum("value").alias("all"),
        F.max("value").alias("largest"),
        F.avg("value").alias("mean"),
        F.sum("total").alias("total"),
    )


def for_intervals(seconds: DataFrame) -> DataFrame:
    """The few metrics that `intervals` shows, one row per second."""
    wanted = [(F.col("source") == source) & (F.col("metric") == metric) for source, metric in SECOND_METRICS]
    shown = seconds.where(_any(wanted))
    return shown.groupBy("r", "source", "metric", "second").agg(
        F.avg("all").alias("all"), F.max("largest").alias("largest")
    )


def cores(records: Records) -> DataFrame:
    """(r, second, core, busy) of every core of the host."""
    number = F.regexp_extract("instance", r"(\d+)$", 1)
    samples = records.marked("health", _timed).where((F.col("source") == "host") & (F.col("metric") == "cpu_busy"))
    numbered = samples.withColumn("core", F.when(number != "", number).cast("int")).where("core is not null")
    return numbered.groupBy("r", "second", "core").agg(F.avg("value").alias("busy"))


def _any(conditions: list[Column]) -> Column:
    first, *rest = conditions
    for condition in rest:
        first = first | condition
    return first


def by_phase(records: Records, seconds: DataFrame) -> DataFrame:
    """Every metric over each phase of the run; phase `idle` is what came before connecting.

    mean_all, max_all: of the instances together. max_largest: the largest of any instance at any time. mean_each: of
    the average instance. busiest: of the instance with the highest mean. total: sum of all samples.
    """
    names = ["r", "source", "metric", "phase"]
    phase = F.when(F.col("before"), "idle").otherwise(
        F.element_at(F.array(*[F.lit(name) for name in PHASES]), (F.col("phase") + 1).cast("int"))
    )
    over_time = seconds.withColumn("phase", phase).groupBy(*names)
    samples = records.marked("health", _timed).withColumn("phase", phase)
    means = samples.groupBy(*names, "instance").agg(F.avg("value").alias("mean"))
    busiest = means.groupBy(*names).agg(F.max("mean").alias("busiest"))
    return over_time.agg(
        F.avg("all").alias("mean_all"),
        F.max("all").alias("max_all"),
        F.max("largest").alias("max_largest"),
        F.avg("mean").alias("mean_each"),
        F.sum("total").alias("total"),
    ).join(busiest, names)
