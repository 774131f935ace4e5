"""Telemark benchmarks MQTT servers: every message is a row, every number can be re-queried."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from telemark.pipeline import Opened

__version__ = "0.1.0"


def open(*paths: Path | str, master: str | None = None) -> Opened:  # noqa: A001 - reads well as telemark.open
    """Runs as DataFrames: `telemark.open("runs/...").deliveries`. Starts Spark.

    Args:
        paths: run folders, campaign folders, patterns or URLs.
        master: Spark master; default: all cores of this host.
    """
    from telemark.pipeline import open_runs  # noqa: PLC0415 - Spark is loaded when it is needed

    return open_runs(*paths, master=master)
