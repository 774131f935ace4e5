"""Memory of the engine process per idle plain connection: the slope of its resident set up to 15,000 devices."""

from __future__ import annotations

import statistics
import time

from harness import EngineRun, loopback, plan, report

from telemark.model.plan import Group

SIZES = (1_000, 8_000, 15_000)
LIMIT = 2048
SETTLE_S = 3.0  # records of the connects are written, memory is given back


def resident(port: int, devices: int) -> int:
    """Resident bytes of an engine process with so many connected, idle devices."""
    group = Group("idle", devices, client_id="m{index}")
    with EngineRun(plan(port, (group,), connect_rate=4_000)) as run:
        run.ready()
        time.sleep(SETTLE_S)
        used = int(run.process.memory_info().rss)
        run.finish()
    return used


def main() -> None:
    """One process per size; the slope of the line through them."""
    with loopback() as ports:
        used = [resident(ports["plain"], devices) for devices in SIZES]
    value = statistics.linear_regression(SIZES, used).slope
    report(
        "connection_memory",
        value,
        LIMIT,
        value <= LIMIT,
        unit="bytes",
        devices=list(SIZES),
        resident_mib=[round(bytes_ / 2**20, 1) for bytes_ in used],
    )


if __name__ == "__main__":
    main()
