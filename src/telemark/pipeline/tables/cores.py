"""`cores`: how busy every core of the host was in every second."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from telemark.pipeline.tables import Row


def core_rows(samples: pa.Table) -> list[Row]:
    """Rows of the table, but for the names of campaign and run. `samples`: see `health.timed`."""
    chosen = samples.filter(pc.and_(pc.equal(samples["source"], "host"), pc.equal(samples["metric"], "cpu_busy")))
    means = chosen.group_by(["second", "instance"]).aggregate([("value", "mean")]).to_pylist()
    numbered = [(row["second"], re.search(r"(\d+)$", row["instance"]), row["value_mean"]) for row in means]
    found = [
        (second, (match.string[: match.start()], int(match[1])), busy) for second, match, busy in numbered if match
    ]
    order = _numbers({core for _, core, _ in found})
    rows = [{"second": second, "core": order[core], "busy": busy} for second, core, busy in found]
    return sorted(rows, key=lambda row: (row["second"], row["core"]))


def _numbers(cores: set[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """Cores of one host keep their numbers; those of several hosts are counted through."""
    if len({host for host, _ in cores}) < 2:
        return {core: core[1] for core in cores}
    return {core: number for number, core in enumerate(sorted(cores))}
