"""What every column of the result tables means, for the reference and for tool tips."""

from __future__ import annotations

import re
from typing import Final

TABLES: Final[dict[str, str]] = {
    "points": "One row per run: everything a score card prints. Rates, latencies and costs are over the measure phase, "
    "counts of messages over the whole run.",
    "latency": "One row per run, measure and phase, exact to a microsecond. Percentiles between two ranks are by "
    "straight line. Messages belong to a phase by their intended time, acknowledgements by the time of sending.",
    "distribution": "How many samples fell into each bucket, for plotting. Buckets are 1 us wide below 256 us, then at "
    "most 1 % of their value.",
    "intervals": "One row per run and second; second 0 begins at the common start. Counts are by the time of what is "
    "counted, latencies are of the messages due in the second.",
    "cores": "One row per run, second and core of the host.",
    "integrity": "One row per run and subscription; a share group is one row under its smallest member.",
    "offenders": "The first thousand messages of a run that were lost, delivered twice, late or not of this run.",
    "resources": "One row per run: what it cost the machine, over the measure phase (or the hold phase).",
    "scaling": "Straight lines through the points of a campaign, per server, scenario and series of other parameters.",
    "comparison": "The same point on several servers or in several campaigns, summed up over its repeats. Runs "
    "without a verdict take no part.",
}

_SUBJECTS: Final = {
    "latency": "received - intended",
    "service": "received - sent",
    "send_delay": "sent - intended",
    "ack": "time to PUBACK (QoS 1) or PUBREC (QoS 2)",
    "connect": "SYN to CONNACK",
}
_FIGURES: Final = {
    "min": "smallest", "mean": "mean", "stdev": "standard deviation", "p50": "median", "p75": "75th percentile",
    "p90": "90th percentile", "p95": "95th percentile", "p99": "99th percentile", "p999": "99.9th percentile",
    "p9999": "99.99th percentile", "max": "largest",
}  # fmt: skip

