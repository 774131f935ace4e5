"""A run watched by the real Prometheus and the real carbon: their last counts are those of the records."""

from __future__ import annotations

from pathlib import Path

import pytest

from telemark.host.ports import free_ports
from telemark.runner.monitor.dashboards import BOARDS
from telemark.store.reader import read_records
from tests.support.telemark_program import TelemarkProgram
from tests.support.waiting import eventually
from tests.support.watchers import Prometheus, carbon, prometheus

pytestmark = pytest.mark.live


def recorded(run: Path) -> dict[str, float]:
    """What the records of a run count, by names of counters."""
    counters = read_records(run, "counters", ["sent", "received", "intended", "acked", "dropped", "disconnects"])
    health = read_records(run, "health", ["time_ns", "source", "instance", "metric", "value"]).sort_by("time_ns")
    rows = health.to_pylist()
    network = sum(row["value"] for row in rows if row["metric"] == "network_bytes" and row["instance"] == "lo")
    server_in = [row["value"] for row in rows if row["metric"] == "messages_in"][-1]
    return {
        "messages_sent_total": sum(counters["sent"].to_pylist()),
        "messages_received_total": read_records(run, "deliveries", ["stream"]).num_rows,
        "messages_intended_total": sum(counters["intended"].to_pylist()),
        "messages_acknowledged_total": sum(counters["acked"].to_pylist()),
        "messages_dropped_total": sum(counters["dropped"].to_pylist()),
        "disconnects_total": sum(counters["disconnects"].to_pylist()),
        "host_network_bytes_total": network,
        "server_messages_in_total": server_in,
    }


def test_the_last_counts_of_prometheus_and_carbon_are_those_of_the_records(tmp_path: Path) -> None:
    """Two engine processes, QoS 1; the page stays until Prometheus has read it. Every dashboard query is understood."""
    port = free_ports(1)[0]
    with prometheus(tmp_path, port) as watcher, carbon(tmp_path) as daemon:
        arguments = ["load", "--server", "loopback", "--publishers", "4", "--rate", "300", "--duration", "12"]
        more = ["--qos", "1", "--processes", "2", "--no-analyze", "--out", str(tmp_path / "runs")]
        watching = ["--prometheus", str(port), "--graphite", str(daemon.port)]
        with TelemarkProgram(*arguments, *more, *watching) as program:
            program.wait_for_phase("measure")
            assert eventually(lambda: watcher.ask('telemark_phase{phase="measure"} == 1'))
            assert eventually(lambda: watcher.ask('telemark_latency_seconds{quantile="0.99"} > 0'))
            assert eventually(lambda: not unanswered(watcher)), unanswered(watcher)
            assert 0 == program.wait(), program.errors
        expected = recorded(Path(program.ended()["folder"]))
        labels = {"host_network_bytes_total": '{interface="lo"}'}
        read = {
            name: sum(value for _, value in watcher.ask(f"last_over_time(telemark_{name}{labels.get(name, '')}[10m])"))
            for name in expected
        }
        paths = {"messages_sent_total": "1", "messages_received_total": "1"}

        assert expected == read
        assert expected["messages_sent_total"] == expected["messages_received_total"] > 0
        for name in ("messages_intended_total", "disconnects_total"):
            assert eventually(lambda name=name: daemon.last(f"telemark.{name}") == expected[name]), name
        for name, qos in paths.items():
            path = f"telemark.{name}.{qos}"
            assert eventually(lambda path=path, name=name: daemon.last(path) == expected[name]), path


def unanswered(watcher: Prometheus) -> list[str]:
    """Queries of the dashboards without any series; a rate has one from the second reading on."""
    queries = [query for board in BOARDS for panel in board.panels for query, _ in panel.queries]
    wanted = [query for query in queries if not any(word in query for word in ("consumer", "pss", "outstanding"))]
    return [query for query in wanted if not watcher.ask(query.replace("$__rate_interval", "5m"))]
