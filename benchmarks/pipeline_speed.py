"""How long the pipeline takes from deliveries to all tables, session start included, and how that compares to DuckDB.

    python benchmarks/pipeline_speed.py                        5, 10 and 60 M deliveries, the limits of the project
    python benchmarks/pipeline_speed.py --sizes 1 10 60 240    growth, in millions; --document writes the page about it

Each size is generated with planted faults, analysed by `telemark analyze --master local[2]` in a process of its own,
then by DuckDB with two threads in another. Both must find exactly what was planted, and agree on every percentile.
Prints one JSON line per size.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
from synthetic_run import Wanted, make

from telemark.store.result_reader import ResultTables

HERE = Path(__file__).parent
LIMITS_S = {5.0: 12.0, 10.0: 16.0}  # by millions of deliveries, on two cores
LIMIT_RATIO, LIMIT_GB = 2.0, 3.0  # to DuckDB's time from 60 M on, where getting ready no longer decides; of all sizes
Row = dict[str, Any]

PAGE = """# How the analysis grows

Written by `benchmarks/pipeline_speed.py` on a machine with {machine}: `local[2]`, 2 GB for the driver, session start
included. Every size has planted losses, duplicates and late messages, found exactly; percentiles agree with DuckDB's.

| deliveries | time | memory | DuckDB, same tables | ratio |
|---|---|---|---|---|
{table}

A straight line through these: {line.intercept:.0f} s to get ready and {line.slope:.2f} s for every million deliveries
(r² = {line.r_squared:.4f}). Memory hardly grows: what leaves the first pass is a histogram and a bit per message.

## Ten billion deliveries

By that line, two cores need about {hours:.1f} hours. The same job scales out with `--master`: every pass reads files
independently, and what is shuffled is the histogram (at most seconds times distinct microseconds) and one row of about
40 bytes per 64 messages. So:

- put run folders where all workers read them (`hdfs://`, `s3a://`, a shared disk) and give that URL to
  `telemark analyze`; the records of 10 billion deliveries are about 90 GB;
- set `spark.sql.shuffle.partitions` to about the cores of the cluster (`PYSPARK_SUBMIT_ARGS`);
- with about {cores} such cores expect ten minutes, as long as the store delivers 150 MB/s;
- give the workers 10 GB of disk for the shuffle.
"""


def tree_bytes(process: psutil.Process) -> int:
    """Memory of a process and all below it; shared pages counted once."""
    total = 0
    for each in [process, *process.children(recursive=True)]:
        try:
            total += each.memory_full_info().pss
        except psutil.Error:
            continue
    return total


def timed(command: Sequence[str]) -> tuple[float, float, str]:
    """(seconds, GB at most, stdout) of a program."""
    begin, most = time.monotonic(), 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as program:
        process = psutil.Process(program.pid)
        while program.poll() is None:
            most = max(most, tree_bytes(process)) if process.is_running() else most
            time.sleep(0.5)
        output = program.stdout.read() if program.stdout else ""
    if program.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {program.returncode}")
    return time.monotonic() - begin, most / 1e9, output


def disagreements(results: ResultTables, planted: Row, peer: Row) -> list[str]:
    """Where the pipeline differs from what was planted or from the peer."""
    point = results.rows("points")[0]
    found = [
        f"{name}: pipeline {point[name]}, planted {planted[name]}, duckdb {peer[name]}"
        for name in ("lost", "duplicate", "reordered")
        if not point[name] == planted[name] == peer[name]
    ]
    theirs = {(row["measure"], row["phase"]): row for row in peer["latency"]}
    for row in results.rows("latency"):
        other = theirs.get((row["measure"], row["phase"]))
        if other is None:
            continue
        for figure in ("count", "min", "max", "mean", "p50", "p75", "p90", "p95", "p99", "p999", "p9999"):
            ours = row["count"] if figure == "count" else row[f"{figure}_us"]
            if abs(ours - other[figure]) > 1e-3:
                found.append(f"{row['measure']} {row['phase']} {figure}: pipeline {ours}, duckdb {other[figure]}")
    return found


def measure(millions: float, folder: Path) -> Row:
    """One size: generate, analyse twice, compare, delete."""
    run = folder / "campaign" / f"{int(millions * 1000)}k"
    wanted = Wanted(messages=int(millions * 1_000_000))
    planted = make(run, wanted)
    analyze = [
        sys.executable,
        "-c",
        "from telemark.cli.main import main; main()",
        "analyze",
        str(run),
        "--master",
        "local[2]",
    ]
    seconds, memory, _ = timed(analyze)
    peer_seconds, peer_memory, output = timed([sys.executable, str(HERE / "duckdb_tables.py"), str(run)])
    wrong = disagreements(ResultTables.open(run.parent), planted, json.loads(output))
    shutil.rmtree(folder / "campaign")
    limit = LIMITS_S.get(millions, LIMIT_RATIO * peer_seconds if millions >= 60 else None)
    holds = not wrong and memory <= LIMIT_GB and (limit is None or seconds <= limit)
    return {
        "name": "pipeline_speed", "value": round(seconds, 1), "limit": limit and round(limit, 1), "holds": holds,
        "unit": "s",
        "millions": millions, "memory_gb": round(memory, 2), "memory_limit_gb": LIMIT_GB,
        "duckdb_s": round(peer_seconds, 1), "duckdb_memory_gb": round(peer_memory, 2),
        "ratio": round(seconds / peer_seconds, 2), "disagreements": wrong,
    }  # fmt: skip


def document(rows: Sequence[Row]) -> str:
    """The page about growth: the figures, the line through them, and what it says about larger data."""
    from telemark.verdicts.fit import fit_line  # noqa: PLC0415

    line = fit_line([row["millions"] for row in rows], [row["value"] for row in rows])
    assert line is not None
    hours = (line.intercept + line.slope * 10_000) / 3600
    return PAGE.format(
        machine=f"{os.cpu_count()} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB",
        table="\n".join(_line(row) for row in rows),
        line=line,
        hours=hours,
        cores=max(round(hours * 6), 1) * 2,
    )


def _line(row: Row) -> str:
    cells = (
        f"{row['millions']:g} M", f"{row['value']:.0f} s", f"{row['memory_gb']:.1f} GB", f"{row['duckdb_s']:.0f} s",
        f"{row['ratio']:.2f}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", type=float, nargs="+", default=[5.0, 10.0, 60.0], help="millions of deliveries")
    parser.add_argument("--document", type=Path, help="write the page about growth here")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="telemark-speed-") as folder:
        for millions in options.sizes:
            rows.append(measure(millions, Path(folder)))
            print(json.dumps(rows[-1]), flush=True)
    if options.document:
        options.document.write_text(document(rows), encoding="utf-8")
    sys.exit(0 if all(row["holds"] for row in rows) else 1)


if __name__ == "__main__":
    main()
