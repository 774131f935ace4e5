"""CPU time of the whole engine process per message at 20,000 messages a second, over the floor's send cost + 1 us.

The engine process sends and receives and records every message, Parquet files included.
"""

from __future__ import annotations

from harness import EngineRun, Floor, fan_in, loopback, lost, report, whole_seconds

from telemark.model.plan import Load

RATE, SECONDS = 20_000, 10
LIMIT = 2.0


def main() -> None:
    """Measure the floor, the engine, the floor again."""
    floor = Floor()
    floor.measure()
    with loopback() as ports, EngineRun(fan_in(ports["plain"], 1000, Load("paced", rate=RATE))) as run:
        run.ready()
        run.begin()
        run.sleep_until(1)
        before = run.cpu_s()
        run.sleep_until(1 + SECONDS)
        cpu = run.cpu_s() - before
        run.halt()
        run.finish()
        seconds = whole_seconds(run.table("counters"), 1, 1 + SECONDS)
        missing = lost(run)
    floor.measure()
    messages = sum(row["received"] for row in seconds)
    allowed = floor.mean("send_us_per_message") + 1.0
    value = cpu / messages * 1e6 / allowed
    report(
        "cpu_per_message",
        value,
        LIMIT,
        value <= LIMIT and missing == 0,
        us_per_message=round(cpu / messages * 1e6, 2),
        reactor_us_per_message=round(sum(row["cpu_ns"] for row in seconds) / messages / 1e3, 2),
        floor_send_us=round(floor.mean("send_us_per_message"), 2),
        messages_per_s=round(messages / SECONDS),
        lost=missing,
    )


if __name__ == "__main__":
    main()
