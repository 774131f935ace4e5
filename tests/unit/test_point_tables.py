"""The small tables: owed, integrity, resources, points, scaling and comparison, without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from telemark.errors import DataError
from telemark.pipeline.batch import RunBatch, batches, per_run
from telemark.pipeline.messages.keys import bucket_width_bits, duration_keys
from telemark.pipeline.spark.reading import run_of_file
from telemark.pipeline.tables import health
from telemark.pipeline.tables.comparison import comparison_rows
from telemark.pipeline.tables.cores import core_rows
from telemark.pipeline.tables.counted import Here
from telemark.pipeline.tables.intervals import interval_rows
from telemark.pipeline.tables.latency import buckets, latency_rows
from telemark.pipeline.tables.offenders import MOST, first_thousand
from telemark.pipeline.tables.points import Parts, peak_egress, rows_of
from telemark.pipeline.tables.resources import HealthOfRun, Work, resource_row
from telemark.pipeline.tables.scaling import scaling_rows
from telemark.store.layout import RunFolder
from telemark.store.schemas import HEALTH
from tests.support.run_builder import END, SECOND, START, WARM_UNTIL, facts


def run_folder(**changes: Any) -> RunFolder:
    folder = Path("/nowhere/campaign/001")
    return RunFolder(str(folder), facts(folder, **changes))


def parts(run: RunFolder, **changes: Any) -> Parts:
    values: dict[str, Any] = {
        "run": run, "intervals": [], "latency": [], "integrity": {}, "connections": {}, "refusals": 0, "health": [],
    }  # fmt: skip
    return Parts(**(values | changes))


def test_a_run_without_anything_has_a_row_of_nulls_and_no_division_by_zero() -> None:
    """Never zero, never a pass."""
    point, _ = rows_of(parts(run_folder(phases={}, start_ns=None, state="failed", reason="server died")))

    assert ("failed", "server died") == (point["state"], point["reason"])
    assert all(point[name] is None for name in ("received_rate", "sent", "lost", "latency_p50_us", "connections"))
    assert point["engine_bound"] is False
    assert point["steady"] is None


def counters(received: int = 1000) -> dict[int, dict[str, Any]]:
    names = ("intended", "sent", "received", "acked", "dropped", "sent_bytes", "received_bytes", "connected")
    row = dict.fromkeys(names, 1000) | {"dropped": 0, "received": received, "disconnects": 0, "pushed_back": 0}
    return {second: row | {"loop_lag_max_us": 100.0 + second} for second in range(4)}


def test_rates_are_over_the_full_seconds_of_the_measure_phase_and_counts_over_the_run() -> None:
    """Second 0 is warm-up here, 1 to 3 are measured."""
    run = run_folder()
    cells = counters()
    cells[0] = cells[0] | {"received": 10}
    point, _ = rows_of(parts(run, intervals=interval_rows(run, cells), integrity={"owed": 4000, "lost": 990}))

    assert (1000.0, 3010) == (point["received_rate"], point["received"])
    assert (3.0, 103.0) == (point["measure_s"], point["loop_lag_max_us"])


def test_little_headroom_and_its_lack_are_warnings() -> None:
    """Below 1.3 the row is marked."""
    ceiling = {"ceiling_rate": 1200.0, "ceiling_shape": "paced", "ceiling_connections": 200}
    run = run_folder(calibration=ceiling, plan={"load": {"shape": "paced"}})
    point, _ = rows_of(parts(run, intervals=interval_rows(run, counters())))
    without, _ = rows_of(parts(run_folder(), intervals=interval_rows(run, counters())))

    assert 1.2 == pytest.approx(point["engine_headroom"])
    assert any("headroom is 1.20x" in warning for warning in point["warnings"])
    assert without["engine_headroom"] is None
    assert any("headroom unknown" in warning for warning in without["warnings"])


def test_lost_messages_are_not_called_a_growing_backlog() -> None:
    """A tenth of every second's messages never arrives: that is loss, and loss only."""
    run = run_folder(phases={"measure": (START, START + 12 * SECOND)})
    row = counters(900)[0]
    intervals = interval_rows(run, dict.fromkeys(range(12), row))
    latency = [each | {"latency_p50_us": 500.0} for each in intervals]
    point, _ = rows_of(parts(run, intervals=latency, integrity={"owed": 12_000, "lost": 1_200}))

    assert (True, True) == (point["steady"], point["sustained"]), point["steady_reason"]


def sample(time_ns: int, source: str, instance: str, metric: str, value: float) -> dict[str, Any]:
    return {"time_ns": time_ns, "source": source, "instance": instance, "metric": metric, "value": value}


