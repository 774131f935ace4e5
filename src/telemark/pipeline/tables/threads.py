"""`threads`: the busiest threads of server, engine and consumers, by name and id."""

from __future__ import annotations

import re
from collections import defaultdict

import pyarrow as pa
import pyarrow.compute as pc

from telemark.pipeline.tables import Row

MOST_THREADS = 20  # of one side
_INSTANCE = re.compile(r"(\d{1,10})/(\d{1,10}) (.{0,64})", re.DOTALL)


def thread_rows(samples: pa.Table, phase: str | None) -> list[Row]:
    """Rows of the table, but for the names of campaign and run. `samples`: see `health.timed`."""
    inside = samples.filter(pc.equal(samples["phase"], pa.scalar(phase, pa.string())))
    looks = _looks(inside)
    used: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in inside.filter(pc.equal(inside["metric"], "thread_cores")).to_pylist():
        used[row["source"], row["instance"]].append(row["value"])
    rows = [
        _row(side, found, values, looks) for (side, name), values in used.items() if (found := _INSTANCE.match(name))
    ]
    rows.sort(key=lambda row: (row["side"], -row["thread_cores_mean"]))
    return [row for side in ("server", "engine", "consumer") for row in _first(rows, side)]


def _looks(samples: pa.Table) -> dict[tuple[str, str], int]:
    """How often each process was looked at; a thread that is not among the busiest at a look has no sample of it."""
    looked = samples.filter(pc.equal(samples["metric"], "busiest_thread_cores"))
    counts = looked.group_by(["source", "instance"]).aggregate([("value", "count")]).to_pylist()
    return {(row["source"], row["instance"]): row["value_count"] for row in counts}


def _row(side: str, found: re.Match[str], values: list[float], looks: dict[tuple[str, str], int]) -> Row:
    return {
        "side": side,
        "process_id": int(found[1]),
        "thread_id": int(found[2]),
        "thread_name": found[3],
        "thread_cores_mean": sum(values) / max(looks.get((side, found[1]), 0), len(values)),
        "thread_cores_max": max(values),
    }


def _first(rows: list[Row], side: str) -> list[Row]:
    return [row for row in rows if row["side"] == side][:MOST_THREADS]
