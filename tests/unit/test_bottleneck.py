"""Which side gave out first, from figures whose cause is known."""

from __future__ import annotations

from typing import Any

import pytest

from telemark.verdicts.bottleneck import find_bottleneck

IDLE: dict[str, Any] = {
    "engine_bound": False,
    "server_cpu_cores_mean": 0.3,
    "server_busiest_thread_cores": 0.2,
    "host_cpu_busy_mean": 0.4,
    "disk_busy_max": 0.1,
    "tcp_retransmits": 0.0,
    "receive_queue_bytes_server_max": 100.0,
    "receive_queue_bytes_engine_max": 100.0,
}


@pytest.mark.parametrize(
    ("change", "side", "part"),
    [
        ({"server_busiest_thread_cores": 0.98}, "server", "one thread"),
        ({"server_cpu_cores_mean": 1.9, "server_busiest_thread_cores": 0.97}, "server", "all cores"),
        ({"disk_busy_max": 0.99}, "disk", "writes"),
        ({"host_cpu_busy_mean": 0.97}, "host", "all cores"),
        ({"tcp_retransmits": 500.0}, "network", "loss"),
        ({"receive_queue_bytes_server_max": 1e6}, "server", "reading"),
        ({"receive_queue_bytes_engine_max": 1e6}, "engine", "reading"),
        ({"engine_bound": True, "server_busiest_thread_cores": 1.0}, "engine", "load generator"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "-".join(value),
)
def test_the_resource_at_its_limit_is_named(change: dict[str, Any], side: str, part: str) -> None:
    found = find_bottleneck(IDLE | change, cores=2)

    assert (side, part) == (found.side, found.part)
    assert found.evidence


def test_no_resource_at_its_limit_is_unknown_not_a_guess() -> None:
    assert find_bottleneck(IDLE, cores=2).side == "unknown"


def test_missing_samples_prove_nothing() -> None:
    assert find_bottleneck(dict.fromkeys(IDLE), cores=2).side == "unknown"
