"""live.json: what a campaign is doing right now, for those who watch from another process (`telemark serve`).

It lies in the campaign folder, is replaced about once a second while a run is under way, and goes away when the run
has ended. It is for looking at only: no result is ever made from it.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

LIVE_FILE: Final = "live.json"
FORMAT: Final = 1
KEPT: Final = 300  # samples; older ones are in the run folder's counters

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
    totals: dict[str, Any] = field(default_factory=dict)
    samples: list[list[Any]] = field(default_factory=list)
    columns: tuple[str, ...] = COLUMNS
    format: int = FORMAT

    def add(self, sample: list[Any]) -> None:
        """Keep a sample, forget the oldest."""
        self.samples.append(sample)
        del self.samples[:-KEPT]

    def write(self, campaign: Path) -> None:
        """Replace the file in one step."""
        temporary = campaign / f".{LIVE_FILE}.{os.getpid()}"
        temporary.write_text(json.dumps(asdict(self), separators=(",", ":")), encoding="utf-8")
        temporary.replace(campaign / LIVE_FILE)


def remove(campaign: Path) -> None:
    """Nothing is under way any more."""
    (campaign / LIVE_FILE).unlink(missing_ok=True)


def read(campaign: Path) -> dict[str, Any] | None:
    """The content as plain data; None when nothing is under way or the file cannot be understood."""
    try:
        content = json.loads((campaign / LIVE_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    understood = isinstance(content, dict) and content.get("format") == FORMAT
    return content if understood else None
