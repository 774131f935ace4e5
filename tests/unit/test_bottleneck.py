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
    "host_cores": 2,
    "host": "here",
    "server_host": "here",
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
    found = find_bottleneck(IDLE | change)

    assert (side, part) == (found.side, found.part)
    assert found.evidence


def test_no_resource_at_its_limit_is_unknown_not_a_guess() -> None:
    assert find_bottleneck(IDLE).side == "unknown"


def test_missing_samples_prove_nothing() -> None:
    assert find_bottleneck(dict.fromkeys(IDLE)).side == "unknown"


def test_a_finding_says_so_when_the_engine_was_near_its_limit_too() -> None:
    """Server and engine at their limits together: which of them gave out first is not clear."""
    point = {"server_cpu_cores_mean": 0.97, "server_busiest_thread_cores": 0.97, "engine_busiest_thread_cores": 0.92}

    assert "92%" in find_bottleneck(point).doubt
    assert "" == find_bottleneck(point | {"engine_busiest_thread_cores": 0.4}).doubt


def test_the_cores_that_count_are_those_of_the_servers_host() -> None:
    """Three of four cores are not all; what the engine uses elsewhere is no share of them."""
    remote = IDLE | {"server_host": "far", "host_cores": 4, "host_cpu_busy_mean": 0.97, "server_cpu_cores_mean": 1.8}

    found = find_bottleneck(remote)

    assert ("host", "all 4 cores together were 97% busy") == (found.side, found.evidence[0])
    assert not any("engine" in text for text in found.evidence)


def test_a_server_whose_host_was_not_sampled_says_so() -> None:
    """Nothing near its limit means little when half was not looked at."""
    found = find_bottleneck(dict.fromkeys(IDLE))

    assert any("--server-metrics" in text for text in found.evidence)