def test_health_sums_processes_compares_cores_and_keeps_idle_apart() -> None:
    """Two server processes are one server; the busiest core is the one with the highest mean."""
    before = START - 11 * SECOND
    rows = [sample(before, "server", "1", "rss_bytes", 1e6)]
    for second in range(1, 4):
        at = START + second * SECOND + 5
        rows += [sample(at, "server", pid, "rss_bytes", 3e6) for pid in ("1", "2")]
        rows += [sample(at, "host", "cpu0", "cpu_busy", 0.5), sample(at, "host", "cpu1", "cpu_busy", second / 10)]
    run = run_folder()
    samples = health.timed(pa.Table.from_pylist(rows, schema=HEALTH), run)
    seconds = health.by_second(samples)
    point, resources = rows_of(
        parts(run, health=health.phase_rows(samples, seconds), connections={"connections": 10, "connect_failures": 0})
    )

    assert (6_000_000, 1_000_000) == (resources["server_rss_bytes_max"], resources["server_rss_bytes_idle"])
    assert 500_000.0 == resources["server_bytes_per_connection"]
    assert 0.5 == pytest.approx(point["host_core_busy_max"])
    assert 0.35 == pytest.approx(point["host_cpu_busy_mean"])
    assert {(1, 0, 0.5), (1, 1, 0.1)} <= {(r["second"], r["core"], r["busy"]) for r in core_rows(samples)}
    assert resources["server_cpu_cores_mean"] is None


def test_the_cpu_of_the_host_includes_waiting_and_memory_and_heap_have_columns() -> None:
    """MQ Telemetry's procedures: 100 - idle, the machine's memory, the heap that a collection left."""
    before = START - 11 * SECOND
    rows = [sample(before, "counters", "", "heap_bytes", 1e6), sample(before, "host", "", "memory_used_bytes", 2e9)]
    for second in range(1, 4):
        at = START + second * SECOND + 5
        rows += [sample(at, "host", core, "cpu_idle", 0.5) for core in ("cpu0", "cpu1")]
        rows += [sample(at, "host", "cpu0", "cpu_wait", 0.2), sample(at, "host", "cpu1", "cpu_wait", 0.0)]
        rows += [sample(at, "counters", "", "heap_bytes", 3e6 + second)]
        rows += [sample(at, "host", "", "memory_used_bytes", 2.5e9 + second)]
    run = run_folder()
    samples = health.timed(pa.Table.from_pylist(rows, schema=HEALTH), run)
    by_phase = health.phase_rows(samples, health.by_second(samples))
    point, _ = rows_of(parts(run, health=by_phase, connections={"connections": 10, "connect_failures": 0}))

    assert 0.6 == pytest.approx(point["host_cpu_not_idle_mean"])
    assert (3_000_003, 1_000_000) == (point["server_heap_bytes_max"], point["server_heap_bytes_idle"])
    assert 200_000.2 == pytest.approx(point["server_heap_bytes_per_connection"])
    assert 2_500_000_003 == point["host_memory_used_bytes_max"]
    assert 2_000_000_000 == point["host_memory_used_bytes_idle"]


def test_the_peak_egress_is_averaged_over_five_seconds_of_the_servers_count() -> None:
    """128K messages at once are 25.6K a second on the report's dashboard; a gap in the counter is bridged by none."""
    count = [0.0] * 6 + [128_000.0] * 12
    rows = [{"second": second, "server_messages_out": value} for second, value in enumerate(count)]

    assert 25_600.0 == peak_egress(rows)
    assert peak_egress(rows[:5]) is None
    assert peak_egress([{"second": 0, "server_messages_out": None}]) is None


def test_a_servers_cpu_is_also_a_share_of_all_cores_and_a_mark_has_its_source() -> None:
    """ScalAgent's 50 % are one of two cores; the server's own high-water mark goes before our samples."""
    figures = {"mean_all": 0.0, "mean_each": 0.0, "max_all": 0.0, "max_largest": 0.0, "busiest": 0.0, "total": 0.0}

    def row(source: str, metric: str, **known: float) -> dict[str, object]:
        return {"source": source, "metric": metric, "phase": "measure", **figures, **known}

    rows = [row("server", "cpu_cores", mean_all=1.0), row("host", "cpu_busy", mean_all=1.2, mean_each=0.6)]
    sampled = [*rows, row("counters", "largest_queue", max_all=70.0)]
    marked = [*sampled, row("counters", "largest_queue_hwm", max_all=90.0)]
    work = Work(1.0, 10, 2)
    found = [resource_row(HealthOfRun(given, "measure"), work, None) for given in (rows, sampled, marked)]

    assert {0.5} == {each["server_cpu_share_mean"] for each in found}
    assert [(None, None), (70.0, "samples"), (90.0, "server")] == [
        (each["buffered_hwm"], each["buffered_hwm_source"]) for each in found
    ]


