"""Whose clocks a latency was read from."""

from __future__ import annotations

import pyarrow as pa
import pytest

from telemark.pipeline.tables.clocks import RunClocks
from telemark.store.documents.run import BedHostPart, RunFile

ROUND_TRIP_NS = 100_000


def exchanges(*hosts: str) -> pa.Table:
    """Two seconds of exchanges of each host, every 100 ms, with a symmetric delay."""
    rows = [
        {"host": host, "asked_ns": at, "told_ns": at + ROUND_TRIP_NS // 2, "answered_ns": at + ROUND_TRIP_NS}
        for host in hosts
        for at in range(0, 2_000_000_000, 100_000_000)
    ]
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize(
    ("roles", "shared"),
    [
        ({"a": ["server"], "b": ["publishers", "subscribers"]}, True),
        ({"a": ["server", "publishers"], "b": ["subscribers"]}, False),
        ({"a": ["server"], "b": ["publishers"], "c": ["consumers"]}, False),
    ],
)
def test_only_hosts_that_send_or_receive_make_a_latency_uncertain(roles: dict[str, list[str]], shared: bool) -> None:
    """The server's clock is no part of a latency; devices on one host share theirs."""
    hosts = tuple(
        BedHostPart(host=name, roles=found, processes=[number], facts={})
        for number, (name, found) in enumerate(roles.items())
    )
    facts = RunFile(run="r", campaign="c", hosts=hosts)

    error = RunClocks.of(facts, exchanges(*roles)).error_ns(facts)

    assert (error == 0) is shared
