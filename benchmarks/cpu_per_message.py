"""CPU time of the whole engine process per message at 20,000 messages a second, over the floor's send cost + 1 us.

The engine process sends and receives and records every message, Parquet files included. Floor and engine take turns
(the devices stay connected and pause meanwhile), because the cost of a system call moves by a third within a minute on
a shared host.
"""

from __future__ import annotations

import time

import pyarrow.compute as pc
from harness import EngineRun, Floor, fan_in, loopback, lost, report

from telemark._native import monotonic_ns
from telemark.model.plan import Load

RATE, SECONDS, TURNS = 20_000, 2.5, 5
SETTLE_S = 0.3
LIMIT = 2.0


def main() -> None:
    """Take turns and compare."""
    floor = Floor(seconds=1.5)
    cpu_s, spans = 0.0, []
    with loopback() as ports, EngineRun(fan_in(ports["plain"], 1000, Load("paced", rate=RATE))) as run:
        run.ready()
        run.set_rate(0)
        run.begin()
        for _ in range(TURNS):
            floor.measure()
            run.set_rate(RATE)
            time.sleep(SETTLE_S)
            start_ns, before = monotonic_ns(), run.cpu_s()
            time.sleep(SECONDS)
            cpu_s += run.cpu_s() - before
            spans.append((start_ns, monotonic_ns()))
            run.set_rate(0)
            time.sleep(SETTLE_S)
        floor.measure()
        run.halt()
        run.finish()
        received = run.table("deliveries")["received_ns"]
        missing = lost(run)
    messages = sum(
        pc.sum(pc.and_(pc.greater_equal(received, start), pc.less(received, end))).as_py() for start, end in spans
    )
    allowed = floor.mean("send_us_per_message") + 1.0
    value = cpu_s / messages * 1e6 / allowed
    report(
        "cpu_per_message",
        value,
        LIMIT,
        value <= LIMIT and missing == 0,
        us_per_message=round(cpu_s / messages * 1e6, 2),
        floor_send_us=round(floor.mean("send_us_per_message"), 2),
        messages_per_s=round(messages / sum(end - start for start, end in spans) * 1e9),
        lost=missing,
    )


if __name__ == "__main__":
    main()
