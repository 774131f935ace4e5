"""Memory of an engine process: with 10 devices, and what each further idle device adds up to 15,000."""

from __future__ import annotations

import statistics
import time

from harness import EngineRun, loopback, plan, report

from telemark.model.plan import Group

FEW = 10
SIZES = (1_000, 8_000, 15_000)
LIMIT_MB, LIMIT_PER_DEVICE = 40, 1_024
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
    """One process per size; the slope of the line through the larger ones."""
    with loopback() as ports:
        few = resident(ports["plain"], FEW) / 1e6
        used = [resident(ports["plain"], devices) for devices in SIZES]
    per_device = statistics.linear_regression(SIZES, used).slope
    report(
        "engine_memory",
        few,
        LIMIT_MB,
        few <= LIMIT_MB and per_device <= LIMIT_PER_DEVICE,
        unit=f"MB with {FEW} devices",
        bytes_per_device=round(per_device),
        bytes_per_device_limit=LIMIT_PER_DEVICE,
        devices=list(SIZES),
        resident_mb=[round(bytes_ / 1e6, 1) for bytes_ in used],
    )


if __name__ == "__main__":
    main()
