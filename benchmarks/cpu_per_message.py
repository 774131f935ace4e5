"""CPU time of the whole engine process per message at 20,000 messages a second, over the floor's send cost + 1 us.

The engine process sends and receives and records every message, Parquet files included. Floor and engine take turns
(the devices stay connected and pause meanwhile): the cost of a system call moves by a third within a minute on a shared
host, so every turn is compared with the floor just before and after it, and the median of the turns counts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median

import pyarrow as pa
import pyarrow.compute as pc
from harness import EngineRun, Floor, fan_in, loopback, lost, report

from telemark._native import monotonic_ns
from telemark.model.plan.shapes.paced import Paced

RATE, SECONDS, TURNS = 20_000, 2.0, 7
SETTLE_S = 0.3
LIMIT = 2.0


@dataclass(frozen=True)
class Turn:
    """A while of sending at the full rate."""

    start_ns: int
    end_ns: int
    cpu_s: float
    floor_us: float  # of one send, before and after

    def cost_us(self, received_ns: pa.ChunkedArray) -> float:
        """CPU time of a message."""
        within = pc.and_(pc.greater_equal(received_ns, self.start_ns), pc.less(received_ns, self.end_ns))
        return self.cpu_s * 1e6 / pc.sum(within).as_py()


def take_turn(run: EngineRun, floor: Floor) -> Turn:
    """Send for a while, then let the floor have the machine."""
    run.set_rate(RATE)
    time.sleep(SETTLE_S)
    start_ns, before = monotonic_ns(), run.cpu_s()
    time.sleep(SECONDS)
    cpu_s, end_ns = run.cpu_s() - before, monotonic_ns()
    run.set_rate(0)
    time.sleep(SETTLE_S)
    floor.measure()
    return Turn(start_ns, end_ns, cpu_s, floor.mean("send_us_per_message", last=2))


def main() -> None:
    """Take turns and compare."""
    floor = Floor(seconds=1.0)
    floor.measure()
    with loopback() as ports, EngineRun(fan_in(ports["plain"], 1000, Paced(rate=RATE))) as run:
        run.ready()
        run.set_rate(0)
        run.begin()
        turns = [take_turn(run, floor) for _ in range(TURNS)]
        run.halt()
        run.finish()
        received = run.table("deliveries")["received_ns"]
        missing = lost(run)
    costs = [turn.cost_us(received) for turn in turns]
    ratios = [cost / (turn.floor_us + 1.0) for cost, turn in zip(costs, turns, strict=True)]
    value = median(ratios)
    report(
        "cpu_per_message",
        value,
        LIMIT,
        value <= LIMIT and missing == 0,
        us_per_message=round(median(costs), 2),
        floor_send_us=round(floor.mean("send_us_per_message"), 2),
        turns=[round(ratio, 2) for ratio in ratios],
        lost=missing,
    )


if __name__ == "__main__":
    main()
