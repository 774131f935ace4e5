"""The newest value of every metric. Written by the runner's threads, read by whoever passes them on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from telemark.runner.monitor.metrics import Metric

MOST_INSTANCES = 256  # label values of one metric: a host that makes new network interfaces all day stays bounded


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All values at one moment."""

    version: int  # grows with every change
    values: tuple[tuple[Metric, tuple[tuple[tuple[str, ...], float], ...]], ...]  # by metric: label values -> value


class Readings:
    """For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version = 0
        self._values: dict[Metric, dict[tuple[str, ...], float]] = {}

    def set(self, metric: Metric, value: float | None, *labels: str) -> None:
        """The value is this now; None: it is not known any more."""
        with self._lock:
            self._version += 1
            if value is None:
                self._values.get(metric, {}).pop(labels, None)
            else:
                self._put(metric, labels, float(value))

    def add(self, metric: Metric, amount: float, *labels: str) -> None:
        """A counter has grown."""
        with self._lock:
            self._version += 1
            self._put(metric, labels, self._values.get(metric, {}).get(labels, 0.0) + amount)

    def forget(self, unwanted: Callable[[Metric], bool]) -> None:
        """What these metrics describe is gone."""
        with self._lock:
            self._version += 1
            self._values = {metric: values for metric, values in self._values.items() if not unwanted(metric)}

    def snapshot(self) -> Snapshot:
        """All values of this moment, by name."""
        with self._lock:
            found = sorted(self._values.items(), key=lambda item: item[0].name)
            return Snapshot(self._version, tuple((metric, tuple(values.items())) for metric, values in found))

    def _put(self, metric: Metric, labels: tuple[str, ...], value: float) -> None:
        values = self._values.setdefault(metric, {})
        if labels in values or len(values) < MOST_INSTANCES:
            values[labels] = value
