"""search.json: what `telemark search` found, beside the runs it rests on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from telemark.store.atomic import write_atomically
from telemark.store.documents.reading import Problem, read_document

SEARCH_FILE: Final = "search.json"

Quantity = Literal["messages", "connections", "publishers"]  # what a search raises until it no longer holds
UNITS: Final[dict[str, str]] = {"messages": "msg/s", "connections": "conn/s", "publishers": "publishers"}


@dataclass(frozen=True, slots=True)
class TryRecord:
    """One rate or number that was tried."""

    rate: float  # of what the search raises
    holds: bool
    stage: str = ""  # ramp, bisect or confirm
    repeated: bool = False
    reasons: tuple[str, ...] = ()  # why it does not hold
    run: str | None = None


@dataclass(frozen=True, slots=True)
class BottleneckRecord:
    """What gave out first."""

    side: str
    part: str
    evidence: tuple[str, ...] = ()
    doubt: str = ""  # what else may have been the limit


@dataclass(frozen=True, slots=True)
class PeakRecord:
    """The answer of one search."""

    rate: float | None  # highest rate that survived its full-length hold; None: no verdict
    at_least: float | None  # highest rate that held at all, when the search could not go on
    ending: str
    bottleneck: BottleneckRecord | None = None
    tries: tuple[TryRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class SummaryRecord:
    """The repeats of a search together."""

    repeats: int
    median: float
    mean: float
    low: float | None  # 95 % confidence interval; None for one repeat
    high: float | None
    spread: float


@dataclass(frozen=True, slots=True)
class SearchRecord:
    """All repeats of a search for one point of a case."""

    suite: str
    scenario: str
    point: str
    size: str
    server: str
    quantity: str
    rule: tuple[str, ...]
    peaks: tuple[PeakRecord, ...]
    summary: SummaryRecord | None = None
    format: Literal[1] = 1

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for `--json` and the file."""
        return asdict(self)


def write_searches(campaign: Path, searches: Sequence[SearchRecord]) -> Path:
    """Replace the campaign's search.json."""
    path = campaign / SEARCH_FILE
    write_atomically(path, json.dumps([search.as_dict() for search in searches], indent=1) + "\n")
    return path


def read_searches(campaign: Path) -> tuple[SearchRecord, ...] | Problem:
    """The answers of a campaign's searches; none when it is no search."""
    path = campaign / SEARCH_FILE
    if not path.exists() and not path.is_symlink():
        return ()
    return read_document(path, tuple[SearchRecord, ...])
