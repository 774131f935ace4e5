"""The calibration of a host: kept in the user's cache, with the host and version it belongs to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from telemark import __version__
from telemark.errors import DataError
from telemark.model.plan import RunPlan
from telemark.servers.cache import cache_folder

FORMAT = 1
FILE = "calibration.json"


@dataclass(frozen=True, slots=True)
class Figure:
    """What one run of the calibration showed. A value that was not measured is None."""

    kind: str  # ceiling, floor, shape or connect
    shape: str
    qos: int
    security: str
    payload: int
    rate: float | None  # messages/s received; for connect: connections/s
    latency_p50_us: float | None = None
    latency_p99_us: float | None = None
    latency_stdev_us: float | None = None  # the jitter
    send_delay_p99_us: float | None = None
    lost: int | None = None
    engine_cpu_cores: float | None = None


@dataclass(frozen=True, slots=True)
class Calibration:
    """All figures of one calibration."""

    telemark_version: str
    fingerprint: str  # of the host
    host: str
    made_at: str  # ISO 8601
    figures: tuple[Figure, ...]

    def save(self, path: Path | None = None) -> Path:
        """Write it where later runs look for it."""
        path = path or calibration_path()
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.new")
        temporary.write_text(json.dumps({"format": FORMAT} | asdict(self), indent=1), encoding="utf-8")
        temporary.rename(path)
        return path


def calibration_path() -> Path:
    """Where the calibration of this user on this host is kept."""
    return cache_folder() / FILE


def load(path: Path | None = None) -> Calibration | None:
    """The stored calibration; None when there is none. Raises DataError for a file that is something else."""
    path = path or calibration_path()
    if not path.exists():
        return None
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data.pop("format") != FORMAT:
            return None
        figures = tuple(Figure(**figure) for figure in data.pop("figures"))
        return Calibration(figures=figures, **data)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(f"{path} is not a calibration: {error}", hint="run: telemark calibrate") from error


@dataclass(frozen=True, slots=True)
class Stored:
    """What is known when a run begins: a calibration, or why there is none."""

    calibration: Calibration | None = None
    problem: str | None = None


def load_for_runs(path: Path | None = None) -> Stored:
    """The stored calibration for runs: one that is damaged is none, and the runs say so."""
    try:
        return Stored(load(path))
    except (DataError, OSError) as error:
        return Stored(problem=f"the calibration cannot be read ({error}); run: telemark calibrate")


def for_run(plan: RunPlan, fingerprint: str, stored: Stored) -> dict[str, Any]:
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
        "connect_ceiling": connect.rate if connect else None,
        "latency_floor_p50_us": floor.latency_p50_us if floor else None,
        "latency_floor_p99_us": floor.latency_p99_us if floor else None,
        "made_at": calibration.made_at,
        "problem": None if ceiling else f"no ceiling was calibrated for {security} connections",
    }


def _problem(fingerprint: str, calibration: Calibration | None) -> str | None:
    if calibration is None:
        return "this host is not calibrated; run: telemark calibrate"
    if calibration.fingerprint != fingerprint:
        return f"the calibration was made on another host ({calibration.host}); run: telemark calibrate"
    if calibration.telemark_version != __version__:
        return f"the calibration was made with version {calibration.telemark_version}; run: telemark calibrate"
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
    )
