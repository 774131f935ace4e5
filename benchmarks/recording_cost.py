"""The share of the engine's greatest rate that recording every message costs.

Unrecorded and recorded runs take turns, so that a change of the machine's mood hits both; medians are compared.
"""

from __future__ import annotations

import statistics

from harness import EngineRun, fan_in, loopback, lost, report, whole_seconds

from telemark.model.plan.shapes.windowed import Windowed

WINDOW, REFILL, SECONDS, TURNS = 40_000, 10_000, 3, 5  # so many outstanding give the greatest rate
LIMIT = 0.15


def rate(port: int, record: bool) -> tuple[float, int]:
    """Messages received a second, and messages lost (recorded runs only)."""
    load = Windowed(window=WINDOW, refill=REFILL)
    with EngineRun(fan_in(port, 1000, load, connect_rate=0, record_deliveries=record)) as run:
        run.ready()
        run.begin()
        run.sleep_until(SECONDS + 0.1)
        run.halt()
        run.finish()
        seconds = whole_seconds(run.table("counters"), 1, SECONDS)
        missing = lost(run) if record else 0
    return sum(row["received"] for row in seconds) / len(seconds), missing


def main() -> None:
    """Take turns and compare."""
    unrecorded, recorded, missing = [], [], 0
    with loopback() as ports:
        for _ in range(TURNS):
            unrecorded.append(rate(ports["plain"], record=False)[0])
            with_rows, gone = rate(ports["plain"], record=True)
            recorded.append(with_rows)
            missing += gone
    value = 1.0 - statistics.median(recorded) / statistics.median(unrecorded)
    report(
        "recording_cost",
        value,
        LIMIT,
        value <= LIMIT and missing == 0,
        recorded_per_s=round(statistics.median(recorded)),
        unrecorded_per_s=round(statistics.median(unrecorded)),
        lost=missing,
    )


if __name__ == "__main__":
    main()
