"""Ask a run your own questions: python docs/examples/look_into_a_run.py runs/CAMPAIGN

Every message is a row, so any question has an exact answer. In a notebook, use `opened` directly.
"""

from __future__ import annotations

import sys

from pyspark.sql import functions as F

import telemark


def main(path: str) -> None:
    """Three questions the score card does not answer. Messages of the warm-up and the drain are rows, too."""
    opened = telemark.open(path)

    print("Points of the campaign")
    opened.points.select("run", "server", "received_rate", "latency_p99_us", "lost").show(truncate=False)

    print("The ten slowest messages and when they were due")
    latency = (F.col("received_ns") - F.col("intended_ns")) / 1e6
    slowest = opened.deliveries.withColumn("latency_ms", latency).orderBy(F.desc("latency_ms"))
    slowest.select("run", "stream", "sequence", "intended_ns", "latency_ms").show(10)

    print("Latency by publisher: is one of them treated worse?")
    by_stream = opened.deliveries.groupBy("run", "stream").agg(F.avg(latency).alias("mean_ms"), F.count("*").alias("n"))
    by_stream.orderBy(F.desc("mean_ms")).show(5)

    print("The same question in SQL")
    opened.sql(
        "select run, stream, avg(received_ns - intended_ns) / 1e6 as mean_ms, count(*) as n "
        "from deliveries group by run, stream order by mean_ms desc limit 5"
    ).show()


if __name__ == "__main__":
    main(sys.argv[1])
