"""The metrics of a run that is under way: THE registry of their names, kinds, units, labels and meanings.

Names are stable: a name that is published here is not renamed and does not change its meaning. Every label takes its
values from a bounded set. `docs/reference/monitoring.md` is made from this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from telemark.runner.phases import Phase
from telemark.store.health_metrics import CONSUMER, COUNTERS, ENGINE, HOST, METRICS, SERVER

PREFIX: Final = "telemark"
NO_RUN: Final = "none"  # value of the label `phase` between runs


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric."""

    name: str
    kind: Literal["counter", "gauge"]
    unit: str
    meaning: str
    labels: tuple[str, ...] = ()


def _gauge(name: str, unit: str, meaning: str, *labels: str) -> Metric:
    return Metric(f"{PREFIX}_{name}", "gauge", unit, meaning, labels)


def _counter(name: str, unit: str, meaning: str, *labels: str) -> Metric:
    return Metric(f"{PREFIX}_{name}_total", "counter", unit, meaning, labels)


RUN_INFO = _gauge("run_info", "", "1 for the run under way: what it measures", "suite", "scenario", "size", "server")
RUN_NUMBER = _gauge("run_number", "", "number of the run under way among those of its campaign, from 1")
RUNS_PLANNED = _gauge("runs_planned", "runs", "runs of the campaign")
RUNS_ENDED = _counter("runs_ended", "runs", "runs that have ended: complete, failed or interrupted", "state")
RUN_ELAPSED = _gauge("run_elapsed_seconds", "s", "time since the run began")
PHASE = _gauge(
    "phase", "", f"1 for the phase the run is in, 0 for all others; `{NO_RUN}` between runs and after the last", "phase"
)
PHASE_REMAINING = _gauge("phase_remaining_seconds", "s", "longest time that the phase can still take")

DEVICES = _gauge(
    "devices", "devices",
    "devices by state: planned (all of the run), connected, ready (connected and subscribed), "
    "failed (gave up connecting)",
    "state",
)  # fmt: skip
DISCONNECTS = _counter("disconnects", "connections", "connections that ended without being asked to")
CONNECT_RATE = _gauge("connects_per_second", "devices/s", "devices that became ready, over about a second")

INTENDED = _counter("messages_intended", "messages", "messages that the load shape asked for")
SENT = _counter(
    "messages_sent", "messages",
    "messages that the kernel has taken from the engine; `qos` is 0, 1, 2, or `mixed` where publishers differ", "qos",
)  # fmt: skip
ACKNOWLEDGED = _counter("messages_acknowledged", "messages", "messages whose QoS 1 or 2 handshake is complete")
DROPPED = _counter("messages_dropped", "messages", "messages that the engine never sent because they were too late")
RECEIVED = _counter(
    "messages_received", "messages",
    "messages received by subscribers and back-end consumers; `qos` is 0, 1, 2, or `mixed` where they differ", "qos",
)  # fmt: skip
OUTSTANDING = _gauge(
    "messages_outstanding", "messages",
    "messages owed to subscribers and not received yet: lost so far, once the phase is drain or stop; "
    "absent where fan-outs differ",
)  # fmt: skip
SENT_RATE = _gauge("messages_sent_per_second", "messages/s", "sent messages, over about a second", "qos")
RECEIVED_RATE = _gauge("messages_received_per_second", "messages/s", "received messages, over about a second", "qos")
LATENCY = _gauge(
    "latency_seconds", "s",
    "latency of the messages of the last second (received - intended, within 6 %); 0.99 is that of the worst engine "
    "process. Results are made from the records, never from this",
    "quantile",
)  # fmt: skip
SEND_DELAY = _gauge("send_delay_max_seconds", "s", "largest send delay (sent - intended) of a recent second")
LOOP_LAG = _gauge("loop_lag_max_seconds", "s", "longest time that the engine was away from its sockets, likewise")

LOAD: Final = (
    RUN_INFO, RUN_NUMBER, RUNS_PLANNED, RUNS_ENDED, RUN_ELAPSED, PHASE, PHASE_REMAINING, DEVICES, DISCONNECTS,
    CONNECT_RATE, INTENDED, SENT, ACKNOWLEDGED, DROPPED, RECEIVED, OUTSTANDING, SENT_RATE, RECEIVED_RATE, LATENCY,
    SEND_DELAY, LOOP_LAG,
)  # fmt: skip