_WORDS: Final[dict[str, str]] = {
    "campaign": "name of the campaign's folder",
    "run": "name of the run's folder",
    "suite": "suite of the scenario",
    "scenario": "scenario",
    "point": "cell of the scenario's sweep",
    "size": "quick, laptop or published",
    "parameters": "values of the cell, a JSON object",
    "server": "server under test",
    "server_version": "its version",
    "profile": "memory, durable or fsync",
    "profile_note": "what the profile means on this server",
    "repeat": "number of the repeat, from 0",
    "state": "complete, failed, interrupted or running",
    "reason": "why the run is not complete",
    "started_at": "when it began, UTC",
    "host": "name of the host",
    "telemark_version": "version that made the run",
    "publishers": "publishing devices of the plan",
    "subscribers": "subscribing devices and consumers of the plan",
    "qos": "QoS of publishing; in `integrity` the one that rules, the smaller of publishing and subscribing",
    "payload_bytes": "bytes of a payload",
    "measure_s": "length of the measure phase",
    "offered_rate": "messages due per second",
    "sent_rate": "messages sent per second",
    "received_rate": "deliveries per second",
    "peak_received_rate": "most deliveries in one second",
    "second": "second of the run",
    "core": "number of the core",
    "busy": "share of the second it was busy, 0 to 1",
    "phase": "connect, hold, warmup, measure, drain or stop",
    "intended": "messages the schedule wanted",
    "sent": "messages handed to the kernel",
    "received": "deliveries read",
    "acked": "final acknowledgements read",
    "dropped": "due messages the engine never sent",
    "sent_bytes": "payload bytes sent",
    "received_bytes": "payload bytes received",
    "connected": "devices connected at the end of the second",
    "owed": "deliveries that sent messages and subscriptions require; null when it is not known what was sent",
    "delivered": "of those, how many arrived at least once",
    "lost": "owed and never delivered",
    "duplicate": "deliveries of a message after its first one",
    "reordered": "messages received after a later one of their stream, within one subscription",
    "foreign": "deliveries that carry no message of this run or were not owed",
    "violations": "deviations the QoS forbids: QoS 0 duplicates, QoS 1 losses, QoS 2 both",
    "integrity_exact": "false: a subscription was interrupted or the run ended early, owed and lost are bounds",
    "exact": "false: it was not in force all the time or the run ended early, owed and lost are bounds",
    "subscription": "number of the subscription",
    "share": "number of the share group; null for a plain subscription",
    "filter": "topic filter",
    "members": "subscriptions of the share group; 1 for a plain subscription",
    "kind": "lost, duplicate, reordered or foreign",
    "stream": "publisher's number",
    "sequence": "message's number in its stream",
    "times": "how often it was delivered",
    "received_ns": "when: the last receipt of a duplicate, the first of a late message",
    "measure": "latency, service_time, send_delay, puback, pubrec, pubcomp, tcp_connect, tls_handshake, connack, "
    "suback, connect",
    "count": "samples",
    "lower_us": "beginning of the bucket",
    "upper_us": "end of the bucket, not part of it",
    "connections": "devices that were connected",
    "connect_failures": "connection attempts that failed",
    "connect_rate": "connections per second, from the first attempt to the last CONNACK",
    "disconnects": "unexpected disconnects",
    "refusals": "connects, subscriptions and messages the server refused",
    "server_cpu_cores": "cores the server used",
    "server_cpu_cores_mean": "cores the server used, mean",
    "server_cpu_cores_max": "cores the server used, largest second",
    "server_busiest_thread_cores": "cores used by the server's busiest thread, mean",
    "host_core_busy_max": "share of time the busiest core was busy, 0 to 1",
    "host_cpu_busy_mean": "share of time all cores were busy, 0 to 1",
    "host_cpu_busy_max_core": "share of time the busiest core was busy in this second, 0 to 1",
    "host_steal_mean": "share the hypervisor took, 0 to 1",
    "server_rss_bytes": "resident memory of the server",
    "server_pss_bytes": "proportional memory of the server",
    "server_rss_bytes_max": "resident memory of the server, highest in the run",
    "server_pss_bytes_max": "proportional memory of the server, highest in the run",
    "server_rss_bytes_idle": "resident memory of the server before the first device connected",
    "server_cpu_us_per_message": "server CPU time per message sent or delivered, whichever are more",
    "server_bytes_per_connection": "memory above idle, per connected device",
    "disk_write_bytes": "bytes written to disks",
    "disk_busy_max": "share of time the busiest disk was busy, largest second",
    "network_bytes": "bytes over network interfaces, loopback included",
    "tcp_retransmits": "TCP segments sent again on the host",
    "server_open_files_max": "open files of the server, highest in the run",
    "server_threads_max": "threads of the server, highest in the run",
    "buffered_messages": "messages the server holds, by its own count",
    "buffered_hwm": "most messages the server held, by its own count",
    "buffered_slope_per_s": "growth of the backlog per second over the measure phase",
    "buffered_slope_low": "its lower 95 % bound",
    "buffered_slope_high": "its upper 95 % bound",
    "receive_queue_bytes_server_max": "bytes unread in the server's sockets, most",
    "receive_queue_bytes_engine_max": "bytes unread in the devices' sockets, most",
    "engine_cpu_cores": "cores the engine used",
    "engine_cpu_cores_mean": "cores the engine used, mean",
    "engine_cpu_us_per_message": "engine CPU time per message sent or delivered, whichever are more",
    "engine_rss_bytes_max": "resident memory of the engine, highest in the run",
    "consumer_cpu_cores_mean": "cores the back-end consumers used, mean",
    "consumer_heap_bytes_max": "heap of the back-end consumers, highest in the run",
    "loop_lag_max_us": "longest time an engine thread was away from its poll",
    "pushed_back": "sends that found the socket full or the in-flight window used up",
    "engine_bound": "the engine was late or starved: no verdict about the server",
    "engine_bound_reason": "the evidence",
    "engine_headroom": "the engine's calibrated ceiling over this run's rate; null without calibration",
    "latency_trend": "steady, rising, falling or unknown over the measure phase",
    "steady": "delivered = offered, no growing backlog, no trend of latency; null when it cannot be told",
    "steady_reason": "the evidence",
    "sustained": "delivered >= offered, no growing backlog, no rising latency: the rate could go on; null when unknown",
    "warnings": "what to know before believing the row",
    "series": "parameters the line is drawn for",
    "y": "column of `points` on the upright axis",
    "x": "column of `points` on the level axis",
    "points": "points of the line",
    "intercept": "y at x = 0",
    "slope": "y per x",
    "slope_low": "lower 95 % bound of the slope; null with fewer than three points",
    "slope_high": "upper 95 % bound of the slope",
    "r_squared": "share of the variation the line explains",
    "metric": "column of `points`",
    "repeats": "runs",
    "mean": "mean of the runs",
    "median": "median of the runs",
    "low": "lower 95 % bound of the mean; null for one run",
    "high": "upper 95 % bound of the mean",
    "spread": "(largest - smallest) / median",
}

_STATISTIC: Final = re.compile(rf"(?:({'|'.join(_SUBJECTS)})_)?({'|'.join(_FIGURES)})_us")


def meaning(column: str) -> str:
    """What a column of a result table means."""
    if column in _WORDS:
        return _WORDS[column]
    match = _STATISTIC.fullmatch(column)
    if match is None:
        raise KeyError(f"the column {column} has no description")
    subject = _SUBJECTS.get(match[1] or "")
    return f"{subject}, {_FIGURES[match[2]]}" if subject else _FIGURES[match[2]]
