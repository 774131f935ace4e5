"""What a run may conclude from the calibration of its host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from telemark import __version__
from telemark.model.plan import RunPlan
from telemark.store.documents.calibration import Calibration, Figure, read_calibration
from telemark.store.documents.reading import Problem
from telemark.store.documents.run import CalibrationPart


@dataclass(frozen=True, slots=True)
class Stored:
    """What is known when a run begins: a calibration, or why there is none."""

    calibration: Calibration | None = None
    problem: str | None = None


def load_for_runs(path: Path | None = None) -> Stored:
    """The stored calibration for runs: one that is damaged is none, and the runs say so."""
    found = read_calibration(path)
    if isinstance(found, Problem):
        return Stored(problem=f"the calibration cannot be read ({found.message})")
    return Stored(found)


def for_run(plan: RunPlan, fingerprint: str, stored: Stored) -> CalibrationPart:
    """What run.json says about the engine's ceiling for a run like this one.

    `ceiling_rate` (messages/s) and `connect_ceiling` (connections/s) are null, and `problem` says why, when there is no
    calibration of this host and version, or none for this kind of traffic.
    """
    calibration = stored.calibration
    problem = stored.problem or _problem(fingerprint, calibration)
    if calibration is None or problem is not None:
        return {"ceiling_rate": None, "connect_ceiling": None, "problem": problem}
    qos, security, payload = _traffic(plan)
    ceiling = _nearest(calibration, "ceiling", qos, security, payload)
    floor = _nearest(calibration, "floor", qos, security, payload)
    connect = _nearest(calibration, "connect", 0, security, 0)
    return {
        "ceiling_rate": ceiling.rate if ceiling else None,
        "ceiling_of": _describe(ceiling),
        "ceiling_shape": ceiling.shape if ceiling else None,
        "ceiling_connections": ceiling.connections if ceiling else None,
        "connect_ceiling": connect.rate if connect else None,
        "latency_floor_p50_us": floor.latency_p50_us if floor else None,
        "latency_floor_p99_us": floor.latency_p99_us if floor else None,
        "made_at": calibration.made_at,
        "problem": None if ceiling else f"no ceiling was calibrated for {security} connections",
    }


def _problem(fingerprint: str, calibration: Calibration | None) -> str | None:
    if calibration is None:
        return "this host is not calibrated"
    if calibration.fingerprint != fingerprint:
        return f"the calibration was made on another host ({calibration.host})"
    if calibration.telemark_version != __version__:
        return f"the calibration was made with version {calibration.telemark_version}"
    return None


def _traffic(plan: RunPlan) -> tuple[int, str, int]:
    """QoS, security and payload of the publishers; of the first group when nobody publishes."""
    group = next((group for group in plan.groups if group.publish), plan.groups[0])
    listeners = {listener.name: listener.security for listener in plan.listeners}
    security = listeners.get(group.endpoints[0], "none")
    publish = group.publish
    return (publish.qos, security, publish.size_max or publish.size) if publish else (0, security, 0)


def _nearest(calibration: Calibration, kind: str, qos: int, security: str, payload: int) -> Figure | None:
    """The figure for this traffic; else the next costlier kind that was measured, so that a ceiling is never too high.

    The costs of QoS, TLS and size do not multiply exactly: only what was measured is ever returned.
    """
    same = [figure for figure in calibration.figures if figure.kind == kind and figure.security == security]
    wanted = [figure for figure in same if figure.qos >= qos and figure.payload >= payload]
    if wanted:
        return min(wanted, key=lambda figure: (figure.qos, figure.payload))
    return min(same, key=lambda figure: figure.rate or 0.0, default=None)


def _describe(figure: Figure | None) -> str | None:
    if figure is None:
        return None
    return f"QoS {figure.qos}, {'plain' if figure.security == 'none' else figure.security}, {figure.payload} B"


def figure_from(case: Mapping[str, Any], point: Mapping[str, Any]) -> Figure:
    """A figure from a case's facts and its row of `points`."""
    connects = case["kind"] == "connect"
    return Figure(
        **case,
        rate=point.get("connect_rate" if connects else "received_rate"),
        latency_p50_us=point.get("connect_p50_us" if connects else "latency_p50_us"),
        latency_p99_us=point.get("connect_p99_us" if connects else "latency_p99_us"),
        latency_stdev_us=point.get("connect_stdev_us" if connects else "latency_stdev_us"),
        send_delay_p99_us=None if connects else point.get("send_delay_p99_us"),
        lost=None if connects else point.get("lost"),
        engine_cpu_cores=point.get("engine_cpu_cores_mean"),
        connections=point.get("connections"),
    )