PHASES: Final = (*map(str, Phase), NO_RUN)

# Increments of the health table are added up to counters; counters of servers and JVMs are shown as they are.
_INCREMENTS: Final = frozenset(
    ("disk_write_bytes", "network_bytes", "network_packets", "tcp_retransmits", "listen_overflows",
     "voluntary_switches", "involuntary_switches")
)  # fmt: skip
_CUMULATIVE: Final = frozenset(
    ("messages_in", "messages_out", "messages_dropped", "bytes_in", "bytes_out", "gc_count", "gc_ms")
)
_SHARES: Final = frozenset(("cpu_busy", "cpu_user", "cpu_system", "cpu_idle", "cpu_steal", "disk_busy"))
_INSTANCES: Final = {"cpu_": "core", "disk_": "disk", "network_": "interface"}  # first word of a host's metric -> label
_UNITS: Final = (("_bytes", "bytes"), ("_cores", "cores"), ("_ms", "ms"), ("_packets", "packets"))


def is_increment(name: str) -> bool:
    """Whether samples of a health metric are increments, to be added up."""
    return name in _INCREMENTS


def _health(source: str, name: str, meaning: str) -> Metric:
    shown = f"{SERVER if source == COUNTERS else source}_{name}"
    labels = ("host", *(label for word, label in _INSTANCES.items() if source == HOST and name.startswith(word)))
    unit = next((unit for end, unit in _UNITS if name.endswith(end)), "")
    if name in _SHARES:
        return _gauge(f"{shown}_ratio", "0 to 1", meaning, *labels)
    if name in _INCREMENTS:
        return _counter(
            shown, unit, meaning.replace(" since the last sample", "") + "; since the command began", *labels
        )
    return (_counter if name in _CUMULATIVE else _gauge)(shown, unit, meaning, *labels)


# (source, metric) of the health table -> metric. Threads come and go: their names and ids are no labels.
HEALTH: Final = {
    (source, name): _health(source, name, meaning)
    for source in (HOST, SERVER, COUNTERS, ENGINE, CONSUMER)
    for name, meaning in METRICS[source].items()
    if name != "thread_cores"
}
ALL: Final = {metric.name: metric for metric in (*LOAD, *HEALTH.values())}
_BOARDS: Final = {
    "Engine processes": (ENGINE,),
    "Consumers": (CONSUMER,),
    "Server": (SERVER, COUNTERS),
    "Host": (HOST,),
}

_PAGE_HEAD = """# Monitoring: names of the metrics

What `--prometheus` and `--graphite` give while runs are under way. Generated from `telemark.runner.monitor.metrics`:
do not edit. How to use them: [the guide](../guides/monitoring.md).

Counters begin at 0 with the command and count over all of its runs; after the last run they equal the sum of the runs'
records. Counters that a server or a JVM keeps itself begin at 0 with that program. A value that is not known has no
line. In Graphite a metric is `telemark.` and its name without `telemark_`, followed by the values of its labels in the
order given here, for example `telemark.messages_sent_total.1`; characters other than letters, digits, `_` and `-`
become `_`.

Values of labels: `host` is the name of this machine or of a host of the bed, `core`, `disk` and `interface` are names
of the kernel, `quantile` is 0.5 or 0.99.
"""


def reference_page() -> str:
    """docs/reference/monitoring.md as text."""
    boards = {
        "Load generator": LOAD,
        **{
            title: tuple(metric for (source, _), metric in HEALTH.items() if source in sources)
            for title, sources in _BOARDS.items()
        },
    }
    lines = [_PAGE_HEAD]
    for title, metrics in boards.items():
        lines += [f"## {title}", "", "| name | kind | unit | labels | meaning |", "|---|---|---|---|---|"]
        lines += [
            f"| `{each.name}` | {each.kind} | {each.unit} | {', '.join(each.labels)} | {each.meaning} |"
            for each in metrics
        ]
        lines.append("")
    return "\n".join(lines)
