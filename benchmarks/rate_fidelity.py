"""How exactly 20,000 messages a second are sent: the worst second's deviation, and the send delay."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from harness import EngineRun, fan_in, loopback, report, whole_seconds

from telemark.model.plan.shapes.paced import Paced

RATE, SECONDS = 20_000, 15
LIMIT = 0.01
DELAY_LIMIT_MS = 2.0


def send_delay_ms(deliveries: pa.Table, share: float) -> float:
    """A quantile of sent - intended over all messages, in milliseconds."""
    delay = pc.subtract(deliveries["sent_ns"], deliveries["intended_ns"])
    return float(pc.quantile(delay, q=share)[0].as_py()) / 1e6


def main() -> None:
    """Send at the rate and look at every second."""
    with loopback() as ports, EngineRun(fan_in(ports["plain"], 1000, Paced(rate=RATE))) as run:
        run.ready()
        run.begin()
        run.sleep_until(SECONDS + 0.3)
        run.halt()
        run.finish()
        seconds = whole_seconds(run.table("counters"), 1, SECONDS)
        deliveries = run.table("deliveries")
    value = max(abs(row["sent"] - RATE) / RATE for row in seconds)
    p99 = send_delay_ms(deliveries, 0.99)
    report(
        "rate_fidelity",
        value,
        LIMIT,
        value <= LIMIT and p99 < DELAY_LIMIT_MS,
        send_delay_p50_ms=round(send_delay_ms(deliveries, 0.5), 3),
        send_delay_p99_ms=round(p99, 3),
        send_delay_p99_limit_ms=DELAY_LIMIT_MS,
        dropped=sum(row["dropped"] for row in seconds),
        seconds=len(seconds),
    )


if __name__ == "__main__":
    main()
