"""The bottleneck and the busiest threads of every run, and the stretches of a run whose rate was changed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from telemark.pipeline.tables.threads import thread_rows
from telemark.report.charts.over_time import stretches
from telemark.report.limiting_side import bottleneck_fact, threads_table
from telemark.report.notices import notices_of
from telemark.report.source import RunSource

SAMPLES = [
    ("measure", "server", "7", "busiest_thread_cores", 0.9),
    ("measure", "server", "7/8 io <1>", "thread_cores", 0.9),
    ("measure", "server", "7/9 timer", "thread_cores", 0.4),
    ("measure", "server", "7", "busiest_thread_cores", 0.7),
    ("measure", "server", "7/8 io <1>", "thread_cores", 0.7),
    ("drain", "server", "7/9 timer", "thread_cores", 1.0),
    ("measure", "engine", "5", "busiest_thread_cores", 0.2),
    ("measure", "engine", "5/6 devices-0", "thread_cores", 0.2),
    ("measure", "engine", "no thread at all", "thread_cores", 0.2),
]


def rows() -> list[dict[str, object]]:
    names = ("phase", "source", "instance", "metric", "value")
    return thread_rows(pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in SAMPLES]), "measure")


def run(**point: object) -> RunSource:
    return RunSource(Path("r"), "r", {}, {"points": [point], "threads": rows()})


def test_threads_have_the_mean_over_all_looks_at_their_process() -> None:
    """A thread that is among the busiest at one of two looks only used at most half of what it used then."""
    found = [(row["side"], row["thread_id"], row["thread_cores_mean"], row["thread_cores_max"]) for row in rows()]

    assert [("server", 8, 0.8, 0.9), ("server", 9, 0.2, 0.4), ("engine", 6, 0.2, 0.2)] == found
    assert ["io <1>", "timer", "devices-0"] == [row[1].text for row in threads_table("x", run()).rows]


def test_every_run_names_its_bottleneck_with_the_thread_that_was_busiest() -> None:
    server = bottleneck_fact(run(server_busiest_thread_cores=0.97, server_cpu_cores_mean=1.0, server_host="a"))
    engine = bottleneck_fact(run(engine_bound=True, engine_bound_reason="it was late"))
    nothing = bottleneck_fact(run(server_host="a"))

    assert "server (one thread): the server's busiest thread used 97% of a core" in server.value
    assert "busiest: io <1> (thread 8)" in server.value
    assert "engine (load generator): it was late" == engine.value
    assert nothing.value.startswith("none found: no resource was near its limit")
    assert "not known: the run has no numbers" == bottleneck_fact(RunSource(Path("r"), "r", {})).value


def test_a_phase_is_cut_where_the_rate_was_changed_and_the_reader_is_told() -> None:
    cuts = [(5, 100.0), (30, 25000.0)]
    changed = RunSource(Path("r"), "r", {"rate_changes": [{"at_ns": at, "rate": rate} for at, rate in cuts]})

    assert [("measure", 10, 30), ("measure, 25,000/s", 30, 50)] == stretches("measure", 10, 50, cuts)
    assert [("drain", 50, 60)] == stretches("drain", 50, 60, cuts)
    assert any("to 100, 25,000 messages a second" in notice.text for notice in notices_of(changed))
