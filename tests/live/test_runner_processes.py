"""Devices over several engine processes: one start, one run folder, nothing lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from telemark.catalog import load, plan_points
from telemark.model.plan import RunPlan
from telemark.model.slicing import HostLimits
from telemark.runner.run_point import PointJob, run_point
from telemark.servers import registry
from telemark.store.documents.run import RunFile
from telemark.store.reader import read_records
from tests.support.integrity import count

pytestmark = pytest.mark.live

FORTY_DEVICES_EACH = HostLimits(open_files=140)  # a hundred are kept for the process itself


def point(name: str, **overrides: int) -> RunPlan:
    """The first point of a case at its quick size, shortened to a second."""
    first = plan_points(load().find(name), "quick", {**overrides, "duration": 1})[0]
    return replace(first, phases=replace(first.phases, warmup_s=0.2))


def test_several_processes_start_together_and_lose_nothing(tmp_path: Path) -> None:
    """A hundred devices with room for forty in a process: every stream begins within the first second of the start."""
    plan = point("messagesight/FANIN.Q1.PERSISTENT.PARTITIONS", publishers=100)
    job = PointJob(plan, tmp_path / "run", "c", limits=FORTY_DEVICES_EACH)
    outcome = run_point(job, registry.make("loopback"))
    facts = RunFile.read(outcome.folder)
    counted = count(outcome.folder)
    streams = read_records(outcome.folder, "streams", ["stream", "process"])
    deliveries = read_records(outcome.folder, "deliveries", ["stream", "intended_ns"])
    first = deliveries.join(streams, "stream").group_by("process").aggregate([("intended_ns", "min")])
    start = facts.start_ns or 0

    assert outcome.state == "complete", outcome.reason
    assert facts.processes >= 3
    assert counted.sent > 0
    assert (counted.lost, counted.duplicate) == (0, 0)
    assert first.num_rows == facts.processes
    assert all(start <= due < start + 1_000_000_000 for due in first["intended_ns_min"].to_pylist())


def test_a_closed_loop_over_several_processes_is_fed_by_relayed_credits(tmp_path: Path) -> None:
    """Messages are sent by some processes and received by others; the window keeps turning until the limit."""
    plan = point("mq-telemetry/multi-publisher-single-subscriber", publishers=100)
    plan = replace(plan, load=replace(plan.load, limit=5000), phases=replace(plan.phases, measure_s=20))
    outcome = run_point(PointJob(plan, tmp_path / "run", "c", limits=FORTY_DEVICES_EACH), registry.make("loopback"))
    counted = count(outcome.folder)

    assert outcome.state == "complete", outcome.reason
    assert RunFile.read(outcome.folder).processes >= 3
    assert counted.sent == 5000
    assert counted.lost == 0


def test_more_devices_than_ports_of_one_address_use_several_addresses(tmp_path: Path) -> None:
    """The limit is made small here; the connections come from more than one address of 127.0.0.0/8 and all succeed."""
    plan = point("open-mqtt/conn-tcp-1M-5K", devices=120)
    plan = replace(plan, phases=replace(plan.phases, hold_s=0.2), connect_rate=500)
    job = PointJob(plan, tmp_path / "run", "c", limits=HostLimits(open_files=1024, source_ports=50))
    outcome = run_point(job, registry.make("loopback"))
    results: pa.ChunkedArray = read_records(outcome.folder, "connections")["result"]

    assert outcome.state == "complete", outcome.reason
    assert results.to_pylist() == ["ok"] * 120
