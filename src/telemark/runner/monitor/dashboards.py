"""Three Grafana dashboards over the metrics: system health, server, load generator. `make docs` writes their files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from telemark.runner.monitor import metrics
from telemark.runner.monitor.metrics import Metric
from telemark.store.health_metrics import CONSUMER, COUNTERS, ENGINE, HOST, SERVER

SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
WIDTH, HEIGHT = 12, 8  # of a panel; the grid is 24 wide


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart: queries, each with the legend of its lines."""

    title: str
    unit: str  # in Grafana's words
    queries: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Board:
    """One dashboard."""

    name: str  # of its file
    title: str
    panels: tuple[Panel, ...]


def _health(source: str, name: str) -> str:
    return metrics.HEALTH[source, name].name


def _per_second(name: str) -> str:
    return f"rate({name}[$__rate_interval])"


def _plain(*found: tuple[Metric, str]) -> tuple[tuple[str, str], ...]:
    return tuple((metric.name, legend) for metric, legend in found)


_LOAD = Board(
    "load-generator",
    "Telemark: load generator",
    (
        Panel("Phase", "none", ((f"{metrics.PHASE.name} == 1", "{{phase}}"),)),
        Panel("Devices", "none", _plain((metrics.DEVICES, "{{state}}"))),
        Panel(
            "Messages a second by QoS", "cps",
            (
                (_per_second(metrics.SENT.name), "sent, QoS {{qos}}"),
                (_per_second(metrics.RECEIVED.name), "received, QoS {{qos}}"),
            ),
        ),
        Panel("Latency of the last second", "s", _plain((metrics.LATENCY, "quantile {{quantile}}"))),
        Panel("Messages outstanding: lost so far, once sending has ended", "none",
              _plain((metrics.OUTSTANDING, "outstanding"))),
        Panel(
            "Errors a second", "cps",
            (
                (_per_second(metrics.DROPPED.name), "dropped by the engine"),
                (_per_second(metrics.DISCONNECTS.name), "disconnects"),
            ),
        ),
        Panel("Lateness of the engine", "s",
              _plain((metrics.SEND_DELAY, "send delay"), (metrics.LOOP_LAG, "loop lag"))),
        Panel(
            "CPU of engine and consumers", "none",
            (
                (_health(ENGINE, "cpu_cores"), "engine on {{host}}"),
                (_health(ENGINE, "busiest_thread_cores"), "busiest engine threads on {{host}}"),
                (_health(CONSUMER, "cpu_cores"), "consumers on {{host}}"),
            ),
        ),
    ),
)  # fmt: skip

_SERVER = Board(
    "server",
    "Telemark: server",
    (
        Panel(
            "Messages a second, by the server's own counters", "cps",
            (
                (_per_second(_health(COUNTERS, "messages_in")), "in"),
                (_per_second(_health(COUNTERS, "messages_out")), "out"),
                (_per_second(_health(COUNTERS, "messages_dropped")), "dropped"),
            ),
        ),
        Panel(
            "Connections and subscriptions", "none",
            ((_health(COUNTERS, "connections"), "connections"), (_health(COUNTERS, "subscriptions"), "subscriptions")),
        ),
        Panel(
            "CPU", "none",
            ((_health(SERVER, "cpu_cores"), "cores"), (_health(SERVER, "busiest_thread_cores"), "busiest thread")),
        ),
        Panel(
            "Memory", "bytes",
            ((_health(SERVER, "rss_bytes"), "resident"), (_health(SERVER, "pss_bytes"), "proportional")),
        ),
        Panel(
            "Messages that wait in the server", "none",
            ((_health(COUNTERS, "buffered_messages"), "all"), (_health(COUNTERS, "largest_queue"), "fullest queue")),
        ),
        Panel(
            "Bytes that wait in its sockets", "bytes",
            (
                (_health(SERVER, "receive_queue_bytes"), "unread"),
                (_health(SERVER, "send_queue_bytes"), "unsent"),
            ),
        ),
        Panel("Connections not accepted yet", "none", ((_health(SERVER, "accept_queue"), "waiting"),)),
        Panel("Threads and open files", "none",
              ((_health(SERVER, "threads"), "threads"), (_health(SERVER, "open_files"), "open files"))),
    ),
)  # fmt: skip

_SYSTEM = Board(
    "system-health",
    "Telemark: system health",
    (
        Panel("Busy, by core", "percentunit", ((_health(HOST, "cpu_busy"), "{{host}} {{core}}"),)),
        Panel("Taken by the hypervisor, by core", "percentunit", ((_health(HOST, "cpu_steal"), "{{host}} {{core}}"),)),
        Panel(
            "Memory", "bytes",
            (
                (_health(HOST, "memory_used_bytes"), "used on {{host}}"),
                (_health(HOST, "memory_available_bytes"), "available on {{host}}"),
            ),
        ),
        Panel("Disk, busy", "percentunit", ((_health(HOST, "disk_busy"), "{{host}} {{disk}}"),)),
        Panel("Disk, written", "Bps", ((_per_second(_health(HOST, "disk_write_bytes")), "{{host}} {{disk}}"),)),
        Panel("Network", "Bps", ((_per_second(_health(HOST, "network_bytes")), "{{host}} {{interface}}"),)),
        Panel("Network packets", "pps", ((_per_second(_health(HOST, "network_packets")), "{{host}} {{interface}}"),)),
        Panel(
            "TCP", "cps",
            (
                (_per_second(_health(HOST, "tcp_retransmits")), "segments sent again, {{host}}"),
                (_per_second(_health(HOST, "listen_overflows")), "connections turned away, {{host}}"),
            ),
        ),
    ),
)  # fmt: skip

BOARDS: Final = (_SYSTEM, _SERVER, _LOAD)


def render(board: Board) -> str:
    """The board as Grafana reads it."""
    document = {
        "uid": f"telemark-{board.name}",
        "title": board.title,
        "tags": ["telemark"],
        "schemaVersion": 36,
        "editable": True,
        "refresh": "5s",
        "time": {"from": "now-15m", "to": "now"},
        "templating": {
            "list": [{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Source"}]
        },
        "panels": [_panel(number, panel) for number, panel in enumerate(board.panels)],
    }
    return json.dumps(document, indent=1)


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": SOURCE,
        "gridPos": {"x": number % 2 * WIDTH, "y": number // 2 * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + place), "datasource": SOURCE, "expr": query, "legendFormat": legend}
            for place, (query, legend) in enumerate(panel.queries)
        ],
    }
