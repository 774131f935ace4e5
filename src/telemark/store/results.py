"""The result tables: what the Spark pipeline makes of run folders, and all that reports may read.

Every table has the columns `campaign` and `run` first (short names of the folders). Latencies are
microseconds (`_us`), rates are per second, memory is bytes, CPU is in cores (1.0 = one core busy).
A value that could not be measured is null, never zero.
"""

from __future__ import annotations

import pyarrow as pa

RESULTS_VERSION = 2

_KEY = [pa.field("campaign", pa.string()), pa.field("run", pa.string())]


def _table(*columns: tuple[str, pa.DataType]) -> pa.Schema:
    return pa.schema(_KEY + [pa.field(name, kind) for name, kind in columns])


_F, _I, _S, _B = pa.float64(), pa.int64(), pa.string(), pa.bool_()


def _stats(prefix: str, *names: str) -> list[tuple[str, pa.DataType]]:
    return [(f"{prefix}_{name}_us", _F) for name in names]


FULL = ("min", "mean", "stdev", "p50", "p75", "p90", "p95", "p99", "p999", "p9999", "max")

# One row per run, measure and phase. measure: latency, service_time, send_delay, puback, pubrec, pubcomp,
# tcp_connect, tls_handshake, connack, suback, connect (SYN -> CONNACK).
# phase: warmup, measure, drain by the message's intended time; connect for the connection measures.
LATENCY = _table(("measure", _S), ("phase", _S), ("count", _I), *[(f"{n}_us", _F) for n in FULL])

# For plotting: how many samples fell into [lower_us, upper_us). Buckets grow with the value (at most 1 % wide).
DISTRIBUTION = _table(("measure", _S), ("phase", _S), ("lower_us", _F), ("upper_us", _F), ("count", _I))

# One row per run and second (second 0 = common start).
INTERVALS = _table(
    ("second", pa.int32()), ("phase", _S),
    ("intended", _I), ("sent", _I), ("received", _I), ("acked", _I), ("dropped", _I),
    ("sent_bytes", _I), ("received_bytes", _I), ("connected", _I),
    *_stats("latency", "min", "mean", "p50", "p75", "p90", "p95", "p99", "p999", "max"),
    *_stats("service", "mean", "p50", "p99", "max"),
    *_stats("send_delay", "mean", "p50", "p99", "max"),
    ("loop_lag_max_us", _F), ("pushed_back", _I),
    ("server_cpu_cores", _F), ("server_rss_bytes", _I), ("server_pss_bytes", _I),
    ("engine_cpu_cores", _F), ("host_cpu_busy_max_core", _F), ("buffered_messages", _F),
)  # fmt: skip

# One row per run, second and CPU core of the host: the share of that second the core was busy, 0 to 1.
CORES = _table(("second", pa.int32()), ("core", pa.int32()), ("busy", _F))

# One row per run and subscription (a share group is one row, share set, subscription = its smallest member).
INTEGRITY = _table(
    ("subscription", pa.int32()), ("share", pa.int32()), ("filter", _S), ("qos", pa.int32()), ("members", _I),
    ("owed", _I), ("delivered", _I), ("lost", _I), ("duplicate", _I), ("reordered", _I), ("foreign", _I),
    ("violations", _I),  # deviations this QoS forbids
    ("exact", _B),  # false: the subscription was interrupted, owed is an upper bound; no verdict on loss
)  # fmt: skip

# The first thousand offending messages of a run, by name.
OFFENDERS = _table(
    ("subscription", pa.int32()), ("kind", _S), ("stream", pa.int32()), ("sequence", _I),
    ("times", _I), ("received_ns", _I),
)  # fmt: skip

