"""Was the engine the limit? Then the run says nothing about the server and gets no verdict.

The engine is late when messages leave after their time although no socket or in-flight window held them back; what the
server pushed back is the server's doing. It is starved when its own thread has no room left, or when other programs
took the processor. The rules are explained in docs/concepts/measuring.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

LATE_US: Final = 5_000.0  # 99 % of the messages must leave within this of their time
PUSHED_BACK_SHARE: Final = 0.001  # of the messages sent; below it the server did not hold the engine up
LOOP_LAG_US: Final = 100_000.0  # a reactor away from its poll this long missed what happened meanwhile
OFTEN_LAG_US: Final = 20_000.0
OFTEN: Final = 0.1  # of the seconds
FULL_THREAD: Final = 0.95  # of a core, mean over the phase
FULL_HOST: Final = 0.95  # of all cores
OTHERS_CORES: Final = 0.25  # used by programs that are neither server, engine nor consumer


def engine_bound(point: Mapping[str, Any], loop_lags_us: Sequence[float], cores: int | None) -> str | None:
    """Why the engine was the limit; None when it was not, as far as the samples tell.

    Args:
        point: columns of `points`, and `engine_busiest_thread_cores` where it was sampled.
        loop_lags_us: the largest loop lag of each second of the measure phase.
        cores: of the host.
    """
    reasons = [*_late(point), *_lagging(loop_lags_us), *_starved(point, cores)]
    return "; ".join(reasons) or None


def _late(point: Mapping[str, Any]) -> list[str]:
    sent, pushed = point.get("sent") or 0, point.get("pushed_back") or 0
    found = []
    delay = point.get("send_delay_p99_us")
    if delay is not None and delay > LATE_US and pushed <= PUSHED_BACK_SHARE * sent:
        found.append(f"1 % of the messages left {delay / 1000:,.1f} ms or more late (limit {LATE_US / 1000:g} ms)")
    dropped = point.get("dropped") or 0
    if dropped and not pushed:
        found.append(f"{dropped:,} due messages were never sent although the server took all it was given")
    return found


def _lagging(lags_us: Sequence[float]) -> list[str]:
    if not lags_us:
        return []
    largest = max(lags_us)
    often = sum(lag > OFTEN_LAG_US for lag in lags_us)
    if largest > LOOP_LAG_US:
        return [f"a reactor thread was away for {largest / 1000:,.0f} ms (limit {LOOP_LAG_US / 1000:g} ms)"]
    if often > OFTEN * len(lags_us):
        return [f"a reactor thread was away for over {OFTEN_LAG_US / 1000:g} ms in {often} of {len(lags_us)} seconds"]
    return []


def _starved(point: Mapping[str, Any], cores: int | None) -> list[str]:
    thread = point.get("engine_busiest_thread_cores")
    if thread is not None and thread > FULL_THREAD:
        return [f"an engine thread used {thread:.0%} of a core (limit {FULL_THREAD:.0%})"]
    busy = point.get("host_cpu_busy_mean")
    if busy is None or not cores or busy < FULL_HOST:
        return []
    ours = sum(point.get(f"{who}_cpu_cores_mean") or 0.0 for who in ("server", "engine", "consumer"))
    others = busy * cores - ours
    if others <= OTHERS_CORES:
        return []
    return [f"the host was {busy:.0%} busy and other programs used {others:.1f} cores of it"]