def test_seconds_before_the_start_are_negative() -> None:
    """Half a second before the start is second -1."""
    row = sample(START - SECOND // 2, "server", "1", "rss_bytes", 1.0)

    assert [-1] == health.timed(pa.Table.from_pylist([row], schema=HEALTH), run_folder())["second"].to_pylist()


def test_buckets_are_exact_when_small_and_within_a_percent_when_large() -> None:
    """The plot is as wide as a pixel."""
    for us in (0, 1, 127, 128, 1_000, 123_456, 10**9):
        (bits,) = bucket_width_bits(np.array([us])).tolist()
        assert (1 << bits) <= max(us * 0.01, 1)


def test_percentiles_between_two_ranks_are_by_straight_line() -> None:
    """As every statistics program does by default."""
    keys = duration_keys(0, "latency", "measure", np.array([1, 2, 3, 4]) * 1000)
    durations = pa.table({"key": keys, "n": [1, 1, 1, 1]})

    (row,) = latency_rows(Here(durations), buckets(durations))[0]

    assert (2.5, pytest.approx(3.97)) == (row["p50_us"], row["p99_us"])


def test_a_scarce_kind_of_offender_is_not_crowded_out() -> None:
    """A thousand lines hold all of the few and as many of the many as fit."""
    many, few = [{"kind": "lost"}] * 5000, [{"kind": "duplicate"}] * 3

    chosen = first_thousand([many, few])

    assert (MOST, 3) == (len(chosen), sum(row["kind"] == "duplicate" for row in chosen))


def test_small_runs_share_a_batch_and_large_ones_go_alone() -> None:
    """At most 32 together: their number has five bits."""
    runs = [run_folder()] * 40

    assert [32, 8] == [len(batch.runs) for batch in batches(runs, [1] * 40, 100)]
    assert [1, 1, 10] == [len(b.runs) for b in [*batches(runs[:2], [900, 900], 100), RunBatch(tuple(runs[:10]))]]


def test_a_number_of_each_run_is_looked_up_only_where_runs_differ() -> None:
    """A literal costs nothing."""
    assert per_run([7, 7]) == "7L"
    assert per_run([7, 8]) == "array(7L, 8L)[r]"


def test_a_file_is_known_by_the_folder_it_lies_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative, absolute, with characters a URL escapes, behind URLs that differ in the host only."""
    monkeypatch.chdir(tmp_path)
    folders = (
        "a/deliveries",
        "./b/a/deliveries",
        "/c/a b%/deliveries",
        "s3a://one/a/deliveries",
        "s3a://two/a/deliveries",
    )
    files = (
        f"file://{tmp_path}/a/deliveries/0.parquet",
        f"file:{tmp_path}/b/a/deliveries/0.parquet",
        "file:///c/a%20b%25/deliveries/0.parquet",
        "s3a://one/a/deliveries/0.parquet",
        "s3a://two/a/deliveries/0.parquet",
    )
    runs = {folder: number for number, folder in enumerate(folders)}

    assert [run_of_file(file, runs) for file in files] == list(range(5))


def test_a_file_of_no_run_is_refused() -> None:
    """Rather than counted for another run."""
    with pytest.raises(DataError, match="none of the runs"):
        run_of_file("file:///data/x/deliveries/0.parquet", {"/data/y/deliveries": 0})


def point(**changes: Any) -> dict[str, Any]:
    values = {"campaign": "c", "server": "s", "suite": "u", "scenario": "x", "state": "complete", "repeat": 0}
    return values | {"parameters": "{}", "engine_bound": False} | changes


def test_memory_per_connection_is_the_slope_over_the_points() -> None:
    """With its interval; a failed run takes no part."""
    points = [
        point(connections=n, server_rss_bytes_max=5_000_000 + 2_000 * n, parameters=f'{{"qos": 1, "publishers": {n}}}')
        for n in (100, 200, 400)
    ]
    points.append(point(connections=800, server_rss_bytes_max=1, state="failed", parameters='{"qos": 1}'))

    row = next(row for row in scaling_rows(points) if row["y"] == "server_rss_bytes_max")

    assert ("qos=1", 3) == (row["series"], row["points"])
    assert (pytest.approx(2_000), pytest.approx(5_000_000)) == (row["slope"], row["intercept"])
    assert row["slope_low"] <= 2_000.001


def test_repeats_of_a_point_are_summed_up_by_side() -> None:
    """One row per server and metric; runs without a verdict are left out."""
    points = [point(server=s, received_rate=r) for s, r in (("a", 10.0), ("a", 14.0), ("b", 5.0))]
    points.append(point(server="b", received_rate=99.0, engine_bound=True))

    rows = {row["server"]: row for row in comparison_rows(points) if row["metric"] == "received_rate"}

    assert (2, 12.0, 1, 5.0) == (rows["a"]["repeats"], rows["a"]["mean"], rows["b"]["repeats"], rows["b"]["mean"])
    assert rows["b"]["low"] is None


def test_the_measure_phase_of_the_builder_is_three_seconds() -> None:
    """The tests above rest on it."""
    assert 3 * SECOND == END - WARM_UNTIL
