"""Columns of the result tables that are measured: counts, rates and costs, each with its unit and direction.

A direction says what is better for the server under test. What the plan decides (how much is offered and sent) and
what the host's other tenants do has none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from telemark.model.columns.column import Better, Column, Unit


def _count(name: str, meaning: str, better: Better = None, card: str | None = None, *short: str) -> Column:
    return Column(name, "int64", "count", better, meaning, card, short=short)


def _figure(name: str, unit: Unit, better: Better, meaning: str, card: str | None = None, *short: str) -> Column:
    return Column(name, "float64", unit, better, meaning, card, short=short)


def _bytes(name: str, meaning: str, better: Better = "lower", card: str | None = None, *short: str) -> Column:
    return Column(name, "int64", "bytes", better, meaning, card, short=short)


def _published(heading: str, column: Column) -> Column:
    """A column that a report publishes, too: with that heading on the card where a published value stands beside it."""
    return replace(column, beside=heading)


RATES: Final = (
    _figure("offered_rate", "messages_per_second", None, "messages due per second"),
    _figure("sent_rate", "messages_per_second", None, "messages sent per second"),
    _published(
        "msg/s", _figure("received_rate", "messages_per_second", "higher", "deliveries per second", None, "rate")
    ),
    _figure("peak_received_rate", "messages_per_second", "higher", "most deliveries in one second"),
    _published("egress", _figure("peak_egress_rate", "messages_per_second", "higher",
               "most messages a second that the server says it sent, averaged over 5 s: the MessageSight dashboard's "
               "25K, 50K and 100K are 128K, 256K and 512K consumers in 5 s")),
)  # fmt: skip

CONNECTIONS: Final = (
    _count("connections", "devices that were connected", "higher"),
    _count("connect_failures", "connection attempts that failed", "lower"),
    _published("conn/s", _figure("connect_rate", "connections_per_second", "higher",
               "connections per second, from the first attempt to the last CONNACK")),
    _count("disconnects", "unexpected disconnects", "lower"),
    _count("refusals", "connects, subscriptions and messages the server refused", "lower"),
)  # fmt: skip

MESSAGES: Final = (
    _count("intended", "messages the schedule wanted"),
    _count("sent", "messages handed to the kernel"),
    _count("received", "deliveries read"),
    _count("acked", "final acknowledgements read"),
    _count("owed", "deliveries that sent messages and subscriptions require; null when it is not known what was sent"),
    _count("lost", "owed and never delivered", "lower", "lost"),
    _count("duplicate", "deliveries of a message after its first one", "lower", "dup", "duplicates"),
    _count("reordered", "messages received after a later one of their stream and subscription", "lower", "reord"),
    _count("dropped", "due messages the engine never sent", "lower", "drop"),
    _count("foreign", "deliveries that carry no message of this run or were not owed", "lower"),
    _count("violations", "deviations the QoS forbids: QoS 0 duplicates, QoS 1 losses, QoS 2 both", "lower"),
)

RESOURCES: Final = (
    _figure("server_cpu_cores_mean", "cores", "lower", "cores the server used, mean", "CPU", "cpu"),
    _published("CPU share", _figure("server_cpu_share_mean", "share", "lower",
               "share of all cores the server used, mean: as ScalAgent counts")),
    _figure("server_cpu_cores_max", "cores", "lower", "cores the server used, largest second"),
    _figure("server_busiest_thread_cores", "cores", "lower", "cores used by the server's busiest thread, mean"),
    _count("host_cores", "cores of the server's host"),
    _figure("host_core_busy_max", "share", "lower", "share of time the busiest core of its host was busy, 0 to 1"),
    _figure("host_cpu_busy_mean", "share", "lower", "share of time all cores of its host were busy, 0 to 1"),
    _published("host CPU", _figure("host_cpu_not_idle_mean", "share", "lower",
               "share of time all cores of its host were not idle, 0 to 1, waiting for disks included: as MQ Telemetry "
               "counts")),
    _figure("host_steal_mean", "share", None, "share the hypervisor took of its host, 0 to 1"),
    _bytes("server_rss_bytes_max", "resident memory of the server, highest in the run", "lower", "memory", "memory"),
    _bytes("server_pss_bytes_max", "proportional memory of the server, highest in the run"),
    _bytes("server_rss_bytes_idle", "resident memory of the server before the first device connected"),
    _published("heap", _bytes("server_heap_bytes_max",
               "heap of the server's JVM in use after a garbage collection, highest in the run; null without a "
               "collection")),
    _bytes("server_heap_bytes_idle", "the same before the first device connected"),
    _published("host memory", _bytes("host_memory_used_bytes_max",
               "memory in use on the host, caches not counted, highest in the run")),
    _bytes("host_memory_used_bytes_idle", "the same before the first device connected"),
    _figure("server_cpu_us_per_message", "us", "lower",
            "server CPU time per message sent or delivered, whichever are more"),
    _published("per conn.", _figure("server_bytes_per_connection", "bytes", "lower",
               "memory above idle, per connected device; null when it did not grow measurably")),
    _published("heap per conn.", _figure("server_heap_bytes_per_connection", "bytes", "lower",
               "heap of the server's JVM above idle, per connected device; null when it did not grow measurably")),
    _figure("disk_write_bytes", "bytes", "lower", "bytes written to disks"),
    _figure("disk_busy_max", "share", "lower", "share of time the busiest disk was busy, largest second"),
    _figure("network_bytes", "bytes", "lower", "bytes over network interfaces, loopback included"),
    _figure("tcp_retransmits", "count", "lower", "TCP segments sent again on the host"),
    _published("files", _figure("server_open_files_max", "count", None,
               "open files of the server, highest in the run")),
    _figure("server_threads_max", "count", None, "threads of the server, highest in the run"),
    _published("HWM", _figure("buffered_hwm", "count", "lower",
               "most messages that waited in the queue of one subscription")),
    Column("buffered_hwm_source", "string", "text", None,
           "whose number buffered_hwm is: the server's own mark, or the largest of samples a second apart"),
    _figure("buffered_slope_per_s", "messages_per_second", "lower",
            "growth of the backlog per second over the measure phase"),
    _figure("buffered_slope_low", "messages_per_second", "lower", "its lower 95 % bound"),
    _figure("buffered_slope_high", "messages_per_second", "lower", "its upper 95 % bound"),
    _figure("receive_queue_bytes_server_max", "bytes", "lower", "bytes unread in the server's sockets, most"),
    _figure("receive_queue_bytes_engine_max", "bytes", "lower", "bytes unread in the devices' sockets, most"),
    _figure("engine_cpu_cores_mean", "cores", "lower", "cores the engine used, mean"),
    _figure("engine_busiest_thread_cores", "cores", "lower", "cores used by the engine's busiest thread, mean"),
    _figure("engine_cpu_us_per_message", "us", "lower",
            "engine CPU time per message sent or delivered, whichever are more"),
    _bytes("engine_rss_bytes_max", "resident memory of the engine, highest in the run"),
    _figure("consumer_cpu_cores_mean", "cores", "lower", "cores the back-end consumers used, mean"),
    _bytes("consumer_heap_bytes_max", "heap of the back-end consumers, highest in the run"),
)  # fmt: skip

_OF_SERVER_HOST: Final = ("server_", "host_", "disk_", "network_", "tcp_")


def of_server_host(name: str) -> bool:
    """Whether a column of RESOURCES tells about the server's host or the server's processes on it."""
    return name.startswith(_OF_SERVER_HOST)


ENGINE: Final = (
    _figure("load_host_busy_mean", "share", "lower",
            "share of time all cores were busy, 0 to 1, of the busiest host with devices or consumers"),
    _figure("loop_lag_max_us", "us", "lower", "longest time an engine thread was away from its poll"),
    _count("pushed_back", "sends that found the socket full or the in-flight window used up", "lower"),
    Column("clock_error_us", "float64", "us", "lower",
           "by how much a latency between two hosts of a bed may be off at most; 0 when sender and receiver share a "
           "clock", card="± ms", subject="latency"),
    _figure("engine_headroom", "ratio", "higher",
            "times this load the engine can carry: the smallest of what its busiest thread, its send delay and a "
            "calibration of the same kind of load say", "headroom", "headroom"),
)  # fmt: skip

# Of one second, one core or one subscription; not in `points`.
DETAILS: Final = (
    _bytes("sent_bytes", "payload bytes sent", None),
    _bytes("received_bytes", "payload bytes received", None),
    _count("connected", "devices connected at the end of the second", "higher"),
    _figure("server_cpu_cores", "cores", "lower", "cores the server used"),
    _bytes("server_rss_bytes", "resident memory of the server"),
    _bytes("server_pss_bytes", "proportional memory of the server"),
    _figure("engine_cpu_cores", "cores", "lower", "cores the engine used"),
    _figure("host_cpu_busy_max_core", "share", "lower", "share of this second the busiest core was busy, 0 to 1"),
    _figure("buffered_messages", "count", "lower", "messages the server holds, by its own count"),
    _figure("server_messages_out", "count", None, "messages the server says it sent, since it started"),
    _figure("busy", "share", None, "share of the second it was busy, 0 to 1"),
    _count("delivered", "of those, how many arrived at least once", "higher"),
)
