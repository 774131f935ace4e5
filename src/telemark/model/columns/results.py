"""The result tables: what the Spark pipeline makes of run folders, and all that reports may read.

Latencies are microseconds (`_us`), rates are per second, memory is bytes, CPU is in cores (1.0 = one core busy).
A value that could not be measured is null, never zero. A name means the same in every table.
"""

from __future__ import annotations

from typing import Final

from telemark.model.columns import measured, named
from telemark.model.columns.column import Column, Table
from telemark.model.columns.statistics import statistics


def _per_run(name: str, meaning: str, *columns: Column) -> Table:
    return Table(name, meaning, (*named.KEY, *columns))


POINTS: Final = _per_run(
    "points",
    "One row per run: everything a score card prints. Rates, latencies and costs are over the measure phase, counts "
    "of messages over the whole run.",
    *named.RUN,
    *measured.RATES,
    *statistics("latency"),
    *statistics("service", ("mean", "p50", "p95", "p99", "max")),
    *statistics("send_delay", ("mean", "p50", "p99", "max")),
    *statistics("ack", ("mean", "p50", "p99", "max")),
    *measured.CONNECTIONS,
    *statistics("connect", ("min", "mean", "stdev", "p50", "p75", "p90", "p95", "p99", "max")),
    *measured.MESSAGES,
    *measured.RESOURCES,
    *measured.ENGINE,
    *named.VERDICTS,
)

_BY_NAME: Final = {column.name: column for column in (*POINTS.columns, *measured.DETAILS, *named.ROWS, *named.LINES)}


def _columns(names: str) -> tuple[Column, ...]:
    """The columns of these names, separated by blanks."""
    return tuple(_BY_NAME[name] for name in names.split())


_TABLES: Final = (
    POINTS,
    _per_run(
        "latency",
        "One row per run, measure and phase, exact to a microsecond. Percentiles between two ranks are interpolated. "
        "Messages belong to a phase by their intended time, acknowledgements by the time of sending.",
        *_columns("measure phase count"),
        *statistics(),
    ),
    _per_run(
        "distribution",
        "How many samples fell into each bucket, for plotting. Buckets are 1 us wide below 256 us, then at most 1 % of "
        "their value.",
        *_columns("measure phase lower_us upper_us count"),
    ),
    _per_run(
        "intervals",
        "One row per run and second; second 0 begins at the common start. Counts are by the time of what is counted, "
        "latencies are of the messages due in the second.",
        *_columns("second phase rate_stretch intended sent received acked dropped sent_bytes received_bytes connected"),
        *statistics("latency", ("min", "mean", "p50", "p75", "p90", "p95", "p99", "p999", "max")),
        *statistics("service", ("mean", "p50", "p99", "max")),
        *statistics("send_delay", ("mean", "p50", "p99", "max")),
        *_columns(
            "loop_lag_max_us pushed_back server_cpu_cores server_rss_bytes server_pss_bytes engine_cpu_cores "
            "host_cpu_busy_max_core buffered_messages server_messages_out"
        ),
    ),
    _per_run(
        "threads",
        "One row per run and thread that was among the three busiest of its process, over the measure phase (or the "
        "hold or connect phase). The busiest of each side come first.",
        *named.THREADS,
    ),
    _per_run("cores", "One row per run, second and core of the host.", *_columns("second core busy")),
    _per_run(
        "integrity",
        "One row per run and subscription; a share group is one row under its smallest member.",
        *_columns(
            "subscription share filter qos members owed delivered lost duplicate reordered foreign violations exact"
        ),
    ),
    _per_run(
        "offenders",
        "The first thousand messages of a run that were lost, delivered twice, late or not of this run.",
        *_columns("subscription kind stream sequence times received_ns"),
    ),
    _per_run(
        "resources",
        "One row per run: what it cost the machine, over the measure phase (or the hold phase).",
        *measured.RESOURCES,
    ),
    Table(
        "scaling",
        "Straight lines through the points of a campaign, per server, scenario and series of other parameters: "
        "y = intercept + slope * x.",
        _columns("campaign server suite scenario series y x points intercept slope slope_low slope_high r_squared"),
    ),
    Table(
        "comparison",
        "The same point on several servers or in several campaigns, summed up over its repeats. Runs without a verdict "
        "take no part.",
        _columns("suite scenario point size campaign server profile metric repeats mean median low high spread"),
    ),
)

RESULT_TABLES: Final[dict[str, Table]] = {table.name: table for table in _TABLES}

# The score card: these columns of `points`, in this order.
CARD: Final = tuple(column for column in POINTS.columns if column.card)


def card_of(statistics_of: str) -> tuple[Column, ...]:
    """The card's columns for a run whose statistics are of `latency` or of `connect`."""
    return tuple(column for column in CARD if column.subject in ("", statistics_of))
