"""Health samples, by second and over a phase: the processes of one side are summed, cores compared.

A process may be sampled at uneven times, so its samples are averaged within a second first; then the processes (or
queues, or disks) of one source are put together.
"""

from __future__ import annotations

import re
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from telemark.store.layout import RunFolder

Row = dict[str, Any]

# (source, metric) -> (column of `intervals`, how its instances become one number)
SECOND_METRICS: Final[dict[tuple[str, str], tuple[str, str]]] = {
    ("server", "cpu_cores"): ("server_cpu_cores", "all"),
    ("server", "rss_bytes"): ("server_rss_bytes", "all"),
    ("server", "pss_bytes"): ("server_pss_bytes", "all"),
    ("engine", "cpu_cores"): ("engine_cpu_cores", "all"),
    ("host", "cpu_busy"): ("host_cpu_busy_max_core", "largest"),
    ("counters", "buffered_messages"): ("buffered_messages", "all"),
}
_SECOND: Final = 1_000_000_000
_SHIFT: Final = 1 << 30  # seconds; makes whole-number division round down before the common start, too


def timed(health: pa.Table, run: RunFolder) -> pa.Table:
    """The samples with their second and phase; phase `idle` is what came before the first device connected."""
    time = health["time_ns"]
    start = run.facts.start_ns or 0
    shifted = pc.add(pc.subtract(time, start), _SHIFT * _SECOND)
    second = pc.subtract(pc.divide(shifted, _SECOND), _SHIFT)
    phase: Any = pa.scalar("outside")
    for name, (begin, end) in run.facts.phases.items():
        inside = pc.and_(pc.greater_equal(time, begin), pc.less(time, end))
        phase = pc.if_else(inside, name, phase)
    connect = run.facts.phases.get("connect")
    if connect is not None:
        phase = pc.if_else(pc.less_equal(time, connect[0]), "idle", phase)
    if isinstance(phase, pa.Scalar):
        phase = pa.repeat(phase, health.num_rows)
    return health.append_column("second", second).append_column("phase", phase)


def by_second(samples: pa.Table) -> pa.Table:
    """(source, metric, second, phase, all, largest, mean, total) of every metric."""
    names = ["source", "metric", "second", "phase"]
    each = samples.group_by([*names, "instance"]).aggregate([("value", "mean"), ("value", "sum")])
    together = each.group_by(names).aggregate(
        [("value_mean", "sum"), ("value_mean", "max"), ("value_mean", "mean"), ("value_sum", "sum")]
    )
    return _named(
        together,
        {"value_mean_sum": "all", "value_mean_max": "largest", "value_mean_mean": "mean", "value_sum_sum": "total"},
    )


def second_rows(seconds: pa.Table) -> list[Row]:
    """The few metrics that `intervals` shows, one row per second."""
    wanted = pa.scalar(False)
    for source, metric in SECOND_METRICS:
        wanted = pc.or_(wanted, pc.and_(pc.equal(seconds["source"], source), pc.equal(seconds["metric"], metric)))
    if seconds.num_rows == 0:
        return []
    shown = seconds.filter(wanted).group_by(["source", "metric", "second"])
    rows: list[Row] = _named(
        shown.aggregate([("all", "mean"), ("largest", "max")]), {"all_mean": "all", "largest_max": "largest"}
    ).to_pylist()
    return rows


def phase_rows(samples: pa.Table, seconds: pa.Table) -> list[Row]:
    """Every metric over each phase of the run.

    mean_all, max_all: of the instances together. max_largest: the largest of any instance at any time. mean_each: of
    the average instance. busiest: of the instance with the highest mean. total: sum of all samples.
    """
    names = ["source", "metric", "phase"]
    means = samples.group_by([*names, "instance"]).aggregate([("value", "mean")])
    busiest = means.group_by(names).aggregate([("value_mean", "max")])
    over_time = seconds.group_by(names).aggregate(
        [("all", "mean"), ("all", "max"), ("largest", "max"), ("mean", "mean"), ("total", "sum")]
    )
    short = {"all_mean": "mean_all", "all_max": "max_all", "largest_max": "max_largest", "mean_mean": "mean_each"}
    rows: list[Row] = _named(over_time, short | {"total_sum": "total"}).to_pylist()
    highest = {tuple(row[name] for name in names): row["value_mean_max"] for row in busiest.to_pylist()}
    return [row | {"busiest": highest[tuple(row[name] for name in names)]} for row in rows]


def core_rows(samples: pa.Table) -> list[Row]:
    """Rows of the `cores` table: every core of the host in every second."""
    chosen = samples.filter(pc.and_(pc.equal(samples["source"], "host"), pc.equal(samples["metric"], "cpu_busy")))
    means = chosen.group_by(["second", "instance"]).aggregate([("value", "mean")]).to_pylist()
    numbered = [(row["second"], re.search(r"(\d+)$", row["instance"]), row["value_mean"]) for row in means]
    rows = [{"second": second, "core": int(match[1]), "busy": busy} for second, match, busy in numbered if match]
    return sorted(rows, key=lambda row: (row["second"], row["core"]))


def _named(table: pa.Table, names: dict[str, str]) -> pa.Table:
    return table.rename_columns([names.get(name, name) for name in table.column_names])
