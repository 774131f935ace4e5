"""CPU of an engine process with 5,000 connected devices and no traffic, as a share of one core."""

from __future__ import annotations

import time

from harness import EngineRun, loopback, plan, report

from telemark.model.plan import Group

DEVICES, SECONDS = 5_000, 15
LIMIT = 0.02


def main() -> None:
    """Connect, wait for quiet, measure."""
    with loopback() as ports:
        group = Group("idle", DEVICES, client_id="i{index}", keep_alive_s=60)
        with EngineRun(plan(ports["plain"], (group,), connect_rate=4_000)) as run:
            run.ready()
            time.sleep(3.0)
            before, begun = run.cpu_s(), time.monotonic()
            time.sleep(SECONDS)
            used, elapsed = run.cpu_s() - before, time.monotonic() - begun
            run.finish()
    value = used / elapsed
    report("idle_cost", value, LIMIT, value <= LIMIT, devices=DEVICES, keep_alive_s=60, seconds=round(elapsed, 1))


if __name__ == "__main__":
    main()
