"""live.json: what a campaign is doing right now, for those who watch from another process (`telemark serve`).

It lies in the campaign folder, is replaced about once a second while a run is under way, and goes away when the run
has ended. It is for looking at only: no result is ever made from it.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from telemark.store.atomic import write_atomically
from telemark.store.documents.reading import Problem, read_document

LIVE_FILE: Final = "live.json"
KEPT: Final = 300  # samples; older ones are in the run folder's counters
DEAD_AFTER_S: Final = 30.0  # a file that was not replaced for so long belongs to a campaign that was killed

# The columns of a sample, in order. Values that are not known are null.
COLUMNS: Final = (
    "elapsed_s", "phase", "sent_rate", "received_rate", "p50_us", "p99_us", "server_cpu_cores", "server_rss_bytes",
    "engine_cpu_cores", "connected", "outstanding",
)  # fmt: skip


@dataclass(slots=True)
class LiveFile:
    """The run under way and the last samples of it."""

    run: str
    server: str
    point: str
    number: int  # of the run among those of the campaign
    of: int
    remaining_s: float | None = None
    totals: dict[str, float | bool | None] = field(default_factory=dict)
    samples: list[list[float | str | None]] = field(default_factory=list)
    columns: tuple[str, ...] = COLUMNS
    format: Literal[1] = 1

    def add(self, sample: list[float | str | None]) -> None:
        """Keep a sample, forget the oldest."""
        self.samples.append(sample)
        del self.samples[:-KEPT]

    def write(self, campaign: Path) -> None:
        """Replace the file. It is not worth waiting for the disk while something is measured."""
        write_atomically(campaign / LIVE_FILE, json.dumps(self.as_dict(), separators=(",", ":")), durable=False)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)


def remove(campaign: Path) -> None:
    """Nothing is under way any more."""
    (campaign / LIVE_FILE).unlink(missing_ok=True)


def read(campaign: Path) -> LiveFile | None:
    """What is under way; None when nothing is, when who wrote it has gone, or the file cannot be understood."""
    path = campaign / LIVE_FILE
    try:
        if abs(time.time() - path.lstat().st_mtime) > DEAD_AFTER_S:  # a time to come is no sign of life
            return None
    except OSError:
        return None
    found = read_document(path, LiveFile)
    return None if isinstance(found, Problem) else found
