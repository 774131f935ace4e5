"""Names of the health samples: the words the sampler writes and the pipeline reads.

A row of the `health` table is (time, source, instance, metric, value). "since the last sample" values are
increments, so their sum over a stretch of time is the total of that stretch. A value that could not be
sampled has no row.

`python -m telemark.store.health_metrics` prints docs/reference/health.md.
"""

from __future__ import annotations

HOST, SERVER, ENGINE, CONSUMER, COUNTERS = "host", "server", "engine", "consumer", "counters"

# Instance is the core's name (cpu0, cpu1 ...), the device's or the interface's; empty where there is one only.
HOST_METRICS: dict[str, str] = {
    "cpu_busy": "share of one core that was busy since the last sample, 0 to 1 (instance: cpu0, cpu1 ...)",
    "cpu_user": "share of one core in user mode since the last sample, 0 to 1",
    "cpu_system": "share of one core in the kernel since the last sample, 0 to 1",
    "cpu_idle": "share of one core idle (waiting for disk included) since the last sample, 0 to 1",
    "cpu_wait": "share of one core idle and waiting for a disk since the last sample, 0 to 1",
    "cpu_steal": "share of one core taken by the hypervisor since the last sample, 0 to 1",
    "memory_used_bytes": "memory in use",
    "memory_available_bytes": "memory that new programs could use without swapping",
    "disk_write_bytes": "bytes written to the disk since the last sample (instance: disk)",
    "disk_busy": "share of the time the disk was busy since the last sample, 0 to 1 (instance: disk)",
    "network_bytes": "bytes sent and received since the last sample (instance: interface)",
    "network_packets": "packets sent and received since the last sample (instance: interface)",
    "tcp_retransmits": "TCP segments sent again since the last sample, whole host",
    "listen_overflows": "connections turned away since the last sample because an accept queue was full, whole host",
}

# Instance is the process id. The same names serve server, engine and consumer processes.
PROCESS_METRICS: dict[str, str] = {
    "cpu_cores": "cores used since the last sample (1.0 = one core busy)",
    "busiest_thread_cores": "cores used by the busiest thread since the last sample",
    "thread_cores": "cores used since the last sample by one of the three busiest threads (instance: PID/TID NAME)",
    "rss_bytes": "resident memory",
    "pss_bytes": "proportional resident memory: shared pages counted by share",
    "threads": "threads",
    "open_files": "open file descriptors",
    "voluntary_switches": "voluntary context switches since the last sample",
    "involuntary_switches": "involuntary context switches since the last sample",
    "receive_queue_bytes": "bytes that wait unread in the process's TCP sockets (Recv-Q)",
    "send_queue_bytes": "bytes that wait unsent in the process's TCP sockets (Send-Q)",
    "receive_queue_max_bytes": "the largest Recv-Q of a single connection",
    "send_queue_max_bytes": "the largest Send-Q of a single connection",
    "connections_open": "established TCP connections to the run's listeners (engine only)",
    "accept_queue": "connections established but not yet accepted, all listeners (server only)",
}

CONSUMER_METRICS: dict[str, str] = PROCESS_METRICS | {
    "heap_bytes": "used heap of the consumer's JVM",
    "gc_count": "garbage collections since the JVM started",
    "gc_ms": "milliseconds spent in them since the JVM started",
}

# The server's own counts, cumulative or momentary as the server gives them. Instance: queue name or empty.
COUNTER_METRICS: dict[str, str] = {
    "messages_in": "messages the server says it received, since it started",
    "messages_out": "messages the server says it sent, since it started",
    "messages_dropped": "messages the server says it dropped, since it started",
    "connections": "connections open now",
    "subscriptions": "subscriptions now",
    "buffered_messages": "messages the server holds now",
    "largest_queue": "messages that wait now in the fullest queue of a subscription",
    "largest_queue_hwm": "most messages that waited at once in one subscription's queue, in the server's own count",
    "heap_bytes": "heap of the server's JVM in use after its last garbage collection",
    "bytes_in": "bytes the server says it received, since it started",
    "bytes_out": "bytes the server says it sent, since it started",
}

METRICS: dict[str, dict[str, str]] = {
    HOST: HOST_METRICS,
    SERVER: PROCESS_METRICS,
    ENGINE: PROCESS_METRICS,
    CONSUMER: CONSUMER_METRICS,
    COUNTERS: COUNTER_METRICS,
}

_PAGE_HEAD = """# Health metrics

The rows of the `health` record table. Generated from `telemark.store.health_metrics`: do not edit.

Samples are taken about once a second, on the engine's clock. A sample that is slow to take (the proportional memory
of a large process, the queues of many thousand sockets) is taken less often, every five seconds at least, so that
watching costs about a percent of a core each. What could not be sampled has no row. Socket queues have no instance:
they are summed over the connections of the run's listeners, the server's ends under `server`, the devices' ends under
`engine`.
"""


def reference_page() -> str:
    """docs/reference/health.md as text."""
    lines = [_PAGE_HEAD]
    for source, metrics in METRICS.items():
        lines += [f"## {source}", "", "| metric | meaning |", "|---|---|"]
        lines += [f"| `{name}` | {meaning} |" for name, meaning in metrics.items()] + [""]
    return "\n".join(lines)


if __name__ == "__main__":
    print(reference_page(), end="")
