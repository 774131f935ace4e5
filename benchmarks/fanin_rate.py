"""The most messages a second that one engine thread sends, receives and records, over the floor's.

1,000 publishers to 1 subscriber through the built-in server, QoS 0, 32 bytes. The closed loop keeps a fixed number of
messages outstanding, so nothing is ever lost for want of room; due messages of one connection share a write.
"""

from __future__ import annotations

from harness import EngineRun, Floor, fan_in, loopback, lost, report, whole_seconds

from telemark.model.plan.shapes.windowed import Windowed

WINDOW, REFILL, SECONDS = 4_000, 500, 6
LIMIT = 0.6


def main() -> None:
    """Measure the floor, the engine, the floor again."""
    floor = Floor()
    floor.measure()
    with loopback() as ports:
        load = Windowed(window=WINDOW, refill=REFILL)
        with EngineRun(fan_in(ports["plain"], 1000, load, connect_rate=0)) as run:
            run.ready()
            run.begin()
            run.sleep_until(SECONDS + 0.2)
            run.halt()
            run.finish()
            seconds = whole_seconds(run.table("counters"), 1, SECONDS)
            missing = lost(run)
    floor.measure()
    rate = sum(row["received"] for row in seconds) / len(seconds)
    value = rate / floor.mean("messages_per_s")
    report(
        "fanin_rate",
        value,
        LIMIT,
        value >= LIMIT and missing == 0,
        messages_per_s=round(rate),
        floor_per_s=round(floor.mean("messages_per_s")),
        lost=missing,
        publishers=1000,
    )


if __name__ == "__main__":
    main()
