"""How much more the engine could have done: the smallest of what the run itself and a calibration show.

A run shows how much of a core its busiest engine thread used, how much of the cores it was pinned to all threads used
together, and how late its messages left. A calibrated ceiling
counts only when it is of the same kind of load: a closed loop over few connections shares its writes, and a paced load
over many connections does not, so the one says nothing about the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from telemark.verdicts import limits


def engine_headroom(
    point: Mapping[str, Any], calibration: Mapping[str, Any], shape: str | None, pinned: Sequence[int] = ()
) -> float | None:
    """How many times this run's load the engine can carry here; None when nothing tells.

    Args:
        point: columns of `points`.
        calibration: of run.json: what the engine's ceiling is, and of which kind of load.
        shape: the load shape of the run.
        pinned: CPUs of the engine; empty when it was free to use all.
    """
    found = (
        _of_thread(point),
        _of_pinned_cores(point, len(pinned)),
        _of_send_delay(point),
        _of_ceiling(point, calibration, shape),
    )
    return min((value for value in found if value is not None), default=None)


def _of_thread(point: Mapping[str, Any]) -> float | None:
    used = point.get("engine_busiest_thread_cores")
    return 1 / used if used else None


def _of_pinned_cores(point: Mapping[str, Any], cores: int) -> float | None:
    """Two threads on one core use half of it each and have nothing left."""
    used = point.get("engine_cpu_cores_mean")
    return cores / used if cores and used else None


def _of_send_delay(point: Mapping[str, Any]) -> float | None:
    """What the server pushed back left late through no fault of the engine."""
    delay, sent, pushed = point.get("send_delay_p99_us"), point.get("sent") or 0, point.get("pushed_back") or 0
    return limits.LATE_US / delay if delay and pushed <= limits.PUSHED_BACK_SHARE * sent else None


def _of_ceiling(point: Mapping[str, Any], calibration: Mapping[str, Any], shape: str | None) -> float | None:
    ceiling, calibrated = calibration.get("ceiling_rate"), calibration.get("ceiling_connections")
    rate = max(point.get("sent_rate") or 0.0, point.get("received_rate") or 0.0)
    connections = point.get("connections") or 0
    if not isinstance(ceiling, int | float) or not isinstance(calibrated, int | float) or rate <= 0:
        return None
    like = calibration.get("ceiling_shape") == shape and connections <= limits.LIKE_CONNECTIONS * calibrated
    return ceiling / rate if like else None
