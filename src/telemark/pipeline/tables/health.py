"""Health samples, by second and over a phase: the processes of one side are summed, cores compared.

A process may be sampled at uneven times, so its samples are averaged within a second first; then the processes (or
queues, or disks) of one source are put together.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from telemark.pipeline.tables import Row
from telemark.store.layout import RunFolder
from telemark.verdicts.engine import LoadHost

# (source, metric) -> (column of `intervals`, how its instances become one number)
SECOND_METRICS: Final[dict[tuple[str, str], tuple[str, str]]] = {
    ("server", "cpu_cores"): ("server_cpu_cores", "all"),
    ("server", "rss_bytes"): ("server_rss_bytes", "all"),
    ("server", "pss_bytes"): ("server_pss_bytes", "all"),
    ("engine", "cpu_cores"): ("engine_cpu_cores", "all"),
    ("host", "cpu_busy"): ("host_cpu_busy_max_core", "largest"),
    ("counters", "buffered_messages"): ("buffered_messages", "all"),
    ("counters", "messages_out"): ("server_messages_out", "largest"),
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


def of_server(samples: pa.Table) -> pa.Table:
    """Without the cores, disks and networks of hosts that the server is not on; instances of several hosts apart."""
    is_host = pc.equal(samples["source"], "host")
    serving = pc.and_(is_host, serves(samples))
    kept = samples.filter(pc.or_(pc.invert(is_host), serving))
    if len(pc.unique(samples["host"])) < 2:
        return kept
    several = len(pc.unique(samples.filter(serving)["host"])) > 1
    named = pc.binary_join_element_wise(pc.fill_null(kept["host"], ""), kept["instance"], "/")
    apart = named if several else pc.if_else(pc.equal(kept["source"], "host"), kept["instance"], named)
    return kept.set_column(kept.column_names.index("instance"), "instance", apart)


def serves(samples: pa.Table) -> pa.Array:
    """Whether the server is on the host of a sample. A sample without a role is of a run on one host."""
    return pc.fill_null(pc.match_substring(samples["role"], "server"), True)


def loads(samples: pa.Table) -> pa.Array:
    """Whether devices or consumers are on the host of a sample."""
    return pc.fill_null(pc.match_substring_regex(samples["role"], "publishers|subscribers|consumers"), True)


def server_host(samples: pa.Table) -> str | None:
    """Name of the server's host when it was sampled; empty where the sampler gave none."""
    chosen = samples.filter(pc.and_(pc.equal(samples["source"], "host"), serves(samples)))
    names = sorted({name or "" for name in pc.unique(chosen["host"]).to_pylist()})
    return ", ".join(names) if names else None


def load_hosts(samples: pa.Table, focus: str | None) -> list[LoadHost]:
    """The hosts with devices or consumers whose cores were sampled in a phase."""
    loaded = samples.filter(loads(samples))
    found = []
    for name in pc.unique(loaded["host"]).to_pylist():
        same = pc.is_null(loaded["host"]) if name is None else pc.fill_null(pc.equal(loaded["host"], name), False)
        mine = loaded.filter(pc.and_(same, pc.equal(loaded["phase"], focus or "")))
        cores = mine.filter(pc.and_(pc.equal(mine["source"], "host"), pc.equal(mine["metric"], "cpu_busy")))
        used = mine.filter(pc.equal(mine["metric"], "cpu_cores"))
        if cores.num_rows:
            by_core = cores.group_by("instance").aggregate([("value", "mean")])["value_mean"]
            ours = sum(row["all"] for row in by_second(used).to_pylist()) / max(1, len(pc.unique(used["second"])))
            found.append(LoadHost(name or "", len(by_core), pc.mean(by_core).as_py(), ours))
    return found


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


def _named(table: pa.Table, names: dict[str, str]) -> pa.Table:
    return table.rename_columns([names.get(name, name) for name in table.column_names])
