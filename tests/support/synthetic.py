"""Made-up campaign folders for tests of reports: run.json files and result tables, no engine and no Spark."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from telemark.catalog import load
from telemark.catalog.published import match
from telemark.errors import ConfigError
from telemark.model.case import Case, Statistics
from telemark.store.result_reader import ANALYSED, Analysed
from telemark.store.results import RESULTS_VERSION, TABLES
from tests.support.synthetic_tables import FakeRun, tables_of

SECOND = 1_000_000_000
BUILT_IN = load()
HEADLINES: dict[str, tuple[str, Statistics]] = {
    "idle": ("connect_rate", "connect"),
    "every": ("peak_received_rate", "latency"),
}
COMPARED = (
    "clock_error_us",
    "received_rate", "latency_mean_us", "latency_p50_us", "latency_p95_us", "latency_p99_us", "server_cpu_cores_mean",
    "server_rss_bytes_max", "connect_rate", "connect_mean_us", "lost", "sent",
)  # fmt: skip


def make_campaign(folder: Path, runs: Sequence[FakeRun]) -> Path:
    """Write a campaign folder holding these runs, analysed."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "campaign.json").write_text(json.dumps({"format": 1, "campaign": folder.name, "results_version": 1}))
    points: list[dict[str, Any]] = []
    for number, fake in enumerate(runs, 1):
        run = f"{number:03d}-{fake.name}"
        write_run_file(folder, run, fake)
        tables = tables_of(folder.name, run, fake)
        points += tables["points"].to_pylist()
        for name, table in tables.items():
            target = folder / "results" / name / f"run={run}"
            target.mkdir(parents=True)
            pq.write_table(table, target / "part-0.parquet")
        note = folder / "results" / ANALYSED / f"{run}.json"
        note.parent.mkdir(exist_ok=True)
        note.write_text(Analysed(run, RESULTS_VERSION, "made up").as_json())
    _write_whole(folder, "comparison", comparison_of(points))
    _write_whole(folder, "scaling", [])
    return folder


def _write_whole(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    target = folder / "results" / name
    target.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, TABLES[name]), target / "part-0.parquet")


def comparison_of(points: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The comparison table of these points, with a normal-theory interval over repeats."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    keys = ("suite", "scenario", "point", "size", "campaign", "server", "profile")
    for row in points:
        groups[tuple(row[key] for key in keys)].append(row)
    return [
        dict(zip(keys, group, strict=True)) | {"metric": metric} | _spread([row[metric] for row in rows])
        for group, rows in groups.items()
        for metric in COMPARED
        if rows[0][metric] is not None
    ]


def _spread(values: list[float]) -> dict[str, Any]:
    found = np.array(values, dtype=float)
    several = len(found) > 1
    half = 2.0 * found.std(ddof=1) / np.sqrt(len(found)) if several else 0.0
    mean = float(found.mean())
    return {
        "repeats": len(found), "mean": mean, "median": float(np.median(found)),
        "low": mean - half if several else None, "high": mean + half if several else None,
        "spread": float((found.max() - found.min()) / mean) if several and mean else None,
    }  # fmt: skip


def case_of(fake: FakeRun) -> Case:
    """The case as a plan carries it: words and published values of a built-in scenario, none for any other name."""
    headline, statistics = HEADLINES.get(fake.shape, ("received_rate", "latency"))
    try:
        scenario = BUILT_IN.find(f"{fake.suite}/{fake.scenario}")
    except ConfigError:
        return Case(headline=headline, statistics=statistics)
    if scenario.measures == "memory":
        headline = "server_bytes_per_connection"
    return Case(
        scenario.title, scenario.about, scenario.measures, headline, statistics, scenario.where, scenario.suite_title,
        match(scenario.published, fake.parameters),
    )  # fmt: skip


def write_run_file(folder: Path, run: str, fake: FakeRun) -> Path:
    """Write the run.json of one run."""
    start = 1_000 * SECOND
    content = {
        "format": 2, "run": run, "campaign": folder.name, "telemark_version": "0.1.0", "state": fake.state,
        "reason": fake.reason, "suite": fake.suite, "scenario": fake.scenario, "point": fake.point, "size": fake.size,
        "parameters": fake.parameters, "repeat": fake.repeat, "seed": fake.seed,
        "server": {
            "name": fake.server, "version": fake.version, "profile": fake.profile,
            "profile_note": "keeps everything in memory", "capabilities": ["mqtt-3.1.1"],
            "endpoints": {"plain": {"host": "127.0.0.1", "port": 18830, "security": "none"}},
        },
        "plan": {
            "suite": fake.suite, "scenario": fake.scenario, "point": fake.point, "size": fake.size,
            "groups": [{"name": "publishers", "count": fake.publishers}],
            "load": {"shape": fake.shape, "rate": fake.rate}, "phases": {"measure_s": fake.seconds},
            "notes": list(fake.notes), "case": asdict(case_of(fake)),
        },
        "processes": 1, "thresholds": list(fake.thresholds), "notes": list(fake.notes),
        "host": {
            "name": "bench-1", "fingerprint": fake.host, "cpu": "Example CPU 3.0 GHz", "cores": 2,
            "memory_bytes": 24 * 2**30, "kernel": "6.1.0", "os": "Debian 12", "boot_id": "b00t",
        },
        "versions": {"python": "3.11.7", "pyspark": "4.3.0"}, "pinning": {"server": [0], "engine": [1]},
        "start_ns": start,
        "phases": {
            "connect": [start - 3 * SECOND, start],
            "warmup": [start, start + fake.warmup * SECOND],
            "measure": [start + fake.warmup * SECOND, start + fake.seconds * SECOND],
            "drain": [start + fake.seconds * SECOND, start + (fake.seconds + 1) * SECOND],
        },
        "started_at": "2026-03-01T12:00:00+00:00", "ended_at": "2026-03-01T12:01:00+00:00",
        "clock": {"source": "CLOCK_MONOTONIC", "hosts": [{"host": "bench-1", "offset_ns": 0, "error_ns": 0}]},
        "calibration": None,
    }  # fmt: skip
    target = folder / run
    target.mkdir(parents=True, exist_ok=True)
    (target / "run.json").write_text(json.dumps(content))
    return target
