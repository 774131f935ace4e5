"""calibration.json: what the engine can do on this host, kept in the user's cache."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal

from telemark.host.cache import cache_folder
from telemark.store.atomic import make_folder, write_atomically
from telemark.store.documents.reading import Problem, read_document

CALIBRATION_FILE: Final = "calibration.json"


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
    connections: int | None = None


@dataclass(frozen=True, slots=True)
class Calibration:
    """All figures of one calibration."""

    telemark_version: str
    fingerprint: str  # of the host
    host: str
    made_at: str  # ISO 8601
    figures: tuple[Figure, ...]
    format: Literal[1] = 1

    def save(self, path: Path | None = None) -> Path:
        """Write it where later runs look for it."""
        path = path or calibration_path()
        make_folder(path.parent)
        write_atomically(path, json.dumps(asdict(self), indent=1) + "\n")
        return path


def calibration_path(bed: str | None = None) -> Path:
    """Where the calibration of this user on this host is kept, or of a bed with that fingerprint."""
    return cache_folder() / (f"calibration-{bed}.json" if bed else CALIBRATION_FILE)


def read_calibration(path: Path | None = None) -> Calibration | Problem | None:
    """The stored calibration; None when there is none."""
    path = path or calibration_path()
    return read_document(path, Calibration) if path.exists() else None
