"""Bytes on disk of one delivery row, at the engine's real output: 20,000 messages a second from 1,000 publishers."""

from __future__ import annotations

from harness import EngineRun, fan_in, loopback, report

from telemark.model.plan.shapes.paced import Paced
from telemark.store.reader import record_files

RATE, PUBLISHERS, SECONDS = 20_000, 1_000, 20
LIMIT = 12.0


def main() -> None:
    """Run paced load and weigh the files."""
    load = Paced(rate=RATE)
    with loopback() as ports, EngineRun(fan_in(ports["plain"], PUBLISHERS, load, connect_rate=0)) as run:
        run.ready()
        run.begin()
        run.sleep_until(SECONDS)
        run.halt()
        run.finish()
        files = record_files(run.folder, "deliveries")
        size = sum(file.stat().st_size for file in files)
        rows = run.table("deliveries").num_rows
    value = size / rows if rows else float("inf")
    report("row_size", value, LIMIT, value <= LIMIT, unit="bytes", rows=rows, files=len(files))


if __name__ == "__main__":
    main()
