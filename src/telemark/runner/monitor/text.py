"""A snapshot as text: Prometheus' exposition format and Graphite's plaintext protocol."""

from __future__ import annotations

import re

from telemark.runner.monitor.metrics import PREFIX, Metric
from telemark.runner.monitor.readings import Snapshot

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def exposition(snapshot: Snapshot) -> str:
    """The page that Prometheus reads (text format 0.0.4)."""
    lines = []
    for metric, values in snapshot.values:
        lines += [f"# HELP {metric.name} {_help(metric)}", f"# TYPE {metric.name} {metric.kind}"]
        lines += [f"{metric.name}{_labels(metric, labels)} {value!r}" for labels, value in values]
    return "\n".join([*lines, ""])


def plaintext(snapshot: Snapshot, timestamp: int) -> str:
    """One line `path value timestamp` for each value."""
    lines = [
        f"{graphite_path(metric, labels)} {value!r} {timestamp}"
        for metric, values in snapshot.values
        for labels, value in values
    ]
    return "\n".join([*lines, ""])


def graphite_path(metric: Metric, labels: tuple[str, ...]) -> str:
    """The metric's path: its name, then the values of its labels."""
    parts = [metric.name.removeprefix(f"{PREFIX}_"), *labels]
    return ".".join([PREFIX, *(re.sub(r"[^A-Za-z0-9_-]", "_", part) or "_" for part in parts)])


def _labels(metric: Metric, values: tuple[str, ...]) -> str:
    pairs = [f'{name}="{value.translate(_ESCAPES)}"' for name, value in zip(metric.labels, values, strict=True)]
    return f"{{{','.join(pairs)}}}" if pairs else ""


def _help(metric: Metric) -> str:
    return f"{metric.meaning}{f' ({metric.unit})' if metric.unit else ''}".replace("\\", r"\\").replace("\n", " ")