RESOURCES = _table(
    ("server_cpu_cores_mean", _F), ("server_cpu_cores_max", _F), ("server_busiest_thread_cores", _F),
    ("host_core_busy_max", _F), ("host_cpu_busy_mean", _F), ("host_steal_mean", _F),
    ("server_rss_bytes_max", _I), ("server_pss_bytes_max", _I), ("server_rss_bytes_idle", _I),
    ("server_cpu_us_per_message", _F), ("server_bytes_per_connection", _F),
    ("disk_write_bytes", _F), ("disk_busy_max", _F), ("network_bytes", _F), ("tcp_retransmits", _F),
    ("server_open_files_max", _F), ("server_threads_max", _F),
    ("buffered_hwm", _F), ("buffered_slope_per_s", _F), ("buffered_slope_low", _F), ("buffered_slope_high", _F),
    ("receive_queue_bytes_server_max", _F), ("receive_queue_bytes_engine_max", _F),
    ("engine_cpu_cores_mean", _F), ("engine_cpu_us_per_message", _F), ("engine_rss_bytes_max", _I),
    ("consumer_cpu_cores_mean", _F), ("consumer_heap_bytes_max", _I),
)  # fmt: skip

POINTS = _table(
    ("suite", _S), ("scenario", _S), ("point", _S), ("size", _S), ("parameters", _S),  # parameters: JSON object
    ("server", _S), ("server_version", _S), ("profile", _S), ("profile_note", _S), ("repeat", pa.int32()),
    ("state", _S), ("reason", _S), ("started_at", _S), ("host", _S), ("telemark_version", _S),
    ("publishers", _I), ("subscribers", _I), ("qos", pa.int32()), ("payload_bytes", _I), ("measure_s", _F),
    ("offered_rate", _F), ("sent_rate", _F), ("received_rate", _F), ("peak_received_rate", _F),
    ("intended", _I), ("sent", _I), ("received", _I), ("acked", _I), ("dropped", _I),
    ("owed", _I), ("lost", _I), ("duplicate", _I), ("reordered", _I), ("foreign", _I), ("violations", _I),
    ("integrity_exact", _B),
    *_stats("latency", *FULL),
    *_stats("service", "mean", "p50", "p95", "p99", "max"),
    *_stats("send_delay", "mean", "p50", "p99", "max"),
    *_stats("ack", "mean", "p50", "p99", "max"),
    ("connections", _I), ("connect_failures", _I), ("connect_rate", _F),
    *_stats("connect", "min", "mean", "stdev", "p50", "p75", "p90", "p95", "p99", "max"),
    ("disconnects", _I), ("refusals", _I),
    *[(field.name, field.type) for field in RESOURCES][2:],
    ("loop_lag_max_us", _F), ("pushed_back", _I),
    ("engine_bound", _B),  # the engine was late or starved: no verdict about the server
    ("engine_bound_reason", _S),
    ("engine_headroom", _F),  # ceiling from calibration / rate of this run; null without calibration
    ("latency_trend", _S),  # steady, rising, falling, unknown
    ("steady", _B), ("steady_reason", _S), ("sustained", _B),
    ("warnings", pa.list_(pa.string())),
)  # fmt: skip

# Straight-line fits over the points of a campaign, per server and scenario: y = intercept + slope * x.
SCALING = pa.schema(
    [
        ("campaign", _S), ("server", _S), ("suite", _S), ("scenario", _S), ("series", _S),
        ("y", _S), ("x", _S), ("points", _I), ("intercept", _F), ("slope", _F),
        ("slope_low", _F), ("slope_high", _F), ("r_squared", _F),
    ]
)  # fmt: skip

# The same point in several campaigns or on several servers, one row per point, side and metric.
COMPARISON = pa.schema(
    [
        ("suite", _S), ("scenario", _S), ("point", _S), ("size", _S), ("campaign", _S), ("server", _S), ("profile", _S),
        ("metric", _S), ("repeats", _I), ("mean", _F), ("median", _F), ("low", _F), ("high", _F), ("spread", _F),
    ]
)  # fmt: skip

TABLES: dict[str, pa.Schema] = {
    "points": POINTS,
    "latency": LATENCY,
    "distribution": DISTRIBUTION,
    "intervals": INTERVALS,
    "cores": CORES,
    "integrity": INTEGRITY,
    "offenders": OFFENDERS,
    "resources": RESOURCES,
    "scaling": SCALING,
    "comparison": COMPARISON,
}
